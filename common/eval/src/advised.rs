//! [`Advised`]: a small game with one more rule-based player, `nash`, that follows a solved policy: an opponent that
//! nobody beats in the mean but who knows more than it may.

use std::collections::HashMap;

use fogfall_game::{Action, Actions, Game, GameInfo, Rng, Seat, Turn};
use rand::RngExt;

use crate::game_tree::{GameTree, Profile};

/// A game, and the player `nash`. In all else the game itself.
pub struct Advised<G: Game> {
    game: G,
    /// Probabilities of the legal actions, by the view's bytes.
    policy: HashMap<Vec<u8>, Vec<f64>>,
}

impl<G: Game> Advised<G> {
    /// The name of the added player.
    pub const NASH: &'static str = "nash";

    /// Adds the player that follows `profile`. It takes the place of the game's own rule-based players.
    pub fn new(game: G, tree: &GameTree<G::View>, profile: &Profile) -> Self {
        let policy = tree.policy(profile).map(|(view, _, odds)| (bytes(view), odds.to_vec())).collect();
        Self { game, policy }
    }
}

fn bytes(view: &impl serde::Serialize) -> Vec<u8> {
    rmp_serde::to_vec(view).expect("a view is plain data")
}

impl<G: Game> Game for Advised<G> {
    type State = G::State;
    type View = G::View;

    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        self.game.start(setup)
    }

    fn turn(&self, state: &G::State) -> Turn {
        self.game.turn(state)
    }

    fn legal(&self, state: &G::State, out: &mut Actions) {
        self.game.legal(state, out);
    }

    fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
        self.game.chance(state, out);
    }

    fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
        self.game.sample(state, rng)
    }

    fn apply(&self, state: &mut G::State, action: Action) {
        self.game.apply(state, action);
    }

    fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
        self.game.advance(state, action, rng);
    }

    fn play_out(&self, state: &mut G::State, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        self.game.play_out(state, scratch, rng)
    }

    fn payoff(&self, state: &G::State) -> f32 {
        self.game.payoff(state)
    }

    fn view(&self, state: &G::State, seat: Seat) -> G::View {
        self.game.view(state, seat)
    }

    fn tree_key(&self, state: &G::State, seat: Seat) -> u64 {
        self.game.tree_key(state, seat)
    }

    fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.observe(state, seat, out);
    }

    fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.hidden(state, seat, out);
    }

    fn determinize(&self, view: &G::View, rng: &mut Rng) -> G::State {
        self.game.determinize(view, rng)
    }

    fn past(
        &self,
        view: &G::View,
        world: &G::State,
        seat: Seat,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<f64> {
        self.game.past(view, world, seat, visit)
    }

    fn carry(
        &self,
        view: &G::View,
        world: &G::State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<(G::State, f64)> {
        self.game.carry(view, world, seat, rng, visit)
    }

    fn experts(&self) -> &'static [&'static str] {
        &[Self::NASH]
    }

    fn expert_move(&self, _: &str, view: &G::View, legal: &[Action], rng: &mut Rng) -> Action {
        let odds = &self.policy[&bytes(view)];
        let mut left: f64 = rng.random();
        for (&action, &odds) in legal.iter().zip(odds) {
            left -= odds;
            if left < 0.0 {
                return action;
            }
        }
        // Rounding left the odds a little below 1.
        legal[legal.len() - 1]
    }

    fn describe(&self, state: &G::State) -> String {
        self.game.describe(state)
    }

    fn describe_view(&self, view: &G::View, seat: Seat) -> String {
        self.game.describe_view(view, seat)
    }
}
