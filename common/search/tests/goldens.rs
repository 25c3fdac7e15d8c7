//! Golden decisions: what each search preset decides in fixed positions, to the last bit that text shows. A change here is
//! a change of the method, whether meant or not.

use std::{fmt::Write, path::Path, sync::Arc};

use fogfall_game::{Game, GameSet, GameVisitor, Turn, stream};
use fogfall_games::Shipped;
use fogfall_search::{
    Budget, Choice, Decision, EvalBatch, Hash, Keys, Label, RootNoise, Search, SearchSettings, Seats, TreeLife,
};
use fogfall_testkit::golden;
use rand::RngExt;

/// The presets: literal Method 1, its tree kept for the game, and the variants of label, budget and noise.
fn presets<G: Game>(game: &G) -> Vec<(&'static str, SearchSettings, Budget, Option<RootNoise>)> {
    let base = SearchSettings::for_game(game.info());
    let literal = SearchSettings { label: Label::Visits, keys: Keys::Actions, seats: Seats::PerSeat, ..base };
    let kept = SearchSettings { life: TreeLife::Game, ..base };
    let noise = RootNoise { concentration: 10.0, fraction: 0.25 };
    vec![
        ("literal", literal, Budget::Simulations(48), None),
        ("default", base, Budget::Simulations(48), None),
        ("tree of the game", kept, Budget::Simulations(48), None),
        ("new nodes", base, Budget::NewNodes { nodes: 24, max_simulations: 96 }, None),
        ("noise", base, Budget::Simulations(48), Some(noise)),
    ]
}

fn finish<G: Game>(search: &mut Search<G>, observation_len: usize) {
    search.run(&mut Hash { seed: 7 }, &mut EvalBatch::new(observation_len));
}

fn show(text: &mut String, decision: &Decision) {
    let join = |items: Vec<String>| items.join(" ");
    let _ = writeln!(
        text,
        "seat {} plays {} value {:.5} network {:.5} simulations {} evaluations {} new nodes {} depth {:.3}",
        decision.mover,
        decision.action,
        decision.root_value,
        decision.network_value,
        decision.simulations,
        decision.evaluations,
        decision.new_nodes,
        decision.depth
    );
    let _ = writeln!(text, "  legal  {}", join(decision.legal.iter().map(ToString::to_string).collect()));
    let _ = writeln!(text, "  visits {}", join(decision.visits.iter().map(ToString::to_string).collect()));
    let _ = writeln!(text, "  label  {}", join(decision.policy.iter().map(|p| format!("{p:.4}")).collect()));
}

struct Transcript;

impl GameVisitor for Transcript {
    type Out = String;

    fn visit<G: Game>(self, game: Arc<G>) -> String {
        let mut text = String::new();
        for (name, settings, budget, noise) in presets(&*game) {
            let _ = writeln!(text, "# {name}");
            let mut searches = [0, 1].map(|_| Search::new(Arc::clone(&game), settings));
            let mut rng = stream(3, &[]);
            let mut state = game.start(&mut rng);
            game.settle(&mut state, &mut rng);
            for ply in 0..12 {
                let Turn::Player(mover) = game.turn(&state) else { break };
                let shared = settings.seats == Seats::Shared;
                let search = &mut searches[if shared { 0 } else { usize::from(mover) }];
                search.begin(game.view(&state, mover), budget, noise, ply);
                finish(search, game.info().observation_len());
                let mut decision = Decision::default();
                search.decide(Choice::Sample { temperature: 1.0 }, &mut rng, &mut decision);
                show(&mut text, &decision);
                // What is played is drawn apart, so that all presets search the same positions.
                let mut moves = stream(4, &[ply]);
                let action = decision.legal[moves.random_range(0..decision.legal.len())];
                searches.iter_mut().for_each(|s| s.played(action));
                game.advance(&mut state, action, &mut stream(5, &[ply]));
            }
        }
        text
    }
}

#[test]
fn every_preset_decides_as_it_always_did() {
    for name in Shipped::names() {
        let text = Shipped::with(name, None, Transcript).expect("a shipped game needs no rules file");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens").join(format!("{name}.txt"));
        golden::check(path, &text);
    }
}
