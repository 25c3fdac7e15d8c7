//! Treasure or trap: a small bluffing game with all that makes a game hard, hidden information and chance.
//!
//! Six chests are dug up one after the other, drawn from a heap of eight: three traps (3 gold to pay), three with coins
//! (1 gold) and two with a jewel (3 gold). The players take turns as keeper, seat 0 first. The keeper alone looks into
//! the chest and then
//! - **keeps** it, still closed, and has what is in it; or
//! - **pushes** it across the table. The other player, who knows nothing, then **opens** it and has what is in it, or
//!   **leaves** it: then the keeper must take it after all, and a treasure counts twice.
//!
//! So a keeper wants to be rid of traps, but who pushes nothing else is found out; and who kept what stays unknown to
//! the end, when the gold is counted. The payoff is the gold that seat 0 has more than seat 1.
//!
//! **Invariant:** all that is computed for a seat is computed from [`Table::seen_by`], where what the seat has not seen
//! is not there to be read.

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, mix};
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The keeper keeps the chest.
pub const KEEP: Action = 0;
/// The keeper pushes the chest across the table.
pub const PUSH: Action = 1;
/// The other player opens the pushed chest.
pub const OPEN: Action = 2;
/// The other player leaves the pushed chest to its keeper.
pub const LEAVE: Action = 3;

/// Chests in a game.
const ROUNDS: usize = 6;
/// Chests of each content in the heap, by [`Content`].
const HEAP: [u32; 3] = [3, 3, 2];
/// A typical payoff, which the network knows as 1. Not the largest one: most games would look alike.
const TYPICAL_GOLD: f32 = 5.0;
/// Two jewels and one chest of coins, pushed and left, and three traps that the other keeps: 2 * 2 * 3 + 2 * 1 + 3 * 3.
const MOST_GOLD: f32 = 23.0;

/// What lies in a chest. Chance outcomes are these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    Trap,
    Coins,
    Jewel,
}

impl Content {
    const ALL: [Self; 3] = [Self::Trap, Self::Coins, Self::Jewel];

    fn gold(self) -> i32 {
        [-3, 1, 3][self as usize]
    }
}

/// How far a chest's story has come. Both players see that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Fate {
    #[default]
    Buried,
    InHand,
    Pushed,
    Kept,
    Opened,
    Left,
}

/// A chest; its content is unknown before it is dug up, and in a view if the seat has not seen it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Chest {
    content: Option<Content>,
    fate: Fate,
}

/// The true game: six chests. It is copied once a simulation, so it is small and lives without the heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    chests: [Chest; ROUNDS],
}

/// What a seat has seen: the table without the contents it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    seat: Seat,
    table: Table,
}

/// Who looks into the chest of a round.
fn keeper(round: usize) -> Seat {
    (round % 2) as Seat
}

impl Table {
    /// The round that is played and how far it is; none when all are over.
    fn due(&self) -> Option<(usize, Fate)> {
        let fates = self.chests.iter().map(|chest| chest.fate).enumerate();
        fates.into_iter().find(|(_, fate)| matches!(fate, Fate::Buried | Fate::InHand | Fate::Pushed))
    }

    /// The table as a seat sees it: without what lies in chests that the other keeps or has just pushed.
    fn seen_by(&self, seat: Seat) -> Self {
        let mut table = *self;
        for (round, chest) in table.chests.iter_mut().enumerate() {
            let closed = matches!(chest.fate, Fate::InHand | Fate::Pushed | Fate::Kept);
            if closed && keeper(round) != seat {
                chest.content = None;
            }
        }
        table
    }

    /// How many chests of each content are not on the table. For a table seen by a seat: those it has not seen.
    fn unseen(&self) -> [u32; 3] {
        let mut unseen = HEAP;
        for content in self.chests.iter().filter_map(|chest| chest.content) {
            unseen[content as usize] -= 1;
        }
        unseen
    }

