//! Games whose properties are known by hand.

use fogfall_game::{Action, GameInfo, Layout, mix};
use fogfall_games::{KuhnPoker, TicTacToe};

use super::*;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "found {found}, expected {expected}");
}

#[test]
fn kuhn_poker_is_known_by_hand() {
    let found = Suitability::measure(&KuhnPoker::new(), 20_000, 1);
    // By lot, s the seat with the higher card: bet and fold 1/4, seat 0 wins; bet and call 1/4, s wins; pass and pass 1/4,
    // s; pass, bet and fold 1/8, seat 1; pass, bet and call 1/8, s. Seat 0: 1/4 + 1/8 + 1/8 + 1/16 = 9/16.
    near(found.bias.unwrap().mean, 0.5625, 0.012); // 3.4 standard errors of sqrt(.25 / 20000) = .0035
    // After a bet folding and calling agree if seat 0 is s: 1/2. After two passes the sibling is a bet, played on: if
    // seat 1 is s it wins either way, else seat 0 must call, 1/2: 3/4. After pass and bet as after a bet: 1/2.
    // 1/2 * 1/2 + 1/4 * 3/4 + 1/4 * 1/2 = 9/16.
    near(found.leaf_correlation.unwrap().mean, 0.5625, 0.012);
    // Two cards are left for the opponent from the first decision to the last.
    near(found.worlds[0], 2.0, 0.1);
    near(found.disambiguation.unwrap(), 0.0, 0.05);
    assert!(found.advice().contains("badly"), "{}", found.advice());
}

#[test]
fn tic_tac_toe_hides_nothing() {
    let found = Suitability::measure(&TicTacToe::new(), 20_000, 1);
    // Well known: the first player wins 58.49 % of random games, the second 28.81 %: .5849 + .1270 / 2.
    near(found.bias.unwrap().mean, 0.6484, 0.012);
    assert_eq!((found.disambiguation, found.worlds), (None, [1.0, 1.0]));
    assert!(found.advice().starts_with("Nothing is hidden"));
}

#[test]
fn advice_follows_from_what_comes_to_light_and_from_single_choices() {
    let advice = |correlation, disambiguation, worlds| {
        let share = Interval { mean: correlation, low: 0.0, high: 1.0, samples: 100 };
        let found = Suitability {
            game: "any".to_owned(),
            games: 100,
            leaf_correlation: Some(share),
            bias: None,
            disambiguation: Some(disambiguation),
            worlds,
        };
        found.advice()
    };
    assert!(advice(0.5, 0.2, [100.0, 4.0]).contains("comes to light in play"));
    assert!(advice(0.9, 0.0, [100.0, 100.0]).contains("seldom changes the winner"));
    assert!(advice(0.5, 0.05, [100.0, 40.0]).contains("slowly"));
    // Leduc poker: a public card rules some worlds out, but most are left at the end.
    assert!(advice(0.44, 0.13, [5.0, 4.3]).contains("badly"));
}

#[test]
fn a_measurement_is_reproducible() {
    let measure = |seed| Suitability::measure(&KuhnPoker::new(), 300, seed);
    assert_eq!(measure(1), measure(1));
    assert_ne!(measure(1), measure(2));
}

#[test]
fn the_effective_number_of_worlds_is_that_of_equally_likely_ones() {
    let game = Peeling::new(true);
    for (peeled, expected) in [(0, 64.0), (2, 16.0), (6, 1.0)] {
        let view = View { seat: 0, token: 0, peeled, last: 0 };
        let mut found = GeometricMean::default();
        (0..100).for_each(|i| found.add(effective_worlds(&game, &view, 0, &mut stream(i, &[]))));
        near(found.mean() / expected, 1.0, 0.06); // 32 coincidences: 18 % each, 1.8 % for the mean of 100
    }
}

