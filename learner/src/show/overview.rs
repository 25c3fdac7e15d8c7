//! A run on servers as text, for a screen of 80 columns and 24 lines. What could not be asked says so in its place.

use std::{collections::BTreeMap, fmt::Write};

use fogfall_proto::{Role, Stage, Version};

use super::text;
use crate::overview::{Asked, LogFacts, Overview, Person, Verdict};

/// Columns.
const WIDTH: usize = 80;
/// Lines.
const HEIGHT: usize = 24;
/// Lines for what needs an operator, at least.
const NEEDS: usize = 3;
/// Lines for what holds a run back, at most.
const HELD: usize = 2;
/// Columns of a line's name.
const NAME: usize = 11;
/// Versions of weights that have a line of their own.
const VERSIONS: usize = 4;
/// Ingesters that have a line of their own.
const INGESTERS: usize = 2;
/// Most columns of a machine's name.
const HOST: usize = 32;
/// A process not heard for longer has missed a beat.
const MISSED_S: f64 = 15.0;

/// The screen.
pub fn overview(overview: &Overview, verdict: &Verdict) -> String {
    let mut screen = Screen::default();
    screen.line("run", &title(overview));
    screen.line(
        "weights",
        &answer(&overview.weights, |weights| match weights {
            None => "none yet".to_owned(),
            Some(weights) => {
                let age = weights.age_s.map_or_else(String::new, |age| format!(", stored {} ago", text::span(age)));
                format!("{}, publication {}{age}", weights.version, text::count(weights.ordinal))
            }
        }),
    );
    match &overview.members {
        Asked::Unknown { error } => screen.line("alive", &unknown(error)),
        Asked::Known(_) => {
            learners(overview, &mut screen);
            actors(overview, &mut screen);
            ingesters(overview, &mut screen);
        }
    }
    screen.line(
        "store",
        &answer(&overview.store, |store| {
            let share = store.bytes as f64 / store.capacity_bytes.max(1) as f64;
            let (parts, unsettled) = (text::count(store.parts), text::count(store.unsettled));
            let (bytes, capacity) = (text::bytes(store.bytes), text::bytes(store.capacity_bytes));
            format!(
                "{parts} games wait, {unsettled} of them in hand; {bytes} of {capacity} ({})",
                text::percent(share).trim()
            )
        }),
    );
    screen.line(
        "put aside",
        &answer(&overview.aside, |aside| match &aside.newest_reason {
            Some(reason) => format!("{} games; the newest: {reason}", text::count(aside.kept)),
            None => "no games".to_owned(),
        }),
    );
    screen.line("replay log", &overview.log.as_ref().map_or_else(|| "not asked: give --redis".to_owned(), log));
    let mut held_by = text::wrapped(&verdict.holds_back, WIDTH - NAME);
    if held_by.len() > HELD {
        held_by.truncate(HELD);
        held_by[HELD - 1] += " …";
    }
    screen.needs(verdict, HEIGHT.saturating_sub(screen.lines() + held_by.len()).max(NEEDS));
    screen.paragraph("held by", &held_by);
    screen.0
}

#[derive(Default)]
struct Screen(String);

impl Screen {
    fn line(&mut self, name: &str, content: &str) {
        let content = text::fit(content, WIDTH - NAME);
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{name:<NAME$}{}", content.trim_end());
    }

    fn paragraph(&mut self, name: &str, lines: &[String]) {
        for (number, line) in lines.iter().enumerate() {
            self.line(if number == 0 { name } else { "" }, line);
        }
    }

    fn lines(&self) -> usize {
        self.0.lines().count()
    }

    /// What needs an operator, in at most so many lines.
    fn needs(&mut self, verdict: &Verdict, most: usize) {
        let mut lines: Vec<_> = verdict.needs.iter().flat_map(|need| text::wrapped(need, WIDTH - NAME)).collect();
        if lines.len() > most {
            lines.truncate(most - 1);
            lines.push("and more: --json tells it all".to_owned());
        }
        self.paragraph("NEEDS YOU", &lines);
    }
}

fn answer<T>(asked: &Asked<T>, say: impl FnOnce(&T) -> String) -> String {
    match asked {
        Asked::Known(answer) => say(answer),
        Asked::Unknown { error } => unknown(error),
    }
}

fn unknown(error: &str) -> String {
    format!("cannot be asked: {error}")
}

fn title(overview: &Overview) -> String {
    let game = answer(&overview.game, |game| game.clone().unwrap_or_else(|| "not begun".to_owned()));
    format!("{}, {game}", overview.run)
}

