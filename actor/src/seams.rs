//! What lies between the services and their servers: nothing, or what a test puts there to write down or to break what
//! passes.

use std::sync::Arc;

use fogfall_bus::Bus;
use fogfall_replay::ReplayLog;

/// Puts something around something, and gives what is to be used instead.
pub type Around<T> = Box<dyn Fn(Arc<T>) -> Arc<T>>;

/// Where a service meets its servers. The default leaves them as they are.
pub struct Seams {
    /// Around the bus, as soon as it is connected.
    pub bus: Around<dyn Bus>,
    /// Around the replay log, as soon as it is open.
    pub log: Around<dyn ReplayLog>,
}

impl Default for Seams {
    fn default() -> Self {
        Self { bus: Box::new(|bus| bus), log: Box::new(|log| log) }
    }
}
