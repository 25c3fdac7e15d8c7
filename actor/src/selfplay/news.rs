//! Whether the run is still what it was when this process joined it. A learner that is started again may say that games are
//! played otherwise from now on; the rest of what a run is cannot change, and where it does, it is another run.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::bail;
use fogfall_bus::Bus;
use fogfall_game::GameInfo;
use fogfall_pipeline::Troubles;
use fogfall_proto::Manifest;

use crate::cluster::{Process, differences};

/// The manifest is read this often where nothing says that it has changed, and up to half as often.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The same while something does not work: the server may have lost what it knew.
const LOOK_IN_TROUBLE: Duration = Duration::from_secs(5);

/// Watches what the run is.
pub struct News<'a> {
    bus: &'a Arc<dyn Bus>,
    info: &'a GameInfo,
    /// What the run was when it was last looked at.
    manifest: Manifest,
    /// The epoch of the weights at that time; none before the first look.
    epoch: Option<u32>,
    looked: Instant,
    every: Duration,
}

impl<'a> News<'a> {
    /// News of a run that is `manifest`, for a process of its own `life`.
    pub fn of(bus: &'a Arc<dyn Bus>, info: &'a GameInfo, manifest: Manifest, life: u64) -> Self {
        // Not all processes at the same time.
        let every = LOOK_EVERY + Duration::from_millis(life % (LOOK_EVERY.as_millis() as u64 / 2));
        Self { bus, info, manifest, epoch: None, looked: Instant::now(), every }
    }

    /// What the run is.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// What the run is now, if games are to be played otherwise. Looks when weights of a new epoch have come, which a
    /// learner takes at each start, and now and then. A bus that does not answer is asked again.
    ///
    /// # Errors
    /// If the run has become another one, with the differences.
    pub fn of_the_run(
        &mut self,
        process: &Process,
        epoch: u32,
        troubles: &Troubles,
    ) -> anyhow::Result<Option<Manifest>> {
        let every = if troubles.now().is_empty() { self.every } else { LOOK_IN_TROUBLE };
        if self.epoch == Some(epoch) && self.looked.elapsed() < every {
            return Ok(None);
        }
        let answer = process.ask(self.bus.manifest());
        self.looked = Instant::now();
        // None where the server has lost all: a learner will say it again.
        let Some(Ok(now)) = answer else { return Ok(None) };
        self.epoch = Some(epoch);
        let Some(now) = now.filter(|now| *now != self.manifest) else { return Ok(None) };
        let others = identity_differences(&self.manifest, &now, self.info);
        if !others.is_empty() {
            bail!("the run has become another one:\n  {}", others.join("\n  "));
        }
        let otherwise = is_played_otherwise(&self.manifest, &now);
        self.manifest = now.clone();
        Ok(otherwise.then_some(now))
    }
}

/// What of a run has changed that cannot, one line each.
fn identity_differences(before: &Manifest, now: &Manifest, info: &GameInfo) -> Vec<String> {
    let mut lines = differences(now, info);
    for (what, before, now) in [("width", before.width, now.width), ("blocks", before.blocks, now.blocks)] {
        if before != now {
            lines.push(format!("the network's {what} was {before} and is {now}"));
        }
    }
    if before.tower != now.tower {
        lines.push(format!("the network's convolutions were {:?} and are {:?}", before.tower, now.tower));
    }
    lines
}

/// True if games by `now` differ from those by `before`: in how they are played, or in how their parts are written.
fn is_played_otherwise(before: &Manifest, now: &Manifest) -> bool {
    (&before.settings, before.wire) != (&now.settings, now.wire)
}
