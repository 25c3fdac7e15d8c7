//! [`Sprt`]: a sequential test of whether a player is stronger, which stops as soon as enough is known.
//!
//! The generalised sequential probability ratio test over pairs of games (pentanomial: a pair scores 0, 1/4, 1/2, 3/4 or
//! 1; Van den Bergh, "A practical introduction to the GSPRT"). It decides, it does not measure: a match that it stopped
//! says nothing unbiased of how much stronger the player is.
//!
//! **Invariant:** the two hypotheses and both error rates are declared before the first pair.

use fogfall_selfplay::PairResult;
use serde::Serialize;

use crate::match_stats::score;

/// Scores that a pair can have, as shares.
const SCORES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Scores that were not seen count as seen this often, so that no likelihood is 0.
const UNSEEN: f64 = 1e-3;

/// What is tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hypotheses {
    /// The player is stronger by no more than this, in Elo points.
    pub elo0: f64,
    /// The player is stronger by at least this, in Elo points; more than `elo0`.
    pub elo1: f64,
    /// How often [`Verdict::Stronger`] may be wrong if the first is true.
    pub alpha: f64,
    /// How often [`Verdict::NotStronger`] may be wrong if the second is true.
    pub beta: f64,
}

impl Default for Hypotheses {
    /// 0 against 35 points, wrong in one of twenty cases either way.
    fn default() -> Self {
        Self { elo0: 0.0, elo1: 35.0, alpha: 0.05, beta: 0.05 }
    }
}

/// What is known so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// Play on.
    Open,
    /// The second hypothesis is taken.
    Stronger,
    /// The first is.
    NotStronger,
}

/// A test under way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sprt {
    hypotheses: Hypotheses,
    /// Pairs by score.
    counts: [u64; 5],
}

impl Sprt {
    /// A test without games.
    ///
    /// # Panics
    /// If the hypotheses are not in order, or an error rate is not between 0 and 1/2.
    pub fn new(hypotheses: Hypotheses) -> Self {
        let Hypotheses { elo0, elo1, alpha, beta } = hypotheses;
        assert!(elo0 < elo1, "the second hypothesis is the stronger player: {hypotheses:?}");
        let possible = |rate: f64| rate > 0.0 && rate < 0.5;
        assert!(possible(alpha) && possible(beta), "error rates lie between 0 and 1/2: {hypotheses:?}");
        Self { hypotheses, counts: [0; 5] }
    }

    /// Adds a pair of games, from the player's side.
    pub fn add(&mut self, pair: &PairResult) {
        self.add_score(pair.iter().map(score).sum::<f64>() / 2.0);
    }

    /// Adds a pair by its score: 0, 1/4, 1/2, 3/4 or 1.
    fn add_score(&mut self, score: f64) {
        self.counts[(score * 4.0).round() as usize] += 1;
    }

