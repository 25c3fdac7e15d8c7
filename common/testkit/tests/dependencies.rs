//! Who may know whom: the rules of `ARCHITECTURE.md`, checked against what cargo says.
//!
//! Dependencies of tests are free, but for two rules: actor and learner never know each other, and a foreign crate with
//! an owner stays with its owner.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::Path,
};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

/// Our crates, lowest first, and those of ours that each may know.
const RULES: [(&str, &[&str]); 14] = [
    ("fogfall-proto", &[]),
    ("fogfall-game", &[]),
    ("fogfall-games", &["fogfall-game"]),
    ("fogfall-search", &["fogfall-game"]),
    ("fogfall-net", &["fogfall-game", "fogfall-search"]),
    ("fogfall-selfplay", &["fogfall-game", "fogfall-search", "fogfall-net", "fogfall-proto"]),
    ("fogfall-eval", &["fogfall-game", "fogfall-search", "fogfall-selfplay"]),
    ("fogfall-replay", &["fogfall-proto"]),
    ("fogfall-bus", &["fogfall-proto"]),
    ("fogfall-service", &[]),
    ("fogfall-pipeline", PIPELINE),
    ("fogfall-testkit", &["fogfall-game", "fogfall-search", "fogfall-proto", "fogfall-replay", "fogfall-bus"]),
    ("actor", SHELL),
    ("learner", SHELL),
];

/// The stages joined: all that a stage is made of.
const PIPELINE: &[&str] = &[
    "fogfall-proto",
    "fogfall-game",
    "fogfall-search",
    "fogfall-net",
    "fogfall-selfplay",
    "fogfall-replay",
    "fogfall-bus",
    "fogfall-service",
];

/// What a program may know: everything but tests and the other program.
const SHELL: &[&str] = &[
    "fogfall-proto",
    "fogfall-game",
    "fogfall-games",
    "fogfall-search",
    "fogfall-net",
    "fogfall-selfplay",
    "fogfall-eval",
    "fogfall-replay",
    "fogfall-bus",
    "fogfall-service",
    "fogfall-pipeline",
];

/// Foreign crates that one of ours alone may name.
const OWNERS: [(&str, &str); 5] = [
    ("tch", "learner"),
    ("torch-sys", "learner"),
    ("redis", "fogfall-replay"),
    ("async-nats", "fogfall-bus"),
    ("gemm", "fogfall-net"),
];

/// Crates of rules and arithmetic: no async, no sockets, no flags anywhere below them.
const PURE: [&str; 4] = ["fogfall-game", "fogfall-games", "fogfall-search", "fogfall-net"];
const IMPURE: [&str; 10] =
    ["async-nats", "axum", "clap", "crossbeam-channel", "hyper", "mio", "redis", "tokio", "tracing-subscriber", "tch"];

fn metadata() -> Metadata {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    // Only what is built here: nothing is downloaded for other systems.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    MetadataCommand::new().manifest_path(root).other_options(["--filter-platform".into(), platform]).exec().unwrap()
}

fn ours(metadata: &Metadata) -> impl Iterator<Item = &cargo_metadata::Package> {
    metadata.workspace_packages().into_iter()
}

#[test]
fn every_crate_has_a_rule_and_every_rule_a_crate() {
    let metadata = metadata();
    let found: BTreeSet<&str> = ours(&metadata).map(|package| package.name.as_str()).collect();
    let ruled: BTreeSet<&str> = RULES.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, ruled);
}

#[test]
fn our_crates_know_only_those_that_they_may_know() {
    let metadata = metadata();
    let rules: BTreeMap<&str, &[&str]> = RULES.into_iter().collect();
    for package in ours(&metadata) {
        let allowed = rules[package.name.as_str()];
        for dependency in package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development) {
            let (who, whom) = (&package.name, dependency.name.as_str());
            assert!(!rules.contains_key(whom) || allowed.contains(&whom), "{who} must not know {whom}");
        }
    }
}

#[test]
fn actor_and_learner_do_not_know_each_other_even_in_tests() {
    let metadata = metadata();
    for package in ours(&metadata) {
        let knows = |name: &str| package.name.as_str() == name || package.dependencies.iter().any(|d| d.name == name);
        assert!(!(knows("actor") && knows("learner")), "{} joins actor and learner", package.name);
    }
}

#[test]
fn foreign_crates_with_an_owner_stay_with_it() {
    let metadata = metadata();
    for (crate_name, owner) in OWNERS {
        for package in ours(&metadata).filter(|package| package.name.as_str() != owner) {
            let named = package.dependencies.iter().any(|dependency| dependency.name == crate_name);
            assert!(!named, "{} must leave {crate_name} to {owner}", package.name);
        }
    }
}

/// Names of all that a package needs to be built and run, without what only its tests need.
fn needs<'a>(metadata: &'a Metadata, name: &str) -> BTreeSet<&'a str> {
    let nodes: HashMap<&PackageId, _> = metadata.resolve.as_ref().unwrap().nodes.iter().map(|n| (&n.id, n)).collect();
    let start = &ours(metadata).find(|package| package.name.as_str() == name).unwrap().id;
    let (mut seen, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(id) = open.pop() {
        let needed =
            nodes[id].deps.iter().filter(|d| d.dep_kinds.iter().any(|k| k.kind != DependencyKind::Development));
        for dependency in needed {
            if seen.insert(&dependency.pkg) {
                open.push(&dependency.pkg);
            }
        }
    }
    seen.into_iter().map(|id| metadata[id].name.as_str()).collect()
}

#[test]
fn rules_and_arithmetic_need_no_async_no_sockets_and_no_flags() {
    let metadata = metadata();
    for name in PURE {
        let needs = needs(&metadata, name);
        let found: Vec<_> = IMPURE.iter().filter(|impure| needs.contains(**impure)).collect();
        assert!(found.is_empty(), "{name} needs {found:?}");
    }
}

#[test]
fn torch_is_built_for_the_learner_only() {
    let metadata = metadata();
    let torch: Vec<&str> =
        RULES.iter().map(|(name, _)| *name).filter(|n| needs(&metadata, n).contains("tch")).collect();
    assert_eq!(torch, ["learner"]);
}
