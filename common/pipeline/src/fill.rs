//! How full bus and log are: asked now and then by a task of its own, so that a server that takes its time holds nobody up.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use fogfall_replay::ReplayLog;
use tokio::task::JoinHandle;

use crate::{FillFigures, Stages};

/// Time between an answer and the next question.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Asks until it is dropped. Who does not answer is a trouble of the stages already; what is known stays.
pub struct FillWatch {
    known: Arc<Mutex<FillFigures>>,
    task: JoinHandle<()>,
}

impl FillWatch {
    /// Begins to ask. `capacity` has what is known already: what the log may hold.
    pub fn start(stages: &Stages, log: Arc<dyn ReplayLog>, capacity: FillFigures) -> Self {
        let known = Arc::new(Mutex::new(capacity));
        let (bus, noted) = (Arc::clone(&stages.bus), Arc::clone(&known));
        let task = stages.runtime.spawn(async move {
            loop {
                if let Ok(fill) = bus.fill().await {
                    lock(&noted).bus(&fill);
                }
                if let Ok(bounds) = log.bounds().await {
                    lock(&noted).log(&bounds);
                }
                tokio::time::sleep(ASK_EVERY).await;
            }
        });
        Self { known, task }
    }

    /// What is known.
    pub fn now(&self) -> FillFigures {
        *lock(&self.known)
    }
}

impl Drop for FillWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is guarded stays whole even if a holder panicked: it is plain figures.
fn lock(known: &Mutex<FillFigures>) -> MutexGuard<'_, FillFigures> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}
