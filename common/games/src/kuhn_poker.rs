//! Kuhn poker for two with OpenSpiel's numbering: chance deals card 0, 1 or 2 to seat 0 and then to seat 1; action 0
//! passes, action 1 bets. Both seats put one chip in before the deal, a bet is one more.
//!
//! The smallest game with a bluff: exact numbers for it check search, beliefs and solvers.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Check or fold.
pub const PASS: Action = 0;

/// Bet or call.
pub const BET: Action = 1;

/// Cards in the deck, 0 the lowest.
const CARDS: usize = 3;

/// The longest betting: pass, bet, answer.
const MAX_BETS: usize = 3;

/// What was passed and bet, in order. Seats take turns, seat 0 first. Places not reached are [`PASS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Betting {
    made: [Action; MAX_BETS],
    count: u8,
}

impl Betting {
    fn made(&self) -> &[Action] {
        &self.made[..usize::from(self.count)]
    }

    fn push(&mut self, action: Action) {
        self.made[usize::from(self.count)] = action;
        self.count += 1;
    }

    fn text(&self) -> String {
        self.made().iter().map(|&a| if a == BET { 'b' } else { 'p' }).collect()
    }

    fn is_over(&self) -> bool {
        matches!(self.made(), [PASS, PASS] | [BET, _] | [PASS, BET, _])
    }
}

/// The true game.
#[derive(Clone, Copy, Debug)]
pub struct Deal {
    cards: [Option<u8>; 2],
    betting: Betting,
}

/// What one seat has seen: how many cards are dealt, its own, and the betting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hand {
    seat: Seat,
    card: Option<u8>,
    dealt: u8,
    betting: Betting,
}

/// The game.
#[derive(Debug)]
pub struct KuhnPoker {
    info: GameInfo,
}

impl KuhnPoker {
    /// The name it is registered under.
    pub const NAME: &'static str = "kuhn_poker";

    /// The game.
    pub fn new() -> Self {
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([("seat", 2), ("card", CARDS), ("betting", 2 * MAX_BETS)]),
            planes: None,
            actions: vec!["pass".to_owned(), "bet".to_owned()],
            hidden: Layout::new([("foe_card", CARDS)]),
            max_decisions: MAX_BETS,
            value_scale: 1.0,
            value_bound: 2.0,
            perfect_information: false,
            mixed_play: true,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info }
    }
}

impl KuhnPoker {
    /// Plays a deal on as `betting` went, and shows `seat`'s decisions.
    fn replay(&self, mut deal: Deal, betting: &Betting, seat: Seat, visit: &mut dyn FnMut(&Deal, Action)) -> Deal {
        for &action in &betting.made()[deal.betting.made().len()..] {
            if self.turn(&deal) == Turn::Player(seat) {
                visit(&deal, action);
            }
            deal.betting.push(action);
        }
        deal
    }
}

impl Default for KuhnPoker {
    fn default() -> Self {
        Self::new()
    }
}

/// The cards that no seat holds, ascending.
fn deck(cards: [Option<u8>; 2]) -> impl Iterator<Item = u8> + Clone {
    (0..CARDS as u8).filter(move |&card| !cards.contains(&Some(card)))
}

fn draw(cards: [Option<u8>; 2], rng: &mut Rng) -> u8 {
    let mut deck = deck(cards);
    let place = rng.random_range(0..deck.clone().count());
    deck.nth(place).expect("the place lies in the deck")
}

