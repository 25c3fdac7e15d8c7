//! Files that were damaged while no learner ran.

use std::fs;

use crate::support::{Ended, Run};

/// A run with checkpoints at step 10 and 20.
fn run() -> Run {
    let run = Run::kuhn();
    run.train(&["--steps=10"]).well();
    run.resume(&["--steps=20"]).end().well();
    assert_eq!(run.checkpoint_names(), ["0001.000000000000", "0001.000000000010", "0002.000000000020"]);
    run
}

fn resume(run: &Run) -> Ended {
    run.resume(&["--steps=30"]).end()
}

#[test]
fn a_checkpoint_that_is_cut_off_is_named_with_those_that_are_whole_and_they_can_be_gone_on_from() {
    let run = run();
    let (latest, log) = (run.latest().unwrap(), run.log());
    let trainer = latest.join("trainer.safetensors");
    let whole = fs::read(&trainer).unwrap();
    fs::write(&trainer, &whole[..1000]).unwrap();

    let others = "intact checkpoints in run/checkpoints: 0001.000000000000, 0001.000000000010: ";
    resume(&run).refused(1, &["trainer.safetensors is damaged or cut off (1000 bytes)", others]);
    let averaged = latest.join("averaged.safetensors");
    fs::rename(&averaged, latest.join("elsewhere")).unwrap();
    resume(&run).refused(1, &["cannot read run/checkpoints/0002.000000000020/averaged.safetensors", others]);
    fs::rename(latest.join("elsewhere"), &averaged).unwrap();
    assert_eq!((run.checkpoint_names().len(), run.log()), (3, log), "nothing has changed");

    run.resume_from("run/checkpoints/0001.000000000010", &["--steps=15"]).end().well();
    let saved = run.saved();
    assert_eq!((saved.epoch(), saved.step()), (3, 15), "epoch 2 was used, though not by this checkpoint");
    assert_eq!(saved.rows(), run.log().end, "rows stored later are in the window all the same");

    // The damaged one is the latest no more, and can be mended.
    fs::write(&trainer, whole).unwrap();
    run.resume_from("run/checkpoints/0002.000000000020", &["--steps=25"]).end().well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (4, 25));
}

#[test]
fn a_state_that_cannot_be_read_and_a_latest_that_points_nowhere_are_named() {
    let run = run();
    let state = run.latest().unwrap().join("state.json");
    let whole = fs::read(&state).unwrap();
    fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    resume(&run).refused(1, &["state.json is cut off or no checkpoint state", "0001.000000000010"]);
    fs::write(&state, r#"{"format": 1, "files": {}}"#).unwrap();
    resume(&run).refused(1, &["state.json is damaged", "0001.000000000010"]);
    fs::remove_file(&state).unwrap();
    resume(&run).refused(1, &["cannot read run/checkpoints/0002.000000000020/state.json", "0001.000000000010"]);
    fs::write(&state, whole).unwrap();

    let latest = run.checkpoints().join("latest");
    fs::write(&latest, "0009.000000000001\n").unwrap();
    resume(&run).refused(1, &["names '0009.000000000001', which is no checkpoint", "0002.000000000020"]);
    fs::remove_file(latest).unwrap();
    resume(&run).well(); // the newest is complete, whoever names it
    assert_eq!(run.saved_step(), 30);
}

#[test]
fn a_replay_log_that_is_cut_off_loses_its_last_game_and_says_so() {
    let run = run();
    let rows = run.log().end;
    let segment = run.path().join("replay/00000000000000000000.rows");
    let bytes = fs::metadata(&segment).unwrap().len();
    fs::File::options().write(true).open(&segment).unwrap().set_len(bytes - 10).unwrap();

    let ended = resume(&run).well();
    assert!(ended.err.contains("the replay log was cut off: "), "{}", ended.err);
    assert!(ended.out.contains("the replay log was cut off: "), "the summary says it too:\n{}", ended.out);
    assert!(run.saved().rows() >= rows);
    assert_eq!((run.log().first, run.saved().number("/log_position")), (0, run.log().end));
}
