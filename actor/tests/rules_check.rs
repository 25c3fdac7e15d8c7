//! `actor rules check` as a process: what it prints and how it exits.
#![allow(clippy::unwrap_used)]

use std::{fs, process::Command};

use fogfall_games::BATTLE_RULES;

/// Exit code, standard output and standard error of a check of these rules.
fn check(rules: &str, more: &[&str]) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    fs::write(&file, rules).unwrap();
    let few = ["--fights", "40", "--search-fights", "8", "--simulations", "4"];
    let out = Command::new(env!("CARGO_BIN_EXE_actor"))
        .args(["rules", "check"])
        .arg(&file)
        .args(few.iter().chain(more))
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

#[test]
fn all_mistakes_are_told_and_nothing_is_played() {
    let rules =
        BATTLE_RULES.replacen("bag_size = 4", "bag_size = -4", 1).replacen("kind = \"heal\"", "kind = \"hail\"", 1);
    let (code, out, error) = check(&rules, &[]);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    let line = |part: &str| 1 + rules.lines().position(|line| line.contains(part)).unwrap();
    let kinds =
        "damage, drain, heal, shield, shatter, mana, buff, dispel, cleanse, delay, refresh, pet_command, reveal";
    let expected = format!(
        "error: rules of battle: 2 mistakes\n  \
         line {}: fight: bag_size = -4; must be a whole number from 0 to 12\n  \
         line {}: skill cauterize: effects: kind = \"hail\"; must be one of {kinds}\n",
        line("bag_size = -4"),
        line("hail")
    );
    assert_eq!(error, expected);
}

#[test]
fn rules_that_hold_are_played_and_bad_ones_fail() {
    let dir = tempfile::tempdir().unwrap();
    let out_dir = dir.path().join("report");
    let (code, out, error) = check(BATTLE_RULES, &["--out", out_dir.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}\n{error}");
    assert!(out.starts_with("battle by mine.toml: the rules hold\n"), "{out}");
    assert!(out_dir.join("report.html").is_file() && out_dir.join("options.svg").is_file());

    let endless = BATTLE_RULES.replacen("mercy = 8 ", "mercy = 54 ", 1).replacen("weary = 1 ", "weary = 0 ", 1);
    let (code, out, _) = check(&endless, &["--json"]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("\"level\":\"bad\",\"topic\":\"do games end\""), "{out}");
}

#[test]
fn a_game_with_fixed_rules_takes_no_file() {
    let (code, _, error) = check(BATTLE_RULES, &["--game", "kuhn_poker"]);
    assert_eq!((code, error.as_str()), (2, "error: kuhn_poker takes no rules file\n"));
}
