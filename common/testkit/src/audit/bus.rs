//! A bus that is written down, and two that do wrong on purpose: an audit that does not catch them is none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use fogfall_bus::{BoxFuture, Bus, BusError, DeadLetter, Delivery, Fill, Member, Published, PutAside, Receipt, Settle};
use fogfall_proto::{Heartbeat, Manifest, PartId, Trajectory, Version, WeightsHead, digest};

use tokio::time::{Instant, sleep_until};

use super::{Event, Journal, Settled};

/// What is done wrong on purpose, and not written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutant {
    /// Nothing.
    #[default]
    None,
    /// A part is acknowledged as soon as it is taken, before anybody has stored it.
    AckFirst,
    /// The first part taken is acknowledged and given to nobody.
    DropOne,
}

/// Passes everything on to another bus and writes down what was published, taken and settled.
pub struct AuditedBus {
    bus: Arc<dyn Bus>,
    journal: Arc<Journal>,
    mutant: Mutant,
    /// Least time between two publications.
    pace: Duration,
    /// When the next may be made.
    next: tokio::sync::Mutex<Instant>,
    dropped: AtomicBool,
    /// Which part a receipt is for, until it is settled.
    taken: Mutex<HashMap<Receipt, PartId>>,
}

impl AuditedBus {
    /// Around a bus.
    pub fn new(bus: Arc<dyn Bus>, journal: Arc<Journal>, mutant: Mutant, pace: Duration) -> Self {
        let (next, dropped) = (tokio::sync::Mutex::new(Instant::now()), AtomicBool::new(false));
        Self { bus, journal, mutant, pace, next, dropped, taken: Mutex::default() }
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Receipt, PartId>> {
        self.taken.lock().expect("no holder panics")
    }

    async fn publish_paced(&self, part: PartId, bytes: Arc<[u8]>) -> Result<Published, BusError> {
        if let Ok(trajectory) = Trajectory::decode(&bytes) {
            let rows = u64::from(trajectory.row_count);
            let sum = row_sum(&trajectory.rows, trajectory.rows.len() / rows.max(1) as usize);
            self.journal.note(Event::Sent { part, rows, sum });
        }
        {
            let mut next = self.next.lock().await;
            sleep_until(*next).await;
            *next = Instant::now() + self.pace;
        }
        let published = self.bus.publish(part, bytes).await;
        if published.is_ok() {
            self.journal.note(Event::Acked(part));
        }
        published
    }

    async fn pull_noted(&self, max_bytes: usize, wait: Duration) -> Result<Vec<Delivery>, BusError> {
        let mut deliveries = self.bus.pull(max_bytes, wait).await?;
        if self.mutant == Mutant::DropOne && !deliveries.is_empty() && !self.dropped.swap(true, Ordering::Relaxed) {
            self.bus.settle(deliveries.remove(0).receipt, Settle::Done).await?;
        }
        for delivery in &deliveries {
            self.journal.note(Event::Taken(delivery.part));
            self.taken().insert(delivery.receipt, delivery.part);
            if self.mutant == Mutant::AckFirst {
                self.bus.settle(delivery.receipt, Settle::Done).await?;
            }
        }
        Ok(deliveries)
    }

    async fn settle_noted(&self, receipt: Receipt, outcome: Settle) -> Result<(), BusError> {
        if let Some(part) = self.taken().remove(&receipt) {
            let settled = match outcome {
                Settle::Done => Settled::Done,
                Settle::Retry => Settled::Retry,
                Settle::Poison(_) => Settled::Poison,
            };
            self.journal.note(Event::Settle(part, settled));
        }
        match self.mutant {
            Mutant::AckFirst => Ok(()),
            Mutant::None | Mutant::DropOne => self.bus.settle(receipt, outcome).await,
        }
    }

    async fn heard(&self, known: Option<Version>, wait: Duration) -> Result<Option<WeightsHead>, BusError> {
        let newest = self.bus.newer_than(known, wait).await?;
        if let Some(head) = &newest {
            self.journal.note(Event::Heard(head.version));
        }
        Ok(newest)
    }
}

/// Says of rows of `row_bytes` bytes, in any order, whether they are the same rows: the sum of their digests, around zero.
pub fn row_sum(rows: &[u8], row_bytes: usize) -> u64 {
    rows.chunks(row_bytes.max(1)).fold(0, |sum: u64, row| sum.wrapping_add(digest(row) as u64))
}

impl Bus for AuditedBus {
    fn claim<'a>(&'a self, manifest: &'a Manifest, above: u32) -> BoxFuture<'a, Result<u32, BusError>> {
        self.bus.claim(manifest, above)
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Option<Manifest>, BusError>> {
        self.bus.manifest()
    }

    fn publish(&self, part: PartId, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Published, BusError>> {
        Box::pin(self.publish_paced(part, bytes))
    }

    fn pull(&self, max_bytes: usize, wait: Duration) -> BoxFuture<'_, Result<Vec<Delivery>, BusError>> {
        Box::pin(self.pull_noted(max_bytes, wait))
    }

    fn settle(&self, receipt: Receipt, outcome: Settle) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(self.settle_noted(receipt, outcome))
    }

    fn dead_letters(&self) -> BoxFuture<'_, Result<Vec<DeadLetter>, BusError>> {
        self.bus.dead_letters()
    }

    fn put_aside(&self) -> BoxFuture<'_, Result<PutAside, BusError>> {
        self.bus.put_aside()
    }

    fn fill(&self) -> BoxFuture<'_, Result<Fill, BusError>> {
        self.bus.fill()
    }

    fn announce(&self, epoch: u32, head: WeightsHead, blob: Arc<[u8]>) -> BoxFuture<'_, Result<(), BusError>> {
        self.bus.announce(epoch, head, blob)
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        self.bus.newest()
    }

    fn newer_than(
        &self,
        known: Option<Version>,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        Box::pin(self.heard(known, wait))
    }

    fn fetch<'a>(&'a self, head: &'a WeightsHead) -> BoxFuture<'a, Result<Arc<[u8]>, BusError>> {
        self.bus.fetch(head)
    }

    fn weights_age(&self) -> BoxFuture<'_, Result<Option<Duration>, BusError>> {
        self.bus.weights_age()
    }

    fn beat(&self, beat: Heartbeat) -> BoxFuture<'_, Result<(), BusError>> {
        self.bus.beat(beat)
    }

    fn alive(&self) -> BoxFuture<'_, Result<Vec<Member>, BusError>> {
        self.bus.alive()
    }
}
