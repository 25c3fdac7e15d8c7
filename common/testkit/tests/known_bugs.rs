//! The page of known bugs and leaks names tests that exist, has an answer to every bug, and what it says of the hidden
//! label is so.
#![allow(clippy::unwrap_used)]

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

const PAGE: &str = include_str!("../../../docs/known-bugs.md");
/// Bugs on the page.
const BUGS: usize = 30;
/// What may name the hidden label: the row itself, and who records it. Suites read it to compare.
const MAY_READ: [&str; 3] = ["proto/src/row.rs", "common/selfplay/src/slot.rs", "common/testkit/src/labels.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Tests named in a text, each with the file named before it.
fn tests(text: &str) -> Vec<(&str, &str)> {
    let (mut file, mut found) = ("", Vec::new());
    for word in text.split('`').skip(1).step_by(2) {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if word.ends_with(".rs") {
            file = word;
        } else if word.contains('_') && word.chars().all(is_name) {
            found.push((file, word));
        }
    }
    found
}

/// True if the text has a test of this name.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}()");
    let mut lines = text
        .lines()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .skip_while(|line| line.trim_start().split(" {").next() != Some(head.as_str()));
    lines.next().is_some() && lines.take_while(|line| !line.trim().is_empty()).any(|line| line.trim() == "#[test]")
}

#[test]
fn tests_are_found_with_their_files_and_only_if_they_are_tests() {
    let text = "`a/b.rs`: `one_thing_holds`, `Leak::Seed`; `c.rs`: `another_holds`";
    assert_eq!(tests(text), [("a/b.rs", "one_thing_holds"), ("c.rs", "another_holds")]);
    let file = "#[test]\n#[should_panic]\nfn one_thing_holds() {\n}\n\nfn another_holds() {\n}\n";
    assert!(has_test(file, "one_thing_holds"));
    assert!(!has_test(file, "another_holds") && !has_test(file, "one_thing"));
}

#[test]
fn every_test_named_on_the_page_exists() {
    let named = tests(PAGE);
    assert!(named.len() > 80, "the page was read: {}", named.len());
    let mut files = HashMap::new();
    let missing: Vec<_> = named
        .into_iter()
        .filter(|(file, name)| {
            let text = files.entry(*file).or_insert_with(|| fs::read_to_string(root().join(file)).unwrap_or_default());
            !has_test(text, name)
        })
        .collect();
    assert!(missing.is_empty(), "no such tests: {missing:#?}");
}

#[test]
fn every_bug_has_a_test_or_the_reason_why_it_cannot_happen() {
    let rows = PAGE.split("## Bugs").nth(1).unwrap().lines().filter(|line| line.starts_with("| "));
    let rows: Vec<Vec<&str>> = rows.skip(1).map(|row| row.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), BUGS);
    for (number, row) in (1..).zip(rows) {
        assert_eq!(row[1], number.to_string());
        assert!(!tests(row[3]).is_empty() || row[3].starts_with("Cannot happen: "), "bug {number}: {}", row[3]);
    }
}

/// Files of Rust below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_program_reads_the_hidden_label() {
    let mut files = Vec::new();
    let common = fs::read_dir(root().join("common")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let others = ["actor/src", "learner/src", "proto/src"].map(|folder| root().join(folder));
    common.chain(others).filter(|folder| folder.is_dir()).for_each(|folder| sources(&folder, &mut files));
    assert!(files.len() > 100, "the crates were found");
    // A row's label is read without arguments, and so is what was searched for it.
    let readers = files.into_iter().filter(|path| {
        let text = fs::read_to_string(path).unwrap();
        text.contains(".hidden()") || text.contains("row.hidden")
    });
    let readers: Vec<String> =
        readers.map(|path| path.to_str().unwrap().split_once("../../").unwrap().1.to_owned()).collect();
    let unknown: Vec<_> = readers.iter().filter(|path| !MAY_READ.contains(&path.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?} read the hidden label");
    assert_eq!(readers.len(), MAY_READ.len(), "{readers:?}");
}
