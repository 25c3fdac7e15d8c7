//! What crosses process borders and outlives them: manifest, trajectory, row layout, weights announcement, heartbeat, a
//! bus's records, with their limits and the wire version. Plain types only; no game, no network, no transport.
//!
//! **Invariant:** a row stays byte for byte the same from the slot that wrote it to the batch that reads it.

mod error;
mod heartbeat;
mod manifest;
mod packing;
mod record;
mod row;
mod trajectory;
mod version;
mod wire;

pub use error::ProtoError;
pub use heartbeat::{Failing, Heartbeat, PartCounts, ROOM_ON_THE_BUS, ROWS, Role, Stage, Training, Wait};
pub use manifest::{Manifest, NamedLen, TowerSize};
pub use record::{LeadRecord, ManifestRecord};
pub use row::{Row, RowLayout, RowRef};
pub use trajectory::{GameResult, MAX_PART_ROW_BYTES, PartId, PartOfGame, Trajectory};
pub use version::{Version, WeightsHead, digest};
pub use wire::{MAX_MESSAGE_BYTES, OLDEST_WIRE_VERSION, WIRE_VERSION};
