//! Chi-square tests, expressed as how many standard deviations the result lies above what chance explains.

use std::collections::BTreeMap;

/// Results further above expectation than this are violations: by chance in one of three million tests.
pub(super) const SURPRISE: f64 = 5.0;

/// Categories rarer than this, on average over both sides, are thrown together.
const RARE: f64 = 5.0;

/// Counts of two samples by category.
#[derive(Debug, Default)]
pub(super) struct Counts(BTreeMap<u64, [u64; 2]>);

impl Counts {
    /// Counts one draw of sample 0 or 1.
    pub(super) fn add(&mut self, category: u64, sample: usize) {
        self.0.entry(category).or_default()[sample] += 1;
    }

    /// Draws of a sample in categories that the other sample does not have.
    pub(super) fn only(&self, sample: usize) -> u64 {
        self.0.values().filter(|counts| counts[1 - sample] == 0).map(|counts| counts[sample]).sum()
    }

    /// How surprising it is that both samples come from one distribution (chi-square of homogeneity).
    pub(super) fn surprise(&self) -> f64 {
        let total = |sample: usize| self.0.values().map(|counts| counts[sample] as f64).sum::<f64>();
        let (n, m) = (total(0), total(1));
        if n == 0.0 || m == 0.0 {
            return 0.0;
        }
        let cells = self.0.values().map(|&[a, b]| {
            let both = (a + b) as f64;
            Cell { seen: a as f64, expected: both * n / (n + m), variance: both * n * m / (n + m).powi(2) }
        });
        surprise(cells)
    }
}

/// How surprising `counts` of draws are under `probabilities` (chi-square of fit).
pub(super) fn surprise_of_fit(counts: &[u64], probabilities: &[f32]) -> f64 {
    let draws = counts.iter().sum::<u64>() as f64;
    surprise(counts.iter().zip(probabilities).map(|(&count, &p)| {
        let expected = draws * f64::from(p);
        Cell { seen: count as f64, expected, variance: expected }
    }))
}

/// One category: what was counted, and what is expected. `variance` is the divisor of its term in chi-square.
#[derive(Clone, Copy, Default)]
struct Cell {
    seen: f64,
    expected: f64,
    variance: f64,
}

/// Pools rare cells and turns chi-square into standard deviations (Wilson and Hilferty 1931).
fn surprise(cells: impl Iterator<Item = Cell>) -> f64 {
    let (mut pool, mut chi_square, mut used) = (Cell::default(), 0.0, 0);
    let mut count = |cell: Cell| {
        chi_square += (cell.seen - cell.expected).powi(2) / cell.variance;
        used += 1;
    };
    for cell in cells {
        if cell.expected < RARE {
            pool.seen += cell.seen;
            pool.expected += cell.expected;
            pool.variance += cell.variance;
        } else {
            count(cell);
        }
    }
    if pool.variance > 0.0 {
        count(pool);
    }
    if used < 2 {
        return 0.0;
    }
    let freedom = f64::from(used - 1);
    let spread = 2.0 / (9.0 * freedom);
    ((chi_square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fair_count_is_no_surprise_and_a_loaded_one_is() {
        assert!(surprise_of_fit(&[500, 500], &[0.5, 0.5]) < 0.0);
        assert!(surprise_of_fit(&[520, 480], &[0.5, 0.5]) < SURPRISE); // chi-square 1.6 at 1 degree of freedom
        assert!(surprise_of_fit(&[600, 400], &[0.5, 0.5]) > SURPRISE); // chi-square 40
    }

    #[test]
    fn two_samples_of_the_same_odds_agree_and_of_others_do_not() {
        let counts = |second: [u64; 2]| {
            let mut counts = Counts::default();
            for (category, (first, second)) in [500, 500].into_iter().zip(second).enumerate() {
                (0..first).for_each(|_| counts.add(category as u64, 0));
                (0..second).for_each(|_| counts.add(category as u64, 1));
            }
            counts.surprise()
        };
        assert!(counts([490, 510]) < SURPRISE);
        assert!(counts([350, 650]) > SURPRISE);
    }

    #[test]
    fn rare_categories_count_together() {
        // Twenty categories of one draw each expected, none of them seen.
        let counts: Vec<u64> = std::iter::once(1000).chain([0; 20]).collect();
        let odds: Vec<f32> = std::iter::once(0.98).chain([0.001; 20]).collect();
        assert!(surprise_of_fit(&counts, &odds) > 3.0); // pooled: 0 seen, 20 expected: chi-square 20.4
    }
}
