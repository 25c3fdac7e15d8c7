//! Rules compiled into flat tables: what the engine reads. Built by `compile`, constant afterwards. All numbers are
//! integers in the rules' own units (points, percent, turns), so that worlds drawn from a view compare bit for bit.

use super::limits::{MAX_SPREAD, SLOTS};

/// A fighter's statistics, in the order in which arrays hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Stat {
    /// Scales physical effects.
    Attack,
    /// Scales magical effects.
    Magic,
    /// Damage taken is divided by `1 + defence / 100`.
    Defence,
    /// The time between two turns is `BASE_TIME / speed`.
    Speed,
    /// Added to the chance to hit, percent points.
    Accuracy,
    /// Subtracted from the attacker's chance to hit, percent points.
    Evasion,
    /// Chance that a hit is critical, percent.
    Critical,
    /// Healing received is changed by this, percent.
    Healing,
}

/// Names of the statistics in rules files, in the order of [`Stat`].
pub(crate) const STAT_NAMES: [&str; 8] =
    ["attack", "magic", "defence", "speed", "accuracy", "evasion", "critical", "healing"];
/// How many statistics there are.
pub(crate) const STATS: usize = STAT_NAMES.len();
/// Buffs change these by percent of the base; the others by points.
pub(crate) const SCALED_STATS: usize = 4;
/// Values of statistics by [`Stat`].
pub(crate) type Stats = [i16; STATS];

/// A run of entries in [`Tables::effects`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u16,
    pub(crate) end: u16,
}

/// Whom an effect is for, seen from the one who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Own,
    Foe,
}

/// An attack: rolled to hit, to be critical and for its spread in one chance node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Strike {
    /// Percent of `stat`.
    pub(crate) power: i32,
    /// [`Stat::Attack`] or [`Stat::Magic`].
    pub(crate) stat: Stat,
    /// Added to the chance to hit, percent points.
    pub(crate) accuracy: i32,
    /// Passes guard and shield.
    pub(crate) pierce: bool,
    /// A buff on the struck side that makes it `bonus` percent stronger.
    pub(crate) against: Option<u8>,
    pub(crate) bonus: i32,
    /// Percent of the health taken that the attacker gains: more than 0 for a drain.
    pub(crate) drain: i32,
}

/// What an effect does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Damage and drain.
    Strike(Strike),
    /// Restores health: percent of magic, and points that grow with the level.
    Heal { power: i32, points: i32 },
    /// Adds to the shield, up to the cap.
    Shield { power: i32, points: i32 },
    /// Takes this percent of the shield away.
    Shatter { percent: i32 },
    /// Gives or takes mana.
    Mana { points: i32 },
    /// Lays a buff or debuff.
    Buff { buff: u8 },
    /// Ends up to `count` of the target's helpful buffs, longest first.
    Dispel { count: u8 },
    /// Ends up to `count` of the target's harmful buffs, longest first.
    Cleanse { count: u8 },
    /// Moves the target's next turn by a percentage of its interval; negative is sooner.
    Delay { percent: i32 },
    /// Shortens the target's cooldowns.
    Refresh { turns: u8 },
    /// The pet of the acting side performs its command.
    PetCommand,
    /// Shows one hidden thing of the target: an item, a special or what is veiled.
    Reveal,
}

/// One step of a skill, item, command, trap or piece of equipment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effect {
    pub(crate) target: Target,
    /// Percent; below 100 it is a chance node.
    pub(crate) chance: u8,
    pub(crate) kind: Kind,
}

/// When a veiled skill acts. All are public events, so that its not acting rules it out for both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The owner is struck.
    Struck,
    /// The foe uses a skill that is not veiled.
    FoeSkill,
    /// The foe uses an item.
    FoeItem,
    /// The foe guards.
    FoeGuard,
    /// The foe heals itself by a move.
    FoeHeals,
    /// At the end of a move the owner's health is at most this percentage.
    LowHealth(u8),
    /// At the start of the owner's own turn, this many turns after it was laid.
    Turns(u8),
}

/// How a skill is come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learned {
    /// Every fighter of the sect has it.
    Basic,
    /// Every fighter of the sect has it; using it lays a hidden trap.
    Veiled(Trigger),
    /// Only fighters that chose it before the fight.
    Special,
}

/// A skill.
#[derive(Clone, Debug)]
pub(crate) struct Skill {
    pub(crate) id: String,
    pub(crate) sect: u8,
    /// Place among its sect's skills: the index of its cooldown.
    pub(crate) slot: u8,
    /// Place among its sect's specials or veiled skills: the bit in masks.
    pub(crate) bit: u8,
    pub(crate) learned: Learned,
    pub(crate) cost: i16,
    pub(crate) cooldown: u8,
    /// A buff of the user that is spent by it.
    pub(crate) requires: Option<u8>,
    pub(crate) effects: Span,
}

