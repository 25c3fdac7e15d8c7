//! A disk that takes no more, played by a limit for the size of files.

use crate::support::{Learner, OFTEN, Run};

/// A checkpoint of this width takes 150 KB, its averaged weights 37 KB.
const WIDE: &[&str] = &["--width=64"];
/// More than the averaged weights, less than a checkpoint.
const LITTLE_KIB: u64 = 64;
/// Segments of the replay log stay below that.
const SMALL_LOG: &str = "--log-rows=800";

/// Starts to go on from step 20 and waits until a checkpoint could not be written.
fn out_of_disk(run: &Run) -> Learner {
    run.train(&[WIDE, &["--steps=20", SMALL_LOG]].concat()).well();
    let mut learner = run.resume_with_little_disk(LITTLE_KIB, &[OFTEN]);
    learner.until("a failed checkpoint", |_| {
        let notices = run.status()["notices"].to_string();
        notices.contains("cannot write checkpoint") && notices.contains("the last good checkpoint is untouched")
    });
    let step = run.status()["step"].as_u64().unwrap();
    learner.until("training on", |_| run.status()["step"].as_u64() > Some(step));
    assert_eq!(run.saved_step(), 20);
    learner
}

#[test]
fn a_checkpoint_that_does_not_fit_the_disk_is_a_notice_and_at_the_end_an_error() {
    let run = Run::kuhn();
    let learner = out_of_disk(&run);
    learner.signal("TERM");
    let ended = learner.end().refused(1, &["cannot write checkpoint run/checkpoints/0002.", "File too large"]);
    assert!(ended.out.contains("trained kuhn_poker"), "the summary is shown all the same:\n{}", ended.out);
    assert_eq!(run.checkpoint_names(), ["0001.000000000000", "0001.000000000020"]);

    run.resume(&["--steps=30"]).end().well();
    assert_eq!(run.saved_step(), 30);
}

#[test]
fn the_last_checkpoint_is_missed_even_if_its_step_was_tried_before() {
    let run = Run::kuhn();
    run.train(&[WIDE, &["--steps=20"]].concat()).well();
    // The replay log is full soon too, and training stands still at a step whose checkpoint has failed.
    let mut learner = run.resume_with_little_disk(LITTLE_KIB, &[OFTEN, "--stop-within-s=12"]);
    learner.until("standing still", |_| {
        let status = run.status();
        let failed =
            format!("cannot write checkpoint run/checkpoints/0002.{:012}", status["step"].as_u64().unwrap_or(0));
        status["notices"].to_string().contains(&failed)
    });
    learner.signal("TERM");
    learner.end().refused(1, &["cannot write checkpoint run/checkpoints/0002.", "File too large"]);
    assert_eq!(run.saved_step(), 20);
}

#[test]
fn checkpoints_are_written_again_once_there_is_room() {
    let run = Run::kuhn();
    let mut learner = out_of_disk(&run);
    learner.give_disk();
    learner.until("a checkpoint", |_| run.saved_step() > 20);
    learner.signal("TERM");
    learner.end().well();
}

#[test]
fn a_replay_log_that_takes_no_rows_holds_play_up_and_goes_on_once_there_is_room() {
    let run = Run::kuhn();
    let mut learner = run.start_with_little_disk(32, &[]);
    learner.until("told", |_| {
        let status = run.status();
        let notice = "storing rows in the replay log fails and is tried again: ";
        status["notices"].to_string().contains(notice) && status["waits"].to_string().contains("storing rows")
    });
    let rows = run.status()["rows"].as_u64();
    learner.give_disk();
    learner.until("storing again", |_| run.status()["rows"].as_u64() > rows);
    learner.until("calm", |_| run.status()["notices"].as_array().is_some_and(Vec::is_empty));
    learner.signal("TERM");
    let ended = learner.end().well();
    assert!(ended.err.contains("storing rows in the replay log works again"), "{}", ended.err);
    let complaints = ended.err.matches("storing rows in the replay log fails").count();
    assert!(complaints < 5, "{complaints} lines of log for one trouble");
    assert_eq!(run.saved().rows(), run.log().end);
}

#[test]
fn a_run_ends_well_in_its_time_although_the_replay_log_takes_no_rows() {
    let run = Run::kuhn();
    let mut learner = run.start_with_little_disk(32, &["--stop-within-s=12"]);
    learner.until("stuck", |_| run.status()["notices"].to_string().contains("storing rows"));
    learner.signal("TERM");
    let ended = learner.end().well_but_out_of_time();
    assert!(ended.out.contains("finished games were given up"), "{}", ended.out);
    assert!(run.saved_step() > 0);
    assert_eq!(run.saved().rows(), run.log().end, "what was given up is not counted as stored");
}
