//! Leduc poker for two with OpenSpiel's numbering: chance deals one of six cards to seat 0, one to seat 1 and, after the
//! first betting, one to the table; card `c` has rank `c / 2`. Action 0 folds, 1 calls (or checks), 2 raises. Both seats
//! put one chip in before the deal, seat 0 opens both bettings, a raise is 2 chips and then 4, two raises a betting at
//! most. A pair with the table's card wins, else the higher rank; equal ranks share.
//!
//! Small enough to be solved, large enough to have beliefs: 936 information sets.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Gives the chips up. Legal only after a raise.
const FOLD: Action = 0;
/// Checks, or pays what was raised.
const CALL: Action = 1;
/// Pays what was raised and raises.
const RAISE: Action = 2;

/// Cards in the deck: three ranks in two suits.
const CARDS: usize = 6;
const RANKS: usize = CARDS / 2;
/// Chips of one raise, by betting.
const RAISES: [i32; 2] = [2, 4];
/// Raises in one betting.
const MAX_RAISES: usize = 2;
/// The longest betting: call, raise, raise, call.
const MAX_BETS: usize = MAX_RAISES + 2;
/// The most chips that a seat can lose: the ante and two raises in each betting.
const MOST_CHIPS: i32 = 1 + MAX_RAISES as i32 * (RAISES[0] + RAISES[1]);

/// The actions of one betting in order. Seats take turns, seat 0 first. Places not reached are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Betting {
    made: [u8; MAX_BETS],
    count: u8,
}

impl Betting {
    fn made(&self) -> impl DoubleEndedIterator<Item = Action> + Clone {
        self.made[..usize::from(self.count)].iter().map(|&action| Action::from(action))
    }

    fn push(&mut self, action: Action) {
        self.made[usize::from(self.count)] = action as u8;
        self.count += 1;
    }

    fn last(&self) -> Option<Action> {
        self.made().next_back()
    }

    fn raises(&self) -> usize {
        self.made().filter(|&action| action == RAISE).count()
    }

    /// A check or an answer to a raise: both seats have paid the same, and nobody opens after that.
    fn is_called(&self) -> bool {
        self.count >= 2 && self.last() == Some(CALL)
    }
}

/// All that both seats see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Table {
    /// How many private cards are dealt.
    dealt: u8,
    card: Option<u8>,
    bettings: [Betting; 2],
}

/// A card that may not be dealt yet.
fn text_of(card: Option<u8>) -> String {
    card.map_or_else(|| "-".to_owned(), |card| card.to_string())
}

impl Table {
    /// The betting under way: the second as soon as the table's card lies there.
    fn now(&self) -> usize {
        usize::from(self.card.is_some())
    }

    fn turn(&self) -> Turn {
        let betting = &self.bettings[self.now()];
        if self.dealt < 2 {
            Turn::Chance
        } else if betting.last() == Some(FOLD) {
            Turn::Over
        } else if betting.is_called() {
            if self.card.is_none() { Turn::Chance } else { Turn::Over }
        } else {
            Turn::Player(betting.count % 2)
        }
    }

    /// True if what lay on the `earlier` table lies here too, with nothing before it.
    fn follows(&self, earlier: &Self) -> bool {
        let starts = |now: usize| {
            let earlier = &earlier.bettings[now];
            earlier.made().eq(self.bettings[now].made().take(usize::from(earlier.count)))
        };
        let complete = earlier.card.is_none() || earlier.bettings[0] == self.bettings[0];
        starts(0) && starts(1) && complete && (earlier.card.is_none() || earlier.card == self.card)
    }

    fn text(&self) -> String {
        let betting = |now: usize| -> String {
            self.bettings[now].made().map(|action| ['f', 'c', 'r'][usize::from(action)]).collect()
        };
        let (card, chips) = (text_of(self.card), self.chips());
        format!("table {card}, betting '{}' '{}', chips {chips:?}", betting(0), betting(1))
    }

    /// Chips that each seat has put in.
    fn chips(&self) -> [i32; 2] {
        let (mut chips, mut highest) = ([1; 2], 1);
        for (betting, raise) in self.bettings.iter().zip(RAISES) {
            for (place, action) in betting.made().enumerate() {
                highest += if action == RAISE { raise } else { 0 };
                if action != FOLD {
                    chips[place % 2] = highest;
                }
            }
        }
        chips
    }
}

/// The true game.
#[derive(Clone, Copy, Debug)]
pub struct LeducState {
    /// Private cards; those not dealt are `None`.
    cards: [Option<u8>; 2],
    table: Table,
}

