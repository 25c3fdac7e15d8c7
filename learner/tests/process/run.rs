//! What a run does and leaves when nothing goes wrong.

use std::fs;

use fogfall_net::Weights;
use serde_json::Value;

use crate::support::Run;

#[test]
fn a_run_ends_after_its_steps_and_leaves_all_that_it_promises() {
    let run = Run::kuhn();
    let ended = run.train(&["--steps=50"]).well();
    for text in
        ["trained kuhn_poker, run run", "train steps  50 of 50", "what to do next", "--resume latest --run-dir run"]
    {
        assert!(ended.out.contains(text), "'{text}' is not in:\n{}", ended.out);
    }

    let saved = run.saved();
    assert_eq!((saved.epoch(), saved.step()), (1, 50));
    assert_eq!(saved.number("/trainer/step"), 50);
    assert_eq!(saved.number("/limiter/samples"), 50 * 32);
    assert_eq!(run.checkpoint_names(), ["0001.000000000000", "0001.000000000050"], "one before play, one at the end");

    // What was played is what was stored, what the window read, and what the checkpoint tells.
    let log = run.log();
    assert_eq!([saved.rows(), saved.number("/log_position"), saved.number("/limiter/inserts")], [log.end; 3]);
    assert!(saved.games() > 0 && saved.games() <= saved.rows());

    let shape = Weights::from_bytes(&fs::read(run.path().join("untrained.safetensors")).unwrap()).unwrap();
    let newest = fs::read(run.path().join("weights.safetensors")).unwrap();
    assert_eq!(newest, fs::read(run.latest().unwrap().join("averaged.safetensors")).unwrap());
    let newest = Weights::from_bytes(&newest).unwrap();
    assert_eq!((newest.shape(), newest.shape().width), (shape.shape(), 16));
    assert_ne!(newest.data("input.weight"), shape.data("input.weight"), "it has learnt");

    let last = run.status();
    assert_eq!((last["phase"].as_str(), last["step"].as_u64()), (Some("finished"), Some(50)));
    assert_eq!((last["rows"].as_u64(), last["checkpoint_step"].as_u64()), (Some(log.end), Some(50)));
    assert!(last["loss"]["total"].as_f64().unwrap().is_finite());
    for plot in ["loss.svg", "win_rates.svg", "pace.svg"] {
        assert!(fs::read_to_string(run.path().join("plots").join(plot)).unwrap().contains("</svg>"), "{plot}");
    }
}

#[test]
fn with_json_every_line_is_an_object_and_the_log_too() {
    let run = Run::of("tic_tac_toe");
    let ended = run.train(&["--steps=20", "--json", "--match-every-s=1", "--match-pairs=1"]).well();
    let objects = |text: &str| -> Vec<Value> {
        let object = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        text.lines().map(object).collect()
    };
    let statuses = objects(&ended.out);
    assert!(statuses.len() >= 2 && statuses.iter().all(|status| status["game"] == "tic_tac_toe"), "{}", ended.out);
    assert_eq!(statuses.last().unwrap()["phase"], "finished");
    assert_eq!(statuses.last().unwrap()["step"], 20);
    objects(&ended.err);
}

#[test]
fn a_run_ends_after_its_minutes() {
    let run = Run::kuhn();
    run.train(&["--minutes=0.02"]).well(); // 1.2 s
    let last = run.status();
    assert!(last["elapsed_s"].as_f64().unwrap() >= 1.2, "{last}");
    assert_eq!(run.saved_step(), last["step"].as_u64().unwrap());
}

#[test]
fn a_second_learner_of_the_same_run_is_refused_and_the_first_does_not_notice() {
    let run = Run::kuhn();
    let mut first = run.start(&[]);
    first.until("training", |_| run.status()["step"].as_u64() > Some(0));
    run.train(&["--steps=5"]).refused(1, &["run is in use by another learner"]);
    run.resume(&["--steps=5"]).end().refused(1, &["run is in use by another learner"]);
    first.signal("TERM");
    first.end().well();
}

#[test]
fn a_new_run_is_refused_where_another_one_lies() {
    let run = Run::kuhn();
    run.train(&["--steps=5"]).well();
    let log = run.log();
    run.train(&["--steps=5"]).refused(1, &["holds a run already: go on with it by --resume latest", "--run-dir"]);
    assert_eq!((run.saved_step(), run.log()), (5, log), "nothing has changed");
}
