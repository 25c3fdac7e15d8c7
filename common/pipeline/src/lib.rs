//! The stages joined: self-play threads, bus, replay log, window, and weights back. Every stage has one owner, every
//! queue is bounded, every wait has a deadline and is counted.

mod export;
mod fill;
mod follow;
mod hung;
mod ingest;
mod intake;
mod log_flags;
mod part_figures;
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

pub use export::{IngestMetrics, PlayMetrics, PublishMetrics, WaitMetrics, WeightsMetrics};
pub use fill::FillWatch;
pub use hung::{Hung, HungGames};
pub use ingest::Storing;
pub use intake::{Intake, IntakeState, IntakeStatus, Waiting};
pub use log_flags::LogFlags;
pub use part_figures::{FillFigures, IngestFigures, PublishFigures};
pub use play_figures::{PlayFigures, PlaySeconds, PlayWindow, RecentPlay, Results};
pub use play_flags::{PlayFlags, SearchFlags};
pub use preset::Preset;
pub use pulse::Pulse;
pub use rounds::Rounds;
pub use self_play::{Outlet, SelfPlay, SelfPlaySettings, SelfPlayStats};
pub use server_flags::{NatsFlags, RedisFlags};
pub use stages::{STUCK_AFTER, StageCounts, StageTimes, Stages};
pub use stopwatch::PlayTimes;
pub use troubles::{Trouble, Troubles};
pub use weights::{VersionedNet, WeightsCell, network_shape};