impl LeducState {
    /// The cards still in the deck, ascending.
    fn deck(&self) -> impl Iterator<Item = u8> + Clone {
        let gone = [self.cards[0], self.cards[1], self.table.card];
        (0..CARDS as u8).filter(move |&card| !gone.contains(&Some(card)))
    }

    fn draw(&self, rng: &mut Rng) -> u8 {
        let mut deck = self.deck();
        let place = rng.random_range(0..deck.clone().count());
        deck.nth(place).expect("the place lies in the deck")
    }

    /// Plays on as `table` says and shows `seat`'s decisions.
    fn replay(mut self, table: &Table, seat: Seat, visit: &mut dyn FnMut(&Self, Action)) -> Self {
        for (now, betting) in table.bettings.iter().enumerate() {
            if now == 1 {
                self.table.card = table.card;
            }
            let made = usize::from(self.table.bettings[now].count);
            for action in betting.made().skip(made) {
                if self.table.turn() == Turn::Player(seat) {
                    visit(&self, action);
                }
                self.table.bettings[now].push(action);
            }
        }
        self
    }

    /// What a seat's hand is worth at the end.
    fn strength(&self, seat: usize) -> u8 {
        let rank = self.cards[seat].map_or(0, |card| card / 2);
        if self.table.card.map(|card| card / 2) == Some(rank) { RANKS as u8 } else { rank }
    }
}

/// What one seat has seen: its card, the table's, and the bettings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeducView {
    seat: Seat,
    card: Option<u8>,
    table: Table,
}

/// The game.
#[derive(Debug)]
pub struct LeducPoker {
    info: GameInfo,
}

impl LeducPoker {
    /// The name it is registered under.
    pub const NAME: &'static str = "leduc_poker";

    /// The game.
    pub fn new() -> Self {
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([
                ("seat", 2),
                ("rank", RANKS),
                ("suit", 2),
                ("table_rank", RANKS),
                ("table_suit", 2),
                ("first_betting", 3 * MAX_BETS),
                ("second_betting", 3 * MAX_BETS),
                ("chips", 2),
            ]),
            planes: None,
            actions: ["fold", "call", "raise"].map(str::to_owned).to_vec(),
            hidden: Layout::new([("foe_card", CARDS)]),
            max_decisions: 2 * MAX_BETS,
            value_scale: 3.0, // most hands are won for one raise
            value_bound: MOST_CHIPS as f32,
            perfect_information: false,
            mixed_play: true,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info }
    }
}

impl Default for LeducPoker {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes a card as rank and suit.
fn write_card(card: Option<u8>, out: &mut [f32]) {
    if let Some(card) = card {
        out[usize::from(card / 2)] = 1.0;
        out[RANKS + usize::from(card % 2)] = 1.0;
    }
}

impl Game for LeducPoker {
    type State = LeducState;
    type View = LeducView;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> LeducState {
        LeducState { cards: [None; 2], table: Table::default() }
    }

    fn turn(&self, state: &LeducState) -> Turn {
        state.table.turn()
    }

    fn legal(&self, state: &LeducState, out: &mut Actions) {
        let betting = &state.table.bettings[state.table.now()];
        out.clear();
        if betting.last() == Some(RAISE) {
            out.push(FOLD);
        }
        out.push(CALL);
        if betting.raises() < MAX_RAISES {
            out.push(RAISE);
        }
    }

    fn chance(&self, state: &LeducState, out: &mut Vec<(Action, f32)>) {
        let deck = state.deck();
        let probability = 1.0 / deck.clone().count() as f32;
        out.clear();
        out.extend(deck.map(|card| (Action::from(card), probability)));
    }

    fn sample(&self, state: &LeducState, rng: &mut Rng) -> Action {
        Action::from(state.draw(rng))
    }

    fn apply(&self, state: &mut LeducState, action: Action) {
        let table = &mut state.table;
        if table.dealt < 2 {
            state.cards[usize::from(table.dealt)] = Some(action as u8);
            table.dealt += 1;
        } else if table.turn() == Turn::Chance {
            table.card = Some(action as u8);
        } else {
            table.bettings[table.now()].push(action);
        }
    }

    fn payoff(&self, state: &LeducState) -> f32 {
        let chips = state.table.chips();
        let betting = &state.table.bettings[state.table.now()];
        let seat0_wins = if betting.last() == Some(FOLD) {
            if betting.count.is_multiple_of(2) { 1 } else { -1 } // the last of an even number of actions is seat 1's
        } else {
            state.strength(0).cmp(&state.strength(1)) as i32
        };
        (seat0_wins * chips[0].min(chips[1])) as f32
    }

