//! The state of a fight: what both sides see, and each side's own. Plain numbers in arrays; copying it is one memcpy.
//!
//! **Invariant:** [`Public`] never depends on a [`Private`] part beyond what a public event has shown.

use fogfall_game::{Action, Seat, mix};
use serde::{Deserialize, Serialize};

use super::limits::{MAX_BUFFS, MAX_FRAMES, MAX_ITEMS, MAX_PICKS, MAX_SKILLS_PER_SECT, RECENT, SLOTS};
use super::log::Log;
use super::tables::{STATS, Stats};

/// What is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Due {
    /// Chance deals a card to this seat's bag.
    Deal(Seat),
    /// This seat chooses a special.
    Pick(Seat),
    /// Chance says who begins.
    Initiative,
    /// This seat moves.
    Act(Seat),
    /// Chance rolls the strike of the top frame.
    Strike,
    /// Chance says whether the effect of the top frame takes place.
    Trigger,
    /// Chance picks what the reveal of the top frame shows.
    Reveal,
    /// The fight is over.
    Over,
}

/// Where a turn stands when no effects are under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// The next mover is not yet found.
    Next,
    /// The mover's turn begins.
    Begin,
    /// The mover decides, or loses the turn.
    Decide,
    /// The move's effects are done.
    Acted,
    /// Traps that watch health have been looked at.
    End,
}

/// A run of effects under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The next effect, and one past the last.
    pub(crate) next: u16,
    pub(crate) end: u16,
    pub(crate) actor: Seat,
    /// A strike of this run missed: its other effects on the foe do nothing.
    pub(crate) missed: bool,
    /// The next effect's own chance has been rolled and it takes place.
    pub(crate) rolled: bool,
    /// Set off by a trap or by equipment: sets off nothing itself.
    pub(crate) triggered: bool,
}

/// How a move went, as far as a short memory keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// Who moved.
    pub(crate) seat: Seat,
    /// What was seen of the move; [`Seen::Nothing`] before the first.
    pub(crate) seen: Seen,
    pub(crate) missed: bool,
    pub(crate) critical: bool,
    /// A trap went off during it.
    pub(crate) trapped: bool,
}

/// A move as the other side sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Seen {
    /// No move.
    #[default]
    Nothing,
    /// The basic attack.
    Attack,
    /// Guarding.
    Guard,
    /// The pet's command.
    Pet,
    /// This skill.
    Skill(u8),
    /// A veiled skill, unknown which.
    Veiled,
    /// This item.
    Item(u8),
    /// The turn was lost to a stun.
    Stunned,
}

/// What both sides see of one fighter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fighter {
    /// Static facts and buffs together: what the rules' formulas read.
    pub(crate) stats: Stats,
    /// From sect, level, pet and equipment.
    pub(crate) base: Stats,
    pub(crate) health: i16,
    pub(crate) max_health: i16,
    pub(crate) mana: i16,
    pub(crate) max_mana: i16,
    pub(crate) shield: i16,
    /// When its next turn is, relative to the turn under way.
    pub(crate) next_at: i16,
    /// Mask of the buffs in force.
    pub(crate) active: u16,
    pub(crate) sect: u8,
    pub(crate) level: u8,
    pub(crate) pet: u8,
    pub(crate) equipment: [u8; SLOTS],
    /// Own turns that each buff still lasts.
    pub(crate) buffs: [u8; MAX_BUFFS],
    /// Own turns until each skill is ready, by slot.
    pub(crate) cooldowns: [u8; MAX_SKILLS_PER_SECT],
    pub(crate) pet_cooldown: u8,
    pub(crate) guarding: bool,
    /// It lost its last turn to a stun and cannot be stunned again before it has moved.
    pub(crate) steady: bool,
    /// Cards in the bag.
    pub(crate) bag_left: u8,
    /// Cards in the bag that the other side has been shown, by kind.
    pub(crate) known: [u8; MAX_ITEMS],
    /// Cards used, by kind.
    pub(crate) used: [u8; MAX_ITEMS],
    /// How many specials it has chosen, and which the other side has seen.
    pub(crate) chosen: u8,
    pub(crate) shown: u8,
    /// What its pending trap can be, by veiled bit; 0: none is pending.
    pub(crate) candidates: u8,
    /// Own turns since the trap was laid.
    pub(crate) veil_age: u8,
}

impl Fighter {
    pub(crate) fn has(&self, buff: u8) -> bool {
        self.active >> buff & 1 == 1
    }

    pub(crate) fn stat(&self, stat: super::tables::Stat) -> i32 {
        i32::from(self.stats[stat as usize])
    }

