//! The bus within one process: what `--local` runs on, and what tests break on purpose.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fogfall_proto::{Heartbeat, Manifest, PartId, Version, WeightsHead};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::bus::{
    BoxFuture, Bus, DeadLetter, Delivery, Fill, GONE_AFTER, Member, Published, PutAside, Receipt, Settle,
};
use crate::error::BusError;
use crate::faults::{Draws, Faults};
use crate::members::Members;
use crate::queue::{Queue, QueueLimits};
use crate::weights::Weights;

/// What bounds a bus in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryBusSettings {
    /// Most bytes of trajectories stored. A publisher that meets it waits.
    pub capacity_bytes: u64,
    /// A delivery not settled within this time is handed out again.
    pub settle_within: Duration,
    /// Weights held; older ones are gone.
    pub keep_weights: usize,
    /// Whoever has not been heard for so long is forgotten.
    pub gone_after: Duration,
    /// What goes wrong on purpose.
    pub faults: Faults,
}

/// A bus within one process.
#[derive(Debug)]
pub struct MemoryBus {
    queue: Mutex<Queue>,
    weights: Mutex<Weights>,
    members: Mutex<Members>,
    gone_after: Duration,
    /// Woken when something may have become ready.
    ready: Notify,
    newest: watch::Sender<Option<WeightsHead>>,
}

impl Default for MemoryBusSettings {
    fn default() -> Self {
        Self {
            capacity_bytes: 64 << 20,
            settle_within: Duration::from_secs(30),
            keep_weights: 3,
            gone_after: GONE_AFTER,
            faults: Faults::default(),
        }
    }
}

impl MemoryBus {
    /// An empty bus.
    pub fn new(settings: MemoryBusSettings) -> Self {
        let MemoryBusSettings { capacity_bytes, settle_within, keep_weights, gone_after, faults } = settings;
        let queue = Queue::new(QueueLimits { capacity_bytes, settle_within }, Draws::new(faults));
        Self {
            queue: Mutex::new(queue),
            weights: Mutex::new(Weights::new(keep_weights)),
            members: Mutex::default(),
            gone_after,
            ready: Notify::new(),
            newest: watch::Sender::new(None),
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no holder of the queue panics")
    }

    fn weights(&self) -> MutexGuard<'_, Weights> {
        self.weights.lock().expect("no holder of the weights panics")
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock().expect("no holder of the members panics")
    }
}

impl Bus for MemoryBus {
    fn claim<'a>(&'a self, manifest: &'a Manifest, above: u32) -> BoxFuture<'a, Result<u32, BusError>> {
        Box::pin(async move { self.weights().claim(manifest, above) })
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Option<Manifest>, BusError>> {
        Box::pin(async { Ok(self.weights().manifest().cloned()) })
    }

    fn publish(&self, part: PartId, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Published, BusError>> {
        Box::pin(async move {
            let published = self.queue().publish(part, bytes, Instant::now());
            self.ready.notify_one();
            published
        })
    }

    fn pull(&self, max_bytes: usize, wait: Duration) -> BoxFuture<'_, Result<Vec<Delivery>, BusError>> {
        Box::pin(async move {
            let until = Instant::now() + wait;
            loop {
                let now = Instant::now();
                let pulled = self.queue().pull(max_bytes, now);
                match pulled {
                    Ok(deliveries) => {
                        self.ready.notify_one(); // there may be more for the next one
                        return Ok(deliveries);
                    }
                    Err(_) if now >= until => return Ok(Vec::new()),
                    Err(due) => {
                        let wake = due.map_or(until, |due| due.min(until));
                        // Either way the queue is looked at again.
                        let _ = tokio::time::timeout_at(wake, self.ready.notified()).await;
                    }
                }
            }
        })
    }

    fn settle(&self, receipt: Receipt, outcome: Settle) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            if self.queue().settle(receipt, outcome) {
                self.ready.notify_one();
            }
            Ok(())
        })
    }

    fn dead_letters(&self) -> BoxFuture<'_, Result<Vec<DeadLetter>, BusError>> {
        Box::pin(async { Ok(self.queue().dead_letters()) })
    }

    fn put_aside(&self) -> BoxFuture<'_, Result<PutAside, BusError>> {
        Box::pin(async {
            let mut letters = self.queue().dead_letters();
            Ok(PutAside { kept: letters.len() as u64, newest: letters.pop() })
        })
    }

    fn fill(&self) -> BoxFuture<'_, Result<Fill, BusError>> {
        Box::pin(async { Ok(self.queue().fill()) })
    }

    fn announce(&self, epoch: u32, head: WeightsHead, blob: Arc<[u8]>) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            let mut weights = self.weights();
            weights.announce(epoch, head, blob, Instant::now())?;
            self.newest.send_replace(weights.newest().cloned());
            Ok(())
        })
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        Box::pin(async { Ok(self.weights().newest().cloned()) })
    }

    fn newer_than(
        &self,
        known: Option<Version>,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        Box::pin(async move {
            let mut newest = self.newest.subscribe();
            let newer = |head: &Option<WeightsHead>| head.as_ref().is_some_and(|head| Some(head.version) > known);
            let found = tokio::time::timeout(wait, newest.wait_for(newer)).await;
            Ok(found.ok().and_then(Result::ok).and_then(|head| head.clone()))
        })
    }

    fn fetch<'a>(&'a self, head: &'a WeightsHead) -> BoxFuture<'a, Result<Arc<[u8]>, BusError>> {
        Box::pin(async move { self.weights().fetch(head) })
    }

    fn weights_age(&self) -> BoxFuture<'_, Result<Option<Duration>, BusError>> {
        Box::pin(async { Ok(self.weights().announced().map(|at| at.elapsed())) })
    }

    fn beat(&self, beat: Heartbeat) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            self.members().hear(beat, Instant::now(), self.gone_after);
            Ok(())
        })
    }

    fn alive(&self) -> BoxFuture<'_, Result<Vec<Member>, BusError>> {
        Box::pin(async { Ok(self.members().alive(Instant::now(), self.gone_after)) })
    }
}
