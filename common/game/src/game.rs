//! The [`Game`] trait: rules, views, observations and determinization of one game.

use rand::RngExt;
use serde::{Serialize, de::DeserializeOwned};

use crate::{GameInfo, Rng, stream};

/// A player's move or a chance outcome: a played game is a list of these.
pub type Action = u16;

/// Actions in ascending order, each once.
pub type Actions = Vec<Action>;

/// One of the two players, 0 or 1. Payoffs and value sums are seat 0's.
pub type Seat = u8;

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This seat decides.
    Player(Seat),
    /// A chance outcome is due.
    Chance,
    /// The game has ended.
    Over,
}

/// A game for two seats with payoffs that sum to zero. A value of the type is an instance: it holds parsed rules, if
/// the game has any.
///
/// What a seat cannot know may reach nothing that is computed for it: [`legal`](Game::legal),
/// [`observe`](Game::observe), [`tree_key`](Game::tree_key) and the mover are functions of the seat's
/// [`view`](Game::view) alone. The contract suite (feature `contract`) checks that for any game.
pub trait Game: Send + Sync + 'static {
    /// The true game. Cloned once a simulation: keep it small and free of allocations.
    type State: Clone + Send + 'static;
    /// All that one seat has seen: its own private part and the public facts. Never the state itself.
    type View: Clone + Eq + std::fmt::Debug + Send + Serialize + DeserializeOwned;

    /// Sizes, names, value scale and bound.
    fn info(&self) -> &GameInfo;

    /// A new game. `setup` is a random stream apart from play, so that two games with the same set-up stay the same
    /// match-up whatever is played.
    fn start(&self, setup: &mut Rng) -> Self::State;

    /// Who acts next.
    fn turn(&self, state: &Self::State) -> Turn;

    /// Replaces `out` by the mover's legal actions, ascending. Called only when a player is to move.
    fn legal(&self, state: &Self::State, out: &mut Actions);

    /// Replaces `out` by all chance outcomes with their probabilities, ascending by outcome; they sum to 1. Called
    /// only when chance is to move. For solvers, replays and tests; play uses [`sample`](Game::sample).
    fn chance(&self, state: &Self::State, out: &mut Vec<(Action, f32)>);

    /// Draws one chance outcome, distributed as [`chance`](Game::chance) lists them.
    fn sample(&self, state: &Self::State, rng: &mut Rng) -> Action;

    /// Applies a legal action or a possible chance outcome.
    fn apply(&self, state: &mut Self::State, action: Action);

    /// Applies a player's action and then chance until a player moves or the game is over. The hot path of the
    /// search; a game may fuse the steps as long as the distribution stays the same.
    fn advance(&self, state: &mut Self::State, action: Action, rng: &mut Rng) {
        self.apply(state, action);
        self.settle(state, rng);
    }

    /// Draws chance outcomes until a player moves or the game is over.
    fn settle(&self, state: &mut Self::State, rng: &mut Rng) {
        while self.turn(state) == Turn::Chance {
            let outcome = self.sample(state, rng);
            self.apply(state, outcome);
        }
    }

    /// Plays on to the end, each legal action as likely as any other, and returns seat 0's payoff: the hot path of
    /// searches without a network. A game may fuse the steps as long as payoffs are distributed the same. `scratch`
    /// saves allocations, whatever it holds.
    fn play_out(&self, state: &mut Self::State, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        self.settle(state, rng);
        while let Turn::Player(_) = self.turn(state) {
            self.legal(state, scratch);
            let action = scratch[rng.random_range(0..scratch.len())];
            self.advance(state, action, rng);
        }
        self.payoff(state)
    }

    /// Seat 0's payoff of a finished game, in the game's own units.
    fn payoff(&self, state: &Self::State) -> f32;

    /// All that `seat` has seen.
    fn view(&self, state: &Self::State, seat: Seat) -> Self::View;

    /// A chained hash of what `seat` has seen, as coarse as the game wants: two situations with the same key share a
    /// node in that seat's search tree. It never depends on what the seat has not seen.
    fn tree_key(&self, state: &Self::State, seat: Seat) -> u64;

    /// Writes `seat`'s information as `[observation.len()]` numbers, following [`GameInfo::observation`]. Overwrites
    /// all of `out`.
    fn observe(&self, state: &Self::State, seat: Seat, out: &mut [f32]);

    /// Writes what is hidden from `seat` as `[hidden.len()]` numbers, following [`GameInfo::hidden`]: a label for
    /// learned beliefs, recorded with each decision and never read by the search. Overwrites all of `out`.
    fn hidden(&self, state: &Self::State, seat: Seat, out: &mut [f32]);

    /// Draws a world: a state that looks to the view's seat exactly like the true one. Chance facts follow the rules'
    /// own odds; facts from the opponent's choices are uniform over the consistent ones.
    fn determinize(&self, view: &Self::View, rng: &mut Rng) -> Self::State;

    /// Replays `world`, drawn from `view`, from the start and shows each past decision of `seat` before it is applied,
    /// as the state at that time and the action taken. None if the game cannot: then it offers no reach weights. Worlds of a
    /// view differ in how many there are only if decisions can go unnoticed, changing nothing in the view.
    ///
    /// Returns how often the world should have been drawn for one time that [`determinize`](Self::determinize) draws
    /// it, as far as the rules' odds alone say, up to a factor that all worlds of a view share. That is 1 unless
    /// `determinize` already takes something from what the opponent chose: if it draws a hand around a card that was
    /// played as if that card had been drawn by lot, hands with two of the card come twice as often, and this is 1/2
    /// for them.
    fn past(
        &self,
        view: &Self::View,
        world: &Self::State,
        seat: Seat,
        visit: &mut dyn FnMut(&Self::State, Action),
    ) -> Option<f64> {
        let _ = (view, world, seat, visit);
        None
    }

    /// The state under `view` with the hidden facts of `world`, which was drawn from an earlier view of the same seat.
    /// Facts that were hidden since are drawn as [`determinize`](Self::determinize) does. Shows each decision of `seat`
    /// made since, as [`past`](Self::past) does. None if the world contradicts what was seen since, or if the game
    /// cannot: then a new world is drawn and all its past is looked at, which is as right and dearer.
    ///
    /// Returns with it the factor by which the world's weight changes, up to one that all worlds share: how likely the
    /// chance outcomes seen since were in this world, 1 where their odds do not depend on what is hidden; and for what was
    /// drawn of the opponent's choices, how often it should have been for one time that it is.
    fn carry(
        &self,
        view: &Self::View,
        world: &Self::State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&Self::State, Action),
    ) -> Option<(Self::State, f64)> {
        let _ = (view, world, seat, rng, visit);
        None
    }

    /// The kind of character that `seat` plays, for games that have several: reports on balance are by kind. Public,
    /// and the same from a game's start to its end.
    fn character(&self, state: &Self::State, seat: Seat) -> Option<&str> {
        let _ = (state, seat);
        None
    }

    /// True if a finished game was ended by a limit of its rules, and not by what was played.
    fn ran_out(&self, state: &Self::State) -> bool {
        let _ = state;
        false
    }

    /// Names of the game's rule-based players, weakest first.
    fn experts(&self) -> &'static [&'static str] {
        &[]
    }

    /// The move of a rule-based player, a function of the mover's view and of `rng`. `expert` is one of
    /// [`experts`](Game::experts), `legal` the mover's legal actions.
    fn expert_move(&self, expert: &str, view: &Self::View, legal: &[Action], rng: &mut Rng) -> Action {
        let _ = view;
        unreachable!("{expert} is not a player of {} ({} moves, {:?})", self.info().name, legal.len(), rng)
    }

    /// The position as text, for goldens, replays and people. Shows everything, hidden facts too.
    fn describe(&self, state: &Self::State) -> String;

    /// What `seat` knows where somebody is to move, as text for people. It is made from the seat's `view` alone, so it can
    /// tell nothing that the seat does not know. If a game does not say it better: the numbers of the seat's observation that
    /// are not 0, by field; or the position, where everything is seen.
    fn describe_view(&self, view: &Self::View, seat: Seat) -> String {
        // Any world drawn from the view looks to the seat like the true game, so it does not matter which.
        let world = self.determinize(view, &mut stream(0, &[]));
        if self.info().perfect_information {
            return self.describe(&world);
        }
        let mut observation = vec![0.0; self.info().observation_len()];
        self.observe(&world, seat, &mut observation);
        self.info().observation.describe(&observation)
    }
}
