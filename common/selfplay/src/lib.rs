//! Games in progress: a slot's searched decisions become rows, finished games become trajectories; and matches between
//! two agents and single games to look at, played in the same way.
//!
//! A [`Worker`] plays many slots on one thread, one question a slot and batch. It knows no thread, no clock, no
//! transport: whoever drives it does.
//!
//! **Invariant:** the played state stays in the table; a search gets the mover's view and a seed that does not depend
//! on anything hidden. The one exception is named [`Agent::Cheat`], plays in matches only, and searches another type of
//! game.

mod counts;
mod r#match;
mod recorded;
mod revealed;
mod seeker;
mod settings;
mod slot;
mod table;
mod worker;

pub use counts::WorkerCounts;
pub use r#match::{
    Agent, Effort, MatchGame, MatchSettings, PairResult, Searcher, Watched, measure_match, play_match, watch_match,
};
pub use recorded::{RecordedGame, RecordedMove, RecordedOption, record_game};
pub use settings::{Growth, PlaySettings};
pub use worker::{Origin, Worker};
