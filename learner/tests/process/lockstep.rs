//! Lockstep: killed at any moment and gone on with, a run takes the same steps to the same weights as an unbroken one.

use std::{collections::BTreeMap, fs};

use fogfall_game::stream;
use rand::RngExt;

use crate::support::{Run, Saved};

/// Rounds of 7 steps with a checkpoint every 9: they fall everywhere in a round. The window holds less than 4 rounds, so
/// old rows leave it, and the log lies in many segments.
const EXACT: &[&str] = &[
    "--lockstep",
    "--lockstep-games=12",
    "--lockstep-steps=7",
    "--checkpoint-steps=9",
    "--step-log",
    "--window-rows=300",
    "--min-rows=200",
    "--log-rows=4000",
    "--position-weight=log",
];

/// What every step saw. Steps that were made more than once must have seen the same each time.
fn steps(run: &Run) -> BTreeMap<u64, String> {
    let mut steps = BTreeMap::new();
    for (step, line) in run.steps() {
        let earlier = steps.insert(step, line.clone());
        assert!(earlier.is_none_or(|earlier| earlier == line), "step {step} was made anew in another way: {line}");
    }
    steps
}

/// What two runs of the same steps must have in common: the checkpoints' numbers, and their tensors by file.
fn outcome(run: &Run) -> (Vec<u64>, Vec<Vec<u8>>) {
    let saved = run.saved();
    let numbers = [
        "/trainer/step",
        "/trainer/skipped",
        "/trainer/optimizer_steps",
        "/log_position",
        "/limiter/inserts",
        "/limiter/deletes",
        "/limiter/samples",
        "/rounds/games",
        "/rounds/games_left",
        "/rounds/steps_left",
        "/totals/games",
        "/totals/rows",
        "/totals/evaluations",
    ];
    let latest = run.latest().unwrap();
    let files = [
        latest.join("trainer.safetensors"),
        latest.join("averaged.safetensors"),
        run.path().join("weights.safetensors"),
    ];
    (numbers.map(|number| saved.number(number)).to_vec(), files.map(|file| fs::read(file).unwrap()).to_vec())
}

#[test]
fn a_run_killed_at_random_moments_takes_the_same_steps_to_the_same_weights_as_an_unbroken_one() {
    let (broken, unbroken) = (Run::of("tic_tac_toe"), Run::of("tic_tac_toe"));
    let mut rng = stream(1, &[]);
    let mut learner = broken.start(EXACT);
    // How it is done may change at each start, as long as what is done does not.
    let ways: [&[&str]; 4] =
        [&["--selfplay-threads=3"], &["--slots=1", "--cache-entries=0"], &["--checkpoint-steps=5"], &[]];
    for (turn, way) in ways.into_iter().enumerate() {
        // While steps are made, or while games are stored.
        let (made, stored) = (broken.steps().len(), broken.log_bytes());
        let (more_steps, more_bytes) = (rng.random_range(10..80), rng.random_range(1_000..80_000));
        learner.until_at_once("a random moment", |_| {
            if turn % 2 == 0 {
                broken.steps().len() >= made + more_steps
            } else {
                broken.log_bytes() >= stored + more_bytes
            }
        });
        learner.kill();
        learner = broken.resume(way);
    }
    let made = broken.steps().len();
    learner.until_at_once("a step more", |_| broken.steps().len() > made);
    learner.signal("TERM");
    learner.end().well();
    let end = format!("--steps={}", broken.saved_step() + 40);
    broken.resume(&[&end]).end().well();
    unbroken.train(&[EXACT, &[&end]].concat()).well();
    let (steps, expected) = (steps(&broken), steps(&unbroken));
    assert_eq!(expected.keys().copied().collect::<Vec<_>>(), (1..=unbroken.saved_step()).collect::<Vec<_>>());
    for (step, line) in &expected {
        assert_eq!(steps.get(step), Some(line), "step {step}");
    }
    assert_eq!(steps.len(), expected.len());
    assert_eq!(outcome(&broken), outcome(&unbroken));
    let (log, whole) = (broken.log(), unbroken.log());
    assert_eq!((log.end, log.end), (whole.end, broken.saved().rows()));
    broken.assert_each_part_once();
    assert!(unbroken.saved().number("/limiter/deletes") > 0, "rows have left the window");
}

#[test]
fn rounds_alternate_and_are_counted() {
    let run = Run::kuhn();
    let settings = ["--lockstep", "--lockstep-games=40", "--lockstep-steps=5", "--min-rows=1", "--match-every-s=1"];
    run.train(&[&settings[..], &["--match-pairs=1", "--steps=12"]].concat()).well();
    let saved = run.saved();
    let rounds = ["/rounds/games", "/rounds/games_left", "/rounds/steps_left"].map(|number| saved.number(number));
    assert_eq!(rounds, [120, 0, 3]); // three rounds of 40 games; 5 + 5 + 2 steps
    assert_eq!((saved.games(), saved.number("/limiter/samples")), (120, 12 * 32));
    assert_eq!(saved.number("/ordinal"), 4, "before each round, and at the end");
    assert_eq!((saved.rows(), saved.number("/log_position")), (run.log().end, run.log().end));
    let last = run.status();
    assert_eq!((last["games"].as_u64(), last["step"].as_u64()), (Some(120), Some(12)));

    // The mode is a learning setting, and a run may change it.
    run.resume(&["--lockstep=false", "--steps=20"]).end().refused(1, &["lockstep: \"true\" before, \"false\" now"]);
    run.resume(&["--lockstep=false", "--change", "--steps=20"]).end().well();
    let rows = run.log().end;
    assert_eq!((run.saved().number("/rounds/games"), run.saved().rows()), (120, rows), "lockstep's count is kept");
    run.resume(&["--lockstep=true", "--change", "--steps=24"]).end().well();
    assert_eq!((run.saved().number("/rounds/games"), run.saved().step()), (160, 24)); // 3 steps left, then a round and 1
    run.assert_each_part_once();
}

#[test]
fn a_log_that_lacks_rows_is_gone_on_from_all_the_same_and_the_run_says_so() {
    let run = Run::kuhn();
    run.train(&["--lockstep", "--lockstep-games=40", "--lockstep-steps=5", "--min-rows=1", "--steps=10"]).well();
    fs::remove_dir_all(run.path().join("replay")).unwrap();
    let ended = run.resume(&["--steps=20"]).end().well();
    assert!(ended.err.contains("the window cannot be filled as the checkpoint left it"), "{}", ended.err);
    assert_eq!(Saved::read(&run.latest().unwrap()).step(), 20);
}