    /// Draws one of the contents that are not on the table, each chest as likely as any other.
    fn draw(&self, rng: &mut Rng) -> Content {
        let unseen = self.unseen();
        let mut at = rng.random_range(0..unseen.iter().sum());
        let drawn = Content::ALL.into_iter().find(|&content| {
            let found = at < unseen[content as usize];
            at = at.saturating_sub(unseen[content as usize]);
            found
        });
        drawn.expect("the number drawn is below the number of chests")
    }

    /// The gold that seat 0 has more than seat 1, as far as it can be seen.
    fn lead(&self) -> i32 {
        let gold = |(round, chest): (usize, &Chest)| {
            let gold = chest.content.map_or(0, Content::gold);
            let keepers = match chest.fate {
                Fate::Kept => gold,
                Fate::Opened => -gold,
                Fate::Left => gold + gold.max(0),
                Fate::Buried | Fate::InHand | Fate::Pushed => 0,
            };
            if keeper(round) == 0 { keepers } else { -keepers }
        };
        self.chests.iter().enumerate().map(gold).sum()
    }
}

/// The game.
#[derive(Debug)]
pub struct TreasureOrTrap {
    info: GameInfo,
}

impl TreasureOrTrap {
    /// The name it is registered under.
    pub const NAME: &'static str = "treasure_or_trap";

    /// The game.
    pub fn new() -> Self {
        let mut observation = Layout::new([("seat", 2), ("lead", 1), ("unseen", 3)]);
        (1..=ROUNDS).for_each(|round| observation.push(format!("chest.{round}"), CHEST_LEN));
        let info = GameInfo {
            name: Self::NAME.to_owned(),
            rules: None,
            observation,
            actions: ["keep", "push", "open", "leave"].map(str::to_owned).into(),
            hidden: Layout::new([("foe_chests", 3)]),
            max_decisions: 2 * ROUNDS,
            value_scale: TYPICAL_GOLD,
            value_bound: MOST_GOLD,
            perfect_information: false,
            has_chance: true,
            symmetries: Vec::new(),
        };
        Self { info }
    }
}

impl Default for TreasureOrTrap {
    fn default() -> Self {
        Self::new()
    }
}

/// What a chest takes in an observation: its content, if seen, and its fate, if dug up.
const CHEST_LEN: usize = 3 + 5;

impl Game for TreasureOrTrap {
    type State = Table;
    type View = View;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    // Every game begins alike: nothing is drawn before the first round.
    fn start(&self, _setup: &mut Rng) -> Table {
        Table::default()
    }

    fn turn(&self, table: &Table) -> Turn {
        match table.due() {
            None => Turn::Over,
            Some((_, Fate::Buried)) => Turn::Chance,
            Some((round, Fate::InHand)) => Turn::Player(keeper(round)),
            Some((round, _)) => Turn::Player(1 - keeper(round)),
        }
    }

    fn legal(&self, table: &Table, out: &mut Actions) {
        let pushed = matches!(table.due(), Some((_, Fate::Pushed)));
        out.clear();
        out.extend(if pushed { [OPEN, LEAVE] } else { [KEEP, PUSH] });
    }

    fn chance(&self, table: &Table, out: &mut Vec<(Action, f32)>) {
        let unseen = table.unseen();
        let all: u32 = unseen.iter().sum();
        let shares = unseen.iter().map(|&count| count as f32 / all as f32);
        out.clear();
        out.extend((0..).zip(shares).filter(|(_, share)| *share > 0.0));
    }

    fn sample(&self, table: &Table, rng: &mut Rng) -> Action {
        table.draw(rng) as Action
    }

    fn apply(&self, table: &mut Table, action: Action) {
        let (round, fate) = table.due().expect("the game is not over");
        let chest = &mut table.chests[round];
        *chest = match fate {
            Fate::Buried => Chest { content: Some(Content::ALL[usize::from(action)]), fate: Fate::InHand },
            _ => Chest { fate: [Fate::Kept, Fate::Pushed, Fate::Opened, Fate::Left][usize::from(action)], ..*chest },
        };
    }

    fn payoff(&self, table: &Table) -> f32 {
        table.lead() as f32
    }

