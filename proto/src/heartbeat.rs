//! The heartbeat: what a process of a run says of itself every few seconds, for whoever watches the run. Nothing in the run
//! depends on it.
//!
//! It carries no clock: times are lengths, measured by its sender; how old it is says the bus. Fields that an older sender
//! does not know have their default, and those that only a newer one knows are left.

use serde::{Deserialize, Serialize};

use crate::wire::{decode, encode_named};
use crate::{ProtoError, Version, WIRE_VERSION};

/// What a heartbeat says an actor waits for whose finished games nobody takes.
pub const ROOM_ON_THE_BUS: &str = "room on the bus";
/// What a heartbeat says a learner waits for whose window has too few rows, or too few new ones.
pub const ROWS: &str = "rows";

/// No encoded heartbeat may be longer than this.
const MAX_BYTES: usize = 32 << 10;
/// Most waits and troubles that are sent, each.
const MAX_ENTRIES: usize = 6;
/// Longest text that is sent, in characters.
const MAX_TEXT: usize = 200;

/// What a process does for its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Plays.
    #[default]
    Actor,
    /// Moves games from the bus into the replay log.
    Ingester,
    /// Trains.
    Learner,
}

/// How far a process has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// It still waits for what it needs before it is of use.
    #[default]
    Starting,
    /// It does its work.
    Working,
    /// It was told to stop and finishes what it has in hand.
    Stopping,
    /// Its last word: it has ended in good order.
    Ended,
}

/// Something that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wait {
    /// What, such as [`ROWS`].
    pub what: String,
    /// Seconds of this wait so far.
    pub since_s: f64,
}

/// Something that does not work and is tried again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failing {
    /// What does not work.
    pub what: String,
    /// Why not.
    pub reason: String,
    /// Seconds that it has not worked.
    pub since_s: f64,
}

/// Games by what became of them in this process's life. Each role counts what passes through it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartCounts {
    /// Stored: on the bus by an actor, in the replay log by an ingester.
    pub stored: u64,
    /// Stored before.
    pub duplicates: u64,
    /// Put aside: they can never be taken.
    pub refused: u64,
    /// Dropped, since their weights were too old.
    pub stale: u64,
    /// Given up: there was no time to pass them on.
    pub lost: u64,
    /// Times that one was not taken and tried again.
    pub retries: u64,
}

/// What a learner says besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Training {
    /// Train steps of the run.
    pub step: u64,
    /// Train steps a second.
    pub steps_per_s: f64,
    /// Rows in the window.
    pub window_rows: u64,
    /// Rows that it can hold.
    pub window_capacity: u64,
    /// Rows that it must hold before training begins.
    pub window_needed: u64,
    /// It also moves games from the bus into the replay log.
    pub ingests: bool,
    /// The newest loss, once there is one.
    pub loss: Option<f64>,
    /// The newest checkpoint.
    pub checkpoint: Option<Version>,
    /// Seconds since it was written.
    pub checkpoint_age_s: f64,
}

/// What a process of a run says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heartbeat {
    /// The sender's wire version.
    pub wire: u16,
    /// The run.
    pub run: String,
    /// What the process does.
    pub role: Role,
    /// Which process: drawn anew at each start.
    pub life: u64,
    /// The machine or pod that it runs on.
    pub host: String,
    /// How far it has come.
    pub stage: Stage,
    /// Seconds since it began.
    pub up_s: f64,
    /// The newest weights that it plays by, or has published.
    pub weights: Version,
    /// Games of its life; those of the run, of a learner that plays.
    pub games: u64,
    /// Games a second, lately.
    pub games_per_s: f64,
    /// Rows of its life, played or stored; those of the run, of a learner.
    pub rows: u64,
    /// Rows a second, lately.
    pub rows_per_s: f64,
    /// Games by what became of them.
    pub parts: PartCounts,
    /// Seconds of its life that it waited for others: its threads on average.
    pub waited_s: f64,
    /// Share of its time that it waited lately, 0 to 1.
    pub waiting: f64,
    /// What it waits for.
    pub waits: Vec<Wait>,
    /// What does not work.
    pub troubles: Vec<Failing>,
    /// What a learner says besides.
    pub training: Option<Training>,
}

