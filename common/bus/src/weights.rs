//! Who leads the run and its newest weights, in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use fogfall_proto::{Manifest, Version, WeightsHead, digest};
use tokio::time::Instant;

use crate::BusError;

/// The manifest with its epoch, and the last weights.
#[derive(Debug)]
pub(crate) struct Weights {
    keep: usize,
    epoch: u32,
    manifest: Option<Manifest>,
    newest: Option<WeightsHead>,
    announced: Option<Instant>,
    blobs: BTreeMap<Version, Arc<[u8]>>,
}

impl Weights {
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep: keep.max(1), epoch: 0, manifest: None, newest: None, announced: None, blobs: BTreeMap::new() }
    }

    pub(crate) fn claim(&mut self, manifest: &Manifest, above: u32) -> Result<u32, BusError> {
        if let Some(held) = &self.manifest {
            same_identity(held, manifest)?;
        }
        self.epoch = self.epoch.max(above) + 1;
        self.manifest = Some(manifest.clone());
        Ok(self.epoch)
    }

    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    pub(crate) fn announce(
        &mut self,
        epoch: u32,
        head: WeightsHead,
        blob: Arc<[u8]>,
        now: Instant,
    ) -> Result<(), BusError> {
        may_announce(self.epoch, self.newest.as_ref(), epoch, &head)?;
        check(&head, &blob)?;
        let version = head.version;
        self.blobs.insert(version, blob);
        while self.blobs.len() > self.keep {
            self.blobs.pop_first();
        }
        (self.newest, self.announced) = (Some(head), Some(now));
        Ok(())
    }

    pub(crate) fn newest(&self) -> Option<&WeightsHead> {
        self.newest.as_ref()
    }

    /// When the newest were announced.
    pub(crate) fn announced(&self) -> Option<Instant> {
        self.announced
    }

    pub(crate) fn fetch(&self, head: &WeightsHead) -> Result<Arc<[u8]>, BusError> {
        let blob = self.blobs.get(&head.version).ok_or(BusError::Gone { version: head.version })?;
        check(head, blob)?;
        Ok(Arc::clone(blob))
    }
}

/// Whether a run led by `current` whose newest weights are `newest` takes these.
pub(crate) fn may_announce(
    current: u32,
    newest: Option<&WeightsHead>,
    epoch: u32,
    head: &WeightsHead,
) -> Result<(), BusError> {
    let version = head.version;
    if epoch != current || version.epoch != epoch {
        let epoch = if epoch != current { epoch } else { version.epoch };
        return Err(BusError::Fenced { epoch, current });
    }
    match newest {
        Some(newest) if version <= newest.version => Err(BusError::NotNewer { version, newest: newest.version }),
        _ => Ok(()),
    }
}

/// Compares a blob with its announcement.
pub(crate) fn check(head: &WeightsHead, blob: &[u8]) -> Result<(), BusError> {
    let damaged = |what, found, expected| Err(BusError::Damaged { version: head.version, what, found, expected });
    if blob.len() as u64 != head.bytes {
        return damaged("length", blob.len().to_string(), head.bytes.to_string());
    }
    let found = digest(blob);
    if found != head.digest {
        return damaged("digest", format!("{found:032x}"), format!("{:032x}", head.digest));
    }
    Ok(())
}

/// Compares what a run is with what a learner says it is.
pub(crate) fn same_identity(held: &Manifest, new: &Manifest) -> Result<(), BusError> {
    let shape = |m: &Manifest| {
        let tower = m.tower.map(|tower| format!(" behind convolutions of {} x {}", tower.blocks, tower.channels));
        format!("{} x {}{}", m.blocks, m.width, tower.unwrap_or_default())
    };
    for (field, found, expected) in [
        ("run", held.run.clone(), new.run.clone()),
        ("game", held.game.clone(), new.game.clone()),
        ("rules hash", format!("{:016x}", held.rules_hash()), format!("{:016x}", new.rules_hash())),
        ("network", shape(held), shape(new)),
    ] {
        if found != expected {
            return Err(BusError::OtherRun { run: held.run.clone(), field, found, expected });
        }
    }
    Ok(())
}