#[test]
fn a_hidden_token_that_is_peeled_bit_by_bit_halves_each_time() {
    let found = Suitability::measure(&Peeling::new(true), 2_000, 1);
    // 64, 32, ... 2 worlds at the six decisions.
    near(found.disambiguation.unwrap(), 0.5, 0.01);
    near(found.worlds[0] / 64.0, 1.0, 0.06);
    near(found.worlds[1] / 2.0, 1.0, 0.06);
    // The last action decides alone: the sibling always has the other winner.
    assert_eq!(found.leaf_correlation.unwrap().mean, 0.0);
    near(found.bias.unwrap().mean, 0.5, 0.04);
    assert!(found.advice().contains("comes to light in play"), "{}", found.advice());
}

#[test]
fn a_game_decided_by_its_deal_is_wholly_correlated() {
    let found = Suitability::measure(&Peeling::new(false), 2_000, 1);
    assert_eq!(found.leaf_correlation.unwrap().mean, 1.0);
}

/// Seat 1 holds a token of six bits. Seat 0 decides six times; each time one bit is shown. The winner is who the last
/// action names, or the token's lowest bit.
struct Peeling {
    info: GameInfo,
    by_action: bool,
}

#[derive(Clone)]
struct State {
    token: u8,
    peeled: u8,
    last: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct View {
    seat: Seat,
    /// The bits that the seat knows.
    token: u8,
    peeled: u8,
    last: u8,
}

const BITS: u8 = 6;

impl Peeling {
    fn new(by_action: bool) -> Self {
        let info = GameInfo {
            name: "peeling".to_owned(),
            rules: None,
            observation: Layout::new([("peeled", 1)]),
            planes: None,
            actions: vec!["0".to_owned(), "1".to_owned()],
            hidden: Layout::default(),
            max_decisions: usize::from(BITS),
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: false,
            mixed_play: false,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info, by_action }
    }
}

impl Game for Peeling {
    type State = State;
    type View = View;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, setup: &mut Rng) -> State {
        State { token: setup.random_range(0..1 << BITS), peeled: 0, last: 0 }
    }

    fn turn(&self, state: &State) -> Turn {
        if state.peeled < BITS { Turn::Player(0) } else { Turn::Over }
    }

    fn legal(&self, _: &State, out: &mut Actions) {
        *out = vec![0, 1];
    }

    fn chance(&self, _: &State, _: &mut Vec<(Action, f32)>) {
        unreachable!("chance is never to move")
    }

    fn sample(&self, _: &State, _: &mut Rng) -> Action {
        unreachable!("chance is never to move")
    }

    fn apply(&self, state: &mut State, action: Action) {
        state.peeled += 1;
        state.last = action as u8;
    }

    fn payoff(&self, state: &State) -> f32 {
        let winner = if self.by_action { state.last } else { state.token & 1 };
        1.0 - 2.0 * f32::from(winner)
    }

    fn view(&self, state: &State, seat: Seat) -> View {
        let known = if seat == 1 { u8::MAX } else { ((1u16 << state.peeled) - 1) as u8 };
        View { seat, token: state.token & known, peeled: state.peeled, last: state.last }
    }

    fn tree_key(&self, state: &State, seat: Seat) -> u64 {
        let view = self.view(state, seat);
        mix(mix(u64::from(view.token), view.peeled.into()), view.last.into())
    }

    fn observe(&self, state: &State, _: Seat, out: &mut [f32]) {
        out[0] = state.peeled.into();
    }

    fn hidden(&self, _: &State, _: Seat, _: &mut [f32]) {}

    fn determinize(&self, view: &View, rng: &mut Rng) -> State {
        let hidden: u8 = if view.seat == 1 { 0 } else { rng.random_range(0..1 << BITS) >> view.peeled << view.peeled };
        State { token: view.token | hidden, peeled: view.peeled, last: view.last }
    }

    fn describe(&self, state: &State) -> String {
        format!("token {:06b}, {} bits shown", state.token, state.peeled)
    }
}
