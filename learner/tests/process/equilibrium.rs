//! Games in which good play is mixed: a run of their own defaults comes near an equilibrium, and one without what makes them
//! up does not. Lockstep makes both runs the same on every machine.

use std::{fs, sync::Arc};

use fogfall_eval::{GameTree, played_profile};
use fogfall_game::{Game, stream};
use fogfall_games::KuhnPoker;
use fogfall_net::{Net, NetEvaluator, Weights};
use fogfall_search::{Budget, Choice, SearchSettings};
use fogfall_selfplay::Searcher;

use crate::support::{Learner, Run};

const SCHOOL: &[&str] = &[
    "--lockstep",
    "--lockstep-games=300",
    "--lockstep-steps=12",
    "--steps=1200",
    "--width=32",
    "--batch-rows=256",
    "--simulations=64",
    "--slots=32",
    "--window-rows=200000",
    "--log-rows=400000",
];

/// NashConv of the policy that the trained network plays without search.
fn trained(more: &[&str]) -> f64 {
    let run = Run::kuhn();
    run.train(&[SCHOOL, more].concat()).well();
    let weights = Weights::from_bytes(&fs::read(run.path().join("weights.safetensors")).unwrap()).unwrap();
    let game = Arc::new(KuhnPoker::new());
    let mut alone = Searcher {
        evaluator: Box::new(NetEvaluator::new(Arc::new(Net::new(&weights)))),
        search: SearchSettings::for_game(game.info()),
        budget: Budget::Simulations(1),
        choice: Choice::Sample { temperature: 1.0 },
    };
    let tree = GameTree::lay_out(&*game, &game.start(&mut stream(0, &[])), 1000).unwrap();
    let profile = played_profile(&game, &tree, &mut alone, 1).unwrap();
    tree.exploitability(&profile).nash_conv
}

#[test]
fn belief_and_opponents_by_the_network_bring_kuhn_poker_near_an_equilibrium() {
    let (mixed, literal) = (trained(&[]), trained(&["--belief=uniform", "--opponents=search"]));
    // The uniform policy has 0.917, the best pure ones 1/3.
    assert!(mixed < 0.12 && literal > 2.0 * mixed, "{mixed}, {literal} without");
}

#[test]
fn the_average_of_a_runs_policies_goes_on_over_a_resume() {
    let run = Run::kuhn();
    let file = run.path().join("average-policy.msgpack");
    let kept = || fs::read(&file).unwrap_or_default();
    let measured_anew = |mut learner: Learner, before: &[u8]| {
        learner.until("a policy measured", |_| kept() != before);
        learner.signal("TERM");
        learner.end().well()
    };
    measured_anew(run.start(&["--exact-every-s=1"]), &[]);
    let first = kept();
    let on = measured_anew(run.resume(&[]), &first);
    assert!(!on.err.contains("begins anew"), "{}", on.err);
    fs::remove_file(&file).unwrap();
    let anew = measured_anew(run.resume(&[]), &[]);
    assert!(anew.err.contains("the average policy begins anew at step"), "{}", anew.err);
    let names: Vec<_> = run.status()["figures"].as_array().unwrap().iter().map(|f| f["name"].clone()).collect();
    assert_eq!(names, ["NashConv, searched", "NashConv, the network alone", "NashConv, the run's average"]);
}
