//! The stages joined: self-play threads, bus, replay log, window, and weights back. Every stage has one owner, every
//! queue is bounded, every wait has a deadline and is counted.

mod follow;
mod ingest;
mod intake;
mod log_flags;
mod play_figures;
mod play_flags;
mod preset;
mod publish;
mod pulse;
mod rounds;
mod self_play;
mod server_flags;
mod stages;
mod stopwatch;
mod troubles;
mod weights;

pub use ingest::Storing;
pub use intake::{Intake, IntakeState, IntakeStatus, Waiting};
pub use log_flags::LogFlags;
pub use play_figures::{PlayFigures, PlayMetrics, PlaySeconds, RecentPlay, Results};
pub use play_flags::{PlayFlags, SearchFlags};
pub use preset::Preset;
pub use pulse::Pulse;
pub use rounds::Rounds;
pub use self_play::{Hung, Outlet, SelfPlay, SelfPlaySettings, SelfPlayStats};
pub use server_flags::{NatsFlags, RedisFlags};
pub use stages::{StageCounts, Stages};
pub use stopwatch::PlayTimes;
pub use troubles::{Trouble, Troubles};
pub use weights::{VersionedNet, WeightsCell, network_shape};
