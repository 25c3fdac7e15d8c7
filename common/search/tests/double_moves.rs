//! A game in which a seat may move several times in a row: values keep their side whoever moves next.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, stream};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Gathered, Search, SearchSettings};

/// Who moves at each ply.
const MOVERS: [Seat; 7] = [0, 0, 1, 1, 1, 0, 1];

/// Seat 0 wins whatever is done.
struct Won(GameInfo);

impl Game for Won {
    type State = usize;
    type View = usize;

    fn info(&self) -> &GameInfo {
        &self.0
    }

    fn start(&self, _: &mut Rng) -> usize {
        0
    }

    fn turn(&self, ply: &usize) -> Turn {
        MOVERS.get(*ply).map_or(Turn::Over, |&seat| Turn::Player(seat))
    }

    fn legal(&self, _: &usize, out: &mut Actions) {
        *out = vec![0, 1];
    }

    fn chance(&self, _: &usize, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _: &usize, _: &mut Rng) -> Action {
        unreachable!("there is no chance")
    }

    fn apply(&self, ply: &mut usize, _: Action) {
        *ply += 1;
    }

    fn payoff(&self, _: &usize) -> f32 {
        1.0
    }

    fn view(&self, ply: &usize, _: Seat) -> usize {
        *ply
    }

    fn tree_key(&self, ply: &usize, _: Seat) -> u64 {
        *ply as u64
    }

    fn observe(&self, _: &usize, seat: Seat, out: &mut [f32]) {
        out[0] = f32::from(seat);
    }

    fn hidden(&self, _: &usize, _: Seat, _: &mut [f32]) {}

    fn determinize(&self, view: &usize, _: &mut Rng) -> usize {
        *view
    }

    fn describe(&self, ply: &usize) -> String {
        ply.to_string()
    }
}

#[test]
fn a_won_game_is_won_for_its_winner_at_every_ply_of_double_and_triple_moves() {
    let game = Arc::new(Won(GameInfo {
        name: "won".into(),
        rules: None,
        observation: Layout::new([("seat", 1)]),
        planes: None,
        actions: vec!["a".into(), "b".into()],
        hidden: Layout::default(),
        max_decisions: MOVERS.len(),
        value_scale: 1.0,
        value_bound: 1.0,
        perfect_information: true,
        mixed_play: false,
        has_chance: false,
        symmetries: Vec::new(),
    }));
    for (ply, &mover) in MOVERS.iter().enumerate() {
        let mut search = Search::new(Arc::clone(&game), SearchSettings::for_game(game.info()));
        search.begin(ply, Budget::Simulations(60), None, 1);
        let mut batch = EvalBatch::new(1);
        while search.gather(0, &mut batch) != Gathered::Done {
            if !batch.is_empty() {
                // The network knows it too: the mover's value.
                let value = if batch.observation(0)[0] == 0.0 { 1.0 } else { -1.0 };
                search.apply(&[0.5, 0.5], value);
                batch.clear();
            }
        }
        let mut decision = Decision::default();
        search.decide(Choice::Visits, &mut stream(1, &[]), &mut decision);
        let expected = if mover == 0 { 1.0 } else { -1.0 };
        assert_eq!(decision.root_value, expected, "ply {ply}: seat {mover} moves");
        assert_eq!(decision.q, [expected; 2], "ply {ply}: seat {mover} moves");
    }
}
