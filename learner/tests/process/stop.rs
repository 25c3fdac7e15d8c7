//! Ending by signals, whatever the learner is waiting for.

use crate::support::{Learner, Run};

/// Sends a signal and checks that all that was done is saved.
fn stops_well(run: &Run, learner: Learner, signal: &str) {
    learner.signal(signal);
    let ended = learner.end().well();
    assert!(ended.err.contains("stopping; a second Ctrl-C ends at once"), "{}", ended.err);
    let (saved, last) = (run.saved(), run.status());
    assert_eq!(last["phase"], "finished");
    assert_eq!(last["step"].as_u64(), Some(saved.step()));
    assert_eq!(last["rows"].as_u64(), Some(run.log().end));
}

/// True once the newest status says that a stage waits.
fn waits(run: &Run, stage: &str) -> bool {
    let status = run.status();
    let waits = status["waits"].as_array().into_iter().flatten();
    waits.into_iter().any(|wait| wait["stage"] == stage && wait["since_s"].is_f64())
}

#[test]
fn sigterm_and_ctrl_c_while_training_save_and_end_well() {
    for signal in ["TERM", "INT"] {
        let run = Run::kuhn();
        let mut learner = run.start(&[]);
        learner.until("training", |_| run.status()["step"].as_u64() > Some(0));
        assert_eq!(run.saved_step(), 0);
        stops_well(&run, learner, signal);
        let saved = run.saved();
        assert!(saved.step() > 0);
        assert_eq!([saved.rows(), saved.number("/log_position")], [run.log().end; 2]);
    }
}

#[test]
fn a_run_stops_well_before_training_has_begun() {
    let run = Run::kuhn();
    let mut learner = run.start(&["--min-rows=1000000", "--window-rows=1000000"]);
    learner.until("filling", |_| run.status()["rows"].as_u64() > Some(0));
    stops_well(&run, learner, "TERM");
    let rows = run.log().end;
    assert_eq!((run.saved().step(), run.checkpoint_names().len()), (0, 1));

    // What was stored is not lost, although the checkpoint was written before it was.
    let mut learner = run.resume(&[]);
    learner.until("filling again", |_| {
        run.status()["elapsed_s"].as_f64() < Some(5.0) && run.status()["phase"] == "filling"
    });
    assert!(run.status()["window_rows"].as_u64() >= Some(rows));
    stops_well(&run, learner, "TERM");
}

#[test]
fn a_run_stops_well_while_training_waits_for_rows() {
    let run = Run::kuhn();
    // 3200 rows for each step
    let mut learner = run.start(&["--replay-ratio=0.01", "--slots=1", "--simulations=2000"]);
    learner.until("waiting", |_| waits(&run, "train"));
    stops_well(&run, learner, "TERM");
}

#[test]
fn a_run_stops_well_while_play_waits_for_training() {
    let run = Run::kuhn();
    // 10,000 steps for each row
    let mut learner = run.start(&["--replay-ratio=10000", "--batch-rows=1"]);
    learner.until("waiting", |_| waits(&run, "self-play"));
    stops_well(&run, learner, "INT");
}

#[test]
fn a_second_ctrl_c_ends_at_once() {
    let run = Run::kuhn();
    // The log takes no more rows soon, and the end waits for it for as long as it may.
    let mut learner = run.start_with_little_disk(32, &["--stop-within-s=100000"]);
    learner.until("stuck", |_| waits(&run, "self-play"));
    learner.signal("INT");
    learner.until("stopping", |learner| learner.err().contains("stopping; a second Ctrl-C ends at once"));
    learner.signal("INT");
    assert_eq!(learner.end().code, Some(130));
    run.resume(&["--steps=100000", "--minutes=0.01"]).end().well();
}
