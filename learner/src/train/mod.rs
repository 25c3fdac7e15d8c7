//! Training: batches in, weights out. **The only code that knows libtorch.**
//!
//! Not here: where batches come from, when weights are published, files.
//!
//! No random number is drawn here: the starting weights come from `fogfall-net` and the batches from the window, both
//! seeded. On the CPU the same weights, settings, thread count and batches give the same bits.

mod batch;
mod device;
mod loss;
mod model;
mod optimizer;
mod settings;
mod state;
mod trainer;

pub use batch::Batch;
pub use device::{Device, set_threads};
pub use settings::{Optimizer, Schedule, TrainSettings};
pub use state::TrainerState;
pub use trainer::{LossTerms, StepReport, Trainer};

#[cfg(test)]
mod tests;
