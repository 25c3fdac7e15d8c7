//! Balance of a game's rules, from games that players of it have played: do games end, does play matter, is an option
//! dead or dominant, does a seat or a kind of character lose hopelessly.
//!
//! Pure statistics: who plays, and for how long, is for others to say. Options, seats and characters are judged by
//! **mirrors**, matches of a player against itself, so that a player's strength is not taken for a character's; players
//! worth listening to are called judges.
//!
//! **Invariant:** nothing is called bad by its mean alone: the whole 95 % interval must lie beyond the bar.

mod findings;
mod played;
mod stats;

pub use findings::{Finding, Level};
pub use played::{OptionUse, PlayedGame, PlayedMatch};
pub use stats::{Balance, Lengths, OptionStats, PairingStats};

#[cfg(test)]
mod tests;
