//! What the answers mean: what holds the run back, and what needs an operator. Pure functions of an overview.

use fogfall_proto::{ROOM_ON_THE_BUS, ROWS, Role, Stage};
use serde::Serialize;

use super::ask::{Overview, Person};

/// A store with less room than a share of this is full: the largest games no longer fit.
const FULL: f64 = 0.95;
/// Redis with less memory left is soon out of it.
const MEMORY_FULL: f64 = 0.9;
/// A trouble that is younger may be over with the next try.
const BRIEF_S: f64 = 3.0;
/// A trouble that lasts longer does not go away by itself.
const LASTS_S: f64 = 30.0;
/// Who has missed two beats may be dead.
const SILENT_S: f64 = 25.0;
/// Long after weights were stored everybody plays by them.
const TAKEN_UP_S: f64 = 120.0;
/// A learner that waits for a greater share of its time waits for rows.
const WAITS: f64 = 0.2;

/// What the answers mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What holds the run back, in words.
    pub holds_back: String,
    /// What needs an operator, a line each; empty if all is well.
    pub needs: Vec<String>,
}

/// Judges a run.
pub fn judge(overview: &Overview) -> Verdict {
    Verdict { holds_back: holds_back(overview), needs: needs(overview) }
}

fn holds_back(overview: &Overview) -> String {
    match (overview.game.known(), overview.members.known()) {
        (None, _) | (_, None) => return "nobody can say: the bus cannot be asked".to_owned(),
        (Some(None), _) => return "nothing runs yet: no learner has begun this run".to_owned(),
        _ => {}
    }
    let Some(learner) = overview.learner() else { return "nobody trains: no learner is alive".to_owned() };
    if let Some(silence) = silence(learner) {
        return format!("perhaps nobody trains: {silence}");
    }
    if learner.beat.stage == Stage::Stopping {
        return "the learner is stopping".to_owned();
    }
    if is_full(overview) {
        let why = no_way_to_the_log(overview).unwrap_or_else(|| "ingesters are the slower side".to_owned());
        return format!("actors wait: the store is full because {why}");
    }
    if let Some(trouble) = first_trouble(learner) {
        return format!("the learner has trouble: {trouble}");
    }
    let training = learner.beat.training.unwrap_or_default();
    let waits = learner.beat.waiting >= WAITS || learner.beat.waits.iter().any(|wait| wait.what == ROWS);
    if !waits && training.step > 0 {
        return "training itself: rows come as fast as it learns".to_owned();
    }
    if let Some(why) = no_way_to_the_log(overview).or_else(|| no_games(overview)) {
        return format!("the learner waits for rows: {why}");
    }
    if training.window_rows < training.window_needed {
        let (rows, needed) = (training.window_rows, training.window_needed);
        return format!("the window fills: {rows} of {needed} rows that training begins with");
    }
    "nothing: it trains as fast as rows come".to_owned()
}

/// That somebody has not been heard for too long.
fn silence(person: &Person) -> Option<String> {
    let since = person.age_s.round();
    (person.age_s > SILENT_S).then(|| format!("{} has been silent for {since} s", called(person)))
}

/// Why games do not come from the bus into the log, if they do not.
fn no_way_to_the_log(overview: &Overview) -> Option<String> {
    if learner_ingests(overview) {
        return None;
    }
    no_one_works(&overview.of(Role::Ingester).collect::<Vec<_>>(), "ingester")
}

fn learner_ingests(overview: &Overview) -> bool {
    overview.learner().is_some_and(|learner| learner.beat.training.is_some_and(|training| training.ingests))
}

/// Why no games come to the bus, if none do.
fn no_games(overview: &Overview) -> Option<String> {
    no_one_works(&overview.of(Role::Actor).collect::<Vec<_>>(), "actor")
}