    fn view(&self, state: &LeducState, seat: Seat) -> LeducView {
        LeducView { seat, card: state.cards[usize::from(seat)], table: state.table }
    }

    /// Suits are left out: they change nothing, and worlds that differ in them share what was learnt.
    fn tree_key(&self, state: &LeducState, seat: Seat) -> u64 {
        let rank = |card: Option<u8>| card.map_or(0, |card| 1 + u64::from(card / 2));
        let mut key = mix(u64::from(seat), rank(state.cards[usize::from(seat)]));
        key = mix(key, rank(state.table.card));
        for betting in state.table.bettings {
            key = betting.made().fold(mix(key, u64::from(betting.count)), |key, action| mix(key, u64::from(action)));
        }
        key
    }

    fn observe(&self, state: &LeducState, seat: Seat, out: &mut [f32]) {
        const CARD: usize = RANKS + 2;
        out.fill(0.0);
        out[usize::from(seat)] = 1.0;
        write_card(state.cards[usize::from(seat)], &mut out[2..]);
        write_card(state.table.card, &mut out[2 + CARD..]);
        let mut at = 2 + 2 * CARD;
        for betting in state.table.bettings {
            for (place, action) in betting.made().enumerate() {
                out[at + 3 * place + usize::from(action)] = 1.0;
            }
            at += 3 * MAX_BETS;
        }
        let chips = state.table.chips();
        out[at] = chips[usize::from(seat)] as f32 / MOST_CHIPS as f32;
        out[at + 1] = chips[usize::from(1 - seat)] as f32 / MOST_CHIPS as f32;
    }

    fn hidden(&self, state: &LeducState, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        if let Some(card) = state.cards[usize::from(1 - seat)] {
            out[usize::from(card)] = 1.0;
        }
    }

    fn determinize(&self, view: &LeducView, rng: &mut Rng) -> LeducState {
        let mut state = LeducState { cards: [None; 2], table: view.table };
        state.cards[usize::from(view.seat)] = view.card;
        let foe = 1 - view.seat;
        if foe < view.table.dealt {
            state.cards[usize::from(foe)] = Some(state.draw(rng));
        }
        state
    }

    fn past(
        &self,
        _view: &LeducView,
        world: &LeducState,
        seat: Seat,
        visit: &mut dyn FnMut(&LeducState, Action),
    ) -> Option<f64> {
        let table = Table { dealt: world.table.dealt, ..Table::default() };
        LeducState { cards: world.cards, table }.replay(&world.table, seat, visit);
        Some(1.0)
    }

    /// A world ends where its foe's card comes to lie on the table. All others gave that card the same odds.
    fn carry(
        &self,
        view: &LeducView,
        world: &LeducState,
        seat: Seat,
        _rng: &mut Rng,
        visit: &mut dyn FnMut(&LeducState, Action),
    ) -> Option<(LeducState, f64)> {
        let own = usize::from(view.seat);
        let dealt = world.cards[own] == view.card && world.cards[1 - own].is_some();
        let possible = dealt && view.table.card.is_none_or(|card| world.cards[1 - own] != Some(card));
        let later = possible && view.table.follows(&world.table);
        later.then(|| (world.replay(&view.table, seat, visit), 1.0))
    }

    fn describe(&self, state: &LeducState) -> String {
        let [a, b] = state.cards.map(text_of);
        format!("cards {a} {b}, {}", state.table.text())
    }

