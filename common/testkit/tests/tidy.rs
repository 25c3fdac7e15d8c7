//! The tree itself: every file of Rust says what it is, none is endless, no page names a path that is not there, and
//! nothing depends on the machine it was written on.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// More lines than this are two files.
const MAX_LINES: usize = 600;
/// Beginnings of paths that exist only after something has run, some of them in a run directory, or that a reader makes.
const MADE: [&str; 9] =
    ["target/", "runs/", ".libtorch/", ".tools/", "checkpoints/", "plots/", "replay/", "games/", "my-game/"];
/// Beginnings of what looks like a path and is the name of somebody's image or resource.
const NAMES: [&str; 3] = ["natsio/", "nvidia.com/", "oliver006/"];
/// Below these, `std` is bytes and arithmetic: what happens must follow from arguments alone.
const PURE: [&str; 4] = ["common/game/src", "common/games/src", "common/search/src", "common/net/src"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder, without build output and what git ignores or keeps.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let skipped = matches!(name, ".git" | ".libtorch" | ".tools" | "target" | "runs") || name.ends_with(".tmp");
        if path.is_dir() && !skipped {
            files(&path, found);
        } else if path.is_file() && !skipped {
            found.push(path);
        }
    }
}

/// Path from the root and content of all text files with this ending.
fn texts(ending: &str) -> Vec<(String, String)> {
    let (root, mut found) = (root(), Vec::new());
    files(&root, &mut found);
    found.sort();
    let text = |path: &PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let wanted = name.ends_with(ending);
        wanted.then(|| fs::read_to_string(path).ok()).flatten().map(|text| (name, text))
    };
    found.iter().filter_map(text).collect()
}

fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "{} faults:\n  {}", faults.len(), faults.join("\n  "));
}

#[test]
fn every_rust_file_opens_by_saying_what_it_is() {
    let rust = texts(".rs");
    assert!(rust.len() > 50, "the tree was found");
    let silent = rust.iter().filter(|(_, text)| !text.starts_with("//! "));
    assert_none(&silent.map(|(name, _)| name.clone()).collect::<Vec<_>>());
}

#[test]
fn no_rust_file_is_endless() {
    let long = texts(".rs").into_iter().map(|(name, text)| (name, text.lines().count()));
    let long = long.filter(|(_, lines)| *lines > MAX_LINES).map(|(name, lines)| format!("{name}: {lines} lines"));
    assert_none(&long.collect::<Vec<_>>());
}

/// Relative paths between back-ticks: words with a slash and nothing that a path has not.
fn named_paths(text: &str) -> Vec<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_path = |word: &&str| word.contains('/') && !word.starts_with(['/', '-']) && word.chars().all(plain);
    let mut fenced = false;
    let mut paths = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            paths.extend(line.split('`').skip(1).step_by(2).filter(is_path));
        }
    }
    paths
}

#[test]
fn paths_are_found_between_back_ticks_only() {
    let page = "see `common/game/` and `a/b.rs`, not c/d, `cargo run`, `/metrics`, `x`\n```\n`in/fence`\n```\n`e/f`";
    assert_eq!(named_paths(page), ["common/game/", "a/b.rs", "e/f"]);
}

#[test]
fn pages_name_only_paths_that_exist() {
    let root = root();
    let missing = |(page, text): &(String, String)| {
        let folder = root.join(page).parent().unwrap().to_owned();
        let there = |path: &str| {
            let path = path.trim_end_matches('/');
            root.join(path).exists() || folder.join(path).exists()
        };
        let made = |path: &str| MADE.iter().chain(&NAMES).any(|made| path.starts_with(made));
        let paths = named_paths(text).into_iter().filter(|path| !made(path) && !there(path));
        paths.map(|path| format!("{page} names {path}")).collect::<Vec<_>>()
    };
    assert_none(&texts(".md").iter().flat_map(missing).collect::<Vec<_>>());
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    // In parts, so that this file does not name them.
    let machine =
        [["/wo", "rk/"], ["/ro", "ot/"], ["/ho", "me/"], ["/Us", "ers/"], ["../sh", "ared"]].map(|p| p.concat());
    let name = |(file, text): &(String, String)| {
        let found = machine.iter().filter(|path| text.contains(path.as_str()));
        found.map(|path| format!("{file} names {path}")).collect::<Vec<_>>()
    };
    assert_none(&texts("").iter().flat_map(name).collect::<Vec<_>>());
}

#[test]
fn rules_and_arithmetic_see_no_clock_no_files_and_no_environment() {
    let forbidden = ["std::time", "std::env", "std::fs", "std::net", "std::thread", "std::process", "Instant::now"];
    let pure = texts(".rs").into_iter().filter(|(name, _)| PURE.iter().any(|folder| name.starts_with(folder)));
    let pure: Vec<_> = pure.collect();
    assert!(pure.len() > 20, "the crates were found");
    let name = |(file, text): &(String, String)| {
        let found = forbidden.iter().filter(|path| text.contains(*path));
        found.map(|path| format!("{file} names {path}")).collect::<Vec<_>>()
    };
    assert_none(&pure.iter().flat_map(name).collect::<Vec<_>>());
}