    fn view(&self, table: &Table, seat: Seat) -> View {
        View { seat, table: table.seen_by(seat) }
    }

    // Everything the seat has seen: positions that differ in it get nodes of their own in its search tree. A game with
    // thousands of outcomes would leave the small differences out, or its trees would never grow deep.
    fn tree_key(&self, table: &Table, seat: Seat) -> u64 {
        table.seen_by(seat).chests.iter().fold(u64::from(seat), |key, chest| {
            let content = chest.content.map_or(0, |content| 1 + content as u64);
            mix(key, content << 8 | chest.fate as u64)
        })
    }

    fn observe(&self, table: &Table, seat: Seat, out: &mut [f32]) {
        let seen = table.seen_by(seat);
        out.fill(0.0);
        out[usize::from(seat)] = 1.0;
        let lead = if seat == 0 { seen.lead() } else { -seen.lead() };
        out[2] = lead as f32 / TYPICAL_GOLD;
        for (number, count) in out[3..].iter_mut().zip(seen.unseen()) {
            *number = count as f32 / HEAP[0] as f32;
        }
        for (numbers, chest) in out[6..].chunks_exact_mut(CHEST_LEN).zip(&seen.chests) {
            if let Some(content) = chest.content {
                numbers[content as usize] = 1.0;
            }
            if chest.fate != Fate::Buried {
                numbers[2 + chest.fate as usize] = 1.0;
            }
        }
    }

    fn hidden(&self, table: &Table, seat: Seat, out: &mut [f32]) {
        let (all, seen) = (table.unseen(), table.seen_by(seat).unseen());
        for ((number, all), seen) in out.iter_mut().zip(all).zip(seen) {
            *number = (seen - all) as f32 / HEAP[0] as f32;
        }
    }

    // One full guess at the true game: what the seat has seen stays, the rest is drawn with the odds of the heap. That
    // is exact whatever the order, since chests are drawn without putting back.
    fn determinize(&self, view: &View, rng: &mut Rng) -> Table {
        let mut table = view.table;
        for round in 0..ROUNDS {
            let chest = table.chests[round];
            if chest.fate != Fate::Buried && chest.content.is_none() {
                table.chests[round].content = Some(table.draw(rng));
            }
        }
        table
    }

    // The decisions that led to a table can be read off it: a chest's fate says what was done with it.
    fn past(&self, _view: &View, world: &Table, seat: Seat, visit: &mut dyn FnMut(&Table, Action)) -> bool {
        let mut then = Table::default();
        for chest in &world.chests {
            let actions: &[Action] = match chest.fate {
                Fate::Buried => break,
                Fate::InHand => &[],
                Fate::Pushed => &[PUSH],
                Fate::Kept => &[KEEP],
                Fate::Opened => &[PUSH, OPEN],
                Fate::Left => &[PUSH, LEAVE],
            };
            self.apply(&mut then, chest.content.expect("a world's chests are known") as Action);
            for &action in actions {
                if self.turn(&then) == Turn::Player(seat) {
                    visit(&then, action);
                }
                self.apply(&mut then, action);
            }
        }
        true
    }

    fn experts(&self) -> &'static [&'static str] {
        &["honest"]
    }

    // What a simple script would do: keep treasure, push traps, and touch nothing that was pushed.
    fn expert_move(&self, _expert: &str, view: &View, _legal: &[Action], _rng: &mut Rng) -> Action {
        let due = view.table.due().map(|(round, _)| view.table.chests[round]);
        match due.and_then(|chest| chest.content) {
            None => LEAVE,
            Some(Content::Trap) => PUSH,
            Some(Content::Coins | Content::Jewel) => KEEP,
        }
    }

    fn describe(&self, table: &Table) -> String {
        let chests = table.chests.iter().map(|chest| match chest.content {
            Some(content) => format!("{content:?} {:?}", chest.fate),
            None => format!("{:?}", chest.fate),
        });
        format!("{}; seat 0 leads by {}", chests.collect::<Vec<_>>().join(", "), table.lead())
    }
}
