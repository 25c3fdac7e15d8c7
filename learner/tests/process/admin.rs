//! What a learner serves while it runs.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::Value;

use crate::support::{Learner, Run};

pub const ANY_PORT: &str = "--metrics-addr=127.0.0.1:0";

/// Status code and body of a route.
pub fn get(address: &str, route: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {route} HTTP/1.1\r\nhost: learner\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The address that a learner with a JSON log says it serves at.
pub fn address(learner: &mut Learner) -> String {
    let logged = |learner: &Learner| {
        let log = learner.err();
        let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.into_iter().find_map(|record| Some(record.get("address")?.as_str()?.to_owned()))
    };
    learner.until("an address", |learner| logged(learner).is_some());
    logged(learner).unwrap()
}

/// A counter in `/metrics`.
fn counter(address: &str, name: &str) -> u64 {
    let (code, text) = get(address, "/metrics");
    assert_eq!(code, 200);
    let (name, label) = name.split_once('{').map_or((name, ""), |(name, label)| (name, label.trim_end_matches('}')));
    let figure = |line: &str| {
        let (labels, figure) = line.strip_prefix(name)?.strip_prefix('{')?.split_once("} ")?;
        labels.contains(label).then(|| figure.to_owned())
    };
    text.lines().find_map(figure).unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[test]
fn counters_grow_and_status_health_and_readiness_are_served_while_it_trains() {
    let run = Run::kuhn();
    let mut learner = run.start(&[ANY_PORT, "--json"]);
    let at = address(&mut learner);
    assert_eq!(get(&at, "/healthz"), (200, "ok\n".to_owned()));
    learner.until("ready", |_| get(&at, "/readyz") == (200, "ok\n".to_owned()));
    for name in ["fogfall_steps_total", "fogfall_rows_stored_total", "fogfall_games_total"] {
        let before = counter(&at, name);
        learner.until("growing", |_| counter(&at, name) > before);
    }
    let (code, status) = get(&at, "/status");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!((code, status["game"].as_str(), status["phase"].as_str()), (200, Some("kuhn_poker"), Some("training")));
    assert_eq!(get(&at, "/nothing").0, 404);
    learner.signal("TERM");
    learner.end().well();
}

#[test]
fn trees_of_a_generation_show_in_the_metrics_and_in_the_metrics_file() {
    let run = Run::kuhn();
    let tree = ["--tree=generation", "--node-up=8", "--budget=new_nodes"];
    let mut learner = run.start(&[&[ANY_PORT, "--json"], &tree[..]].concat());
    let at = address(&mut learner);
    for name in [
        "fogfall_search_tree_nodes",
        "fogfall_search_tree_bytes",
        "fogfall_search_tree_starts_total",
        "fogfall_search_tree_falls_total",
        "fogfall_search_tree_re_expansions_total",
        "fogfall_search_inherited_visits_total",
        "fogfall_evaluations_total{source=\"tree\"}",
    ] {
        learner.until("growing", |_| counter(&at, name) > 0);
    }
    let falls = counter(&at, "fogfall_search_tree_falls_total");
    learner.signal("TERM");
    learner.end().well();
    let play = &run.status()["play"];
    assert!(play["tree_falls"].as_u64() >= Some(falls), "{play}");
    // More than one game, most of the time, before new weights come.
    assert!(play["tree_games"].as_f64() > Some(1.0), "{play}");
}

#[test]
fn a_learner_is_not_ready_while_it_has_too_few_rows() {
    let run = Run::kuhn();
    let mut learner = run.start(&[ANY_PORT, "--json", "--min-rows=1000000", "--window-rows=1000000"]);
    let at = address(&mut learner);
    learner.until("filling", |_| counter(&at, "fogfall_window_rows") > 0);
    let few = (503, "window: too few rows to train on yet\n".to_owned());
    learner.until("it says so", |_| get(&at, "/readyz") == few);
    assert_eq!(get(&at, "/healthz").0, 200);
    learner.signal("TERM");
    learner.end().well();
}

/// The address of the page that a learner prints.
fn page(learner: &mut Learner) -> String {
    const SAYS: &str = "look at the run in a browser: http://";
    let printed = |learner: &Learner| {
        let out = learner.out();
        out.lines().find_map(|line| Some(line.strip_prefix(SAYS)?.strip_suffix('/')?.to_owned()))
    };
    learner.until("a page", |learner| printed(learner).is_some());
    printed(learner).unwrap()
}

#[test]
fn runs_on_one_machine_each_serve_a_page_unasked_and_keep_the_games_they_recorded() {
    let runs = [Run::kuhn(), Run::kuhn()];
    let mut learners = runs.each_ref().map(|run| run.start(&["--match-every-s=1", "--match-pairs=1"]));
    let pages = learners.each_mut().map(page);
    assert_ne!(pages[0], pages[1]);
    for (learner, at) in learners.iter_mut().zip(&pages) {
        assert!(get(at, "/").1.starts_with("<!doctype html>"));
        learner.until("a game", |_| get(at, "/games").1.contains("\"id\":2"));
        assert_eq!(get(at, "/games/2").0, 200);
    }
    for learner in learners {
        learner.signal("TERM");
        learner.end().well();
    }
    let mut learner = runs[0].resume(&["--match-every-s=0"]);
    let at = page(&mut learner);
    let (code, game) = get(&at, "/games/2");
    assert!(code == 200 && game.contains("\"knew\":["), "{game}");
    let history: Value = serde_json::from_str(&get(&at, "/history").1).unwrap();
    assert!(history["training"]["step"].as_array().is_some_and(|steps| !steps.is_empty()), "{history}");
    learner.signal("TERM");
    learner.end().well();
}

#[test]
fn a_run_that_shall_not_be_looked_at_serves_nothing() {
    let run = Run::kuhn();
    let ended = run.train(&["--metrics-addr=none", "--steps=3"]).well();
    assert!(!ended.out.contains("browser") && !ended.err.contains("serving"), "{}\n{}", ended.out, ended.err);
    run.train(&["--metrics-addr=here"]).refused(2, &["neither an address such as 127.0.0.1:9090 nor none"]);
}
