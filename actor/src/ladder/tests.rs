//! A ladder over a run that is written here, and who meets whom.

use std::{fs, path::Path};

use fogfall_games::{KuhnPoker, TicTacToe};
use fogfall_net::{Shape, Weights};
use fogfall_proto::{Manifest, digest};
use serde_json::json;

use super::*;

/// What a run of a game says of itself.
pub(super) fn manifest(game: &str) -> Manifest {
    Manifest {
        wire: 1,
        run: "test".into(),
        game: game.into(),
        rules: None,
        observation: Vec::new(),
        actions: Vec::new(),
        hidden: Vec::new(),
        width: 8,
        blocks: 0,
        tower: None,
        settings: [].into(),
        log: [].into(),
    }
}

/// Writes a checkpoint as the learner does.
pub(super) fn write_checkpoint(run: &Path, version: &str, weights: &[u8], manifest: &Manifest) {
    let dir = run.join("checkpoints").join(version);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("averaged.safetensors"), weights).unwrap();
    let files = json!({ "averaged.safetensors": format!("{:032x}", digest(weights)), "trainer.safetensors": "0" });
    let state = json!({ "format": 1, "files": files, "state": { "manifest": manifest, "ordinal": 3 } });
    fs::write(dir.join("state.json"), state.to_string()).unwrap();
}

fn player(name: &str, checkpoint: Option<usize>) -> Player {
    let spec = AgentSpec::parse("random", &KuhnPoker::new(), &AgentFlags::default()).unwrap();
    Player { name: name.into(), spec, step: None, checkpoint }
}

#[test]
fn fixed_players_meet_everybody_and_checkpoints_their_next_two() {
    let players =
        [player("a", None), player("b", None), player("0", Some(0)), player("1", Some(1)), player("2", Some(2))];
    let more = [player("3", Some(3))];
    let all: Vec<Player> = players.into_iter().chain(more).collect();
    let met = pairings(&all);
    // 15 of all pairs, less the one of checkpoints 0 and 3.
    assert_eq!(met.len(), 14);
    assert!(!met.contains(&[2, 5]) && met.contains(&[3, 5]) && met.contains(&[0, 5]));
}

fn ladder(run: Option<RunWeights>, agents: &[&str]) -> Ladder {
    let mut flags = AgentFlags::default();
    flags.search.simulations = 8;
    let agents = agents.iter().map(|&agent| agent.to_owned()).collect();
    Ladder { run, agents, anchor: "random".into(), pairs: 30, seed: 1, flags }
}

#[test]
fn a_stronger_player_stands_higher_and_the_anchor_at_0() {
    let game = Arc::new(TicTacToe::new());
    let report = ladder(None, &["search:10", "search:200", "cheat:20"]).visit(game).unwrap();
    let elo = |name: &str| report.players.iter().find(|player| player.name == name).unwrap().elo;
    assert_eq!(elo("random").mean, 0.0);
    assert!(elo("search:200").low > elo("search:10").mean && elo("search:10").low > 0.0);
    assert_eq!(report.meetings.len(), 6); // 4 players
    assert!(report.players.iter().all(|player| player.games == 180)); // 3 meetings of 60 games
    assert!(report.to_string().contains("\ncheat:20 (CHEATS: sees all)  "), "{report}");
    assert!(plot::svg(&report).unwrap_err().to_string().contains("--run"));
}

#[test]
fn a_runs_checkpoints_are_rated_and_drawn() {
    let game = Arc::new(KuhnPoker::new());
    let dir = tempfile::tempdir().unwrap();
    let weights = |seed| Weights::random(Shape::new(game.info(), 8, 0), seed).unwrap().to_bytes();
    fs::write(dir.path().join("untrained.safetensors"), weights(0)).unwrap();
    for (number, version) in ["0001.000000000100", "0001.000000000200", "0002.000000000300"].iter().enumerate() {
        write_checkpoint(dir.path(), version, &weights(1 + number as u64), &manifest("kuhn_poker"));
    }
    let run = RunWeights::read(dir.path(), 8).unwrap();
    let report = ladder(Some(run), &[]).visit(game).unwrap();
    let names: Vec<_> = report.players.iter().map(|player| player.name.as_str()).collect();
    assert_eq!(names, ["random", "untrained", "start 1, step 100", "start 1, step 200", "start 2, step 300"]);
    assert_eq!(
        report.players.iter().map(|p| p.step).collect::<Vec<_>>()[1..],
        [Some(0), Some(100), Some(200), Some(300)]
    );
    let svg = plot::svg(&report).unwrap();
    assert!(svg.contains("train steps") && svg.matches("<circle").count() == 4, "{svg}"); // untrained and three more
}

#[test]
fn who_is_not_there_cannot_be_the_anchor_and_nobody_stands_there_twice() {
    let game = Arc::new(KuhnPoker::new());
    let error = |ladder: Ladder| ladder.visit(Arc::clone(&game)).map(|_| ()).unwrap_err().to_string();
    let text = error(Ladder { anchor: "nobody".into(), ..ladder(None, &["search:5"]) });
    assert_eq!(text, "--anchor nobody: no such player; there are random, search:5");
    assert_eq!(error(ladder(None, &["search:5", "search:5"])), "search:5 is on the ladder twice");
    assert_eq!(error(ladder(None, &[])), "a ladder has two players or more: give --run or agents");
    assert!(error(ladder(None, &["search:cpu"])).starts_with("search:cpu takes the CPU time"));
}
