//! Elo ratings with intervals from a round robin.
//!
//! The model is Bradley and Terry's with draws (Davidson 1970): with strengths `p` and `q`, win, draw and loss are as
//! `p : v * sqrt(p q) : q`, the same `v` for all. A rating is `400 log10 p`, so that between two players the odds of win
//! against loss are 10 : 1 at 400 points.
//!
//! **Invariant:** intervals are over pairs of games, not over games: the two games of a pair share their luck.

use fogfall_game::{Rng, stream};
use fogfall_selfplay::PairResult;
use rand::RngExt;

use crate::Interval;
use crate::match_stats::score;

/// Points of a factor `e` in strength.
const POINTS: f64 = 400.0 / std::f64::consts::LN_10;
/// A drawn game that is added to each meeting, so that ratings stay finite where one side wins every game.
const PRIOR_DRAWS: f64 = 1.0;
/// A fit is over when no rating moves by more than this, in points.
const EXACT: f64 = 1e-3;
/// It always is long before.
const MAX_ROUNDS: usize = 10_000;

/// Games of two players, from the first one's side.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Numbers of the players.
    pub players: [usize; 2],
    /// Scores of the first player in both games of each pair: win 1, draw 1/2, loss 0.
    pub pairs: Vec<[f64; 2]>,
}

impl Meeting {
    /// The meeting of two players in a match.
    pub fn of(players: [usize; 2], pairs: &[PairResult]) -> Self {
        Self { players, pairs: pairs.iter().map(|pair| [score(&pair[0]), score(&pair[1])]).collect() }
    }
}

/// Ratings of all `players` that are joined by meetings, in points above `anchor`, with 95 % intervals from `resamples`
/// bootstrap samples of the pairs. A player's samples are the pairs it played.
///
/// # Panics
/// If a meeting names a player that is not there.
pub fn ratings(players: usize, anchor: usize, meetings: &[Meeting], resamples: u32, seed: u64) -> Vec<Interval> {
    let best =
        fit(players, anchor, &meetings.iter().map(|meeting| Tally::of(meeting, &meeting.pairs)).collect::<Vec<_>>());
    let mut samples = vec![Vec::with_capacity(resamples as usize); players];
    for resample in 0..resamples {
        let rng = &mut stream(seed, &[u64::from(resample)]);
        let tallies: Vec<_> =
            meetings.iter().map(|meeting| Tally::of(meeting, &redrawn(&meeting.pairs, rng))).collect();
        for (samples, rating) in samples.iter_mut().zip(fit(players, anchor, &tallies)) {
            samples.push(rating);
        }
    }
    best.into_iter()
        .zip(samples)
        .enumerate()
        .map(|(player, (mean, mut samples))| {
            samples.sort_by(f64::total_cmp);
            let at = |share: f64| samples.get((share * samples.len() as f64) as usize).copied().unwrap_or(mean);
            let played = meetings.iter().filter(|meeting| meeting.players.contains(&player));
            Interval { mean, low: at(0.025), high: at(0.975), samples: played.map(|meeting| meeting.pairs.len()).sum() }
        })
        .collect()
}

/// The points by which a player is the stronger one that scores so much, on average over so many games. As in [`ratings`], a
/// drawn game is added, so that it is finite where one side wins every game.
pub fn elo_difference(score: f64, games: u64) -> f64 {
    let games = games as f64;
    let score = (score * games + PRIOR_DRAWS / 2.0) / (games + PRIOR_DRAWS);
    400.0 * (score / (1.0 - score)).log10()
}

/// As many pairs, drawn with replacement.
fn redrawn(pairs: &[[f64; 2]], rng: &mut Rng) -> Vec<[f64; 2]> {
    (0..pairs.len()).map(|_| pairs[rng.random_range(0..pairs.len())]).collect()
}

/// What the fit needs of a meeting, the prior included.
struct Tally {
    players: [usize; 2],
    games: f64,
    draws: f64,
    /// The first player's score.
    score: f64,
}

impl Tally {
    fn of(meeting: &Meeting, pairs: &[[f64; 2]]) -> Self {
        let scores = || pairs.iter().flatten();
        Self {
            players: meeting.players,
            games: 2.0 * pairs.len() as f64 + PRIOR_DRAWS,
            draws: scores().filter(|&&score| score == 0.5).count() as f64 + PRIOR_DRAWS,
            score: scores().sum::<f64>() + PRIOR_DRAWS / 2.0,
        }
    }

    /// Probabilities of the first player's win and of a draw.
    fn odds(&self, strengths: &[f64], draw: f64) -> [f64; 2] {
        let half = (strengths[self.players[0]] - strengths[self.players[1]]) / 2.0;
        let parts = [half.exp(), draw.exp(), (-half).exp()];
        let sum: f64 = parts.iter().sum();
        [parts[0] / sum, parts[1] / sum]
    }
}

/// The most likely ratings. The likelihood is concave in the logarithms of strengths and of `v`: Newton's steps, one
/// number at a time, climb to its only top.
fn fit(players: usize, anchor: usize, tallies: &[Tally]) -> Vec<f64> {
    let mut strengths = vec![0.0; players];
    let mut draw = 0.0;
    for _ in 0..MAX_ROUNDS {
        let mut moved: f64 = 0.0;
        for player in (0..players).filter(|&player| player != anchor) {
            let step = strength_step(player, tallies, &strengths, draw);
            strengths[player] += step;
            moved = moved.max(step.abs() * POINTS);
        }
        let step = draw_step(tallies, &strengths, draw);
        draw += step;
        if moved.max(step.abs() * POINTS) < EXACT {
            break;
        }
    }
    strengths.iter().map(|strength| strength * POINTS).collect()
}

