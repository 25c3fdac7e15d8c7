//! What crosses process borders and outlives them: manifest, trajectory, row layout, weights announcement, heartbeat, with
//! their limits and the wire version. Plain types only; no game, no network, no transport.
//!
//! **Invariant:** a row stays byte for byte the same from the slot that wrote it to the batch that reads it.

mod error;
mod heartbeat;
mod manifest;
mod row;
mod trajectory;
mod version;

pub use error::ProtoError;
pub use heartbeat::{Failing, Heartbeat, PartCounts, ROOM_ON_THE_BUS, ROWS, Role, Stage, Training, Wait};
pub use manifest::{Manifest, NamedLen};
pub use row::{Row, RowLayout, RowRef};
pub use trajectory::{GameResult, PartId, Trajectory};
pub use version::{Version, WeightsHead, digest};

/// The version of everything in this crate. Readers accept this one and the one before.
pub const WIRE_VERSION: u16 = 1;

/// No encoded message may be longer than this.
pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
