//! The run's status as Prometheus metrics. What only grows is counted from this start on, whatever earlier starts of the run
//! did.
//!
//! **Invariant:** a learner exports self-play and ingest only if it does them itself: sums over roles must not count twice.

mod strength;
mod training;

use fogfall_pipeline::{
    IngestMetrics, PlayMetrics, PublishMetrics, RecentPlay, StageCounts, WaitMetrics, WeightsMetrics,
};
use fogfall_proto::Version;
use fogfall_service::metrics::{Metrics, MetricsError};

use crate::{
    beginning::Beginning,
    place::Place,
    shown::StepTimes,
    status::{PLAY, Status, TRAIN},
};

use self::{strength::StrengthMetrics, training::TrainingMetrics};

/// What a learner does besides training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// It plays and publishes, and ingests, too.
    pub plays: bool,
    /// It ingests.
    pub ingests: bool,
}

impl Jobs {
    /// The jobs of a learner of a run that is there.
    pub fn at(place: &Place) -> Self {
        let plays = place.cluster().is_none();
        Self { plays, ingests: place.cluster().is_none_or(|cluster| cluster.ingest) }
    }
}

/// What earlier starts of the run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Before {
    /// Train steps.
    pub steps: u64,
    /// Steps skipped.
    pub skipped: u64,
    /// Rows sampled.
    pub sampled: u64,
}

impl Before {
    /// As a run begins.
    pub fn of(beginning: &Beginning) -> Self {
        let trainer = &beginning.trainer;
        Self { steps: trainer.steps(), skipped: trainer.skipped(), sampled: beginning.limiter.samples }
    }
}

/// The metrics of a learner.
pub struct Export {
    metrics: Metrics,
    play: Option<(PlayMetrics, PublishMetrics, WaitMetrics)>,
    ingest: Option<(IngestMetrics, WaitMetrics)>,
    train_waits: WaitMetrics,
    weights: WeightsMetrics,
    training: TrainingMetrics,
    strength: StrengthMetrics,
}

impl Export {
    /// Metrics that have seen nothing yet, of a learner whose stages count in `counts` and whose train thread in `times`.
    ///
    /// # Errors
    /// [`MetricsError`].
    pub fn new(
        metrics: Metrics,
        jobs: Jobs,
        before: Before,
        counts: &StageCounts,
        times: &StepTimes,
    ) -> Result<Self, MetricsError> {
        let (train_waits, ingest_waits, play_waits) = match jobs {
            Jobs { plays: true, .. } => {
                let [train, ingest, play] = WaitMetrics::of(&metrics, [TRAIN, "ingest", PLAY])?;
                (train, Some(ingest), Some(play))
            }
            Jobs { ingests: true, .. } => {
                let [train, ingest] = WaitMetrics::of(&metrics, [TRAIN, "ingest"])?;
                (train, Some(ingest), None)
            }
            Jobs { .. } => {
                let [train] = WaitMetrics::of(&metrics, [TRAIN])?;
                (train, None, None)
            }
        };
        let play = match play_waits {
            Some(waits) => Some((PlayMetrics::new(&metrics)?, PublishMetrics::new(&metrics, counts)?, waits)),
            None => None,
        };
        let ingest = match ingest_waits {
            Some(waits) => Some((IngestMetrics::new(&metrics, counts)?, waits)),
            None => None,
        };
        Ok(Self {
            play,
            ingest,
            train_waits,
            weights: WeightsMetrics::new(&metrics, counts)?,
            training: TrainingMetrics::new(&metrics, before, times)?,
            strength: StrengthMetrics::new(&metrics)?,
            metrics,
        })
    }

    /// The registry.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Brings the metrics up to date.
    pub fn set(&mut self, status: &Status) {
        if let Some((play, publish, waits)) = &mut self.play {
            let recent = RecentPlay {
                effective_worlds: status.effective_worlds,
                refilled_pools: Some(status.refilled_pools).filter(|share| share.is_finite()),
                world_disagreement: status.world_disagreement,
            };
            play.set(&status.play, &recent, status.hung_games);
            publish.set(&status.publish);
            set_waits(waits, status, PLAY);
        }
        if let Some((ingest, waits)) = &mut self.ingest {
            ingest.set(&status.ingest);
            ingest.fill(&status.fill);
            waits.set(status.ingest.waits_s, status.ingest.waited_s);
        }
        set_waits(&mut self.train_waits, status, TRAIN);
        if let Some((epoch, step)) = status.weights_version.split_once('.')
            && let (Ok(epoch), Ok(step)) = (epoch.parse(), step.parse())
        {
            self.weights.set(Version { epoch, step }, status.weights_refused);
        }
        self.training.set(status);
        self.strength.set(status);
    }
}

/// Brings a stage's metrics of waiting up to date.
fn set_waits(waits: &mut WaitMetrics, status: &Status, stage: &str) {
    if let Some(wait) = status.waits.iter().find(|wait| wait.stage == stage) {
        waits.set(wait.since_s, wait.waited_s);
    }
}

#[cfg(test)]
mod tests;
