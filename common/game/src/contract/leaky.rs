//! [`Leaky`]: any game, broken on purpose in one way. The suite must reject every [`Leak`].

use std::sync::atomic::{AtomicU64, Ordering};

use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::{Action, Actions, Game, GameInfo, Rng, Seat, Turn, mix, stream};

use super::Rule;
use super::probe::{Probe, digest};

/// How a game is broken. Most let a seat's play depend on what the seat cannot know; the last ones draw worlds or
/// outcomes in a wrong way, or tell a wrong past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Leak {
    /// The observation's last number moves with the hidden facts.
    Observation,
    /// The last legal action is missing for half of the hidden facts.
    Legal,
    /// The tree key hashes the hidden facts.
    TreeKey,
    /// Who moves depends on what is hidden from seat 0.
    Mover,
    /// The view carries a number that depends on the hidden facts, like the order of a bag.
    View,
    /// The view carries the order of the foe's bag where neither equality nor bytes show it, and worlds are dealt from
    /// the bag as it lies.
    Order,
    /// The view carries the hidden facts, and worlds are drawn to agree with them.
    Truth,
    /// Worlds are drawn from a generator that the played state has seeded.
    Seed,
    /// Worlds are drawn from a generator of their own.
    OwnGenerator,
    /// The same world is drawn every time.
    Frozen,
    /// Of two drawn worlds the one is taken whose hidden facts hash higher: wrong odds.
    Odds,
    /// Observation and tree key show a drawn world's private facts in the place of the seat's own.
    Blind,
    /// Every chance outcome drawn is the first listed, and `advance` draws so too.
    FirstOutcome,
    /// `past` shows another legal action in the place of each that was taken.
    Past,
    /// `carry` gives the world of the earlier view as it was.
    Stale,
    /// `carry` gives a world newly drawn from the view, whatever the old one was.
    Redrawn,
}

impl Leak {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Observation,
        Self::Legal,
        Self::TreeKey,
        Self::Mover,
        Self::View,
        Self::Order,
        Self::Truth,
        Self::Seed,
        Self::OwnGenerator,
        Self::Frozen,
        Self::Odds,
        Self::Blind,
        Self::FirstOutcome,
        Self::Past,
        Self::Stale,
        Self::Redrawn,
    ];

    /// The rules one of which the suite must find broken.
    pub fn breaks(self) -> &'static [Rule] {
        match self {
            Self::Observation => &[Rule::ObservationInvariance],
            Self::Legal => &[Rule::LegalInvariance],
            Self::TreeKey => &[Rule::TreeKeyInvariance],
            Self::Mover => &[Rule::MoverInvariance],
            Self::View => &[Rule::ViewInvariance],
            // A hidden part too rich to be hit by chance is not reached: then the view gives it away.
            Self::Truth => &[Rule::WorldsVary, Rule::ViewInvariance],
            Self::Order | Self::Seed => &[Rule::WorldFromView],
            Self::OwnGenerator => &[Rule::Randomness],
            Self::Frozen | Self::Odds => &[Rule::WorldOdds],
            Self::Blind => &[Rule::Sensitivity],
            Self::FirstOutcome => &[Rule::Sample],
            Self::Past => &[Rule::Past],
            Self::Stale | Self::Redrawn => &[Rule::Carry],
        }
    }
}

/// A game broken in one way, with the wrapped game's states and, but for what leaks, its views.
pub struct Leaky<G> {
    game: G,
    leak: Leak,
    /// What [`Leak::Seed`] and [`Leak::OwnGenerator`] remember where a game should remember nothing.
    remembered: AtomicU64,
}

/// A view with what leaks into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyView<V> {
    view: V,
    seat: Seat,
    leaked: Vec<u64>,
    #[serde(skip)]
    order: Order,
}

/// The order of a bag, which views of the same bag share as far as anybody can compare them.
#[derive(Clone, Debug, Default)]
struct Order(u64);

impl PartialEq for Order {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Order {}

impl<G: Game> Leaky<G> {
    /// How many worlds [`Leak::Truth`] tries for one that agrees with the truth.
    const TRIES: usize = 1_000;

    /// Breaks a game.
    pub fn new(game: G, leak: Leak) -> Self {
        Self { game, leak, remembered: AtomicU64::new(0) }
    }

    fn hidden_bits(&self, state: &G::State, seat: Seat) -> Vec<u64> {
        Probe::new(&self.game).hidden(state, seat).into_iter().map(u64::from).collect()
    }

    /// A hash of what is hidden from `seat`.
    fn secret(&self, state: &G::State, seat: Seat) -> u64 {
        self.hidden_bits(state, seat).into_iter().fold(0, mix)
    }

    fn is_odd(&self, state: &G::State, seat: Seat) -> bool {
        self.secret(state, seat) % 2 == 1
    }

    /// A state with other private facts of `seat`, as its foe may think of it.
    fn blind(&self, state: &G::State, seat: Seat) -> G::State {
        let seen = self.game.view(state, 1 - seat);
        self.game.determinize(&seen, &mut stream(digest(&Probe::new(&self.game).bytes(&seen)), &[]))
    }

    /// A legal action that was not taken, if there is one.
    fn other_action(&self, state: &G::State, action: Action) -> Action {
        Probe::new(&self.game).legal(state).into_iter().find(|&other| other != action).unwrap_or(action)
    }

