//! The crew: who plays, by role and weights version. On a cluster the bus is asked, in the background, at most every few
//! seconds and only while somebody listens.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use fogfall_bus::{Bus, Member};
use fogfall_pipeline::WeightsCell;
use fogfall_proto::{Role, Stage, Version};
use serde::Serialize;
use tokio::runtime::Handle;

use super::lock;
use crate::status::Status;

/// The bus is not asked again before this time has passed.
const ASK_EVERY: Duration = Duration::from_secs(4);
/// Most things shown that do not work.
const TROUBLES: usize = 5;

/// Who plays, for whoever looks.
#[derive(Default)]
pub struct Crew(OnceLock<Source>);

enum Source {
    Threads { count: usize, weights: Arc<WeightsCell> },
    Members(Arc<Members>),
}

/// The processes of a run on servers.
struct Members {
    bus: Arc<dyn Bus>,
    runtime: Handle,
    asking: AtomicBool,
    heard: Mutex<(Option<Instant>, Heard)>,
}

/// What is known of who plays.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Heard {
    /// By role, newest weights first.
    groups: Vec<Group>,
    /// What does not work, and where; the first few.
    troubles: Vec<String>,
    /// Why nothing is known, if that is so.
    error: Option<String>,
}

/// Those who do the same with the same weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Group {
    /// `thread`, or a role.
    role: String,
    /// As `epoch.step`; empty for those that use none.
    weights: String,
    /// How many.
    count: usize,
    /// How many of them are at work, neither starting nor stopping.
    working: usize,
    /// Games a second, together.
    games_per_s: f64,
    /// Rows a second, together.
    rows_per_s: f64,
    /// Share of the time that they waited lately, 0 to 1; none for threads, whose waits the status tells.
    waiting: Option<f64>,
}

impl Crew {
    /// It is threads of this process that play.
    pub fn are_threads(&self, count: usize, weights: &Arc<WeightsCell>) {
        let _ = self.0.set(Source::Threads { count, weights: Arc::clone(weights) });
    }

    /// It is processes that speak on this bus.
    pub fn are_members(&self, bus: &Arc<dyn Bus>, runtime: &Handle) {
        let members = Members {
            bus: Arc::clone(bus),
            runtime: runtime.clone(),
            asking: AtomicBool::default(),
            heard: Mutex::default(),
        };
        let _ = self.0.set(Source::Members(Arc::new(members)));
    }

    /// What is known now. Asks anew if that has become old, without waiting for the answer.
    pub(super) fn now(&self, status: &Status) -> Heard {
        match self.0.get() {
            None => Heard::default(),
            Some(Source::Threads { count, weights }) => {
                Heard { groups: vec![threads(*count, weights.newest().version, status)], ..Heard::default() }
            }
            Some(Source::Members(members)) => {
                members.ask_if_old();
                lock(&members.heard).1.clone()
            }
        }
    }
}

fn threads(count: usize, weights: Version, status: &Status) -> Group {
    Group {
        role: "thread".to_owned(),
        weights: weights.to_string(),
        count,
        working: count,
        games_per_s: status.games_per_s,
        rows_per_s: status.rows_per_s,
        waiting: None,
    }
}

impl Members {
    fn ask_if_old(self: &Arc<Self>) {
        let is_old = lock(&self.heard).0.is_none_or(|at| at.elapsed() >= ASK_EVERY);
        if !is_old || self.asking.swap(true, Relaxed) {
            return;
        }
        let members = Arc::clone(self);
        self.runtime.spawn(async move {
            let answer = members.bus.alive().await;
            let heard = answer.map_or_else(
                |error| Heard { error: Some(error.to_string()), ..Heard::default() },
                |alive| gather(&alive),
            );
            *lock(&members.heard) = (Some(Instant::now()), heard);
            members.asking.store(false, Relaxed);
        });
    }
}

/// Members by role and weights.
fn gather(alive: &[Member]) -> Heard {
    let mut groups = BTreeMap::<(Role, std::cmp::Reverse<Version>), Group>::new();
    let mut troubles = Vec::new();
    for Member { beat, .. } in alive {
        // An ingester has no weights.
        let version = if beat.role == Role::Ingester { Version::default() } else { beat.weights };
        let group = groups.entry((beat.role, std::cmp::Reverse(version))).or_default();
        group.count += 1;
        group.working += usize::from(beat.stage == Stage::Working);
        group.games_per_s += beat.games_per_s;
        group.rows_per_s += beat.rows_per_s;
        *group.waiting.get_or_insert_default() += beat.waiting;
        let told =
            beat.troubles.iter().map(|t| format!("{} on {}: {}: {}", name(beat.role), beat.host, t.what, t.reason));
        troubles.extend(told.take(TROUBLES - troubles.len()));
    }
    let groups = groups.into_iter().map(|((role, version), mut group)| {
        group.role = name(role).to_owned();
        group.weights = if role == Role::Ingester { String::new() } else { version.0.to_string() };
        group.waiting = group.waiting.map(|sum| sum / group.count as f64);
        group
    });
    Heard { groups: groups.collect(), troubles, error: None }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Actor => "actor",
        Role::Ingester => "ingester",
        Role::Learner => "learner",
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Failing, Heartbeat};

    use super::*;

    fn member(role: Role, life: u64, step: u64) -> Member {
        let beat = Heartbeat {
            stage: if life == 1 { Stage::Starting } else { Stage::Working },
            weights: Version { epoch: 1, step },
            games_per_s: 2.0,
            waiting: 0.25 * life as f64,
            ..Heartbeat::new("r", role, life, "pod")
        };
        Member { beat, age: Duration::from_secs(1) }
    }

    #[test]
    fn members_are_gathered_by_role_and_weights_newest_first() {
        let mut alive = [
            member(Role::Actor, 1, 100),
            member(Role::Actor, 2, 200),
            member(Role::Actor, 3, 100),
            member(Role::Ingester, 4, 0),
        ];
        alive[3].beat.troubles =
            vec![Failing { what: "storing".into(), reason: "no answer".into(), since_s: 3.0 }; TROUBLES + 2];
        let heard = gather(&alive);
        let shown: Vec<_> = heard.groups.iter().map(|g| (&*g.role, &*g.weights, g.count, g.working)).collect();
        assert_eq!(shown, [("actor", "1.200", 1, 1), ("actor", "1.100", 2, 1), ("ingester", "", 1, 1)]);
        assert_eq!((heard.groups[1].games_per_s, heard.groups[1].waiting), (4.0, Some(0.5))); // 2 + 2, (0.25 + 0.75) / 2
        assert_eq!((heard.troubles.len(), &*heard.troubles[0]), (5, "ingester on pod: storing: no answer"));
    }
}
