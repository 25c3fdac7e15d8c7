//! How large rules may be. States are arrays of these sizes, so a fight is copied without touching the heap; rules
//! that ask for more are mistakes, reported with the limit.

/// Sects in one rules file.
pub(crate) const MAX_SECTS: usize = 8;
/// Skills in one rules file, over all sects.
pub(crate) const MAX_SKILLS: usize = 64;
/// Skills of one sect; a fighter's cooldowns are an array of this length.
pub(crate) const MAX_SKILLS_PER_SECT: usize = 12;
/// Specials of one sect, and veiled skills of one sect: each is a mask of bits in a byte.
pub(crate) const MAX_MASKED_PER_SECT: usize = 8;
/// Kinds of item.
pub(crate) const MAX_ITEMS: usize = 12;
/// Kinds of buff and debuff: a mask of bits in a `u16`.
pub(crate) const MAX_BUFFS: usize = 16;
/// Kinds of pet.
pub(crate) const MAX_PETS: usize = 8;
/// Pieces of equipment.
pub(crate) const MAX_EQUIPMENT: usize = 16;
/// Equipment slots; a fighter wears one piece in each.
pub(crate) const SLOTS: usize = 3;
/// Levels of damage spread.
pub(crate) const MAX_SPREAD: usize = 5;
/// Effects of one skill, item, command or piece of equipment.
pub(crate) const MAX_EFFECTS: usize = 6;
/// Frames of effects under way at once: a move, a pet's command in it, the equipment of both sides, a trap, and a
/// pet's command in that.
pub(crate) const MAX_FRAMES: usize = 4 + 2 * SLOTS;
/// No statistic, damage or healing counts for more than this, so that all fits into the numbers of a state.
pub(crate) const MAX_POINTS: i32 = 10_000;
/// Moves that both sides remember in order.
pub(crate) const RECENT: usize = 4;
/// Specials that one side may choose before the fight.
pub(crate) const MAX_PICKS: usize = 4;
/// Moves and rolls of one fight that are kept so that it can be fought again; the past of longer ones is lost.
pub(crate) const MAX_LOG: usize = 192;
/// The longest fight that rules may allow, in turns.
pub(crate) const MAX_TURNS: usize = 200;
