//! The questions and their answers. What cannot be asked is an answer, too.

use std::fmt::Display;

use fogfall_bus::{Bus, BusError, Fill, Member, NatsBus, PutAside};
use fogfall_proto::{Heartbeat, Role, Version};
use fogfall_replay::{RedisLog, RedisLogState, RedisServer};
use serde::Serialize;

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Asked<T> {
    /// It is known.
    Known(T),
    /// It cannot be known now.
    Unknown {
        /// Why.
        error: String,
    },
}

impl<T> Asked<T> {
    fn of<E: Display>(answer: Result<T, E>) -> Self {
        answer.map_or_else(|error| Self::Unknown { error: error.to_string() }, Self::Known)
    }

    /// The answer, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(answer) => Some(answer),
            Self::Unknown { .. } => None,
        }
    }
}

/// The newest weights on the bus.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightsFacts {
    /// Which.
    pub version: Version,
    /// Publications so far.
    pub ordinal: u64,
    /// Seconds since they were stored; none if that is not known.
    pub age_s: Option<f64>,
}

/// A process that is alive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Person {
    /// Its number, as its log says it.
    pub id: String,
    /// Seconds since it was heard.
    pub age_s: f64,
    /// What it said.
    pub beat: Heartbeat,
}

/// How full the store of games is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FillFacts {
    /// Games stored.
    pub parts: u64,
    /// Of them, those that an ingester has in hand.
    pub unsettled: u64,
    /// Bytes stored.
    pub bytes: u64,
    /// Bytes that may be stored.
    pub capacity_bytes: u64,
}

/// The games put aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AsideFacts {
    /// How many are kept.
    pub kept: u64,
    /// Why the newest was put aside.
    pub newest_reason: Option<String>,
}

/// The replay log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogFacts {
    /// Rows held.
    pub rows: u64,
    /// Rows that it can hold.
    pub capacity_rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows ever stored: where the log ends.
    pub end: u64,
    /// Games ever stored.
    pub parts: u64,
    /// Memory that the server uses.
    pub memory_bytes: u64,
    /// Memory that it may use, if there is a limit.
    pub memory_limit: Option<u64>,
}

/// A run at one moment, as its servers say it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// The run's id.
    pub run: String,
    /// The game, once a learner has claimed the run.
    pub game: Asked<Option<String>>,
    /// The newest weights, once there are any.
    pub weights: Asked<Option<WeightsFacts>>,
    /// Who is alive, by role.
    pub members: Asked<Vec<Person>>,
    /// The store of games.
    pub store: Asked<FillFacts>,
    /// Games put aside.
    pub aside: Asked<AsideFacts>,
    /// The replay log, if its server was named: none if the run has none yet.
    pub log: Option<Asked<Option<LogFacts>>>,
}

impl Overview {
    /// True if every question was answered.
    pub fn is_whole(&self) -> bool {
        let bus = [self.game.known().is_some(), self.weights.known().is_some(), self.members.known().is_some()];
        let more = [self.store.known().is_some(), self.aside.known().is_some()];
        bus.into_iter().chain(more).all(|known| known) && self.log.as_ref().is_none_or(|log| log.known().is_some())
    }

    /// Those of a role who are alive.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Person> {
        self.members.known().into_iter().flatten().filter(move |person| person.beat.role == role)
    }

    /// The learner: the newest, if an older one has not noticed yet that it was replaced.
    pub fn learner(&self) -> Option<&Person> {
        self.of(Role::Learner).min_by(|a, b| a.beat.up_s.total_cmp(&b.beat.up_s))
    }
}

/// Asks everything at once. `bus` may be why it cannot be reached.
pub async fn ask(bus: Result<&NatsBus, String>, redis: Option<&RedisServer>, run: &str) -> Overview {
    let log = async {
        match redis {
            None => None,
            Some(server) => Some(Asked::of(RedisLog::inspect(server, run).await.map(|state| state.map(log_facts)))),
        }
    };
    let bus = match bus {
        Ok(bus) => bus,
        Err(error) => return unreachable(run, &error, log.await),
    };
    let (manifest, weights, members, store, aside, log) =
        tokio::join!(bus.manifest(), weights(bus), bus.alive(), bus.fill(), bus.put_aside(), log);
    Overview {
        run: run.to_owned(),
        game: Asked::of(manifest.map(|manifest| manifest.map(|manifest| manifest.game))),
        weights: Asked::of(weights),
        members: Asked::of(members.map(|members| members.into_iter().map(person).collect())),
        store: Asked::of(store.map(fill_facts)),
        aside: Asked::of(aside.map(aside_facts)),
        log,
    }
}

fn unreachable(run: &str, error: &str, log: Option<Asked<Option<LogFacts>>>) -> Overview {
    fn unknown<T>(error: &str) -> Asked<T> {
        Asked::Unknown { error: error.to_owned() }
    }
    Overview {
        run: run.to_owned(),
        game: unknown(error),
        weights: unknown(error),
        members: unknown(error),
        store: unknown(error),
        aside: unknown(error),
        log,
    }
}

async fn weights(bus: &NatsBus) -> Result<Option<WeightsFacts>, BusError> {
    let Some(head) = bus.newest().await? else { return Ok(None) };
    let age = bus.weights_age().await?;
    let age_s = age.map(|age| age.as_secs_f64());
    Ok(Some(WeightsFacts { version: head.version, ordinal: head.ordinal, age_s }))
}

fn person(member: Member) -> Person {
    let id = format!("{:016x}", member.beat.life);
    Person { id, age_s: member.age.as_secs_f64(), beat: member.beat }
}

fn fill_facts(Fill { parts, unsettled, bytes, capacity_bytes }: Fill) -> FillFacts {
    FillFacts { parts, unsettled, bytes, capacity_bytes }
}

fn aside_facts(aside: PutAside) -> AsideFacts {
    AsideFacts { kept: aside.kept, newest_reason: aside.newest.map(|letter| letter.reason) }
}

fn log_facts(state: RedisLogState) -> LogFacts {
    LogFacts {
        rows: state.bounds.rows(),
        capacity_rows: state.capacity_rows,
        bytes: state.bounds.bytes,
        end: state.bounds.end,
        parts: state.parts,
        memory_bytes: state.memory_bytes,
        memory_limit: state.memory_limit,
    }
}
