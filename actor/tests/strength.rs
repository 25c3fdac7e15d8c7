//! `actor match`, `ladder` and `promote` as processes: what they print and how they exit.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use serde_json::Value;

/// Exit code, standard output and standard error.
fn actor(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_actor")).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

#[test]
fn sides_of_a_match_differ_in_what_each_was_given_and_tell_what_a_move_took() {
    let args = ["match", "--game", "kuhn_poker", "--a", "search:20,choice=sample", "--b", "cheat:30"];
    let (code, out, error) = actor(&[&args[..], &["--games", "20", "--json"]].concat());
    assert_eq!(code, 0, "{error}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let side = |n: usize, key: &str| report["sides"][n][key].clone();
    assert_eq!((side(0, "simulations_per_move"), side(0, "cheats")), (20.0.into(), false.into()));
    assert_eq!((side(1, "simulations_per_move"), side(1, "cheats")), (30.0.into(), true.into()));
    assert!(side(0, "cpu_ms_per_move").as_f64().unwrap() > 0.0 && report["games"] == 20, "{out}");

    let (_, out, _) = actor(&[&args[..], &["--games", "20"]].concat());
    assert!(out.contains("\npayoff ") && out.contains(" a game, in the game's own units\n"), "{out}"); // 1 or 2 chips
    assert!(
        out.starts_with("kuhn_poker: search:20,choice=sample against cheat:30 (CHEATS: sees all)\nscore "),
        "{out}"
    );
}

#[test]
fn a_referee_says_how_often_each_side_keeps_the_value() {
    let args = ["match", "--game", "connect_four", "--a", "search:400", "--b", "random", "--games", "4", "--referee"];
    let (code, out, error) = actor(&[&args[..], &["--json"]].concat());
    assert_eq!(code, 0, "{error}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["referee"]["positions"], 120);
    let kept = |side: usize, key: &str| report["referee"]["kept"][side][key].as_f64().unwrap();
    // Of all moves in these positions 54 % keep the value; 95 % of random players are within 2 * sqrt(0.25 / 120) = 0.09.
    assert!(kept(0, "mean") > 0.75 && (0.4..0.68).contains(&kept(1, "mean")), "{out}");
    assert!(kept(0, "low") < kept(0, "mean") && kept(0, "mean") < kept(0, "high"), "{out}");

    let (_, out, _) = actor(&args);
    let (_, table) = out.split_once("\n\nreferee: share of moves that keep the game-theoretic value").unwrap();
    assert!(table.starts_with(", in 120 positions\nsearch:400  0.") && table.contains("\nrandom      0."), "{out}");
}

#[test]
fn a_game_without_a_referee_names_those_with_one() {
    let (code, out, error) = actor(&["match", "--game", "kuhn_poker", "--a", "random", "--b", "random", "--referee"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(error, "error: kuhn_poker has no referee; games with one: connect_four, tic_tac_toe\n");
}

#[test]
fn an_agents_unknown_setting_is_bad_usage() {
    let (code, _, error) = actor(&["match", "--game", "kuhn_poker", "--a", "search:5,beleif=reach", "--b", "random"]);
    assert_eq!(code, 2);
    assert!(error.contains("there is no setting beleif; did you mean belief?"), "{error}");
}

#[test]
fn promote_answers_by_its_exit_code() {
    let test = |candidate: &str, champion: &str, more: &[&str]| {
        let args = ["promote", "--game", "tic_tac_toe", "--candidate", candidate, "--champion", champion];
        actor(&[&args[..], more].concat())
    };
    let (code, out, _) = test("search:100", "random", &[]);
    assert_eq!(code, 0, "{out}");
    assert!(out.starts_with("tic_tac_toe: search:100 for random: promoted\ndeclared: 35 Elo points"), "{out}");
    let (code, out, _) = test("random", "search:100", &["--json"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("\"outcome\":\"not_promoted\""), "{out}");
    assert_eq!(test("random", "random", &["--max-pairs", "4"]).0, 2, "undecided");
    let (code, out, error) = test("no-such-file", "random", &[]);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    let (code, _, error) = test("random", "random", &["--elo0", "5", "--elo1", "1", "--alpha", "0.9"]);
    assert_eq!(code, 2);
    assert!(error.contains("elo1 = 1 must be above elo0 = 5") && error.contains("alpha is \"0.9\""), "{error}");
}

#[test]
fn a_ladder_of_named_agents_is_anchored_where_it_is_told() {
    let args = ["ladder", "--game", "tic_tac_toe", "search:5", "search:100", "--games", "20"];
    let (code, out, error) = actor(&[&args[..], &["--anchor", "search:5", "--json"]].concat());
    assert_eq!(code, 0, "{error}");
    let report: Value = serde_json::from_str(&out).unwrap();
    let names: Vec<_> = report["players"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["random", "search:5", "search:100"]);
    assert_eq!(report["players"][1]["elo"]["mean"], 0.0);
    assert_eq!(report["meetings"].as_array().unwrap().len(), 3);
    let (code, _, error) = actor(&[&args[..], &["--svg", "curve.svg"]].concat());
    assert_eq!((code, error.as_str()), (1, "error: --svg draws the curve of a run: it needs --run\n"));
    let (code, _, error) = actor(&["ladder"]);
    assert_eq!(code, 2);
    assert!(error.contains("--game <GAME>"), "{error}");
}
