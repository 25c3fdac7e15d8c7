//! What the actor's two services on a cluster, self-play and ingest, have in common: their settings, the process around
//! them, the way to the run, and what a person sees of them.
//!
//! **Invariant:** until it is told to stop, a service waits for what is not there yet, and says so: a server, the run's
//! learner, weights. It ends with an error only where waiting cannot help.

mod join;
mod order;
mod process;
mod run;
mod settings;

pub use join::{await_manifest, connect};
pub use order::{IngestOrder, PlayOrder};
pub use process::{Process, Report};
pub use run::{differences, play_settings};
pub use settings::{PlayerFlags, ProcessFlags};
