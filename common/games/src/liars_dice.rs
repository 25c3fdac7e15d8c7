//! Liar's dice for two with OpenSpiel's numbering, one die of six sides each: chance rolls die `outcome + 1` for seat 0 and
//! then for seat 1; action `6 (q - 1) + f - 1` bids that at least `q` dice show face `f`, action 12 calls the last bidder a
//! liar. Sixes count as any face. Each bid is higher than the one before.
//!
//! **Invariant:** bids only rise, so a set of actions says in which order they were made.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use serde::{Deserialize, Serialize};

use crate::bits;

/// Sides of a die.
const SIDES: usize = 6;

/// Bids there are: one or two dice of each face.
const BIDS: usize = 2 * SIDES;

/// Calls the last bid a lie.
const LIAR: Action = BIDS as Action;

/// What was bid, and the call: one bit an action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bidding(u16);

impl Bidding {
    /// Actions in order.
    fn made(self) -> impl Iterator<Item = Action> {
        (0..=LIAR).filter(move |action| self.0 >> action & 1 == 1)
    }

    #[inline]
    fn push(&mut self, action: Action) {
        self.0 |= 1 << action;
    }

    #[inline]
    fn is_over(self) -> bool {
        self.0 >> LIAR == 1
    }

    /// The seat that acts next.
    #[inline]
    fn mover(self) -> Seat {
        (self.0.count_ones() % 2) as Seat
    }

    /// The lowest action that may follow.
    #[inline]
    fn next(self) -> Action {
        (u16::BITS - self.0.leading_zeros()) as Action
    }

    /// The number of actions that may follow, from [`next`](Self::next) on: the call only after a bid.
    #[inline]
    fn choices(self) -> u32 {
        u32::from(LIAR + u16::from(self.0 != 0) - self.next())
    }

    /// True if these actions go on from those of `earlier`.
    fn follows(self, earlier: Self) -> bool {
        self.0 & ((1 << earlier.next()) - 1) == earlier.0
    }
}

/// The true game.
#[derive(Clone, Copy, Debug)]
pub struct LiarsDiceState {
    /// `[seat]` what was rolled, from 0.
    dice: [Option<u8>; 2],
    bidding: Bidding,
}

/// What one seat has seen: how many dice are rolled, its own, and the bids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiarsDiceView {
    seat: Seat,
    die: Option<u8>,
    rolled: u8,
    bidding: Bidding,
}

impl LiarsDiceState {
    /// Seat 0's payoff, once called.
    #[inline]
    fn payoff(&self) -> f32 {
        let last = (Bidding(self.bidding.0 & !(1 << LIAR)).next() - 1) as u8;
        let (quantity, face) = (1 + last / SIDES as u8, last % SIDES as u8);
        let shows = |die: &Option<u8>| die.is_some_and(|die| die == face || die == SIDES as u8 - 1);
        let holds = self.dice.iter().filter(|die| shows(die)).count() >= usize::from(quantity);
        // The bidder is the one who would act now: the other has called.
        let bidder = self.bidding.mover();
        if holds == (bidder == 0) { 1.0 } else { -1.0 }
    }

    /// Plays on as `bidding` went, and shows `seat`'s decisions.
    fn replay(mut self, bidding: Bidding, seat: Seat, visit: &mut dyn FnMut(&Self, Action)) -> Self {
        let from = self.bidding.next();
        for action in bidding.made().skip_while(|&action| action < from) {
            if self.bidding.mover() == seat {
                visit(&self, action);
            }
            self.bidding.push(action);
        }
        self
    }
}

/// The game.
#[derive(Debug)]
pub struct LiarsDice {
    info: GameInfo,
}

impl LiarsDice {
    /// The name it is registered under.
    pub const NAME: &'static str = "liars_dice";

    /// The game.
    pub fn new() -> Self {
        let bid = |action: usize| format!("{}-{}", 1 + action / SIDES, 1 + action % SIDES);
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([("seat", 2), ("die", SIDES), ("bids", BIDS)]),
            planes: None,
            actions: (0..BIDS).map(bid).chain(["liar".to_owned()]).collect(),
            hidden: Layout::new([("foe_die", SIDES)]),
            max_decisions: BIDS + 1,
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: false,
            mixed_play: true,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info }
    }
}

