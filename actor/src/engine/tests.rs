//! The engine, line by line: the transcript of `docs/engine.md`, mistakes that change nothing, and what a decision may see.

use std::io::{BufReader, Cursor};

use fogfall_game::GameSet;
use fogfall_games::Shipped;
use fogfall_pipeline::Preset;
use fogfall_service::settings::Loader;
use serde_json::{Value, json};

use super::*;

/// The answers to these lines.
fn answers(game: &str, requests: &str) -> Vec<Value> {
    let mut answers = Vec::new();
    let mut loader = Loader::new();
    loader.stored("the game's own defaults", &Shipped::with(game, None, Preset).unwrap());
    let flags = AgentFlags { search: loader.load(), ..AgentFlags::default() };
    let engine = Engine {
        weights: NO_WEIGHTS.to_owned(),
        flags,
        requests: Cursor::new(requests.as_bytes()),
        answers: &mut answers,
    };
    Shipped::with(game, None, engine).unwrap().unwrap();
    let text = String::from_utf8(answers).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn one(game: &str, requests: &str) -> Value {
    answers(game, requests).pop().unwrap()
}

#[test]
fn the_transcript_in_the_documentation_is_what_the_engine_says() {
    let page = include_str!("../../../docs/engine.md");
    let lines: Vec<&str> = page.lines().collect();
    let mut replayed = 0;
    for (index, line) in lines.iter().enumerate() {
        let Some(command) = line.strip_prefix("$ actor engine --game ") else { continue };
        let game = command.split_whitespace().next().unwrap();
        assert!(command.ends_with("--weights none"), "{command}");
        let talk: Vec<&str> = lines[index + 1..].iter().copied().take_while(|line| !line.starts_with("```")).collect();
        let side = |mark: &str| talk.iter().filter_map(|line| line.strip_prefix(mark)).collect::<Vec<_>>();
        let (asked, answered) = (side("> "), side("< "));
        let ours = answers(game, &asked.join("\n"));
        let theirs: Vec<Value> = answered.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let show = || ours.iter().map(|line| format!("< {line}")).collect::<Vec<_>>().join("\n");
        assert!(ours == theirs, "{command}: the engine says\n{}", show());
        replayed += asked.len();
    }
    assert!(replayed > 10, "the transcripts were found");
}

#[test]
fn a_line_that_cannot_be_followed_gets_an_error_and_changes_nothing() {
    let begin = r#"{"do":"new","game":"g","seed":1}"#;
    for (line, reason) in [
        ("nonsense", "no JSON object"),
        ("[1]", "no JSON object"),
        (r#"{"do":"fly"}"#, "unknown variant `fly`"),
        (r#"{"do":"new","game":"h","sed":1}"#, "unknown field `sed`"),
        (r#"{"do":"new"}"#, "missing field `game`"),
        (r#"{"do":"new","game":"g"}"#, "goes on already"),
        (r#"{"do":"apply","game":"h","action":1}"#, r#"no game "h""#),
        (r#"{"do":"apply","game":"g","action":9}"#, "9 is not possible now: one of [0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        (r#"{"do":"apply","game":"g","action":"up"}"#, r#"no action "up""#),
        (r#"{"do":"apply","game":"g","action":70000}"#, "70000 is not possible now"),
        (r#"{"do":"chance","game":"g"}"#, "no chance outcome is due"),
        (r#"{"do":"undo","game":"g"}"#, "nothing to undo"),
        (r#"{"do":"decide","game":"g","seat":1}"#, "seat 0 is to move"),
        (r#"{"do":"decide","game":"g","simulations":0}"#, "simulations is 0, allowed is 1 to"),
        (r#"{"do":"decide","game":"g","simulations":99999999999}"#, "allowed is 1 to"),
        (r#"{"do":"decide","game":"g","choice":"best"}"#, "unknown variant `best`"),
        (r#"{"do":"close","game":"h"}"#, r#"no game "h""#),
    ] {
        let all = answers("tic_tac_toe", &format!("{begin}\n{line}\n{}", r#"{"id":7,"do":"show","game":"g"}"#));
        let error = all[1]["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "{line}: {error:?}");
        assert_eq!((&all[2]["id"], &all[2]["steps"]), (&json!(7), &json!([])), "{line}");
    }
}

#[test]
fn a_line_without_end_and_bytes_that_are_no_text_are_refused_and_the_next_line_is_answered() {
    let long = vec![b'x'; MAX_LINE_BYTES as usize + 10];
    let mut requests = BufReader::new(Cursor::new([&long[..], b"\n\xff\xfe\n{}\n"].concat()));
    let mut texts = std::iter::from_fn(|| next_line(&mut requests).unwrap());
    assert!(texts.next().unwrap().unwrap_err().to_string().contains("at most 1048576 bytes"));
    assert!(texts.next().unwrap().unwrap_err().to_string().contains("not UTF-8"));
    assert_eq!(texts.next().unwrap().unwrap(), "{}\n");
    assert!(texts.next().is_none());
}

#[test]
fn several_games_go_on_side_by_side_and_moves_are_taken_back() {
    let requests = [
        r#"{"do":"new","game":"a"}"#,
        r#"{"do":"new","game":"b"}"#,
        r#"{"do":"apply","game":"a","action":4}"#,
        r#"{"do":"apply","game":"a","action":0}"#,
        r#"{"do":"undo","game":"a"}"#,
        r#"{"do":"apply","game":"b","action":0}"#,
        r#"{"do":"show","game":"a"}"#,
        r#"{"do":"close","game":"b"}"#,
        r#"{"do":"show","game":"b"}"#,
    ];
    let all = answers("tic_tac_toe", &requests.join("\n"));
    assert_eq!(all[4], json!({ "id": null, "turn": 1, "moves": 1, "legal": [0, 1, 2, 3, 5, 6, 7, 8] }));
    assert_eq!(all[6]["steps"], json!([4]));
    assert!(all[8]["error"].is_string());
}

#[test]
fn a_win_in_one_is_played_and_a_finished_game_says_who_won() {
    let moves: String = [0, 3, 1, 4]
        .iter()
        .map(|action| format!("{{\"do\":\"apply\",\"game\":\"g\",\"action\":{action}}}\n"))
        .collect();
    let decided =
        one("tic_tac_toe", &format!("{}\n{moves}{}", r#"{"do":"new","game":"g"}"#, r#"{"do":"decide","game":"g"}"#));
    assert_eq!((&decided["action"], &decided["seat"], &decided["simulations"]), (&json!(2), &json!(0), &json!(64)));
    let over = one(
        "tic_tac_toe",
        &format!("{}\n{moves}{}", r#"{"do":"new","game":"g"}"#, r#"{"do":"apply","game":"g","action":2}"#),
    );
    assert_eq!((&over["turn"], &over["returns"]), (&json!("over"), &json!([1.0, -1.0])));
}

#[test]
fn a_decision_is_the_same_whatever_the_other_seat_holds() {
    // Kuhn poker: seat 0 holds the queen, seat 1 the jack or the king; seat 0 decides by what it sees.
    let decided = |other: u16| {
        let requests = [
            r#"{"do":"new","game":"g","seed":3}"#.to_owned(),
            r#"{"do":"apply","game":"g","action":1}"#.to_owned(),
            format!(r#"{{"do":"apply","game":"g","action":{other}}}"#),
            r#"{"do":"decide","game":"g","simulations":200,"seed":5,"choice":"sample"}"#.to_owned(),
        ];
        one("kuhn_poker", &requests.join("\n"))
    };
    assert_eq!(decided(0), decided(2));
    assert_eq!(decided(0)["simulations"], 200);
}

#[test]
fn chance_is_drawn_from_the_games_seed_and_battles_are_fought_to_their_end() {
    let fight = |seed: u64| {
        let mut requests = format!("{{\"do\":\"new\",\"game\":\"g\",\"seed\":{seed}}}\n");
        let mut last = one("battle", &requests);
        for _ in 0..5000 {
            let next = match &last["turn"] {
                Value::String(turn) if turn == "chance" => r#"{"do":"chance","game":"g"}"#.to_owned(),
                Value::String(_) => break,
                _ => format!(r#"{{"do":"apply","game":"g","action":{}}}"#, last["legal"][0]),
            };
            requests.push_str(&next);
            requests.push('\n');
            last = one("battle", &requests);
        }
        assert_eq!(last["turn"], "over");
        last
    };
    assert_eq!(fight(3), fight(3));
}