/// The player's score less what is expected, over the variance of the score.
fn strength_step(player: usize, tallies: &[Tally], strengths: &[f64], draw: f64) -> f64 {
    let (mut surplus, mut variance) = (0.0, 0.0);
    for tally in tallies.iter().filter(|tally| tally.players.contains(&player)) {
        let [win, drawn] = tally.odds(strengths, draw);
        let expected = win + drawn / 2.0;
        let sign = if tally.players[0] == player { 1.0 } else { -1.0 };
        surplus += sign * (tally.score - tally.games * expected);
        variance += tally.games * (win + drawn / 4.0 - expected * expected);
    }
    bounded(surplus, variance)
}

fn draw_step(tallies: &[Tally], strengths: &[f64], draw: f64) -> f64 {
    let (mut surplus, mut variance) = (0.0, 0.0);
    for tally in tallies {
        let [_, drawn] = tally.odds(strengths, draw);
        surplus += tally.draws - tally.games * drawn;
        variance += tally.games * drawn * (1.0 - drawn);
    }
    bounded(surplus, variance)
}

/// Newton's step, no longer than where the second derivative still says something.
fn bounded(slope: f64, curvature: f64) -> f64 {
    if curvature > 0.0 { (slope / curvature).clamp(-1.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `wins`, `draws` and `losses` pairs whose two games end alike.
    fn meeting(players: [usize; 2], wins: usize, draws: usize, losses: usize) -> Meeting {
        let pairs = |score: f64, count: usize| std::iter::repeat_n([score; 2], count);
        Meeting { players, pairs: pairs(1.0, wins).chain(pairs(0.5, draws)).chain(pairs(0.0, losses)).collect() }
    }

    #[test]
    fn ten_wins_for_each_loss_are_400_points() {
        let found = ratings(2, 0, &[meeting([1, 0], 10_000, 0, 1_000)], 0, 1);
        assert_eq!(found[0].mean, 0.0);
        assert!((found[1].mean - 400.0).abs() < 0.5, "{found:?}"); // the prior's draw pulls a little
    }

    #[test]
    fn draws_count_as_draws_and_not_as_half_wins() {
        // 2 : 1 in decided games is 400 log10 2 = 120.4 points, however many games are drawn.
        for draws in [0, 5_000] {
            let found = ratings(2, 0, &[meeting([1, 0], 10_000, draws, 5_000)], 0, 1);
            assert!((found[1].mean - 120.4).abs() < 0.5, "{draws}: {found:?}");
        }
    }

    #[test]
    fn ratings_add_up_over_a_round_robin() {
        // Strengths 1, 2 and 4: odds 2 : 1, 2 : 1 and 4 : 1.
        let meetings =
            [meeting([1, 0], 2_000, 0, 1_000), meeting([2, 1], 2_000, 0, 1_000), meeting([0, 2], 600, 0, 2_400)];
        let found = ratings(3, 0, &meetings, 0, 1);
        assert!((found[1].mean - 120.4).abs() < 1.0, "{found:?}");
        assert!((found[2].mean - 240.8).abs() < 1.0, "{found:?}");
        assert_eq!(found.iter().map(|rating| rating.samples).collect::<Vec<_>>(), [6_000, 6_000, 6_000]);
    }

    #[test]
    fn winning_every_game_gives_a_finite_rating() {
        let found = ratings(2, 0, &[meeting([0, 1], 100, 0, 0)], 100, 1);
        assert!(found[1].mean < -400.0 && found[1].mean.is_finite(), "{found:?}");
    }

    #[test]
    fn the_interval_is_over_pairs() {
        // Pairs of equal games: 200 samples of 400 games. The pair's score has standard error 0.5 / sqrt(200) = 0.0354,
        // and near 1/2 a point of score is 400 / ln 10 * 4 = 695 points: 1.96 * 0.0354 * 695 = 48 to each side.
        let found = ratings(2, 0, &[meeting([1, 0], 100, 0, 100)], 2_000, 1)[1];
        assert!((found.high - 48.0).abs() < 5.0 && (found.low + 48.0).abs() < 5.0, "{found:?}");
        // Each pair won and lost once: nothing to doubt.
        let split = Meeting { players: [1, 0], pairs: vec![[1.0, 0.0]; 200] };
        let found = ratings(2, 0, &[split], 100, 1)[1];
        assert!(found.high - found.low < 1e-6, "{found:?}");
    }

    #[test]
    fn a_score_is_a_difference_in_points_and_stays_finite_at_its_ends() {
        assert_eq!(elo_difference(0.5, 1_000), 0.0);
        assert!((elo_difference(10.0 / 11.0, 1_000_000) - 400.0).abs() < 0.01); // odds of 10 : 1
        assert!((elo_difference(1.0, 99) - 400.0 * 199_f64.log10()).abs() < 1e-9); // 99.5 of 100
        assert!((elo_difference(0.0, 99) + elo_difference(1.0, 99)).abs() < 1e-9);
    }
}