    fn first_outcome(&self, state: &G::State) -> Action {
        let mut outcomes = Vec::new();
        self.game.chance(state, &mut outcomes);
        outcomes[0].0
    }
}

impl<G: Game> Game for Leaky<G> {
    type State = G::State;
    type View = LeakyView<G::View>;

    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        self.game.start(setup)
    }

    fn turn(&self, state: &G::State) -> Turn {
        match self.game.turn(state) {
            Turn::Player(seat) if self.leak == Leak::Mover && self.is_odd(state, 0) => Turn::Player(1 - seat),
            turn => turn,
        }
    }

    fn legal(&self, state: &G::State, out: &mut Actions) {
        self.game.legal(state, out);
        if let (Leak::Legal, Turn::Player(seat)) = (self.leak, self.game.turn(state))
            && out.len() > 1
            && self.is_odd(state, seat)
        {
            out.pop();
        }
    }

    fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
        self.game.chance(state, out);
    }

    fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
        if self.leak == Leak::FirstOutcome { self.first_outcome(state) } else { self.game.sample(state, rng) }
    }

    fn apply(&self, state: &mut G::State, action: Action) {
        self.game.apply(state, action);
    }

    fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
        if self.leak == Leak::FirstOutcome {
            self.game.apply(state, action);
            self.settle(state, rng);
        } else {
            self.game.advance(state, action, rng);
        }
    }

    fn payoff(&self, state: &G::State) -> f32 {
        self.game.payoff(state)
    }

    fn view(&self, state: &G::State, seat: Seat) -> Self::View {
        if self.leak == Leak::Seed {
            self.remembered.store(self.secret(state, seat), Ordering::Relaxed);
        }
        let leaked = match self.leak {
            Leak::View => vec![self.secret(state, seat)],
            Leak::Truth => self.hidden_bits(state, seat),
            _ => Vec::new(),
        };
        let order = Order(if self.leak == Leak::Order { self.secret(state, seat) } else { 0 });
        LeakyView { view: self.game.view(state, seat), seat, leaked, order }
    }

    fn tree_key(&self, state: &G::State, seat: Seat) -> u64 {
        match self.leak {
            Leak::TreeKey => mix(self.game.tree_key(state, seat), self.secret(state, seat)),
            Leak::Blind => self.game.tree_key(&self.blind(state, seat), seat),
            _ => self.game.tree_key(state, seat),
        }
    }

    fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        match self.leak {
            Leak::Blind => self.game.observe(&self.blind(state, seat), seat, out),
            _ => self.game.observe(state, seat, out),
        }
        if let (Leak::Observation, Some(last)) = (self.leak, out.last_mut()) {
            *last += (self.secret(state, seat) % 1024) as f32;
        }
    }

    fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.hidden(state, seat, out);
    }

    fn determinize(&self, view: &Self::View, rng: &mut Rng) -> G::State {
        let draw = |rng: &mut Rng| self.game.determinize(&view.view, rng);
        match self.leak {
            Leak::Truth => {
                let agrees = |world: &G::State| self.hidden_bits(world, view.seat) == view.leaked;
                let mut world = draw(rng);
                for _ in 0..Self::TRIES {
                    if agrees(&world) {
                        break;
                    }
                    world = draw(rng);
                }
                world
            }
            Leak::Seed => {
                let remembered = self.remembered.load(Ordering::Relaxed);
                draw(&mut stream(remembered, &[rng.random()]))
            }
            Leak::Order => draw(&mut stream(view.order.0, &[rng.random()])),
            Leak::OwnGenerator => draw(&mut stream(self.remembered.fetch_add(1, Ordering::Relaxed), &[])),
            Leak::Frozen => draw(&mut stream(0, &[])),
            Leak::Odds => {
                let (first, second) = (draw(rng), draw(rng));
                if self.secret(&first, view.seat) > self.secret(&second, view.seat) { first } else { second }
            }
            _ => draw(rng),
        }
    }

    fn past(
        &self,
        view: &Self::View,
        world: &G::State,
        seat: Seat,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<f64> {
        self.game.past(&view.view, world, seat, &mut |then, action| {
            visit(then, if self.leak == Leak::Past { self.other_action(then, action) } else { action });
        })
    }

    fn carry(
        &self,
        view: &Self::View,
        world: &G::State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&G::State, Action),
    ) -> Option<(G::State, f64)> {
        let carried = self.game.carry(&view.view, world, seat, rng, visit)?;
        match self.leak {
            Leak::Stale => Some((world.clone(), carried.1)),
            Leak::Redrawn => Some((self.game.determinize(&view.view, rng), carried.1)),
            _ => Some(carried),
        }
    }

    fn experts(&self) -> &'static [&'static str] {
        self.game.experts()
    }

    fn expert_move(&self, expert: &str, view: &Self::View, legal: &[Action], rng: &mut Rng) -> Action {
        self.game.expert_move(expert, &view.view, legal, rng)
    }

    fn describe(&self, state: &G::State) -> String {
        self.game.describe(state)
    }

    fn describe_view(&self, view: &Self::View, seat: Seat) -> String {
        self.game.describe_view(&view.view, seat)
    }
}
