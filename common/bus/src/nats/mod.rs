//! The bus between machines, on NATS JetStream (server 2.10 or later).
//!
//! What a run `R` has on the server, created by [`NatsBus::connect`] where [`NatsSettings::set_up`] says so:
//!
//! | what | holds | bounds |
//! |---|---|---|
//! | stream `fogfall-trajectories-R` | parts, at `fogfall.R.trajectory`, as a work queue in files | bytes; a full one refuses, nothing ages |
//! | its consumer `ingest` | what is handed out to ingesters | deliveries not settled |
//! | stream `fogfall-dead-R` | parts put aside, at `fogfall.R.dead` | 100 parts, bytes; the oldest go |
//! | stream `fogfall-weights-R` | weights in chunks, at `fogfall.R.weights.EPOCH.STEP.CHUNK` | versions, bytes |
//! | stream `fogfall-alive-R` | heartbeats, at `fogfall.R.alive.ID` | one for each process; they age and go |
//! | bucket `fogfall-R` | `lead`: epoch and newest weights; `manifest` | one value each |
//!
//! `fogfall.R.news` says that there are newer weights. Nothing stores it and nothing depends on it: whoever waits asks
//! from time to time.
//!
//! What is acknowledged survives the server's end, but not the machine's: unless the server is told to (`sync_interval:
//! always`), it leaves writing to the system. Self-play can be repeated; the default is taken as it is.
//!
//! The least rights of each role are in `docs/nats-permissions.conf`, by which the tests run.

mod blobs;
mod dead;
mod ingest;
mod lead;
mod link;
mod members;
mod names;
mod patience;
mod publish;
mod settings;
mod setup;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fogfall_proto::{Heartbeat, Manifest, PartId, Version, WeightsHead};
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use self::blobs::Blobs;
use self::ingest::Ingest;
use self::lead::Lead;
use self::link::Link;
pub use self::link::without_secrets;
use self::members::StreamNow;
use self::names::Names;
use self::publish::Publisher;
pub use self::settings::{NatsAuth, NatsLimits, NatsSettings, NatsTls};
use crate::bus::{BoxFuture, Bus, DeadLetter, Delivery, Fill, Member, Published, PutAside, Receipt, Settle};
use crate::error::BusError;
use crate::weights::check;

/// Who waits for news and hears none asks after this long, and up to half of it more.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// A run's bus on NATS.
#[derive(Debug)]
pub struct NatsBus {
    link: Link,
    names: Names,
    lead: Lead,
    blobs: Blobs,
    publisher: Publisher,
    ingest: Ingest,
}

impl NatsBus {
    /// Connects to a run's bus, and creates or checks what it needs there if the settings say so.
    ///
    /// # Errors
    /// [`BusError::BadRun`], [`BusError::Unreachable`], [`BusError::Denied`], [`BusError::OtherSettings`] if what is there was
    /// set up otherwise, [`BusError::Refused`].
    pub async fn connect(settings: &NatsSettings, run: &str) -> Result<Self, BusError> {
        let names = Names::new(run)?;
        let link = Link::connect(settings).await?;
        if settings.set_up {
            setup::set_up(&link, &names, &settings.limits).await?;
        }
        Ok(Self {
            lead: Lead::new(&names),
            blobs: Blobs::new(&names, settings),
            publisher: Publisher::new(&names),
            ingest: Ingest::new(&names),
            names,
            link,
        })
    }

    /// True while the connection is up, for the readiness of a program.
    pub fn is_connected(&self) -> bool {
        self.link.client.connection_state() == async_nats::connection::State::Connected
    }

    async fn announce(&self, epoch: u32, head: WeightsHead, blob: Arc<[u8]>) -> Result<(), BusError> {
        self.lead.may_announce(&self.link, epoch, &head).await?;
        check(&head, &blob)?;
        let uploaded = self.blobs.upload(&self.link, head.version, blob).await;
        if uploaded.is_err() {
            self.blobs.remove(&self.link, head.version).await;
            return uploaded;
        }
        self.lead.announce(&self.link, epoch, &head).await?;
        // Who does not hear it asks.
        let _ = self.link.client.publish(self.names.news_subject(), Bytes::new()).await;
        self.blobs.prune(&self.link, head.version).await;
        Ok(())
    }