impl Heartbeat {
    /// A first word: who it is, and nothing done.
    pub fn new(run: &str, role: Role, life: u64, host: &str) -> Self {
        Self { wire: WIRE_VERSION, run: run.to_owned(), role, life, host: short(host), ..Self::default() }
    }

    /// As MessagePack. Long texts are cut, and lists too: it is a note, not a log.
    pub fn encode(&self) -> Vec<u8> {
        let mut beat = self.clone();
        beat.host = short(&beat.host);
        beat.waits.truncate(MAX_ENTRIES);
        beat.waits.iter_mut().for_each(|wait| wait.what = short(&wait.what));
        beat.troubles.truncate(MAX_ENTRIES);
        for trouble in &mut beat.troubles {
            (trouble.what, trouble.reason) = (short(&trouble.what), short(&trouble.reason));
        }
        encode_named(&beat)
    }

    /// From MessagePack, of any run.
    ///
    /// # Errors
    /// [`ProtoError`] if it is too long, malformed, or of an unknown wire version.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        if bytes.len() > MAX_BYTES {
            return Err(ProtoError::TooLong { bytes: bytes.len(), limit: MAX_BYTES });
        }
        decode("heartbeat", bytes)
    }
}

fn short(text: &str) -> String {
    text.chars().take(MAX_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat() -> Heartbeat {
        Heartbeat {
            stage: Stage::Working,
            weights: Version { epoch: 2, step: 30 },
            rows_per_s: 12.5,
            waiting: 0.25,
            waits: vec![Wait { what: ROWS.into(), since_s: 1.5 }],
            troubles: vec![Failing { what: "publishing".into(), reason: "no answer".into(), since_s: 9.0 }],
            training: Some(Training { step: 30, loss: Some(0.25), ..Training::default() }),
            ..Heartbeat::new("r", Role::Learner, 7, "pod-1")
        }
    }

    #[test]
    fn a_heartbeat_is_read_as_it_was_said() {
        assert_eq!(Heartbeat::decode(&beat().encode()).unwrap(), beat());
    }

    #[test]
    fn one_of_another_version_with_more_or_fewer_fields_is_read_and_one_of_an_unknown_wire_is_not() {
        #[derive(Serialize)]
        struct Other {
            wire: u16,
            run: &'static str,
            role: Role,
            mood: &'static str,
        }
        let encode = |wire| rmp_serde::to_vec_named(&Other { wire, run: "r", role: Role::Ingester, mood: "good" });
        let read = Heartbeat::decode(&encode(WIRE_VERSION).unwrap()).unwrap();
        assert_eq!(read, Heartbeat { role: Role::Ingester, ..Heartbeat::new("r", Role::Ingester, 0, "") });
        let unknown = Heartbeat::decode(&encode(WIRE_VERSION + 1).unwrap());
        assert!(matches!(unknown, Err(ProtoError::WireVersion { .. })), "{unknown:?}");
        assert!(matches!(Heartbeat::decode(b"no"), Err(ProtoError::Malformed { .. })));
        assert!(matches!(Heartbeat::decode(&[0; MAX_BYTES + 1]), Err(ProtoError::TooLong { .. })));
    }

    #[test]
    fn however_much_there_is_to_say_it_stays_a_note() {
        let long = || "x".repeat(100_000);
        let mut beat = Heartbeat { host: long(), ..beat() };
        beat.waits = vec![Wait { what: long(), since_s: 0.0 }; 1000];
        beat.troubles = vec![Failing { what: long(), reason: long(), since_s: 0.0 }; 1000];
        let read = Heartbeat::decode(&beat.encode()).unwrap();
        assert_eq!((read.waits.len(), read.troubles.len(), read.host.len()), (6, 6, 200));
    }
}
