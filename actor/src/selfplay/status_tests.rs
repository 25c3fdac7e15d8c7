//! Tests of what an actor shows of itself.

use fogfall_selfplay::WorkerCounts;
use fogfall_service::{
    admin::Vitals,
    metrics::{exported, names},
};

use super::*;

fn seen(games: u64, waiting: usize) -> Seen {
    let counts = WorkerCounts {
        games,
        first_wins: games,
        parts: 2 * games,
        rows: 3 * games,
        falls: 7,
        ..WorkerCounts::default()
    };
    let stats = SelfPlayStats { counts, threads: 2, slots: 8, lost: 1, waiting, ..SelfPlayStats::default() };
    Seen {
        stats,
        publish: PublishFigures { stored: 2 * games - 4, duplicates: 1, lost: 3, retries: 5, outbox: 0 },
        weights_refused: 1,
        weights: Version { epoch: 2, step: 30 },
        hung: Vec::new(),
        troubles: Vec::new(),
    }
}

fn manifest() -> Manifest {
    Manifest {
        wire: fogfall_proto::WIRE_VERSION,
        run: "r".into(),
        game: "g".into(),
        rules: None,
        observation: Vec::new(),
        actions: Vec::new(),
        hidden: Vec::new(),
        width: 8,
        blocks: 1,
        tower: None,
        settings: Default::default(),
        log: Default::default(),
    }
}

#[test]
fn counts_balance_and_are_those_of_the_metrics() {
    let mut meter = Meter::new("r").unwrap();
    let status = meter.look(&seen(10, 0)).clone();
    assert_eq!((status.games, status.parts, status.rows, status.lost), (10, 20, 30, 3));
    assert_eq!(status.parts, status.published + status.duplicates + status.lost); // 16 + 1 + 3
    assert_eq!(status.waits_for, None);
    meter.look(&seen(12, 0));
    let text = meter.metrics().encode().unwrap();
    for line in [
        "fogfall_games_total{role=\"actor\",run=\"r\"} 12",
        "fogfall_search_tree_falls_total{role=\"actor\",run=\"r\"} 7",
        "fogfall_parts_published_total{outcome=\"stored\",role=\"actor\",run=\"r\"} 20",
        "fogfall_parts_published_total{outcome=\"lost\",role=\"actor\",run=\"r\"} 3",
        "fogfall_weights_epoch{role=\"actor\",run=\"r\"} 2",
        "fogfall_weights_step{role=\"actor\",run=\"r\"} 30",
        "fogfall_weights_refused_total{role=\"actor\",run=\"r\"} 1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in {text}");
    }
}

#[test]
fn an_actor_exports_what_the_list_says_and_nothing_else() {
    let (mut meter, vitals) = (Meter::new("r").unwrap(), Vitals::new());
    vitals.export(meter.metrics()).unwrap();
    meter.begin(&vitals, &manifest(), 2, Duration::ZERO);
    meter.look(&seen(10, 1));
    let text = meter.metrics().encode().unwrap();
    assert_eq!(exported(&text), names::of(Role::Actor).map(|name| name.name).collect());
}

#[test]
fn an_actor_whose_threads_neither_play_nor_wait_is_not_healthy() {
    let (mut meter, vitals) = (Meter::new("r").unwrap(), Vitals::new());
    meter.begin(&vitals, &manifest(), 2, Duration::ZERO);
    let age = || vitals.ages(Instant::now() + STUCK_AFTER)["self-play"];
    meter.look(&seen(10, 0));
    let (last, began) = (age(), Instant::now());
    while began.elapsed() < Duration::from_millis(10) {
        meter.look(&seen(10, 0)); // nothing was done
    }
    assert!(age() >= last + Duration::from_millis(9), "looking is not playing");
    let stuck = vitals.stalled(Instant::now() + STUCK_AFTER);
    assert!(stuck.iter().any(|line| line.starts_with("self-play: no beat for ")), "{stuck:?}");
    let before = Instant::now();
    while before.elapsed() < Duration::from_millis(2) {}
    meter.look(&seen(10, 1)); // waits for room
    assert!(vitals.stalled(before + STUCK_AFTER).is_empty());
    let (thread, seed, lasts) = (0, 7, Duration::from_secs(1));
    meter.look(&Seen { hung: vec![Hung { thread, seed, lasts }], ..seen(12, 0) });
    let said = "games: thread 0 hangs in the game of seed 0000000000000007 for 1 s";
    assert_eq!(vitals.stalled(before), [said]);
}

#[test]
fn threads_that_wait_wait_for_room_or_for_what_does_not_work() {
    assert_eq!(seen(10, 1).waits_for().as_deref(), Some("room on the bus"));
    let (what, reason) = ("publishing games", "no answer".to_owned());
    let troubles = vec![Trouble { what, reason, lasts: Duration::ZERO }];
    let waits_for = Seen { troubles, ..seen(10, 1) }.waits_for();
    assert_eq!(waits_for.as_deref(), Some("publishing games to work: no answer"));
}