    /// Pairs so far.
    pub fn pairs(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Logarithm of how much more likely the pairs are at `elo1` than at `elo0`, each under the most likely odds of the
    /// five scores that have its mean.
    pub fn log_ratio(&self) -> f64 {
        let counts = self.counts.map(|count| (count as f64).max(UNSEEN));
        let Hypotheses { elo0, elo1, .. } = self.hypotheses;
        likelihood(&counts, expected(elo1)) - likelihood(&counts, expected(elo0))
    }

    /// Below the first number it is [`Verdict::NotStronger`], above the second [`Verdict::Stronger`] (Wald 1945).
    pub fn bounds(&self) -> [f64; 2] {
        let Hypotheses { alpha, beta, .. } = self.hypotheses;
        [(beta / (1.0 - alpha)).ln(), ((1.0 - beta) / alpha).ln()]
    }

    /// What is known so far.
    pub fn verdict(&self) -> Verdict {
        let [low, high] = self.bounds();
        match self.log_ratio() {
            ratio if ratio >= high => Verdict::Stronger,
            ratio if ratio <= low => Verdict::NotStronger,
            _ => Verdict::Open,
        }
    }
}

/// Score expected of a player that is stronger by so many points.
fn expected(elo: f64) -> f64 {
    1.0 / (1.0 + 10_f64.powf(-elo / 400.0))
}

/// Logarithm of the likelihood of the counts, up to a constant, under the most likely odds with this mean. Those are in
/// proportion to `count / (1 + t (score - mean))`, with the `t` that gives the mean; what it is the root of falls with `t`.
fn likelihood(counts: &[f64; 5], mean: f64) -> f64 {
    const HALVINGS: usize = 100;
    let terms = || SCORES.iter().map(|score| score - mean).zip(counts);
    let (mut low, mut high) = (-1.0 / (1.0 - mean), 1.0 / mean);
    for _ in 0..HALVINGS {
        let t = (low + high) / 2.0;
        let slope: f64 = terms().map(|(distance, count)| count * distance / (1.0 + t * distance)).sum();
        if slope > 0.0 { low = t } else { high = t }
    }
    let t = (low + high) / 2.0;
    -terms().map(|(distance, count)| count * (1.0 + t * distance).ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;
    use fogfall_selfplay::MatchGame;
    use rand::RngExt;

    use super::*;

    #[test]
    fn the_ratio_of_wins_and_losses_alone_is_that_of_the_binomial() {
        let mut sprt = Sprt::new(Hypotheses { elo0: 0.0, elo1: 100.0, alpha: 0.05, beta: 0.05 });
        (0..60).for_each(|_| sprt.add_score(1.0));
        (0..40).for_each(|_| sprt.add_score(0.0));
        // Score at 100 points: 1 / (1 + 10^-0.25) = 0.640065. 60 ln(0.640065 / 0.5) + 40 ln(0.359935 / 0.5) = 1.6711.
        let by_hand = 60.0 * (0.640_065_f64 / 0.5).ln() + 40.0 * (0.359_935_f64 / 0.5).ln();
        assert!((by_hand - 1.6711).abs() < 1e-3, "{by_hand}");
        assert!((sprt.log_ratio() - by_hand).abs() < 1e-2, "{}", sprt.log_ratio());
        assert_eq!(sprt.verdict(), Verdict::Open);
    }

    #[test]
    fn bounds_are_walds() {
        let bounds = Sprt::new(Hypotheses::default()).bounds();
        assert!((bounds[0] + 19_f64.ln()).abs() < 1e-12); // 0.05 / 0.95
        assert!((bounds[1] - 19_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_pair_counts_by_the_score_of_both_games() {
        let game = |payoff| MatchGame { payoff, ..MatchGame::default() };
        let mut sprt = Sprt::new(Hypotheses::default());
        for pair in [[1.0, 1.0], [1.0, 0.0], [1.0, -1.0], [0.0, 0.0], [-1.0, 0.0], [-2.0, -1.0]] {
            sprt.add(&pair.map(game));
        }
        assert_eq!((sprt.counts, sprt.pairs()), ([1, 1, 2, 1, 1], 6));
    }

    #[test]
    fn no_games_say_nothing() {
        let sprt = Sprt::new(Hypotheses::default());
        assert!(sprt.log_ratio().abs() < 0.01);
        assert_eq!(sprt.verdict(), Verdict::Open);
    }

    /// Share of tests that end with `verdict`, for a player whose pairs score 1/2 with probability 0.6 and else 0 or 1.
    fn share(elo: f64, verdict: Verdict) -> f64 {
        const TESTS: u64 = 1_000;
        let win = 0.5 * 0.4 + (expected(elo) - 0.5);
        let wanted = (0..TESTS).filter(|&test| {
            let rng = &mut stream(5, &[test]);
            let mut sprt = Sprt::new(Hypotheses::default());
            while sprt.verdict() == Verdict::Open {
                let roll: f64 = rng.random();
                sprt.add_score(if roll < 0.6 { 0.5 } else { f64::from(u8::from(roll < 0.6 + win)) });
            }
            sprt.verdict() == verdict
        });
        wanted.count() as f64 / TESTS as f64
    }

    #[test]
    fn errors_are_as_rare_as_declared() {
        // Standard error of a share of 0.05 over 1000 tests: 0.007.
        let (wrongly_up, wrongly_down) = (share(0.0, Verdict::Stronger), share(35.0, Verdict::NotStronger));
        assert!(wrongly_up < 0.07, "{wrongly_up}");
        assert!(wrongly_down < 0.07, "{wrongly_down}");
    }

    #[test]
    #[should_panic(expected = "the second hypothesis is the stronger player")]
    fn hypotheses_out_of_order_are_refused() {
        Sprt::new(Hypotheses { elo0: 10.0, elo1: 10.0, ..Hypotheses::default() });
    }
}
