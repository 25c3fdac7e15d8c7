//! Who leads the run, what the run is, and which weights are newest: two records in a key-value bucket, written by
//! compare-and-set alone.
//!
//! **Invariant:** epoch and newest weights are one record. A learner that has been replaced cannot announce: its
//! announcement is a change of a record that has changed since.

use std::sync::atomic::{AtomicBool, Ordering};

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use fogfall_proto::{LeadRecord, Manifest, ManifestRecord, ProtoError, WIRE_VERSION, WeightsHead};
use tokio::sync::OnceCell;

use super::link::{Failed, Link, failed, refused};
use super::names::{LEAD, MANIFEST, Names};
use crate::BusError;
use crate::weights::{may_announce, same_identity};

/// The records, and the way to them.
#[derive(Debug)]
pub(crate) struct Lead {
    bucket: String,
    stream: String,
    store: OnceCell<Store>,
}

/// A record with the revision that a change of it must name; 0 of one that is not there.
type Held<T> = (Option<T>, u64);

impl Lead {
    pub(crate) fn new(names: &Names) -> Self {
        Self { bucket: names.bucket(), stream: names.bucket_stream(), store: OnceCell::new() }
    }

    pub(crate) async fn claim(&self, link: &Link, manifest: &Manifest, above: u32) -> Result<u32, BusError> {
        if let Some(held) = self.manifest(link).await? {
            same_identity(&held, manifest)?;
        }
        let epoch = link.persist("claim the run", || self.take_epoch(link, above)).await?;
        link.persist("store the manifest", || self.put_manifest(link, epoch, manifest)).await?;
        Ok(epoch)
    }

    pub(crate) async fn manifest(&self, link: &Link) -> Result<Option<Manifest>, BusError> {
        const WHAT: &str = "read the manifest";
        let (held, _) = link.persist(WHAT, || self.read::<ManifestRecord>(link, WHAT, MANIFEST)).await?;
        held.map(|held| manifest_of(&held)).transpose()
    }

    pub(crate) async fn newest(&self, link: &Link) -> Result<Option<WeightsHead>, BusError> {
        const WHAT: &str = "ask for the newest weights";
        let (held, _) = link.persist(WHAT, || self.read::<LeadRecord>(link, WHAT, LEAD)).await?;
        Ok(held.and_then(|held| held.newest))
    }

    /// Fails if these weights would be refused now.
    pub(crate) async fn may_announce(&self, link: &Link, epoch: u32, head: &WeightsHead) -> Result<(), BusError> {
        const WHAT: &str = "announce weights";
        let (held, _) = link.persist(WHAT, || self.read::<LeadRecord>(link, WHAT, LEAD)).await?;
        let held = held.unwrap_or_default();
        may_announce(held.epoch, held.newest.as_ref(), epoch, head)
    }

    /// Makes these weights the newest.
    pub(crate) async fn announce(&self, link: &Link, epoch: u32, head: &WeightsHead) -> Result<(), BusError> {
        const WHAT: &str = "announce weights";
        let tried = AtomicBool::new(false);
        let announce = || async {
            let (held, revision) = self.read::<LeadRecord>(link, WHAT, LEAD).await?;
            let held = held.unwrap_or_default();
            if tried.load(Ordering::Relaxed) && held.epoch == epoch && held.newest.as_ref() == Some(head) {
                return Ok(()); // done before, and only the answer was lost
            }
            may_announce(held.epoch, held.newest.as_ref(), epoch, head).map_err(Failed::Final)?;
            let next = LeadRecord { wire: WIRE_VERSION, epoch, newest: Some(head.clone()) };
            tried.store(true, Ordering::Relaxed);
            self.write(link, WHAT, LEAD, &next, revision).await
        };
        link.persist(WHAT, announce).await
    }

    async fn take_epoch(&self, link: &Link, above: u32) -> Result<u32, Failed> {
        const WHAT: &str = "claim the run";
        let (held, revision) = self.read::<LeadRecord>(link, WHAT, LEAD).await?;
        let held = held.unwrap_or_default();
        let next = LeadRecord { wire: WIRE_VERSION, epoch: held.epoch.max(above) + 1, ..held };
        self.write(link, WHAT, LEAD, &next, revision).await?;
        Ok(next.epoch)
    }

    async fn put_manifest(&self, link: &Link, epoch: u32, manifest: &Manifest) -> Result<(), Failed> {
        const WHAT: &str = "store the manifest";
        let (held, revision) = self.read::<ManifestRecord>(link, WHAT, MANIFEST).await?;
        if let Some(held) = held {
            // Two learners may have begun together: the later epoch leads, and says what the run is.
            same_identity(&manifest_of(&held).map_err(Failed::Final)?, manifest).map_err(Failed::Final)?;
            if held.epoch > epoch {
                return Err(Failed::Final(BusError::Fenced { epoch, current: held.epoch }));
            }
        }
        let next = ManifestRecord::new(epoch, manifest);
        self.write(link, WHAT, MANIFEST, &next, revision).await
    }

    async fn read<T: Record>(&self, link: &Link, what: &'static str, key: &str) -> Result<Held<T>, Failed> {
        let Some(store) = self.store(link, what).await? else { return Ok((None, 0)) };
        let Some(entry) = store.entry(key).await.map_err(|e| failed(what, &e))? else { return Ok((None, 0)) };
        let record = T::decode(&entry.value).map_err(|e| not_ours(what, &e))?;
        Ok((Some(record), entry.revision))
    }

    async fn write<T: Record>(
        &self,
        link: &Link,
        what: &'static str,
        key: &str,
        record: &T,
        revision: u64,
    ) -> Result<(), Failed> {
        let missing = || Failed::Final(BusError::Refused { what, reason: format!("no bucket {}", self.bucket) });
        let store = self.store(link, what).await?.ok_or_else(missing)?;
        match store.update(key, record.encode().into(), revision).await {
            Ok(_) => Ok(()),
            // Somebody was faster, or the answer to our own last try was lost.
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Err(Failed::Again),
            Err(error) => Err(failed(what, &error)),
        }
    }

    /// The bucket, if there is one yet.
    async fn store(&self, link: &Link, what: &'static str) -> Result<Option<&Store>, Failed> {
        if let Some(store) = self.store.get() {
            return Ok(Some(store));
        }
        match link.jetstream.get_stream(&self.stream).await {
            Ok(_) => {}
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND => return Ok(None),
                GetStreamErrorKind::JetStream(e) => return Err(refused(what, &e)),
                _ => return Err(Failed::Again),
            },
        }
        let open = async || link.jetstream.get_key_value(&self.bucket).await;
        self.store.get_or_try_init(open).await.map(Some).map_err(|e| failed(what, &e))
    }
}

/// What is kept in the bucket.
trait Record: Sized {
    fn encode(&self) -> Vec<u8>;
    fn decode(bytes: &[u8]) -> Result<Self, ProtoError>;
}

impl Record for LeadRecord {
    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        Self::decode(bytes)
    }
}

impl Record for ManifestRecord {
    fn encode(&self) -> Vec<u8> {
        self.encode()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ProtoError> {
        Self::decode(bytes)
    }
}

fn manifest_of(record: &ManifestRecord) -> Result<Manifest, BusError> {
    record.manifest().map_err(|e| BusError::Refused { what: "read the manifest", reason: e.to_string() })
}

fn not_ours(what: &'static str, error: &ProtoError) -> Failed {
    Failed::Final(BusError::Refused { what, reason: format!("the record on the server cannot be read: {error}") })
}