    fn describe_view(&self, view: &LeducView, seat: Seat) -> String {
        let card = text_of(view.card);
        let cards = if seat == 0 { format!("{card} ?") } else { format!("? {card}") };
        format!("cards {cards}, {}", view.table.text())
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    /// Cards of both seats, the first betting, and perhaps the table's card and the second betting.
    fn after(actions: &[Action]) -> LeducState {
        let game = LeducPoker::new();
        let mut state = game.start(&mut stream(0, &[]));
        for &action in actions {
            game.apply(&mut state, action);
        }
        state
    }

    #[test]
    fn hands_are_paid_as_the_rules_say() {
        let game = LeducPoker::new();
        for (actions, payoff) in [
            (vec![0, 5, RAISE, FOLD], 1.0),                        // the ante of the one who folds
            (vec![0, 5, CALL, RAISE, RAISE, FOLD], 3.0),           // ante and the first raise
            (vec![4, 1, CALL, CALL, 3, CALL, CALL], 1.0),          // the higher rank
            (vec![4, 1, CALL, CALL, 0, CALL, CALL], -1.0),         // a pair of the lowest beats it
            (vec![4, 5, CALL, CALL, 0, RAISE, CALL], 0.0),         // equal ranks
            (vec![4, 1, RAISE, CALL, 3, CALL, RAISE, FOLD], -3.0), // 1 + 2; the second raise was not paid
            // 1 + 2 * 2 + 2 * 4 = 13, the pair of seat 0
            (vec![2, 5, CALL, RAISE, RAISE, CALL, 3, CALL, RAISE, RAISE, CALL], 13.0),
        ] {
            let state = after(&actions);
            assert_eq!(game.turn(&state), Turn::Over, "{actions:?}");
            assert_eq!(game.payoff(&state), payoff, "{actions:?}");
        }
    }

    #[test]
    fn nobody_folds_before_a_raise_and_nobody_raises_a_third_time() {
        let game = LeducPoker::new();
        let mut legal = Actions::new();
        for (actions, expected) in [
            (vec![0, 1], vec![CALL, RAISE]),
            (vec![0, 1, RAISE], vec![FOLD, CALL, RAISE]),
            (vec![0, 1, RAISE, RAISE], vec![FOLD, CALL]),
            (vec![0, 1, RAISE, CALL, 2, CALL], vec![CALL, RAISE]),
        ] {
            game.legal(&after(&actions), &mut legal);
            assert_eq!(legal, expected, "{actions:?}");
        }
    }

    #[test]
    fn seat_0_opens_after_the_tables_card_whoever_called() {
        let game = LeducPoker::new();
        assert_eq!(game.turn(&after(&[0, 1, CALL, RAISE, CALL])), Turn::Chance);
        assert_eq!(game.turn(&after(&[0, 1, CALL, RAISE, CALL, 2])), Turn::Player(0));
    }

    #[test]
    fn a_world_never_holds_a_card_twice() {
        let game = LeducPoker::new();
        let view = game.view(&after(&[2, 1, CALL, CALL, 4]), 0);
        let mut foes: Vec<_> = (0..200).map(|i| game.determinize(&view, &mut stream(0, &[i])).cards[1]).collect();
        foes.sort_unstable();
        foes.dedup();
        assert_eq!(foes, [Some(0), Some(1), Some(3), Some(5)]);
    }

    #[test]
    fn past_shows_decisions_of_both_bettings_with_what_lay_on_the_table() {
        let game = LeducPoker::new();
        let state = after(&[0, 5, CALL, RAISE, CALL, 2, RAISE]);
        let mut shown = Vec::new();
        let odds = game.past(&game.view(&state, 1), &state, 0, &mut |then, action| {
            shown.push((game.describe(then), action));
        });
        assert_eq!(odds, Some(1.0));
        let expected = [
            ("cards 0 5, table -, betting '' '', chips [1, 1]", CALL),
            ("cards 0 5, table -, betting 'cr' '', chips [1, 3]", CALL),
            ("cards 0 5, table 2, betting 'crc' '', chips [3, 3]", RAISE),
        ];
        assert_eq!(shown, expected.map(|(text, action)| (text.to_owned(), action)));
    }

    #[test]
    fn a_world_ends_when_its_foes_card_comes_to_lie_on_the_table() {
        let game = LeducPoker::new();
        let view = game.view(&after(&[0, 5, CALL, RAISE, CALL, 2, RAISE, RAISE]), 0);
        let mut shown = Vec::new();
        let mut carry = |foe: Action| {
            let rng = &mut stream(0, &[]);
            let world = after(&[0, foe, CALL, RAISE]);
            let carried = game.carry(&view, &world, 1, rng, &mut |then, action| {
                shown.push((game.describe(then), action));
            });
            carried.map(|(world, odds)| (game.describe(&world), odds))
        };
        assert_eq!(carry(2), None);
        let expected = "cards 0 3, table 2, betting 'crc' 'rr', chips [7, 11]"; // 1 + 2 + 4, and a raise of 4 more
        assert_eq!(carry(3), Some((expected.to_owned(), 1.0)));
        assert_eq!(shown, [("cards 0 3, table 2, betting 'crc' 'r', chips [7, 3]".to_owned(), RAISE)]);
        let other = after(&[0, 5, RAISE]);
        assert!(game.carry(&view, &other, 1, &mut stream(0, &[]), &mut |_, _| ()).is_none(), "another betting");
    }
}
