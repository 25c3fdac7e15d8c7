//! Runs as an operator may find them, and what is said of each.

use fogfall_proto::{Failing, Heartbeat, Training, Version, Wait};

use super::*;
use crate::overview::{
    Asked,
    ask::{AsideFacts, FillFacts, LogFacts, WeightsFacts},
};

fn person(role: Role, life: u64) -> Person {
    let weights = Version { epoch: 1, step: 100 };
    let beat = Heartbeat { stage: Stage::Working, up_s: 100.0, weights, ..Heartbeat::new("r", role, life, "pod") };
    Person { id: format!("{life:016x}"), age_s: 3.0, beat }
}

fn learner() -> Person {
    let training = Training { step: 100, steps_per_s: 9.0, window_rows: 50, window_needed: 50, ..Training::default() };
    let mut learner = person(Role::Learner, 1);
    learner.beat.training = Some(training);
    learner
}

/// A run in which all is well, and rows are the slower side.
fn well() -> Overview {
    let mut learner = learner();
    learner.beat.waiting = 0.5;
    Overview {
        run: "r".into(),
        game: Asked::Known(Some("kuhn_poker".into())),
        weights: Asked::Known(Some(WeightsFacts {
            version: Version { epoch: 1, step: 100 },
            ordinal: 2,
            age_s: Some(500.0),
        })),
        members: Asked::Known(vec![person(Role::Actor, 2), person(Role::Ingester, 3), learner]),
        store: Asked::Known(FillFacts { parts: 1, unsettled: 1, bytes: 10, capacity_bytes: 100 }),
        aside: Asked::Known(AsideFacts::default()),
        log: Some(Asked::Known(Some(LogFacts { memory_bytes: 50, memory_limit: Some(100), ..LogFacts::default() }))),
    }
}

/// Changes those who are alive.
fn with(change: impl FnOnce(&mut Vec<Person>)) -> Overview {
    let mut overview = well();
    let Asked::Known(members) = &mut overview.members else { unreachable!("they are known") };
    change(members);
    overview
}

fn without(role: Role) -> Overview {
    with(|members| members.retain(|person| person.beat.role != role))
}

fn fails(person: &mut Person, what: &str, since_s: f64) {
    person.beat.troubles = vec![Failing { what: what.into(), reason: "no answer".into(), since_s }];
}

fn full(mut overview: Overview) -> Overview {
    overview.store = Asked::Known(FillFacts { parts: 9, unsettled: 0, bytes: 96, capacity_bytes: 100 });
    overview
}

#[track_caller]
fn says(overview: &Overview, held_by: &str, needs: &[&str]) {
    let verdict = judge(overview);
    assert_eq!(
        (verdict.holds_back.as_str(), verdict.needs.iter().map(String::as_str).collect::<Vec<_>>()),
        (held_by, needs.to_vec())
    );
}

#[test]
fn a_run_that_goes_well_is_held_by_its_slower_side_and_needs_nobody() {
    says(&well(), "nothing: it trains as fast as rows come", &[]);
    let busy = with(|members| members[2].beat.waiting = 0.1);
    says(&busy, "training itself: rows come as fast as it learns", &[]);
    let filling = with(|members| {
        let training = Training { window_rows: 20, window_needed: 50, ..Training::default() };
        (members[2].beat.stage, members[2].beat.training) = (Stage::Starting, Some(training));
    });
    says(&filling, "the window fills: 20 of 50 rows that training begins with", &[]);
}

#[test]
fn whoever_is_not_there_is_missed() {
    let lost = "the learner waits for rows: no actor is alive";
    says(&without(Role::Actor), lost, &["no actor is alive"]);
    let lost = "the learner waits for rows: no ingester is alive";
    says(&without(Role::Ingester), lost, &["no ingester is alive"]);
    says(&without(Role::Learner), "nobody trains: no learner is alive", &["no learner is alive"]);
    let mut embedded = without(Role::Ingester);
    let Asked::Known(members) = &mut embedded.members else { unreachable!("they are known") };
    members[1].beat.training = members[1].beat.training.map(|training| Training { ingests: true, ..training });
    says(&embedded, "nothing: it trains as fast as rows come", &[]);
    let Asked::Known(members) = &mut embedded.members else { unreachable!("they are known") };
    members[1].beat.stage = Stage::Starting; // its window is not filled
    members.remove(0);
    says(&embedded, "the learner waits for rows: no actor is alive", &["no actor is alive"]);
    let nobody = Overview { game: Asked::Known(None), ..with(Vec::clear) };
    assert_eq!(judge(&nobody).holds_back, "nothing runs yet: no learner has begun this run");
}