impl Game for KuhnPoker {
    type State = Deal;
    type View = Hand;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _setup: &mut Rng) -> Deal {
        Deal { cards: [None; 2], betting: Betting::default() }
    }

    fn turn(&self, deal: &Deal) -> Turn {
        if deal.cards.contains(&None) {
            Turn::Chance
        } else if deal.betting.is_over() {
            Turn::Over
        } else {
            Turn::Player(deal.betting.count % 2)
        }
    }

    fn legal(&self, _deal: &Deal, out: &mut Actions) {
        out.clear();
        out.extend([PASS, BET]);
    }

    fn chance(&self, deal: &Deal, out: &mut Vec<(Action, f32)>) {
        let deck = deck(deal.cards);
        let probability = 1.0 / deck.clone().count() as f32;
        out.clear();
        out.extend(deck.map(|card| (Action::from(card), probability)));
    }

    fn sample(&self, deal: &Deal, rng: &mut Rng) -> Action {
        Action::from(draw(deal.cards, rng))
    }

    fn apply(&self, deal: &mut Deal, action: Action) {
        match deal.cards.iter_mut().find(|card| card.is_none()) {
            Some(card) => *card = Some(action as u8),
            None => deal.betting.push(action),
        }
    }

    fn payoff(&self, deal: &Deal) -> f32 {
        let showdown = if deal.cards[0] > deal.cards[1] { 1.0 } else { -1.0 };
        match deal.betting.made() {
            [BET, PASS] => 1.0,
            [PASS, BET, PASS] => -1.0,
            [PASS, PASS] => showdown,
            _ => 2.0 * showdown,
        }
    }

    fn view(&self, deal: &Deal, seat: Seat) -> Hand {
        let dealt = deal.cards.iter().flatten().count() as u8;
        Hand { seat, card: deal.cards[usize::from(seat)], dealt, betting: deal.betting }
    }

    fn tree_key(&self, deal: &Deal, seat: Seat) -> u64 {
        let own = deal.cards[usize::from(seat)].map_or(0, |card| 1 + u64::from(card));
        deal.betting.made().iter().fold(mix(u64::from(seat), own), |key, &action| mix(key, u64::from(action)))
    }

    fn observe(&self, deal: &Deal, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        out[usize::from(seat)] = 1.0;
        if let Some(card) = deal.cards[usize::from(seat)] {
            out[2 + usize::from(card)] = 1.0;
        }
        for (turn, &action) in deal.betting.made().iter().enumerate() {
            out[2 + CARDS + 2 * turn + usize::from(action)] = 1.0;
        }
    }

    fn hidden(&self, deal: &Deal, seat: Seat, out: &mut [f32]) {
        out.fill(0.0);
        if let Some(card) = deal.cards[1 - usize::from(seat)] {
            out[usize::from(card)] = 1.0;
        }
    }

    fn determinize(&self, hand: &Hand, rng: &mut Rng) -> Deal {
        let mut cards = [None; 2];
        cards[usize::from(hand.seat)] = hand.card;
        let foe = 1 - hand.seat;
        if foe < hand.dealt {
            cards[usize::from(foe)] = Some(draw(cards, rng));
        }
        Deal { cards, betting: hand.betting }
    }

    fn past(&self, _hand: &Hand, world: &Deal, seat: Seat, visit: &mut dyn FnMut(&Deal, Action)) -> Option<f64> {
        self.replay(Deal { cards: world.cards, betting: Betting::default() }, &world.betting, seat, visit);
        Some(1.0)
    }

    /// Once the cards are dealt nothing gets hidden: a world lives as long as it is asked about the same hand.
    fn carry(
        &self,
        hand: &Hand,
        world: &Deal,
        seat: Seat,
        _rng: &mut Rng,
        visit: &mut dyn FnMut(&Deal, Action),
    ) -> Option<(Deal, f64)> {
        let same_cards = world.cards.iter().all(Option::is_some) && world.cards[usize::from(hand.seat)] == hand.card;
        let later = same_cards && hand.betting.made().starts_with(world.betting.made());
        later.then(|| (self.replay(*world, &hand.betting, seat, visit), 1.0))
    }

    fn describe(&self, deal: &Deal) -> String {
        let card = |seat: usize| deal.cards[seat].map_or_else(|| "-".to_owned(), |card| card.to_string());
        format!("cards {} {}, betting '{}'", card(0), card(1), deal.betting.text())
    }

    fn describe_view(&self, hand: &Hand, seat: Seat) -> String {
        let card = hand.card.map_or_else(|| "-".to_owned(), |card| card.to_string());
        let cards = if seat == 0 { format!("{card} ?") } else { format!("? {card}") };
        format!("cards {cards}, betting '{}'", hand.betting.text())
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    /// Cards of both seats, then bets.
    fn after(actions: &[Action]) -> Deal {
        let game = KuhnPoker::new();
        let mut deal = game.start(&mut stream(0, &[]));
        for &action in actions {
            game.apply(&mut deal, action);
        }
        deal
    }

    #[test]
    fn a_called_bet_pays_two_and_a_fold_one() {
        let game = KuhnPoker::new();
        for (actions, payoff) in [
            (vec![2, 0, BET, BET], 2.0),         // called, seat 0 holds more
            (vec![0, 2, BET, PASS], 1.0),        // seat 1 folds the better card
            (vec![2, 1, PASS, BET, PASS], -1.0), // seat 0 folds the better card
            (vec![1, 2, PASS, BET, BET], -2.0),  // called, seat 1 holds more
            (vec![1, 0, PASS, PASS], 1.0),       // showdown for the antes
        ] {
            let deal = after(&actions);
            assert_eq!(game.turn(&deal), Turn::Over, "{actions:?}");
            assert_eq!(game.payoff(&deal), payoff, "{actions:?}");
        }
    }

    #[test]
    fn the_second_card_comes_from_the_two_that_are_left() {
        let mut outcomes = Vec::new();
        KuhnPoker::new().chance(&after(&[1]), &mut outcomes);
        assert_eq!(outcomes, [(0, 0.5), (2, 0.5)]);
    }

    #[test]
    fn a_world_keeps_the_own_card_and_draws_the_foe_another() {
        let game = KuhnPoker::new();
        let hand = game.view(&after(&[2, 1, PASS, BET]), 0);
        let drawn: Vec<_> = (0..50).map(|i| game.determinize(&hand, &mut stream(0, &[i])).cards).collect();
        assert!(drawn.iter().all(|cards| cards[0] == Some(2)));
        assert!(drawn.iter().any(|cards| cards[1] == Some(0)));
        assert!(drawn.iter().any(|cards| cards[1] == Some(1)));
        assert!(drawn.iter().all(|cards| cards[1] != Some(2)));
    }

    #[test]
    fn past_shows_both_decisions_of_the_first_seat_in_order() {
        let game = KuhnPoker::new();
        let deal = after(&[2, 1, PASS, BET, BET]);
        let mut shown = Vec::new();
        let odds =
            game.past(&game.view(&deal, 1), &deal, 0, &mut |then, action| shown.push((game.describe(then), action)));
        assert_eq!(odds, Some(1.0));
        assert_eq!(shown, [("cards 2 1, betting ''".to_owned(), PASS), ("cards 2 1, betting 'pb'".to_owned(), BET)]);
    }

    #[test]
    fn a_world_is_carried_on_within_its_hand_and_shows_what_was_decided_since() {
        let game = KuhnPoker::new();
        let (world, now) = (after(&[2, 1]), game.view(&after(&[2, 0, PASS, BET]), 0));
        let mut shown = Vec::new();
        let mut carry = |world: &Deal| {
            let rng = &mut stream(0, &[]);
            game.carry(&now, world, 1, rng, &mut |then, action| shown.push((game.describe(then), action)))
        };
        let (carried, odds) = carry(&world).unwrap();
        assert_eq!((game.describe(&carried).as_str(), odds), ("cards 2 1, betting 'pb'", 1.0));
        assert!(carry(&after(&[1, 2])).is_none(), "another card of its own");
        assert!(carry(&after(&[2, 1, BET])).is_none(), "another betting");
        assert_eq!(shown, [("cards 2 1, betting 'p'".to_owned(), BET)]);
    }
}