fn learners(overview: &Overview, screen: &mut Screen) {
    let Some(learner) = overview.learner() else { return screen.line("learner", "none alive") };
    let (beat, training) = (&learner.beat, learner.beat.training.unwrap_or_default());
    let loss = training.loss.map_or_else(String::new, |loss| format!(", loss {}", text::measure(loss)));
    let others = overview.of(Role::Learner).count() - 1;
    let others = if others > 0 { format!("; {others} older ones") } else { String::new() };
    screen.line("learner", &format!("{}, {}{}{others}", host(learner), stage(beat.stage), silence(learner)));
    let (step, speed) = (text::count(training.step), text::amount(training.steps_per_s));
    screen.line("", &format!("step {step}, {speed} steps/s{loss}"));
    let (rows, capacity) = (text::count(training.window_rows), text::count(training.window_capacity));
    screen.line("", &format!("window {rows} of {capacity} rows; {}", waits(learner)));
    if let Some(checkpoint) = training.checkpoint {
        screen.line("", &format!("checkpoint {checkpoint}, {} old", text::span(training.checkpoint_age_s)));
    }
}

/// Who it waits for, and how much of its time.
fn waits(person: &Person) -> String {
    let beat = &person.beat;
    let share = text::percent(beat.waiting);
    let trouble =
        beat.troubles.first().map(|t| format!("{} fails since {}: {}", t.what, text::span(t.since_s), t.reason));
    let wait = || beat.waits.first().map(|wait| format!("waits for {} since {}", wait.what, text::span(wait.since_s)));
    let now = trouble.or_else(wait).unwrap_or_else(|| "waits for nobody".to_owned());
    if beat.waiting > 0.0 { format!("{now} ({} of its time)", share.trim()) } else { now }
}

fn actors(overview: &Overview, screen: &mut Screen) {
    let mut versions: BTreeMap<Version, Vec<&Person>> = BTreeMap::new();
    for actor in overview.of(Role::Actor) {
        versions.entry(actor.beat.weights).or_default().push(actor);
    }
    let all: Vec<_> = overview.of(Role::Actor).collect();
    if all.is_empty() {
        return screen.line("actors", "none alive");
    }
    screen.line("actors", &format!("{} alive, {}{}", text::count(all.len() as u64), rates(&all), stages(&all)));
    let mut rest = versions.iter().rev();
    for (version, actors) in rest.by_ref().take(VERSIONS) {
        screen.line("", &format!("{version}: {}, {}", text::count(actors.len() as u64), rates(actors)));
    }
    let (more, of_them) = rest.fold((0, 0), |(versions, n), (_, actors)| (versions + 1, n + actors.len()));
    if more > 0 {
        screen.line("", &format!("{more} older versions: {of_them}"));
    }
    if let Some(waiting) = all.iter().find(|actor| !actor.beat.waits.is_empty() || !actor.beat.troubles.is_empty()) {
        screen.line("", &format!("{} {}", host(waiting), waits(waiting)));
    }
}

fn rates(persons: &[&Person]) -> String {
    let sum = |of: fn(&Person) -> f64| text::amount(persons.iter().map(|person| of(person)).sum());
    format!("{} games/s, {} rows/s", sum(|person| person.beat.games_per_s), sum(|person| person.beat.rows_per_s))
}

/// Those who do something else than work, counted.
fn stages(persons: &[&Person]) -> String {
    let mut said = String::new();
    for other in [Stage::Starting, Stage::Stopping] {
        let count = persons.iter().filter(|person| person.beat.stage == other).count();
        if count > 0 {
            said += &format!(", {count} {}", stage(other));
        }
    }
    let silent = persons.iter().filter(|person| person.age_s > MISSED_S).count();
    if silent > 0 { said + &format!(", {silent} silent") } else { said }
}

fn ingesters(overview: &Overview, screen: &mut Screen) {
    let all: Vec<_> = overview.of(Role::Ingester).collect();
    if all.is_empty() {
        let embedded = overview.learner().is_some_and(|learner| learner.beat.training.is_some_and(|t| t.ingests));
        return screen.line("ingesters", if embedded { "the learner ingests" } else { "none alive" });
    }
    screen.line("ingesters", &format!("{} alive, {}{}", all.len(), rates(&all), stages(&all)));
    for ingester in all.iter().take(INGESTERS) {
        let parts = ingester.beat.parts;
        let mut said = format!("{}: {} stored", host(ingester), text::count(parts.stored));
        let rare = [(parts.duplicates, "duplicate"), (parts.refused, "refused"), (parts.stale, "stale")];
        for (count, what) in rare.into_iter().filter(|(count, _)| *count > 0) {
            said += &format!(", {} {what}", text::count(count));
        }
        if !ingester.beat.waits.is_empty() || !ingester.beat.troubles.is_empty() {
            said += &format!("; {}", waits(ingester));
        }
        screen.line("", &said);
    }
}

