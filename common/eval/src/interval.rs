//! [`Interval`]: a mean and its 95 % confidence interval.
//!
//! **Invariant:** an interval is over independent samples. Games of a match are not: the two games of a pair share
//! their luck, so the sample is the pair.

use std::fmt;

use serde::Serialize;

/// Normal quantile of a two-sided 95 % interval.
const Z: f64 = 1.959_964;

/// A mean with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Mean of the samples.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Samples.
    pub samples: usize,
}

impl Interval {
    /// The interval of a mean by the normal approximation: `mean -+ 1.96 s / sqrt(n)`, `s` the standard deviation with
    /// `n - 1`. None for fewer than two samples, which say nothing of their spread.
    pub fn of_mean(samples: &[f64]) -> Option<Self> {
        let (mean, half) = normal(samples.iter().copied())?;
        Some(Self { mean, low: mean - half, high: mean + half, samples: samples.len() })
    }

    /// The interval of a mean of scores between 0 and 1: the normal approximation after one score of 0 and one of 1
    /// were added, cut to `[0, 1]` and widened to hold the mean. Unlike the plain approximation it keeps a width when
    /// all scores are equal: after 200 scores of 1 it says 0.985 to 1. (Agresti and Coull 1998 add two of each to shares;
    /// one of each is enough for pairs, and comes to the rule of three at the ends.) None for fewer than two scores.
    pub fn of_score(scores: &[f64]) -> Option<Self> {
        if scores.len() < 2 {
            return None;
        }
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let (centre, half) = normal(scores.iter().copied().chain([0.0, 1.0]))?;
        let (low, high) = ((centre - half).max(0.0), (centre + half).min(1.0));
        Some(Self { mean, low: low.min(mean), high: high.max(mean), samples: scores.len() })
    }

    /// The interval of a share of independent trials (Wilson 1927). None without trials.
    pub fn of_share(successes: usize, trials: usize) -> Option<Self> {
        if trials == 0 {
            return None;
        }
        let n = trials as f64;
        let share = successes as f64 / n;
        let denominator = 1.0 + Z * Z / n;
        let centre = (share + Z * Z / (2.0 * n)) / denominator;
        let half = Z / denominator * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        // The ends meet the share at 0 and 1; rounding must not carry them past it.
        Some(Self { mean: share, low: (centre - half).min(share), high: (centre + half).max(share), samples: trials })
    }
}

/// Mean and half width by the normal approximation; none for fewer than two samples.
fn normal(samples: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let count = samples.clone().count();
    if count < 2 {
        return None;
    }
    let n = count as f64;
    let mean = samples.clone().sum::<f64>() / n;
    let variance = samples.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((mean, Z * (variance / n).sqrt()))
}

/// `0.953 [0.931, 0.974]`, with as many decimals as asked for (3 by default).
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(3);
        write!(f, "{:.decimals$} [{:.decimals$}, {:.decimals$}]", self.mean, self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(interval: Interval, [mean, low, high]: [f64; 3]) {
        for (is, shall) in [(interval.mean, mean), (interval.low, low), (interval.high, high)] {
            assert!((is - shall).abs() < 5e-4, "{interval:?}, not {shall}");
        }
    }

    #[test]
    fn the_interval_of_a_mean_divides_by_one_less_than_the_count() {
        // Mean 2, squared deviations 1 + 0 + 1 = 2, variance 2 / 2 = 1, half width 1.96 / sqrt(3) = 1.1316.
        near(Interval::of_mean(&[1.0, 2.0, 3.0]).unwrap(), [2.0, 0.8684, 3.1316]);
    }

    #[test]
    fn one_sample_has_no_interval() {
        assert_eq!(Interval::of_mean(&[1.0]), None);
        assert_eq!(Interval::of_score(&[1.0]), None);
        assert_eq!(Interval::of_share(0, 0), None);
    }

    #[test]
    fn equal_scores_leave_room_for_others() {
        // 201 ones and a zero: mean 201 / 202 = 0.99505, variance 201 * 202 / 202^2 / 201 = 1 / 202,
        // half width 1.96 / 202 = 0.00970: from 0.98535.
        near(Interval::of_score(&[1.0; 200]).unwrap(), [1.0, 0.9853, 1.0]);
    }

    #[test]
    fn scores_around_the_middle_have_nearly_the_normal_interval() {
        let scores: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        // Variance 402 * 0.25 / 401, half width 1.96 * sqrt(0.25 / 401) = 0.0489.
        near(Interval::of_score(&scores).unwrap(), [0.5, 0.4511, 0.5489]);
    }

    #[test]
    fn wilsons_interval_of_a_share_stays_within_the_possible() {
        // 8 of 10 (a textbook example): 0.490 to 0.943.
        near(Interval::of_share(8, 10).unwrap(), [0.8, 0.4902, 0.9433]);
        // None of 10: upper end z^2 / (n + z^2) = 3.8415 / 13.8415 = 0.2775.
        near(Interval::of_share(0, 10).unwrap(), [0.0, 0.0, 0.2775]);
    }

    #[test]
    fn an_interval_is_shown_with_its_ends() {
        let interval = Interval { mean: 0.5, low: 0.25, high: 0.75, samples: 9 };
        assert_eq!(format!("{interval:.2}"), "0.50 [0.25, 0.75]");
    }
}
