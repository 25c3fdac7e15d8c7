//! Telling threads to stop, and waiting in a way that is cut short by it.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// A flag that is set once, shared by its clones.
#[derive(Clone, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Sets the flag and wakes all who wait.
    pub fn set(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// True once it is set.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is set, at most for `patience`; true if it is set.
    pub fn wait(&self, patience: Duration) -> bool {
        let flag = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(flag, patience, |set| !*set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
