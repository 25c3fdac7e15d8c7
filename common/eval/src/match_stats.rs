//! [`MatchStats`]: what the pairs of a match say about its first agent.

use std::collections::HashSet;
use std::fmt;

use fogfall_selfplay::{MatchGame, PairResult};
use serde::Serialize;

use crate::Interval;

/// A match in numbers, all from the first agent's side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MatchStats {
    /// Games, two a pair.
    pub games: usize,
    /// Games with a positive payoff.
    pub wins: usize,
    /// Games with payoff 0, those that were cut included.
    pub draws: usize,
    /// Games with a negative payoff.
    pub losses: usize,
    /// Games cut at the length limit.
    pub truncated: usize,
    /// Different games, by all actions and chance outcomes. Few of many games: the match says less than its interval.
    pub distinct_games: usize,
    /// Mean score (win 1, draw 1/2, loss 0) over pairs; none for fewer than two pairs.
    pub score: Option<Interval>,
    /// Mean payoff over pairs, in the game's own units; none for fewer than two pairs.
    pub payoff: Option<Interval>,
    /// Mean number of decisions in a game.
    pub mean_decisions: f64,
}

impl MatchStats {
    /// The numbers of these pairs.
    pub fn of(pairs: &[PairResult]) -> Self {
        let games = || pairs.iter().flatten();
        let count = |pick: fn(&MatchGame) -> bool| games().filter(|game| pick(game)).count();
        let over_pairs = |value: fn(&MatchGame) -> f64| -> Vec<f64> {
            pairs.iter().map(|pair| pair.iter().map(value).sum::<f64>() / 2.0).collect()
        };
        let total = 2 * pairs.len();
        Self {
            games: total,
            wins: count(|game| game.payoff > 0.0),
            draws: count(|game| game.payoff == 0.0),
            losses: count(|game| game.payoff < 0.0),
            truncated: count(|game| game.truncated),
            distinct_games: games().map(|game| game.history).collect::<HashSet<_>>().len(),
            score: Interval::of_score(&over_pairs(score)),
            payoff: Interval::of_mean(&over_pairs(|game| f64::from(game.payoff))),
            mean_decisions: games().map(|game| f64::from(game.decisions)).sum::<f64>() / total.max(1) as f64,
        }
    }
}

/// Win 1, draw 1/2, loss 0.
pub(crate) fn score(game: &MatchGame) -> f64 {
    match game.payoff {
        payoff if payoff > 0.0 => 1.0,
        payoff if payoff < 0.0 => 0.0,
        _ => 0.5,
    }
}

impl fmt::Display for MatchStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { games, wins, draws, losses, distinct_games, .. } = self;
        match self.score {
            Some(score) => write!(f, "score {score}")?,
            None => write!(f, "score unknown")?,
        }
        write!(f, ", {wins} won, {draws} drawn, {losses} lost, {distinct_games} of {games} games distinct")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(payoff: f32, history: u64) -> MatchGame {
        MatchGame { payoff, decisions: 10, history, truncated: false }
    }

    #[test]
    fn pairs_are_the_samples_so_luck_of_the_deal_cancels() {
        // Each pair is won from one seat and lost from the other: the pair's score is always 1/2.
        let pairs: Vec<PairResult> = (0..100).map(|i| [game(1.0, 2 * i), game(-1.0, 2 * i + 1)]).collect();
        let stats = MatchStats::of(&pairs);
        assert_eq!((stats.wins, stats.draws, stats.losses, stats.games), (100, 0, 100, 200));
        let score = stats.score.unwrap();
        assert_eq!((score.mean, score.samples), (0.5, 100));
        // Over games the half width would be 1.96 * 0.5 / sqrt(200) = 0.069; over pairs only the added 0 and 1 spread:
        // variance 0.5 / 101, half width 1.96 * sqrt(0.5 / 101 / 102) = 0.0137.
        assert!((score.high - score.mean - 0.0137).abs() < 1e-3, "{score:?}");
        let payoff = stats.payoff.unwrap();
        assert_eq!((payoff.low, payoff.high), (0.0, 0.0));
    }

    #[test]
    fn repeated_games_count_once_as_distinct() {
        let stats = MatchStats::of(&[[game(2.0, 1), game(0.0, 2)], [game(2.0, 1), game(0.0, 2)]]);
        assert_eq!((stats.games, stats.distinct_games), (4, 2));
        assert_eq!(stats.score.unwrap().mean, 0.75); // (1 + 1/2) / 2
        assert_eq!(stats.payoff.unwrap().mean, 1.0); // (2 + 0) / 2
    }

    #[test]
    fn no_pairs_give_no_score() {
        let stats = MatchStats::of(&[]);
        assert_eq!((stats.score, stats.games, stats.mean_decisions), (None, 0, 0.0));
        assert_eq!(stats.to_string(), "score unknown, 0 won, 0 drawn, 0 lost, 0 of 0 games distinct");
    }
}