/// A sect: a fighter's class.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sect {
    pub(crate) id: String,
    pub(crate) health: i32,
    pub(crate) mana: i32,
    /// Mana gained at the start of each own turn.
    pub(crate) mana_per_turn: i32,
    pub(crate) stats: Stats,
    /// Skill numbers by slot: basic, then veiled, then special.
    pub(crate) skills: Vec<u8>,
    /// Skill numbers by bit.
    pub(crate) specials: Vec<u8>,
    /// Skill numbers by bit.
    pub(crate) veiled: Vec<u8>,
    /// The basic attack.
    pub(crate) attack: Span,
}

/// An item kind.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) id: String,
    /// How many cards of the deck are of this kind.
    pub(crate) copies: u8,
    pub(crate) effects: Span,
}

/// A buff or, if harmful, a debuff.
#[derive(Clone, Debug)]
pub(crate) struct Buff {
    pub(crate) id: String,
    pub(crate) harmful: bool,
    /// How many own turns of its holder it lasts.
    pub(crate) turns: u8,
    /// Percent for the first [`SCALED_STATS`], points for the rest.
    pub(crate) stats: Stats,
    /// Points at level 1 that its holder loses at the start of each own turn.
    pub(crate) damage_per_turn: i32,
    /// Points at level 1 that its holder gains at the start of each own turn.
    pub(crate) heal_per_turn: i32,
    /// Points of mana that its holder gains or loses at the start of each own turn.
    pub(crate) mana_per_turn: i32,
    /// Its holder loses its turns.
    pub(crate) stun: bool,
    /// Its holder uses no skills.
    pub(crate) silence: bool,
    /// Percent of the damage its holder is struck for that falls back on the attacker.
    pub(crate) thorns: i32,
}

/// A pet.
#[derive(Clone, Debug)]
pub(crate) struct Pet {
    pub(crate) id: String,
    pub(crate) stats: Stats,
    pub(crate) cooldown: u8,
    pub(crate) command: Span,
}

/// What makes a piece of equipment act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WornTrigger {
    /// Its wearer strikes by a move.
    Hit,
    /// Its wearer is struck by a move.
    Struck,
}

/// A piece of equipment.
#[derive(Clone, Debug)]
pub(crate) struct Equipment {
    pub(crate) id: String,
    pub(crate) slot: u8,
    pub(crate) stats: Stats,
    /// What it does when struck or striking; no effects: nothing.
    pub(crate) trigger: WornTrigger,
    pub(crate) effects: Span,
}

/// Numbers of the fight itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fight {
    pub(crate) bag_size: u8,
    pub(crate) specials: u8,
    pub(crate) turn_limit: u16,
    /// Until this turn is over nobody falls.
    pub(crate) mercy: u16,
    /// Good play is mixed: training looks for an equilibrium.
    pub(crate) mixed_play: bool,
    /// At the turn limit the healthier side wins, else it is a draw.
    pub(crate) healthier_wins: bool,
    pub(crate) min_level: u8,
    pub(crate) max_level: u8,
    /// The two levels differ by at most this.
    pub(crate) level_gap: u8,
    /// Percent that health, attack, magic and points grow by each level.
    pub(crate) growth: i32,
    /// Percent chance of a strike to hit before accuracy and evasion.
    pub(crate) hit: i32,
    pub(crate) min_hit: i32,
    pub(crate) critical_damage: i32,
    /// Percent of damage, and odds, of each level of spread.
    pub(crate) spread: [i32; MAX_SPREAD],
    pub(crate) spread_odds: [u32; MAX_SPREAD],
    pub(crate) spreads: usize,
    /// Percent of full mana that a fighter starts with.
    pub(crate) start_mana: i32,
    /// Percent of damage that reaches one who guards, and the mana that guarding gives.
    pub(crate) guard_damage: i32,
    pub(crate) guard_mana: i32,
    /// Percent of full health that a shield can reach.
    pub(crate) shield_cap: i32,
    /// Percent of a shield that is left at the start of each own turn.
    pub(crate) shield_kept: i32,
    /// From this turn on fighters weary: at the start of an own turn each loses `weary` percent of full health for
    /// every turn begun since.
    pub(crate) weary_from: u16,
    pub(crate) weary: i32,
}

/// The compiled rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) fight: Fight,
    pub(crate) sects: Vec<Sect>,
    pub(crate) skills: Vec<Skill>,
    pub(crate) items: Vec<Item>,
    pub(crate) buffs: Vec<Buff>,
    pub(crate) pets: Vec<Pet>,
    pub(crate) equipment: Vec<Equipment>,
    /// Piece numbers by slot.
    pub(crate) wardrobe: [Vec<u8>; SLOTS],
    pub(crate) effects: Vec<Effect>,
    /// Specials in the order of the actions that choose them.
    pub(crate) picks: Vec<u8>,
    /// Masks of buffs: harmful ones, and those that the engine need look at for one purpose.
    pub(crate) harmful: u16,
    pub(crate) ticking: u16,
    pub(crate) stunning: u16,
    pub(crate) silencing: u16,
    pub(crate) thorny: u16,
    pub(crate) changing: u16,
    /// The largest number of skills, specials and veiled skills of any sect.
    pub(crate) slots: usize,
    pub(crate) special_bits: usize,
    pub(crate) veiled_bits: usize,
}
