//! Treasure hunt: a small game with all that makes a game hard, hidden information and chance.
//!
//! Eleven cards, 1 to 11, are shuffled; each seat is dealt five, and one stays unseen. Then five rounds: a treasure of 1
//! to 5 gold is turned up, each value once in a random order; the leader plays a card, the other seat sees it and plays
//! one; the higher card wins the treasure and leads the next round. Seat 0 leads the first. Cards played are gone, so a
//! high card spent on little gold is missed later, and who counts cards knows ever better what the other holds. The
//! payoff is the gold that seat 0 has more than seat 1.
//!
//! **Invariant:** all that is computed for a seat is computed from [`Table::seen_by`], where what the seat has not seen
//! is not there to be read.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// Cards in the deck. Action `a` plays card `a + 1`; dealing card `a + 1` is chance outcome `a`.
const CARDS: usize = 11;
/// Cards dealt to each seat, and rounds.
const ROUNDS: usize = 5;
/// Gold in all treasures: 1 + 2 + 3 + 4 + 5. Nobody can be further ahead.
const ALL_GOLD: f32 = 15.0;
/// A typical payoff, which the network knows as 1. Not the largest one: most games would look alike.
const TYPICAL_GOLD: f32 = 5.0;

/// Cards or treasures: bit `a` stands for `a + 1`.
type Set = u16;

const DECK: Set = (1 << CARDS) - 1;
const TREASURES: Set = (1 << ROUNDS) - 1;

fn members(set: Set) -> impl Iterator<Item = Action> + Clone {
    (0..CARDS as Action).filter(move |member| set >> member & 1 == 1)
}

/// One of a set, each as likely as any other.
fn draw(set: Set, rng: &mut Rng) -> Action {
    let place = rng.random_range(0..set.count_ones());
    members(set).nth(place as usize).expect("the place lies in the set")
}

/// What has happened in a round, in this order. Both seats see it all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Round {
    treasure: Option<Action>,
    led: Option<Action>,
    followed: Option<Action>,
}

impl Round {
    fn events(&self) -> impl Iterator<Item = Action> {
        [self.treasure, self.led, self.followed].into_iter().flatten()
    }
}

/// The true game. It is copied for every simulation, so it is small and lives without the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Cards dealt so far, to seat 0 and seat 1 in turns.
    dealt: usize,
    /// Cards that each seat still holds.
    hands: [Set; 2],
    rounds: [Round; ROUNDS],
}

/// What a seat has seen: the table without the other's hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    seat: Seat,
    table: Table,
}

impl Table {
    /// The table as a seat sees it.
    fn seen_by(&self, seat: Seat) -> Self {
        let mut table = *self;
        table.hands[1 - usize::from(seat)] = 0;
        table
    }

    /// Rounds with their leaders; rounds to come have the one that is known so far.
    fn led_rounds(&self) -> impl Iterator<Item = (Seat, &Round)> {
        let mut next = 0;
        self.rounds.iter().map(move |round| {
            let leader = next;
            if round.followed > round.led {
                next = 1 - leader;
            }
            (leader, round)
        })
    }

    /// Index and leader of the round that is played; none when all are over.
    fn due(&self) -> Option<(usize, Seat)> {
        let index = self.rounds.iter().position(|round| round.followed.is_none())?;
        self.led_rounds().nth(index).map(|(leader, _)| (index, leader))
    }

    /// Cards that lie open.
    fn played(&self) -> Set {
        let cards = self.rounds.iter().flat_map(|round| [round.led, round.followed]).flatten();
        cards.fold(0, |set, card| set | 1 << card)
    }

    /// Cards that are nowhere on the table. For a table seen by a seat: those in the other's hand and the one left over.
    fn unseen(&self) -> Set {
        DECK & !(self.hands[0] | self.hands[1] | self.played())
    }

    /// Treasures still to be turned up.
    fn treasures_left(&self) -> Set {
        self.rounds.iter().filter_map(|round| round.treasure).fold(TREASURES, |set, treasure| set & !(1 << treasure))
    }

    /// What chance can bring now; each is as likely as any other.
    fn outcomes(&self) -> Set {
        if self.dealt < 2 * ROUNDS { self.unseen() } else { self.treasures_left() }
    }