#[test]
fn a_full_store_is_laid_to_whoever_should_empty_it() {
    let need = "the store of games is full: actors wait";
    says(
        &full(without(Role::Ingester)),
        "actors wait: the store is full because no ingester is alive",
        &["no ingester is alive", need],
    );
    says(&full(well()), "actors wait: the store is full because ingesters are the slower side", &[need]);
    let mut stuck = full(with(|members| fails(&mut members[1], "storing rows", 40.0)));
    says(
        &stuck,
        "actors wait: the store is full because ingester pod: storing rows fails: no answer",
        &["ingester pod (0000000000000003): storing rows fails since 40 s: no answer", need],
    );
    stuck.store = well().store;
    assert_eq!(judge(&stuck).holds_back, "the learner waits for rows: ingester pod: storing rows fails: no answer");
}

#[test]
fn a_trouble_needs_somebody_when_it_lasts() {
    let brief = with(|members| fails(&mut members[2], "reading rows", 29.0));
    says(&brief, "the learner has trouble: reading rows fails: no answer", &[]);
    let moment = with(|members| fails(&mut members[2], "fetching weights", 1.0));
    says(&moment, "nothing: it trains as fast as rows come", &[]);
    let waiting = with(|members| {
        members[0].beat.stage = Stage::Starting;
        members[0].beat.waits = vec![Wait { what: "weights: the run has published none yet".into(), since_s: 9.0 }];
    });
    let why = "the learner waits for rows: actor pod waits for weights: the run has published none yet";
    says(&waiting, why, &[]);
}

#[test]
fn actors_that_stay_behind_a_learner_that_stands_and_a_redis_without_memory_need_somebody() {
    let behind = with(|members| members[0].beat.weights.step = 99);
    assert_eq!(judge(&behind).needs, ["1 actors do not take up weights 1.100, such as pod"]);
    let mut early = behind;
    early.weights =
        Asked::Known(Some(WeightsFacts { version: Version { epoch: 1, step: 100 }, ordinal: 2, age_s: Some(10.0) }));
    assert_eq!(judge(&early).needs, [""; 0]);
    let stands = with(|members| {
        members[2].beat.waiting = 0.0;
        members[2].beat.training = members[2].beat.training.map(|training| Training { steps_per_s: 0.0, ..training });
    });
    assert_eq!(judge(&stands).needs, ["learner pod (0000000000000001) takes no steps and waits for nothing"]);
    let mut narrow = well();
    let log = LogFacts { memory_bytes: 90, memory_limit: Some(100), ..LogFacts::default() };
    narrow.log = Some(Asked::Known(Some(log)));
    assert_eq!(judge(&narrow).needs, ["redis uses 90 of 100 bytes that it may use"]);
}

#[test]
fn what_cannot_be_asked_is_not_taken_for_missing() {
    fn unknown<T>() -> Asked<T> {
        Asked::Unknown { error: "no answer".into() }
    }
    let blind = Overview { game: unknown(), members: unknown(), ..well() };
    says(&blind, "nobody can say: the bus cannot be asked", &[]);
    assert!(!blind.is_whole() && well().is_whole());
    assert!(!Overview { log: Some(unknown()), ..well() }.is_whole());
    assert!(Overview { log: None, ..well() }.is_whole());
}

#[test]
fn a_learner_that_has_missed_two_beats_may_be_dead() {
    let silent = |age_s| judge(&with(|members| members.iter_mut().for_each(|person| person.age_s = age_s)));
    assert!(silent(24.0).needs.is_empty());
    let verdict = silent(26.0);
    assert!(verdict.holds_back.starts_with("perhaps nobody trains: learner pod"), "{}", verdict.holds_back);
    assert_eq!(verdict.needs.len(), 1, "{:?}", verdict.needs);
}
