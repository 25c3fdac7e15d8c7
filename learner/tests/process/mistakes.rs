//! Bad usage: all mistakes together, each with its place, and nothing begun.

use crate::support::{Ended, Run};

/// Runs the learner with exactly these arguments.
fn learner(run: &Run, arguments: &[&str]) -> Ended {
    run.spawn(run.command(arguments)).end()
}

#[test]
fn mistakes_in_flags_environment_and_file_are_reported_together() {
    let run = Run::kuhn();
    run.beside("mine.toml", "learning_rate = 0.5\nlerning_rate = 1\nblocks = \"many\"\nwidth = [1, 2]\n");
    let mut command =
        run.command(&["--config=mine.toml", "--batch-rows=0", "--device=gpu", "--minutes=-1", "--change"]);
    command.env("FOGFALL_C_PUCT", "1e9").env("FOGFALL_COLOUR", "red");
    let ended = run.spawn(command).end();
    ended.refused(
        2,
        &[
            "11 mistakes in the settings:",
            "give --local, or --run with --nats and --redis",
            "mine.toml:2: there is no setting lerning_rate; did you mean learning_rate?",
            "mine.toml:3: blocks is \"many\"; allowed is ",
            "mine.toml:4: width holds an array; settings are single values",
            "--batch-rows: batch_rows is \"0\"; allowed is ",
            "environment variable FOGFALL_C_PUCT: c_puct is \"1e9\"; allowed is ",
            "environment variable FOGFALL_COLOUR: there is no setting colour",
            "device: device 'gpu' is not auto, cpu, cuda or cuda:N",
            "--minutes must be above 0",
            "--change goes with --resume",
            "--game is missing",
        ],
    );
    assert!(!run.path().exists());
}

#[test]
fn trees_that_do_not_fit_their_memory_are_refused_before_anything_is_begun() {
    let run = Run::kuhn();
    let trees = ["--tree=generation", "--tree-memory=1MiB", "--selfplay-threads=2", "--slots=100"];
    let asked = [&["--local", "--game=connect_four", "--run-dir=run", "--batch-rows=0"][..], &trees].concat();
    learner(&run, &asked).refused(2, &["2 mistakes", "tree_memory is 1 MiB, too little for 200 trees", "batch_rows"]);
    assert!(!run.path().exists());
}

#[test]
fn a_file_that_is_no_toml_is_named_with_the_line() {
    let run = Run::kuhn();
    run.beside("mine.toml", "width = 16\nblocks = = 1\n");
    learner(&run, &["--local", "--game=kuhn_poker", "--config=mine.toml"]).refused(2, &["mine.toml:2: "]);
    learner(&run, &["--local", "--game=kuhn_poker", "--config=none.toml"]).refused(2, &["cannot read none.toml"]);
}

#[test]
fn unknown_games_and_rules_with_mistakes_are_reported_with_the_other_mistakes() {
    let run = Run::kuhn();
    learner(&run, &["--local", "--game=chess", "--width=0"]).refused(
        2,
        &[
            "2 mistakes",
            "width is \"0\"",
            "unknown game 'chess'; known games: battle, battle_tiny, connect_four, kuhn_poker, leduc_poker, liars_dice, othello, \
             phantom_ttt, tic_tac_toe",
        ],
    );
    run.beside("rules.toml", "colour = \"red\"\n");
    let rules = ["--local", "--game=battle", "--rules=rules.toml", "--width=0"];
    learner(&run, &rules).refused(2, &["rules of battle: ", "line 1", "colour", "width is \"0\""]);
    learner(&run, &["--local", "--game=kuhn_poker", "--rules=rules.toml"]).refused(2, &["takes no rules file"]);
    learner(&run, &["--local", "--game=battle", "--rules=none.toml"]).refused(2, &["cannot read rules none.toml"]);
}

#[test]
fn settings_that_do_not_fit_together_or_the_game_are_refused_before_anything_begins() {
    let run = Run::kuhn();
    let large = ["--min-rows=500", "--window-rows=400", "--log-rows=8", "--device=cuda:99"];
    run.train(&large).refused(
        2,
        &[
            "3 mistakes",
            "min_rows is 500, but the window holds only window_rows = 400: training never begins",
            "log_rows is 8 and log_bytes",
            "too small for games of up to 3 rows",
            "device 'cuda:99'",
        ],
    );
    run.train(&["--window-rows=1000000", "--window-bytes=1MiB"])
        .refused(2, &["window_rows and window_bytes: ", "rows fit"]);
    run.train(&["--lockstep", "--window-rows=1000", "--log-rows=1999"])
        .refused(2, &["log_rows is 1999, and must be at least twice window_rows = 1000"]);
    run.train(&["--tower-channels=16"])
        .refused(2, &["tower_channels is 16, but kuhn_poker declares no planes for convolutions to look at"]);
    let planes = Run::of("connect_four");
    planes.train(&["--tower-channels=24"]).refused(2, &["number of channels is 24, allowed are multiples of 16"]);
    assert!(!run.path().exists() && !planes.path().exists());
}

#[test]
fn what_to_go_on_from_must_be_there() {
    let run = Run::kuhn();
    learner(&run, &["--local", "--resume=latest", "--init-from=x", "--width=0"]).refused(
        2,
        &["--resume latest needs --run-dir DIR", "--init-from starts a new run", "width is \"0\"", "--game is missing"],
    );
    learner(&run, &["--local", "--resume=nowhere"]).refused(2, &["--resume nowhere: none of 'latest', 'auto',"]);
    run.resume(&[]).end().refused(2, &["run has no checkpoint: begin anew, without --resume"]);
    assert!(!run.path().exists());
}

#[test]
fn an_address_in_use_is_named_and_the_run_can_begin_later() {
    let run = Run::kuhn();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    run.train(&["--metrics-addr", &address, "--steps=5"])
        .refused(1, &[&format!("--metrics-addr {address} cannot be used")]);
    drop(taken);
    run.train(&["--steps=5"]).well();
}