/// Why none of them works, if none does.
fn no_one_works(persons: &[&Person], who: &str) -> Option<String> {
    if persons.is_empty() {
        return Some(format!("no {who} is alive"));
    }
    let works = |person: &&Person| person.beat.stage == Stage::Working && first_trouble(person).is_none();
    if persons.iter().any(works) {
        return None;
    }
    persons.iter().find_map(|person| {
        let trouble = first_trouble(person).map(|trouble| format!("{who} {}: {trouble}", person.beat.host));
        let wait = || person.beat.waits.iter().find(|wait| wait.what != ROOM_ON_THE_BUS);
        trouble.or_else(|| wait().map(|wait| format!("{who} {} waits for {}", person.beat.host, wait.what)))
    })
}

fn first_trouble(person: &Person) -> Option<String> {
    let trouble = person.beat.troubles.iter().find(|trouble| trouble.since_s >= BRIEF_S);
    trouble.map(|trouble| format!("{} fails: {}", trouble.what, trouble.reason))
}

fn is_full(overview: &Overview) -> bool {
    overview.store.known().is_some_and(|store| store.bytes as f64 >= FULL * store.capacity_bytes as f64)
}

fn needs(overview: &Overview) -> Vec<String> {
    let mut needs = Vec::new();
    if overview.members.known().is_some() {
        missing(overview, &mut needs);
        needs.extend(overview.learner().and_then(silence));
    }
    for person in overview.members.known().into_iter().flatten() {
        let lasting = person.beat.troubles.iter().filter(|trouble| trouble.since_s >= LASTS_S);
        needs.extend(lasting.map(|trouble| {
            let since = trouble.since_s.round();
            format!("{}: {} fails since {since} s: {}", called(person), trouble.what, trouble.reason)
        }));
    }
    if is_full(overview) {
        needs.push("the store of games is full: actors wait".to_owned());
    }
    needs.extend(behind(overview));
    needs.extend(idle(overview));
    if let Some(log) = overview.log.as_ref().and_then(|log| log.known()).and_then(Option::as_ref)
        && let Some(limit) = log.memory_limit
        && log.memory_bytes as f64 >= MEMORY_FULL * limit as f64
    {
        needs.push(format!("redis uses {} of {limit} bytes that it may use", log.memory_bytes));
    }
    needs
}

/// Whose role is played by nobody.
fn missing(overview: &Overview, needs: &mut Vec<String>) {
    if overview.learner().is_none() {
        needs.push("no learner is alive".to_owned());
    }
    if overview.of(Role::Actor).next().is_none() {
        needs.push("no actor is alive".to_owned());
    }
    if !learner_ingests(overview) && overview.of(Role::Ingester).next().is_none() {
        needs.push("no ingester is alive".to_owned());
    }
}

/// Actors that still play by older weights although they have had time to take up the newest.
fn behind(overview: &Overview) -> Option<String> {
    let newest =
        overview.weights.known()?.as_ref().filter(|weights| weights.age_s.is_some_and(|age| age > TAKEN_UP_S))?;
    let old = |person: &&Person| person.beat.stage == Stage::Working && person.beat.weights < newest.version;
    let actors: Vec<_> = overview.of(Role::Actor).filter(old).map(|person| person.beat.host.as_str()).collect();
    let first = actors.first()?;
    Some(format!("{} actors do not take up weights {}, such as {first}", actors.len(), newest.version))
}

/// A learner that neither steps nor waits.
fn idle(overview: &Overview) -> Option<String> {
    let learner = overview.learner().filter(|learner| learner.beat.stage == Stage::Working)?;
    let training = learner.beat.training?;
    let stands = training.steps_per_s == 0.0 && learner.beat.up_s > LASTS_S && learner.beat.waits.is_empty();
    (stands && learner.beat.waiting < WAITS && learner.beat.troubles.is_empty())
        .then(|| format!("{} takes no steps and waits for nothing", called(learner)))
}

fn called(person: &Person) -> String {
    let role = match person.beat.role {
        Role::Actor => "actor",
        Role::Ingester => "ingester",
        Role::Learner => "learner",
    };
    format!("{role} {} ({})", person.beat.host, &person.id)
}

#[cfg(test)]
mod tests;
