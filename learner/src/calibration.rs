//! Whether the value head means what it says: games that it calls won by so much should end so well, on average.
//!
//! Outcomes are the games' results alone, without the share of root values that may be in the label. A row of a game that
//! was cut at the length limit has no outcome but its last root value.

use std::collections::VecDeque;

use crate::status::CalibrationBin;

/// Bins of the predicted value, from -1 to 1.
pub const BINS: usize = 10;
/// Batches that are looked at together.
const RECENT: usize = 16;

/// Predictions and outcomes of the last batches that were measured.
#[derive(Debug, Default)]
pub struct Calibration {
    recent: VecDeque<[Sums; BINS]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    rows: u64,
    predicted: f64,
    outcome: f64,
}

/// The bin of a value. Values beyond the scale are in the outermost.
fn bin(value: f64) -> usize {
    (((value + 1.0) / 2.0 * BINS as f64).max(0.0) as usize).min(BINS - 1)
}

impl Calibration {
    /// Takes a batch in: `[rows]` predicted values and outcomes, both the mover's, in units of the game's scale. Rows whose
    /// prediction is not finite are left out.
    pub fn add(&mut self, predicted: &[f32], outcomes: &[f32]) {
        let mut bins = [Sums::default(); BINS];
        let rows = predicted.iter().zip(outcomes).filter(|(predicted, _)| predicted.is_finite());
        for (predicted, outcome) in rows.map(|(&p, &o)| (f64::from(p), f64::from(o))) {
            let sums = &mut bins[bin(predicted)];
            sums.rows += 1;
            sums.predicted += predicted;
            sums.outcome += outcome;
        }
        self.recent.push_back(bins);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// All bins, ascending.
    pub fn bins(&self) -> Vec<CalibrationBin> {
        let of = |i: usize| {
            let mut all = Sums::default();
            for sums in self.recent.iter().map(|bins| &bins[i]) {
                all.rows += sums.rows;
                all.predicted += sums.predicted;
                all.outcome += sums.outcome;
            }
            let rows = all.rows as f64;
            // 0 / 0 is not a number.
            CalibrationBin { rows: all.rows, predicted: all.predicted / rows, outcome: all.outcome / rows }
        };
        (0..BINS).map(of).collect()
    }
}

/// The expected calibration error: the mean distance between predicted value and outcome over bins, weighted by their rows
/// (Guo et al. 2017, equation 3, with values in place of confidences). None without rows.
pub fn error(bins: &[CalibrationBin]) -> Option<f64> {
    let filled = || bins.iter().filter(|bin| bin.rows > 0);
    let rows: u64 = filled().map(|bin| bin.rows).sum();
    let sum: f64 = filled().map(|bin| bin.rows as f64 * (bin.predicted - bin.outcome).abs()).sum();
    (rows > 0).then(|| sum / rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fall_into_the_bins_of_their_predictions_and_the_error_weighs_bins_by_rows() {
        let mut calibration = Calibration::default();
        assert_eq!(error(&calibration.bins()), None);
        // Bin 9 is 0.8 to 1 and all above; bin 4 is -0.2 to 0.
        calibration.add(&[0.75, 0.875, 1.5, f32::NAN, -0.125], &[1.0, -1.0, 1.0, 1.0, 0.0]);
        calibration.add(&[-0.125, -4.0], &[0.5, -1.0]);
        let bins = calibration.bins();
        let rows: Vec<u64> = bins.iter().map(|bin| bin.rows).collect();
        assert_eq!(rows, [1, 0, 0, 0, 2, 0, 0, 0, 1, 2]);
        assert_eq!((bins[9].predicted, bins[9].outcome), (1.1875, 0.0)); // (0.875 + 1.5) / 2, (-1 + 1) / 2
        assert_eq!((bins[4].predicted, bins[4].outcome), (-0.125, 0.25));
        assert!(bins[1].predicted.is_nan());
        // |-4 + 1| + 2 * |-0.125 - 0.25| + |0.75 - 1| + 2 * 1.1875 = 3 + 0.75 + 0.25 + 2.375, of 6 rows
        assert_eq!(error(&bins), Some(6.375 / 6.0));
    }

    #[test]
    fn batches_of_long_ago_do_not_count() {
        let mut calibration = Calibration::default();
        calibration.add(&[0.9], &[-1.0]);
        (0..RECENT).for_each(|_| calibration.add(&[0.9], &[0.9]));
        let bins = calibration.bins();
        assert_eq!(bins[9].rows, RECENT as u64);
        assert!(error(&bins).is_some_and(|error| error < 1e-6));
    }
}
