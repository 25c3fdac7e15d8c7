//! What stages did and how full bus and log are, as metrics: the same for whoever runs them. Each takes plain figures, and
//! makes all of its metrics at once, so that their series are there from the start.

mod parts;
mod play;
mod waits;
mod weights;

pub use parts::{IngestMetrics, PublishMetrics};
pub use play::PlayMetrics;
pub use waits::WaitMetrics;
pub use weights::WeightsMetrics;
