//! `battle`: a duel of two characters, its rules wholly from a TOML file.
//!
//! Read in this order: `limits` and `tables` (what rules are), `reader`, `effect_rules` and `compile` (from text to
//! tables), `state`, `moves`, `engine` and `effects` (the fight), `chance`, `world` (views and worlds), `log` and `past`
//! (a fight fought again), `observe`, `describe`, `experts`.
//!
//! **Invariant:** what a seat cannot see is a card, a special or a trap in the other side's private part, and none of
//! them changes a public number before an event has shown it. So every world drawn from a view replays it exactly.

mod chance;
mod compile;
mod describe;
mod effect_rules;
mod effects;
mod engine;
mod experts;
mod limits;
mod log;
mod moves;
mod observe;
mod past;
mod reader;
mod state;
mod tables;
mod world;
mod worth;

#[cfg(test)]
mod effect_tests;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod resample_tests;
#[cfg(test)]
mod secret_tests;

use fogfall_game::{Action, Actions, Game, GameError, GameInfo, Rng, Seat, Turn};

use self::state::Due;
pub use self::state::{State, View};
use self::tables::Tables;

/// The rules that ship with the game.
pub const DEFAULT_RULES: &str = include_str!("../../rules/battle.toml");

/// Rules of a duel small enough to be solved exactly.
pub const TINY_RULES: &str = include_str!("../../rules/battle_tiny.toml");

/// A duel by the rules it was made with.
#[derive(Debug)]
pub struct Battle {
    info: GameInfo,
    tables: Tables,
}

impl Battle {
    /// The name the game is registered under.
    pub const NAME: &str = "battle";
    /// The name of the game whose own rules are [`TINY_RULES`].
    pub const TINY_NAME: &str = "battle_tiny";

    /// The game by these rules; `None` for those that ship with it.
    ///
    /// # Errors
    /// [`GameError::Rules`] with all mistakes of the text.
    pub fn new(rules: Option<&str>) -> Result<Self, GameError> {
        Self::named(Self::NAME, rules.unwrap_or(DEFAULT_RULES))
    }

    /// The same engine as `battle_tiny`; `None` for [`TINY_RULES`].
    ///
    /// # Errors
    /// [`GameError::Rules`] with all mistakes of the text.
    pub fn tiny(rules: Option<&str>) -> Result<Self, GameError> {
        Self::named(Self::TINY_NAME, rules.unwrap_or(TINY_RULES))
    }

    fn named(name: &str, text: &str) -> Result<Self, GameError> {
        let tables = compile::compile(text).map_err(|mistakes| GameError::Rules { game: name.to_owned(), mistakes })?;
        let info = GameInfo {
            name: name.to_owned(),
            rules: Some(text.to_owned()),
            observation: tables.observation(),
            planes: None,
            actions: tables.moves().map(|play| tables.move_name(play)).collect(),
            hidden: tables.hidden_layout(),
            max_decisions: usize::from(tables.fight.turn_limit) + 2 * usize::from(tables.fight.specials),
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: false,
            mixed_play: tables.fight.mixed_play,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Ok(Self { info, tables })
    }
}

impl Game for Battle {
    type State = State;
    type View = View;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, setup: &mut Rng) -> State {
        self.tables.start(setup)
    }

    fn turn(&self, state: &State) -> Turn {
        match state.public.due {
            Due::Pick(seat) | Due::Act(seat) => Turn::Player(seat),
            Due::Over => Turn::Over,
            Due::Deal(_) | Due::Initiative | Due::Strike | Due::Trigger | Due::Reveal => Turn::Chance,
        }
    }

    fn legal(&self, state: &State, out: &mut Actions) {
        if let Due::Pick(seat) | Due::Act(seat) = state.public.due {
            self.tables.legal(&state.public, &state.private[usize::from(seat)], out);
        }
    }

    fn chance(&self, state: &State, out: &mut Vec<(Action, f32)>) {
        self.tables.chance(state, out);
    }

    fn sample(&self, state: &State, rng: &mut Rng) -> Action {
        self.tables.sample(state, rng)
    }

    fn apply(&self, state: &mut State, action: Action) {
        self.tables.apply(state, action);
    }

    fn payoff(&self, state: &State) -> f32 {
        self.tables.payoff(&state.public)
    }

    fn view(&self, state: &State, seat: Seat) -> View {
        state.view(seat)
    }

    fn tree_key(&self, state: &State, seat: Seat) -> u64 {
        state.tree_key(seat)
    }

    fn observe(&self, state: &State, seat: Seat, out: &mut [f32]) {
        self.tables.observe(state, seat, out);
    }

    fn hidden(&self, state: &State, seat: Seat, out: &mut [f32]) {
        self.tables.hidden(state, seat, out);
    }

    fn determinize(&self, view: &View, rng: &mut Rng) -> State {
        self.tables.determinize(view, rng)
    }

    fn past(&self, view: &View, world: &State, seat: Seat, visit: &mut dyn FnMut(&State, Action)) -> Option<f64> {
        self.tables.past(view, world, seat, visit)
    }

    fn carry(
        &self,
        view: &View,
        world: &State,
        seat: Seat,
        rng: &mut Rng,
        visit: &mut dyn FnMut(&State, Action),
    ) -> Option<(State, f64)> {
        self.tables.carry(view, world, seat, rng, visit)
    }

    fn character(&self, state: &State, seat: Seat) -> Option<&str> {
        let sect = state.public.fighters[usize::from(seat)].sect;
        Some(&self.tables.sects[usize::from(sect)].id)
    }

    fn ran_out(&self, state: &State) -> bool {
        state.public.due == Due::Over && state.public.fighters.iter().all(|fighter| fighter.health > 0)
    }

    fn experts(&self) -> &'static [&'static str] {
        experts::EXPERTS
    }

    fn expert_move(&self, expert: &str, view: &View, legal: &[Action], rng: &mut Rng) -> Action {
        self.tables.expert_move(expert, view, legal, rng)
    }

    fn describe(&self, state: &State) -> String {
        self.tables.describe(state)
    }

    fn describe_view(&self, view: &View, _: Seat) -> String {
        self.tables.describe_view(view)
    }
}