impl Default for LiarsDice {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn roll(rng: &mut Rng) -> u8 {
    bits::below(SIDES as u32, rng) as u8
}

/// A die as it shows, if it was rolled.
fn text_of(die: Option<u8>) -> String {
    die.map_or_else(|| "-".to_owned(), |die| (die + 1).to_string())
}

impl LiarsDice {
    fn text_of_bids(&self, bidding: Bidding) -> String {
        let bids: Vec<&str> = bidding.made().map(|action| self.info.actions[usize::from(action)].as_str()).collect();
        bids.join(" ")
    }
}

impl Game for LiarsDice {
    type State = LiarsDiceState;
    type View = LiarsDiceView;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> LiarsDiceState {
        LiarsDiceState { dice: [None; 2], bidding: Bidding::default() }
    }

    #[inline]
    fn turn(&self, state: &LiarsDiceState) -> Turn {
        if state.bidding.is_over() {
            Turn::Over
        } else if state.dice[1].is_none() {
            Turn::Chance
        } else {
            Turn::Player(state.bidding.mover())
        }
    }

    #[inline]
    fn legal(&self, state: &LiarsDiceState, out: &mut Actions) {
        let next = state.bidding.next();
        out.clear();
        out.extend(next..next + state.bidding.choices() as Action);
    }

    fn chance(&self, _state: &LiarsDiceState, out: &mut Vec<(Action, f32)>) {
        out.clear();
        out.extend((0..SIDES as Action).map(|side| (side, 1.0 / SIDES as f32)));
    }

    fn sample(&self, _state: &LiarsDiceState, rng: &mut Rng) -> Action {
        roll(rng).into()
    }

    #[inline]
    fn apply(&self, state: &mut LiarsDiceState, action: Action) {
        match state.dice.iter_mut().find(|die| die.is_none()) {
            Some(die) => *die = Some(action as u8),
            None => state.bidding.push(action),
        }
    }

    #[inline]
    fn play_out(&self, state: &mut LiarsDiceState, _scratch: &mut Actions, rng: &mut Rng) -> f32 {
        self.settle(state, rng);
        while !state.bidding.is_over() {
            let action = state.bidding.next() + bits::below(state.bidding.choices(), rng) as Action;
            state.bidding.push(action);
        }
        state.payoff()
    }

    fn payoff(&self, state: &LiarsDiceState) -> f32 {
        state.payoff()
    }

    fn view(&self, state: &LiarsDiceState, seat: Seat) -> LiarsDiceView {
        let rolled = state.dice.iter().flatten().count() as u8;
        LiarsDiceView { seat, die: state.dice[usize::from(seat)], rolled, bidding: state.bidding }
    }

    #[inline]
    fn tree_key(&self, state: &LiarsDiceState, seat: Seat) -> u64 {
        let own = state.dice[usize::from(seat)].map_or(0, |die| 1 + u64::from(die));
        mix(mix(seat.into(), own), state.bidding.0.into())
    }

    fn observe(&self, state: &LiarsDiceState, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        out[usize::from(seat)] = 1.0;
        if let Some(die) = state.dice[usize::from(seat)] {
            out[2 + usize::from(die)] = 1.0;
        }
        for (bid, number) in out[2 + SIDES..].iter_mut().enumerate() {
            *number = f32::from(state.bidding.0 >> bid & 1);
        }
    }

    fn hidden(&self, state: &LiarsDiceState, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        if let Some(die) = state.dice[usize::from(1 - seat)] {
            out[usize::from(die)] = 1.0;
        }
    }

    fn determinize(&self, view: &LiarsDiceView, rng: &mut Rng) -> LiarsDiceState {
        let mut dice = [None; 2];
        dice[usize::from(view.seat)] = view.die;
        let foe = 1 - view.seat;
        if foe < view.rolled {
            dice[usize::from(foe)] = Some(roll(rng));
        }
        LiarsDiceState { dice, bidding: view.bidding }
    }

    fn past(
        &self,
        _view: &LiarsDiceView,
        world: &LiarsDiceState,
        seat: Seat,
        visit: &mut dyn FnMut(&LiarsDiceState, Action),
    ) -> Option<f64> {
        LiarsDiceState { dice: world.dice, bidding: Bidding::default() }.replay(world.bidding, seat, visit);
        Some(1.0)
    }

