//! Chance: what can happen and how likely, listed for solvers and drawn for play from the same numbers.

use fogfall_game::{Action, Rng, Seat};
use rand::RngExt;

use super::effects::{SHOWN_SPECIAL, SHOWN_VEIL, STRIKE_PARTS};
use super::limits::{MAX_ITEMS, MAX_SPREAD};
use super::state::{Due, State};
use super::tables::{Kind, Tables};

impl Tables {
    /// Calls `visit` with each outcome of the chance node that is due and its weight, ascending by outcome. Weights
    /// are whole numbers, more than 0.
    fn outcomes(&self, state: &State, visit: &mut dyn FnMut(Action, u32)) {
        match state.public.due {
            Due::Deal(seat) => {
                let left = self.deck_left(&state.private[usize::from(seat)].bag);
                (0..self.items.len()).filter(|&i| left[i] > 0).for_each(|i| visit(i as Action, left[i].into()));
            }
            Due::Initiative => (0..2).for_each(|seat| visit(seat, 1)),
            Due::Trigger => {
                let chance = u32::from(self.due_effect(state).chance);
                visit(0, 100 - chance);
                visit(1, chance);
            }
            Due::Strike => self.strike_outcomes(state, visit),
            Due::Reveal => self.reveal_outcomes(state, visit),
            Due::Pick(_) | Due::Act(_) | Due::Over => {}
        }
    }

    fn strike_outcomes(&self, state: &State, visit: &mut dyn FnMut(Action, u32)) {
        let [miss, hit, critical] = self.due_strike_odds(state);
        let (spreads, odds) = (self.fight.spreads, &self.fight.spread_odds);
        if miss > 0 {
            visit(0, miss * odds.iter().sum::<u32>());
        }
        for (first, parts) in [(1, hit), (1 + MAX_SPREAD, critical)] {
            if parts > 0 {
                (0..spreads).for_each(|i| visit((first + i) as Action, parts * odds[i]));
            }
        }
    }

    fn reveal_outcomes(&self, state: &State, visit: &mut dyn FnMut(Action, u32)) {
        let owner = 1 - usize::from(state.public.frames[usize::from(state.public.depth) - 1].actor);
        let (fighter, private) = (&state.public.fighters[owner], &state.private[owner]);
        for (item, (&all, &known)) in private.bag.iter().zip(&fighter.known).enumerate() {
            if all > known {
                visit(item as Action, u32::from(all - known));
            }
        }
        let unseen = private.specials & !fighter.shown;
        (0..8).filter(|bit| unseen >> bit & 1 == 1).for_each(|bit| visit(SHOWN_SPECIAL + bit, 1));
        if fighter.veil_unknown() {
            visit(SHOWN_VEIL + private.veil.trailing_zeros() as Action, 1);
        }
    }

    fn due_effect(&self, state: &State) -> &super::tables::Effect {
        let frame = &state.public.frames[usize::from(state.public.depth) - 1];
        &self.effects[usize::from(frame.next)]
    }

    fn due_strike_odds(&self, state: &State) -> [u32; 3] {
        let actor: Seat = state.public.frames[usize::from(state.public.depth) - 1].actor;
        let Kind::Strike(strike) = &self.due_effect(state).kind else { unreachable!("a strike was due") };
        let [a, b] = &state.public.fighters;
        let (attacker, target) = if actor == 0 { (a, b) } else { (b, a) };
        self.strike_odds(attacker, target, strike)
    }

    /// Cards of the deck that are not among these, by kind.
    pub(crate) fn deck_left(&self, gone: &[u8; MAX_ITEMS]) -> [u8; MAX_ITEMS] {
        let mut left = [0; MAX_ITEMS];
        for ((left, item), gone) in left.iter_mut().zip(&self.items).zip(gone) {
            *left = item.copies - gone;
        }
        left
    }

    /// The weight of one outcome among all; 0 if it cannot be.
    pub(crate) fn weight(&self, state: &State, outcome: Action) -> u32 {
        let mut found = 0;
        self.outcomes(state, &mut |listed, weight| found += if listed == outcome { weight } else { 0 });
        found
    }

    /// Replaces `out` by the outcomes and their probabilities.
    pub(crate) fn chance(&self, state: &State, out: &mut Vec<(Action, f32)>) {
        let mut total = 0;
        self.outcomes(state, &mut |_, weight| total += weight);
        out.clear();
        self.outcomes(state, &mut |outcome, weight| out.push((outcome, weight as f32 / total as f32)));
    }

    /// Draws an outcome.
    pub(crate) fn sample(&self, state: &State, rng: &mut Rng) -> Action {
        match state.public.due {
            Due::Strike => self.sample_strike(state, rng),
            Due::Trigger => Action::from(rng.random_range(0..100u32) < u32::from(self.due_effect(state).chance)),
            Due::Initiative => rng.random_range(0..2u32) as Action,
            _ => self.sample_listed(state, rng),
        }
    }

    /// The common roll, without listing: the sort of roll from one number, the spread from another.
    fn sample_strike(&self, state: &State, rng: &mut Rng) -> Action {
        let [miss, hit, _] = self.due_strike_odds(state);
        let roll = rng.random_range(0..STRIKE_PARTS);
        if roll < miss {
            return 0;
        }
        let odds = &self.fight.spread_odds[..self.fight.spreads];
        let spread = pick_weighted(odds.iter().copied(), rng.random_range(0..odds.iter().sum::<u32>()));
        let first = if roll < miss + hit { 1 } else { 1 + MAX_SPREAD };
        (first + spread) as Action
    }

    fn sample_listed(&self, state: &State, rng: &mut Rng) -> Action {
        let mut total = 0;
        self.outcomes(state, &mut |_, weight| total += weight);
        let mut left = rng.random_range(0..total) as i64;
        let mut drawn = None;
        self.outcomes(state, &mut |outcome, weight| {
            left -= i64::from(weight);
            if left < 0 && drawn.is_none() {
                drawn = Some(outcome);
            }
        });
        drawn.expect("the number drawn is below the sum of the weights")
    }
}

/// The index at which the running sum of `weights` passes `at`.
pub(crate) fn pick_weighted(weights: impl Iterator<Item = u32>, mut at: u32) -> usize {
    for (i, weight) in weights.enumerate() {
        if at < weight {
            return i;
        }
        at -= weight;
    }
    unreachable!("the number drawn is below the sum of the weights")
}
