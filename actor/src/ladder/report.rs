//! A ladder as text and as data.

use std::fmt;

use fogfall_eval::{Interval, MatchStats};
use serde::Serialize;

use super::Player;
use crate::matches::label;

/// A ladder and its ratings.
#[derive(Serialize)]
pub struct LadderReport {
    /// The game.
    pub game: String,
    /// The run's directory, if a run was rated.
    pub run: Option<String>,
    /// The player whose rating is 0.
    pub anchor: String,
    /// Root seed.
    pub seed: u64,
    /// Games of each meeting.
    pub games_per_meeting: u32,
    /// The players: fixed ones first, then checkpoints, oldest first.
    pub players: Vec<LadderPlayer>,
    /// All meetings.
    pub meetings: Vec<LadderMeeting>,
}

/// A rated player.
#[derive(Clone, Serialize)]
pub struct LadderPlayer {
    /// Its name.
    pub name: String,
    /// It sees what is hidden from it: no player, but a ceiling.
    pub cheats: bool,
    /// Train steps of a network of the run.
    pub step: Option<u64>,
    /// A checkpoint of the run; others meet everybody.
    pub checkpoint: bool,
    /// Elo points above the anchor, with the 95 % interval of a bootstrap over pairs.
    pub elo: Interval,
    /// Mean score against those it met.
    pub score: f64,
    /// Its games.
    pub games: usize,
    /// Different games, meeting by meeting.
    pub distinct_games: usize,
}

/// A match of two players, from the first one's side.
#[derive(Serialize)]
pub struct LadderMeeting {
    /// The first player.
    pub a: String,
    /// The second player.
    pub b: String,
    /// The numbers.
    #[serde(flatten)]
    pub stats: MatchStats,
}

impl LadderMeeting {
    pub(super) fn of([a, b]: [&Player; 2], stats: &MatchStats) -> Self {
        Self { a: a.name.clone(), b: b.name.clone(), stats: stats.clone() }
    }
}

impl fmt::Display for LadderReport {
    /// Strongest first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { game, run, anchor, seed, games_per_meeting, players, meetings } = self;
        let of = run.as_ref().map_or_else(String::new, |run| format!(" of {run}"));
        writeln!(f, "{game}: ladder{of}, {} meetings of {games_per_meeting} games, seed {seed}", meetings.len())?;
        writeln!(
            f,
            "Elo points above {anchor}; 400 points are odds of 10 : 1. 95 % intervals by bootstrap over pairs.\n"
        )?;
        let mut players: Vec<_> = players.iter().collect();
        players.sort_by(|a, b| b.elo.mean.total_cmp(&a.elo.mean));
        let labels: Vec<_> = players.iter().map(|player| label(&player.name, player.cheats)).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        write!(f, "{:width$}    Elo  95 % interval  score  games  distinct", "")?;
        for (player, label) in players.iter().zip(labels) {
            let LadderPlayer { elo, score, games, distinct_games, .. } = player;
            let interval = format!("[{:.0}, {:.0}]", elo.low, elo.high);
            write!(
                f,
                "\n{label:width$}  {:5.0}  {interval:13}  {:4.0} %  {games:5}  {distinct_games:8}",
                elo.mean,
                100.0 * score
            )?;
        }
        Ok(())
    }
}
