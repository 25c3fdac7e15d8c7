//! What a learner says of itself on the bus, for whoever watches the run.

use std::{collections::hash_map::RandomState, hash::BuildHasher, sync::atomic::Ordering::Relaxed};

use fogfall_pipeline::StageCounts;
use fogfall_proto::{Heartbeat, PartCounts, ROWS, Role, Training, Wait};
use fogfall_service::host;

use crate::{
    board::Facts,
    status::{Status, TRAIN},
};

/// Its first word.
pub fn first(run: &str) -> Heartbeat {
    // No other start ever has the same number.
    Heartbeat::new(run, Role::Learner, RandomState::new().hash_one(std::process::id()), &host::name())
}

/// Brings its figures up to date.
pub fn note(status: &Status, facts: &Facts, counts: &StageCounts, ingests: bool, beat: &mut Heartbeat) {
    beat.weights = facts.weights.unwrap_or_default();
    (beat.games, beat.rows) = (status.games, status.rows);
    beat.parts = PartCounts {
        stored: counts.stored.load(Relaxed),
        duplicates: counts.store_duplicates.load(Relaxed),
        stale: counts.stale.load(Relaxed),
        refused: counts.refused.load(Relaxed),
        retries: counts.store_retries.load(Relaxed),
        ..PartCounts::default()
    };
    if let Some(wait) = status.waits.iter().find(|wait| wait.stage == TRAIN) {
        beat.waited_s = wait.share * status.elapsed_s;
        beat.waits = wait.since_s.map(|since_s| Wait { what: ROWS.into(), since_s }).into_iter().collect();
    }
    beat.training = Some(Training {
        step: status.step,
        // It follows from the steps.
        steps_per_s: 0.0,
        window_rows: status.window_rows,
        window_capacity: status.window_capacity,
        window_needed: status.window_needed,
        ingests,
        loss: status.loss.map(|loss| loss.total),
        checkpoint: facts.checkpoint.map(|(version, _)| version),
        checkpoint_age_s: facts.checkpoint.map_or(0.0, |(_, written)| written.elapsed().as_secs_f64()),
    });
}
