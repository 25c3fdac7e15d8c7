//! Going on with a run: what may change and what may not.

use crate::support::Run;

#[test]
fn another_identity_is_refused_with_every_difference() {
    let run = Run::kuhn();
    run.train(&["--steps=10"]).well();
    let other = ["--game=tic_tac_toe", "--width=32", "--blocks=2", "--learning-rate=0.5", "--change"];
    run.resume(&other).end().refused(
        1,
        &[
            "this would be another run, not a continuation:",
            "game: \"kuhn_poker\" before, \"tic_tac_toe\" now",
            "observation: without [seat (2), card (3), betting (6)], with new [",
            "actions: without [pass, bet], with new [",
            "hidden label: without [foe_card (3)], with new []",
            "width: \"16\" before, \"32\" now",
            "blocks: \"1\" before, \"2\" now",
            "start a new run from the old weights with --init-from",
        ],
    );
    assert_eq!(run.saved_step(), 10);
}

#[test]
fn other_rules_are_refused_with_the_first_line_that_differs() {
    let run = Run::of("battle");
    run.train(&["--min-rows=1000000", "--window-rows=1000000", "--minutes=0.001"]).well();
    let rules = std::fs::read_to_string(run.path().join("rules.toml")).unwrap();
    let line = 1 + rules.lines().position(|line| line.starts_with("turn_limit")).unwrap();
    let changed: Vec<_> =
        rules.lines().map(|l| if l.starts_with("turn_limit") { "turn_limit = 41" } else { l }).collect();
    run.beside("changed.toml", &changed.join("\n"));
    let lines = rules.lines().count();
    let text = format!("rules: {lines} lines before, {lines} now, first difference in line {line}");
    run.resume(&["--rules=changed.toml"]).end().refused(1, &["this would be another run", &text]);
    // The same rules are kept in the checkpoint and need not be given again.
    run.resume(&["--minutes=0.001"]).end().well();
}

#[test]
fn learning_settings_change_only_when_asked_for_and_operational_ones_freely() {
    let run = Run::kuhn();
    run.train(&["--steps=10"]).well();
    let other = ["--learning-rate=0.01", "--simulations=4", "--steps=20"];
    run.resume(&other).end().refused(
        1,
        &[
            "learning settings differ from the checkpoint:",
            "learning_rate: \"0.001\" before, \"0.01\" now",
            "simulations: \"8\" before, \"4\" now",
            "add --change to go on with the new ones",
        ],
    );
    assert_eq!(run.saved_step(), 10);
    let ended = run.resume(&[&other[..], &["--change"]].concat()).end().well();
    for text in ["changed on resume: learning_rate: \"0.001\" before", "changed on resume: simulations: \"8\" before"] {
        assert!(ended.err.contains(text) && ended.out.contains(text), "{text}:\n{}\n{}", ended.err, ended.out);
    }
    assert_eq!((run.saved().setting("learning_rate"), run.saved().setting("simulations")), ("0.01", "4"));

    // What was changed once stays so.
    run.resume(&["--slots=8", "--publish-steps=7", "--keep-last=1", "--keep-spread=0", "--steps=30"]).end().well();
    let saved = run.saved();
    assert_eq!([saved.setting("learning_rate"), saved.setting("slots")], ["0.01", "8"]);
    assert_eq!(run.checkpoint_names(), ["0003.000000000030"]);
}

#[test]
fn one_command_line_begins_a_run_and_goes_on_with_it() {
    let run = Run::kuhn();
    let weights = run.path().join("untrained.safetensors");
    run.train(&["--resume=auto", "--change", "--steps=10"]).well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (1, 10));
    // Weights to begin with are none to go on with.
    let from = format!("--init-from={}", weights.display());
    run.train(&["--resume=auto", "--change", "--learning-rate=0.01", "--steps=20", &from]).well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (2, 20));
    assert_eq!(run.saved().setting("learning_rate"), "0.01");
}

#[test]
fn a_run_goes_on_by_directory_from_an_older_checkpoint_and_to_a_step_already_made() {
    let run = Run::kuhn();
    run.train(&["--steps=10"]).well();
    run.resume_from("run", &["--steps=20"]).end().well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (2, 20));

    // The step is there already: nothing to do, nothing is written.
    run.resume(&["--steps=20"]).end().well();
    assert_eq!(run.latest().unwrap(), run.checkpoints().join("0002.000000000020"));

    run.resume_from("run/checkpoints/0001.000000000010", &["--steps=15"]).end().well();
    let saved = run.saved();
    assert_eq!((saved.epoch(), saved.step(), saved.number("/trainer/step")), (4, 15, 15));
    assert_eq!(saved.number("/trainer/optimizer_steps"), 15);
    assert_eq!(saved.rows(), run.log().end);
}

#[test]
fn a_run_killed_after_going_back_stays_on_the_branch_it_was_on() {
    let run = Run::kuhn();
    run.train(&["--steps=10"]).well();
    run.resume(&["--steps=20"]).end().well();
    let older = "run/checkpoints/0001.000000000010";
    let seen = run.statuses().len();
    let mut learner = run.resume_from(older, &[]);
    learner.until("going on", |_| run.statuses().len() > seen);
    learner.kill();
    assert!(run.latest().unwrap().ends_with("0001.000000000010"), "no checkpoint was written since");
    run.resume(&["--steps=12"]).end().well();
    assert_eq!((run.saved().epoch(), run.saved().step()), (4, 12), "not from step 20");
}

#[test]
fn a_new_run_begins_from_old_weights() {
    let (old, new, wide) = (Run::kuhn(), Run::kuhn(), Run::kuhn());
    old.train(&["--steps=30"]).well();
    let weights = old.path().join("weights.safetensors");
    let weights = weights.to_str().unwrap();
    let ended = new.train(&["--init-from", weights, "--steps=5"]).well();
    assert!(ended.err.contains("started from ") && ended.err.contains("new: none, dropped: none"), "{}", ended.err);
    assert_eq!((new.saved().epoch(), new.saved().step()), (1, 5), "it is a new run");
    let read = |path: std::path::PathBuf| std::fs::read(path).unwrap();
    assert_eq!(read(new.path().join("untrained.safetensors")), read(weights.into()));

    let refused =
        wide.train(&["--init-from", weights, "--width=32", "--steps=5"]).refused(1, &["cannot be used", "width"]);
    assert!(refused.err.contains("16") && refused.err.contains("32"), "{}", refused.err);
    wide.train(&["--init-from=none.safetensors"]).refused(1, &["cannot read none.safetensors"]);
    // Nothing has begun: the directory is free.
    wide.train(&["--width=32", "--steps=5"]).well();
}