    /// The gold that seat 0 has more than seat 1.
    fn lead(&self) -> i32 {
        let gold = |(leader, round): (Seat, &Round)| {
            let (Some(treasure), Some(led), Some(followed)) = (round.treasure, round.led, round.followed) else {
                return 0;
            };
            let winner = if led > followed { leader } else { 1 - leader };
            let gold = i32::from(treasure) + 1;
            if winner == 0 { gold } else { -gold }
        };
        self.led_rounds().map(gold).sum()
    }
}

/// The game.
#[derive(Debug)]
pub struct TreasureHunt {
    info: GameInfo,
}

impl TreasureHunt {
    /// The name it is registered under.
    pub const NAME: &'static str = "treasure_hunt";

    /// The game.
    pub fn new() -> Self {
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation: Layout::new([
                ("lead", 1),
                ("leads", 1),
                ("hand", CARDS),
                ("unseen", CARDS),
                ("to_beat", CARDS),
                ("treasure", ROUNDS),
                ("treasures_left", ROUNDS),
            ]),
            planes: None,
            actions: (1..=CARDS).map(|card| format!("play {card}")).collect(),
            hidden: Layout::new([("foe_hand", CARDS)]),
            max_decisions: 2 * ROUNDS,
            value_scale: TYPICAL_GOLD,
            value_bound: ALL_GOLD,
            perfect_information: false,
            mixed_play: false,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info }
    }
}

impl Default for TreasureHunt {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes sets as flags, one after the other.
fn write_sets(mut out: &mut [f32], sets: impl IntoIterator<Item = (Set, usize)>) {
    for (set, len) in sets {
        let (flags, rest) = std::mem::take(&mut out).split_at_mut(len);
        flags.iter_mut().enumerate().for_each(|(member, flag)| *flag = f32::from(set >> member & 1));
        out = rest;
    }
}

fn just(member: Option<Action>) -> Set {
    member.map_or(0, |member| 1 << member)
}

impl Game for TreasureHunt {
    type State = Table;
    type View = View;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    // Every game begins alike. What is drawn before the first decision is left to chance nodes: solvers and recorded
    // games can see it. The set-up stream is for match-ups, like two characters and their equipment.
    fn start(&self, _setup: &mut Rng) -> Table {
        Table::default()
    }

    fn turn(&self, table: &Table) -> Turn {
        let Some((round, leader)) = table.due() else { return Turn::Over };
        let round = &table.rounds[round];
        match (round.treasure, round.led) {
            (None, _) => Turn::Chance,
            (_, None) => Turn::Player(leader),
            _ => Turn::Player(1 - leader),
        }
    }

    fn legal(&self, table: &Table, out: &mut Actions) {
        out.clear();
        if let Turn::Player(mover) = self.turn(table) {
            out.extend(members(table.hands[usize::from(mover)]));
        }
    }

    fn chance(&self, table: &Table, out: &mut Vec<(Action, f32)>) {
        let outcomes = table.outcomes();
        let share = 1.0 / outcomes.count_ones() as f32;
        out.clear();
        out.extend(members(outcomes).map(|outcome| (outcome, share)));
    }

    fn sample(&self, table: &Table, rng: &mut Rng) -> Action {
        draw(table.outcomes(), rng)
    }

    fn apply(&self, table: &mut Table, action: Action) {
        if table.dealt < 2 * ROUNDS {
            table.hands[table.dealt % 2] |= 1 << action;
            table.dealt += 1;
            return;
        }
        if let Turn::Player(mover) = self.turn(table) {
            table.hands[usize::from(mover)] &= !(1 << action);
        }
        let (round, _) = table.due().expect("the game is not over");
        let Round { treasure, led, followed } = &mut table.rounds[round];
        let next = [treasure, led, followed].into_iter().find(|event| event.is_none());
        *next.expect("the round is not over") = Some(action);
    }

    fn payoff(&self, table: &Table) -> f32 {
        table.lead() as f32
    }

    fn view(&self, table: &Table, seat: Seat) -> View {
        View { seat, table: table.seen_by(seat) }
    }

