//! The contract suite: plays a game at random and checks all that [`Game`] promises.
//!
//! What it is for: a game's author calls [`check`] in a test and gets either a [`Report`] or [`Violation`]s that say
//! what to change. What it is not: a proof, or a check that the rules are the ones meant (goldens and recorded games
//! do that). [`Leaky`] breaks any game on purpose; a suite that passes one of those has lost a tooth.
//!
//! **Invariant:** everything is seeded; the same game and [`Settings`] give the same answer. What a seat sees must be
//! the whole of what is computed for it, so every check compares the true state with worlds drawn from its view.

mod chance;
mod info;
mod leaky;
mod openings;
mod past;
mod place;
mod play;
mod probe;
mod rule;
mod statistics;
mod worlds;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use leaky::{Leak, Leaky};
pub use place::Place;
pub use rule::{Rule, Violation};

use crate::Game;
use probe::Probe;
use rule::Findings;

/// How much to check. The default takes about a second for a small game.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Root seed of everything drawn.
    pub seed: u64,
    /// At least this many games are played.
    pub games: usize,
    /// Games are played until this many worlds were compared with the true state, as seen from either seat.
    pub pairs: usize,
    /// Openings compared with drawn worlds, and draws at each chance node and decision probed for its distribution.
    pub draws: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, games: 200, pairs: 10_000, draws: 2_000 }
    }
}

/// What was checked, for a look at whether it was enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Games played to their end.
    pub games: usize,
    /// Decisions in them.
    pub decisions: usize,
    /// Most decisions in one game.
    pub longest: usize,
    /// Chance nodes in them.
    pub chance_nodes: usize,
    /// Worlds compared with the true state.
    pub pairs: usize,
    /// Pairs in which the world was not the true state.
    pub differing_pairs: usize,
    /// Pairs in which the other seat's view differed: its private part changed.
    pub differing_foe_views: usize,
    /// Different views of movers met.
    pub views: usize,
    /// Views that share both observation and tree key with another view: what the game chose to merge.
    pub merged_views: usize,
    /// Past decisions shown by [`Game::past`]; 0 if the game offers none.
    pub past_decisions: usize,
    /// Worlds that [`Game::carry`] carried on to their seat's next decision; 0 if the game carries none.
    pub carried_worlds: usize,
    /// True states that it carried on like worlds, and those it did not.
    pub carried_truths: usize,
    /// See [`carried_truths`](Self::carried_truths).
    pub lost_truths: usize,
}

/// Checks a game against its contract.
///
/// # Errors
/// What is broken: one [`Violation`] a [`Rule`], each with what was expected and found first, where, which methods to look
/// at, and what to do. A panic of the game is one too; the suite ends with it.
pub fn check<G: Game>(game: &G, settings: &Settings) -> Result<Report, Vec<Violation>> {
    let mut findings = Findings::default();
    let mut report = Report::default();
    info::check(game, &mut findings);
    if findings.is_empty() {
        let probe = Probe::new(game);
        let played = catch_unwind(AssertUnwindSafe(|| {
            let probed = play::check(&probe, settings, &mut report, &mut findings);
            chance::check(&probe, settings, &probed, &mut findings);
            openings::check(&probe, settings, &mut findings);
        }));
        if let Err(panic) = played {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
            findings.add(Rule::Panic, || format!("expected no panic, found: {text}"));
        }
    }
    findings.into_result(report)
}