fn log(log: &Asked<Option<LogFacts>>) -> String {
    answer(log, |log| {
        let Some(log) = log else { return "none yet".to_owned() };
        let limit = log.memory_limit.map_or_else(String::new, |limit| format!(" of {}", text::bytes(limit)));
        let memory = format!("redis {}{limit}", text::bytes(log.memory_bytes));
        let (rows, capacity) = (text::count(log.rows), text::count(log.capacity_rows));
        format!("{rows} of {capacity} rows, {} ever; {memory}", text::count(log.end))
    })
}

/// The machine's name, or the beginning of a long one.
fn host(person: &Person) -> String {
    text::fit(&person.beat.host, HOST).trim_end().to_owned()
}

const fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Starting => "starting",
        Stage::Working => "working",
        Stage::Stopping => "stopping",
        Stage::Ended => "ended",
    }
}

fn silence(person: &Person) -> String {
    if person.age_s > MISSED_S { format!(", silent for {}", text::span(person.age_s)) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::{Failing, Heartbeat, Training, Wait};

    use super::*;
    use crate::overview::ask::{AsideFacts, FillFacts, WeightsFacts};

    fn person(role: Role, life: u64, version: u64) -> Person {
        let beat = Heartbeat {
            stage: Stage::Working,
            weights: Version { epoch: 2, step: version },
            games_per_s: 10.0,
            rows_per_s: 25.5,
            waiting: 0.5,
            waits: vec![Wait { what: "room on the bus".into(), since_s: 12.0 }],
            troubles: vec![Failing { what: "publishing games".into(), reason: "no answer ".repeat(20), since_s: 90.0 }],
            ..Heartbeat::new("r", role, life, &format!("pod-{life}-{}", "x".repeat(40)))
        };
        Person { id: format!("{life:016x}"), age_s: 20.0, beat }
    }

    /// A run with much to say.
    fn eloquent() -> Overview {
        let mut members: Vec<_> = (0..12).map(|life| person(Role::Actor, life, 100 * (life / 2))).collect();
        members.extend((20..26).map(|life| person(Role::Ingester, life, 0)));
        let mut learner = person(Role::Learner, 30, 500);
        let checkpoint = Some(Version { epoch: 2, step: 400 });
        learner.beat.training = Some(Training { step: 512, checkpoint, loss: Some(0.5), ..Training::default() });
        members.push(learner);
        let weights = WeightsFacts { version: Version { epoch: 2, step: 500 }, ordinal: 6, age_s: Some(500.0) };
        Overview {
            run: "r".into(),
            game: Asked::Known(Some("battle".into())),
            weights: Asked::Known(Some(weights)),
            members: Asked::Known(members),
            store: Asked::Known(FillFacts { parts: 9, unsettled: 2, bytes: 1 << 30, capacity_bytes: 1 << 30 }),
            aside: Asked::Known(AsideFacts { kept: 7, newest_reason: Some("y".repeat(500)) }),
            log: Some(Asked::Unknown { error: "z".repeat(500) }),
        }
    }

    #[test]
    fn however_much_there_is_to_say_it_fits_a_small_terminal() {
        let of = eloquent();
        let screen = overview(&of, &crate::overview::judge(&of));
        assert!(screen.lines().count() <= HEIGHT, "{screen}");
        assert!(screen.lines().all(|line| line.chars().count() <= WIDTH), "{screen}");
        for part in [
            "r, battle\n",
            "12 alive, 120 games/s, 306 rows/s, 12 silent\n", // 12 * 10, 12 * 25.5
            "2.500: 2, 20.0 games/s, 51.0 rows/s\n",
            "2 older versions: 4\n", // 100 and 0
            "step 512, 0.00 steps/s, loss 0.500\n",
            "checkpoint 2.400, 0 s old\n",
            "9 games wait, 2 of them in hand; 1.0 GiB of 1.0 GiB (100 %)\n",
            "NEEDS YOU  actor pod-0-xxx",
            "and more: --json tells it all\n",
            "held by    actors wait: the store is full because ingester\n",
        ] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
    }
}