    /// Cards of the bag that the other side has not been shown.
    pub(crate) fn unseen_cards(&self) -> u8 {
        self.bag_left - self.known.iter().sum::<u8>()
    }

    /// Specials chosen that the other side has not been shown.
    pub(crate) fn unseen_specials(&self) -> u8 {
        self.chosen - self.shown.count_ones() as u8
    }

    /// A trap is pending and the other side cannot tell which.
    pub(crate) fn veil_unknown(&self) -> bool {
        self.candidates.count_ones() > 1
    }

    /// How many hidden things a reveal can pick from.
    pub(crate) fn hidden_things(&self) -> u32 {
        u32::from(self.unseen_cards()) + u32::from(self.unseen_specials()) + u32::from(self.veil_unknown())
    }
}

/// What both sides see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Public {
    pub(crate) fighters: [Fighter; 2],
    pub(crate) due: Due,
    pub(crate) stage: Stage,
    /// Whose turn it is, or was.
    pub(crate) mover: Seat,
    /// Turns begun.
    pub(crate) turn: u16,
    pub(crate) depth: u8,
    pub(crate) frames: [Frame; MAX_FRAMES],
    /// The latest moves, newest first.
    pub(crate) recent: [Event; RECENT],
    /// Chained hash of the public events, damage spread left out.
    pub(crate) chain: u64,
    /// All that happened since the specials were chosen.
    pub(crate) log: Log,
}

/// What one side has for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Private {
    /// Cards in the bag by kind, shown ones too.
    pub(crate) bag: [u8; MAX_ITEMS],
    /// Mask of the specials chosen.
    pub(crate) specials: u8,
    /// The specials in the order in which they were chosen, each as its bit's number; 0 beyond the last.
    pub(crate) picks: [u8; MAX_PICKS],
    /// Mask with the bit of the pending trap; 0: none.
    pub(crate) veil: u8,
}

impl Private {
    /// A hash of it all but the order in which specials were chosen, which changes nothing any more.
    pub(crate) fn key(&self) -> u64 {
        let cards = self.bag.chunks(6).map(|half| half.iter().fold(0, |sum, &n| sum << 8 | u64::from(n)));
        let masks = u64::from(self.specials) << 8 | u64::from(self.veil);
        cards.fold(masks, mix)
    }
}

/// The true fight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub(crate) public: Public,
    pub(crate) private: [Private; 2],
}

/// All that one seat has seen of a fight: the public facts, with all that was ever shown, and its own part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    pub(crate) seat: Seat,
    pub(crate) public: Public,
    pub(crate) private: Private,
}

/// Codes folded into the chain, one range a sort of event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    Begins(Seat),
    Picked(Seat),
    Moved(Seat, Seen),
    Struck(Rolled),
    TookPlace(bool),
    Shown(Action),
    Trapped(u8),
}

/// How a strike's roll went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rolled {
    Miss,
    Hit,
    Critical,
}

impl Public {
    pub(crate) fn mark(&mut self, mark: Mark) {
        let (sort, seat, detail) = match mark {
            Mark::Begins(seat) => (1, seat, 0),
            Mark::Picked(seat) => (2, seat, 0),
            Mark::Moved(seat, seen) => (3, seat, seen.code()),
            Mark::Struck(rolled) => (4, 0, rolled as u64),
            Mark::TookPlace(yes) => (5, 0, u64::from(yes)),
            Mark::Shown(thing) => (6, 0, u64::from(thing)),
            Mark::Trapped(skill) => (7, 0, u64::from(skill)),
        };
        self.chain = mix(self.chain, sort << 32 | u64::from(seat) << 24 | detail);
    }

    /// The frame whose effect is next.
    pub(crate) fn top(&mut self) -> &mut Frame {
        &mut self.frames[usize::from(self.depth) - 1]
    }

    /// The seat that the reveal under way shows something.
    pub(crate) fn revealer(&self) -> Seat {
        self.frames[usize::from(self.depth) - 1].actor
    }

    pub(crate) fn remember(&mut self, event: Event) {
        self.recent.rotate_right(1);
        self.recent[0] = event;
    }
}

impl Seen {
    fn code(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Attack => 1,
            Self::Guard => 2,
            Self::Pet => 3,
            Self::Veiled => 4,
            Self::Stunned => 5,
            Self::Skill(skill) => 0x100 | u64::from(skill),
            Self::Item(item) => 0x200 | u64::from(item),
        }
    }
}

const _: () = assert!(STATS == 8);
const _: () = assert!(size_of::<State>() <= 656);