    /// Once the dice are rolled nothing gets hidden: a world lives as long as it is asked about the same game.
    fn carry(
        &self,
        view: &LiarsDiceView,
        world: &LiarsDiceState,
        seat: Seat,
        _rng: &mut Rng,
        visit: &mut dyn FnMut(&LiarsDiceState, Action),
    ) -> Option<(LiarsDiceState, f64)> {
        let same_dice = world.dice[1].is_some() && world.dice[usize::from(view.seat)] == view.die;
        let later = same_dice && view.bidding.follows(world.bidding);
        later.then(|| (world.replay(view.bidding, seat, visit), 1.0))
    }

    fn describe(&self, state: &LiarsDiceState) -> String {
        let [a, b] = state.dice.map(text_of);
        format!("dice {a} {b}, bids '{}'", self.text_of_bids(state.bidding))
    }

    fn describe_view(&self, view: &LiarsDiceView, seat: Seat) -> String {
        let die = text_of(view.die);
        let dice = if seat == 0 { format!("{die} ?") } else { format!("? {die}") };
        format!("dice {dice}, bids '{}'", self.text_of_bids(view.bidding))
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    /// Both dice, as they show, and the bids.
    fn after(dice: [u16; 2], bids: &[Action]) -> LiarsDiceState {
        let game = LiarsDice::new();
        let mut state = game.start(&mut stream(0, &[]));
        for action in dice.into_iter().map(|die| die - 1).chain(bids.iter().copied()) {
            game.apply(&mut state, action);
        }
        state
    }

    #[test]
    fn the_caller_wins_if_fewer_dice_show_the_face_than_were_bid() {
        let game = LiarsDice::new();
        for (dice, bids, payoff) in [
            ([2, 5], vec![1, LIAR], 1.0),     // seat 0 bids one two, and has it
            ([5, 2], vec![1, LIAR], 1.0),     // seat 1 has it
            ([3, 5], vec![1, LIAR], -1.0),    // nobody has
            ([3, 6], vec![1, LIAR], 1.0),     // a six is a two
            ([2, 5], vec![0, 7, LIAR], 1.0),  // seat 1 bids two twos: there is one
            ([2, 6], vec![0, 7, LIAR], -1.0), // two
            ([5, 6], vec![11, LIAR], -1.0),   // a five is no six
            ([6, 6], vec![11, LIAR], 1.0),
        ] {
            let state = after(dice, &bids);
            assert_eq!(game.turn(&state), Turn::Over);
            assert_eq!(game.payoff(&state), payoff, "{}", game.describe(&state));
        }
    }

    #[test]
    fn bids_rise_and_only_a_bid_can_be_called() {
        let game = LiarsDice::new();
        let mut legal = vec![99];
        for (bids, expected) in [(vec![], (0..12).collect()), (vec![9], vec![10, 11, LIAR]), (vec![2, 11], vec![LIAR])]
        {
            game.legal(&after([1, 1], &bids), &mut legal);
            assert_eq!(legal, expected);
        }
    }

    #[test]
    fn past_shows_decisions_in_order_with_the_bids_before_them() {
        let game = LiarsDice::new();
        let state = after([4, 6], &[0, 3, 9, LIAR]);
        let mut shown = Vec::new();
        let odds = game.past(&game.view(&state, 0), &state, 1, &mut |then, action| {
            shown.push((game.describe(then), action));
        });
        assert_eq!(odds, Some(1.0));
        let expected = [("dice 4 6, bids '1-1'", 3), ("dice 4 6, bids '1-1 1-4 2-4'", LIAR)];
        assert_eq!(shown, expected.map(|(text, action)| (text.to_owned(), action)));
    }

    #[test]
    fn a_world_is_carried_on_along_the_same_bids_alone() {
        let game = LiarsDice::new();
        let view = game.view(&after([4, 6], &[0, 3, 9]), 1);
        let carry = |world: LiarsDiceState| {
            let mut shown = Vec::new();
            let rng = &mut stream(0, &[]);
            let carried = game.carry(&view, &world, 0, rng, &mut |_, action| shown.push(action))?;
            Some((game.describe(&carried.0), shown))
        };
        assert_eq!(carry(after([2, 6], &[0])), Some(("dice 2 6, bids '1-1 1-4 2-4'".to_owned(), vec![9])));
        assert_eq!(carry(after([2, 5], &[0])), None, "another die of its own");
        assert_eq!(carry(after([2, 6], &[0, 2])), None, "another bid");
        assert_eq!(carry(after([2, 6], &[1])), None, "another first bid");
    }
}
