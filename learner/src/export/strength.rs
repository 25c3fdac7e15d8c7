//! How strong the character is: its newest matches and exact figures.

use fogfall_eval::elo_difference;
use fogfall_service::metrics::{GaugeVec, Metrics, MetricsError, names};

use crate::status::Status;

/// The metrics of [`names::STRENGTH`]. Opponents and figures are few, and known when they come.
pub struct StrengthMetrics {
    /// score, its lower and its upper end
    score: [GaugeVec; 3],
    /// the same in Elo points
    elo: [GaugeVec; 3],
    games: GaugeVec,
    figure: GaugeVec,
}

impl StrengthMetrics {
    /// No match yet.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(metrics: &Metrics) -> Result<Self, MetricsError> {
        let family = |name| metrics.gauge_family(name);
        Ok(Self {
            score: [family(names::SCORE)?, family(names::SCORE_LOW)?, family(names::SCORE_HIGH)?],
            elo: [family(names::ELO)?, family(names::ELO_LOW)?, family(names::ELO_HIGH)?],
            games: family(names::MATCH_GAMES)?,
            figure: family(names::FIGURE)?,
        })
    }

    /// Brings them up to date.
    pub fn set(&self, status: &Status) {
        for rate in &status.win_rates {
            let opponent = &[rate.opponent.as_str()];
            for ((score, elo), value) in self.score.iter().zip(&self.elo).zip([rate.score, rate.low, rate.high]) {
                score.with_label_values(opponent).set(value);
                elo.with_label_values(opponent).set(elo_difference(value, rate.games));
            }
            self.games.with_label_values(opponent).set(rate.games as f64);
        }
        for figure in &status.figures {
            self.figure.with_label_values(&[figure.name.as_str()]).set(figure.value);
        }
    }
}
