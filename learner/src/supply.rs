//! Where the train loop's rows come from. [`Concurrent`]: stages beside it play at the same time. The other way,
//! [`Lockstep`](crate::lockstep::Lockstep), is that the loop itself has a round of games played between its steps.

use std::{sync::Arc, time::Duration};

use fogfall_pipeline::Intake;
use fogfall_service::shutdown::Stop;

use crate::{resume::RoundState, train::Trainer};

/// How long the loop waits for rows before it looks around.
const PATIENCE: Duration = Duration::from_millis(100);

/// Brings rows to the train loop, and says when weights go back.
pub trait Supply: Send {
    /// True if weights shall be published now, so many steps after this start published the last ones.
    fn wants_weights(&self, steps_since: Option<u64>) -> bool;

    /// Does or waits for what must come before the next batch is sampled; false if it may not be sampled yet. Calls
    /// `alive` now and then if that takes long.
    ///
    /// # Errors
    /// If no rows will ever come.
    fn ready(&mut self, trainer: &Trainer, stop: &Stop, alive: &dyn Fn()) -> anyhow::Result<bool>;

    /// Notes that a batch was sampled and learnt from.
    fn used_batch(&mut self);

    /// Where the rounds stand, for a checkpoint. The rows that were learnt from are on disk when it returns, if the
    /// checkpoint needs them.
    ///
    /// # Errors
    /// If they cannot be brought there.
    fn for_checkpoint(&self) -> anyhow::Result<RoundState>;
}

/// Others play meanwhile; the limiter decides who waits for whom.
pub struct Concurrent {
    /// Where rows arrive.
    pub intake: Arc<Intake>,
    /// Rows in a batch.
    pub batch_rows: usize,
    /// Steps between publications.
    pub publish_steps: u64,
    /// Where the rounds of an earlier start in lockstep stood.
    pub rounds: RoundState,
}

impl Supply for Concurrent {
    fn wants_weights(&self, steps_since: Option<u64>) -> bool {
        steps_since.is_none_or(|steps| steps >= self.publish_steps)
    }

    fn ready(&mut self, _: &Trainer, _: &Stop, _: &dyn Fn()) -> anyhow::Result<bool> {
        Ok(self.intake.wait_to_sample(self.batch_rows as u64, PATIENCE))
    }

    fn used_batch(&mut self) {}

    fn for_checkpoint(&self) -> anyhow::Result<RoundState> {
        Ok(self.rounds)
    }
}