    // All that the seat has seen: situations that differ in it get nodes of their own in its search tree. A game with
    // thousands of outcomes would leave small differences out, or its trees would never grow deep.
    fn tree_key(&self, table: &Table, seat: Seat) -> u64 {
        let seen = table.seen_by(seat);
        let key = mix(mix(seat.into(), seen.dealt as u64), seen.hands[usize::from(seat)].into());
        seen.rounds.iter().flat_map(Round::events).fold(key, |key, event| mix(key, event.into()))
    }

    // Who played what in which round is left out: what it says of the other's hand is little, and the network learns
    // faster from what matters.
    fn observe(&self, table: &Table, seat: Seat, out: &mut [f32]) {
        let seen = table.seen_by(seat);
        let (round, leader) = seen.due().map_or((Round::default(), 0), |(round, leader)| (seen.rounds[round], leader));
        let lead = if seat == 0 { seen.lead() } else { -seen.lead() };
        out[0] = lead as f32 / TYPICAL_GOLD;
        out[1] = f32::from(u8::from(leader == seat));
        let cards = [seen.hands[usize::from(seat)], seen.unseen(), just(round.led)].map(|set| (set, CARDS));
        let treasures = [just(round.treasure), seen.treasures_left()].map(|set| (set, ROUNDS));
        write_sets(&mut out[2..], cards.into_iter().chain(treasures));
    }

    fn hidden(&self, table: &Table, seat: Seat, out: &mut [f32]) {
        write_sets(out, [(table.hands[1 - usize::from(seat)], CARDS)]);
    }

    // One full guess at the true game: what the seat has seen stays, the other's hand is drawn from the cards that it
    // can hold, with the odds of the deal.
    fn determinize(&self, view: &View, rng: &mut Rng) -> Table {
        let mut table = view.table;
        let foe = 1 - usize::from(view.seat);
        let dealt = (table.dealt + 1 - foe) / 2;
        let played = table.led_rounds().map(|(leader, round)| {
            let card = if usize::from(leader) == foe { round.led } else { round.followed };
            usize::from(card.is_some())
        });
        for _ in 0..dealt - played.sum::<usize>() {
            table.hands[foe] |= 1 << draw(table.unseen(), rng);
        }
        table
    }

    // Deals the cards of the world again and repeats what happened since.
    fn past(&self, _view: &View, world: &Table, seat: Seat, visit: &mut dyn FnMut(&Table, Action)) -> Option<f64> {
        let mut then = Table { rounds: Default::default(), ..*world };
        for (leader, round) in world.led_rounds() {
            then.hands[usize::from(leader)] |= just(round.led);
            then.hands[1 - usize::from(leader)] |= just(round.followed);
        }
        for event in world.rounds.iter().flat_map(Round::events) {
            if self.turn(&then) == Turn::Player(seat) {
                visit(&then, event);
            }
            self.apply(&mut then, event);
        }
        Some(1.0) // every card is there once: the odds of a hand do not depend on which of its cards were played
    }

    fn experts(&self) -> &'static [&'static str] {
        &["thrifty"]
    }

    // What a simple script would do: win 3 gold or more as cheaply as possible, and throw the lowest card else.
    fn expert_move(&self, _expert: &str, view: &View, legal: &[Action], _rng: &mut Rng) -> Action {
        let round = view.table.due().map_or(Round::default(), |(round, _)| view.table.rounds[round]);
        let wanted = round.treasure >= Some(2);
        let winning = legal.iter().copied().find(|&card| Some(card) > round.led);
        match (wanted, round.led) {
            (true, None) => legal[legal.len() - 1],
            (true, Some(_)) => winning.unwrap_or(legal[0]),
            (false, _) => legal[0],
        }
    }

    fn describe(&self, table: &Table) -> String {
        let list = |set: Set| members(set).map(|card| (card + 1).to_string()).collect::<Vec<_>>().join(" ");
        let round = |round: &Round| round.events().map(|event| (event + 1).to_string()).collect::<Vec<_>>().join(" ");
        let rounds: Vec<String> = table.rounds.iter().map(round).collect();
        let [a, b] = table.hands.map(list);
        format!("hands [{a}] [{b}], rounds of treasure, led, followed [{}], lead {}", rounds.join("; "), table.lead())
    }
}