    async fn newer_than(&self, known: Option<Version>, wait: Duration) -> Result<Option<WeightsHead>, BusError> {
        const WHAT: &str = "wait for weights";
        let until = Instant::now() + wait;
        // First listen, then ask: what is announced in between is heard.
        let subscribed = self.link.client.subscribe(self.names.news_subject()).await;
        let mut news = subscribed.map_err(|_| BusError::Unanswered { what: WHAT })?;
        loop {
            let newest = self.lead.newest(&self.link).await?;
            if newest.as_ref().is_some_and(|head| Some(head.version) > known) {
                return Ok(newest);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let ask_again = ASK_EVERY + patience::random_below(ASK_EVERY / 2);
            let _ = timeout(left.min(ask_again), news.next()).await; // either way the server is asked
        }
    }

    async fn weights_age(&self) -> Result<Option<Duration>, BusError> {
        const WHAT: &str = "ask how old the weights are";
        if self.lead.newest(&self.link).await?.is_none() {
            return Ok(None);
        }
        // The newest are stored last.
        let stream = self.names.weights();
        let now = self.link.persist(WHAT, || StreamNow::ask(&self.link, WHAT, &stream)).await?;
        Ok(now.newest_age())
    }
}

impl Bus for NatsBus {
    fn claim<'a>(&'a self, manifest: &'a Manifest, above: u32) -> BoxFuture<'a, Result<u32, BusError>> {
        Box::pin(async move {
            self.names.check(manifest)?;
            self.lead.claim(&self.link, manifest, above).await
        })
    }

    fn manifest(&self) -> BoxFuture<'_, Result<Option<Manifest>, BusError>> {
        Box::pin(self.lead.manifest(&self.link))
    }

    fn publish(&self, part: PartId, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Published, BusError>> {
        Box::pin(self.publisher.publish(&self.link, part, bytes))
    }

    fn pull(&self, max_bytes: usize, wait: Duration) -> BoxFuture<'_, Result<Vec<Delivery>, BusError>> {
        Box::pin(self.ingest.pull(&self.link, max_bytes, wait))
    }

    fn settle(&self, receipt: Receipt, outcome: Settle) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(self.ingest.settle(&self.link, receipt, outcome))
    }

    fn dead_letters(&self) -> BoxFuture<'_, Result<Vec<DeadLetter>, BusError>> {
        Box::pin(dead::letters(&self.link, &self.names))
    }

    fn put_aside(&self) -> BoxFuture<'_, Result<PutAside, BusError>> {
        Box::pin(dead::at_a_glance(&self.link, &self.names))
    }

    fn fill(&self) -> BoxFuture<'_, Result<Fill, BusError>> {
        Box::pin(self.ingest.fill(&self.link))
    }

    fn announce(&self, epoch: u32, head: WeightsHead, blob: Arc<[u8]>) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(self.announce(epoch, head, blob))
    }

    fn newest(&self) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        Box::pin(self.lead.newest(&self.link))
    }

    fn newer_than(
        &self,
        known: Option<Version>,
        wait: Duration,
    ) -> BoxFuture<'_, Result<Option<WeightsHead>, BusError>> {
        Box::pin(self.newer_than(known, wait))
    }

    fn fetch<'a>(&'a self, head: &'a WeightsHead) -> BoxFuture<'a, Result<Arc<[u8]>, BusError>> {
        Box::pin(self.blobs.fetch(&self.link, head))
    }

    fn weights_age(&self) -> BoxFuture<'_, Result<Option<Duration>, BusError>> {
        Box::pin(self.weights_age())
    }

    fn beat(&self, beat: Heartbeat) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move { members::beat(&self.link, &self.names, &beat).await })
    }

    fn alive(&self) -> BoxFuture<'_, Result<Vec<Member>, BusError>> {
        Box::pin(members::alive(&self.link, &self.names))
    }
}
