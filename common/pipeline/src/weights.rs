//! The newest weights that a process holds, shared by its self-play threads and matches.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use fogfall_game::GameInfo;
use fogfall_net::{Net, Shape};
use fogfall_proto::{Manifest, Version};

/// The shape of a run's network.
pub fn network_shape(manifest: &Manifest, info: &GameInfo) -> Shape {
    let (channels, blocks) = manifest.tower.map_or((0, 0), |tower| (tower.channels, tower.blocks));
    Shape::new(info, manifest.width, manifest.blocks).with_tower(info.planes, channels, blocks)
}

/// A network and the version it has.
#[derive(Clone)]
pub struct VersionedNet {
    /// Which weights.
    pub version: Version,
    /// The network, ready to evaluate.
    pub net: Arc<Net>,
}

/// Holds the newest weights; never goes back.
pub struct WeightsCell {
    newest: Mutex<VersionedNet>,
    /// Counts the changes; read without the lock.
    changes: AtomicU64,
}

impl WeightsCell {
    /// A cell with its first weights.
    pub fn new(first: VersionedNet) -> Self {
        Self { newest: Mutex::new(first), changes: AtomicU64::new(0) }
    }

    /// Takes newer weights; false if they are not newer.
    pub fn offer(&self, weights: VersionedNet) -> bool {
        let mut newest = self.lock();
        if weights.version <= newest.version {
            return false;
        }
        *newest = weights;
        self.changes.fetch_add(1, Ordering::Release);
        true
    }

    /// The newest weights.
    pub fn newest(&self) -> VersionedNet {
        self.lock().clone()
    }

    /// The newest weights if they changed since `seen`, which is brought up to date.
    pub fn changed(&self, seen: &mut u64) -> Option<VersionedNet> {
        let changes = self.changes.load(Ordering::Acquire);
        if changes == *seen {
            return None;
        }
        *seen = changes;
        Some(self.newest())
    }

    fn lock(&self) -> MutexGuard<'_, VersionedNet> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
