//! Who leads the run, what the run is, and which weights are newest: two records in a key-value bucket, written by
//! compare-and-set alone.
//!
//! **Invariant:** epoch and newest weights are one record. A learner that has been replaced cannot announce: its
//! announcement is a change of a record that has changed since.

use std::sync::atomic::{AtomicBool, Ordering};

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::kv::{Store, UpdateErrorKind};
use fogfall_proto::{Manifest, ProtoError, WIRE_VERSION, WeightsHead};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
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

/// The record at [`LEAD`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LeadRecord {
    wire: u16,
    epoch: u32,
    newest: Option<WeightsHead>,
}

/// The record at [`MANIFEST`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ManifestRecord {
    wire: u16,
    /// Of the learner that wrote it.
    epoch: u32,
    #[serde(with = "serde_bytes")]
    manifest: Vec<u8>,
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
        held.map(|held| held.decode()).transpose()
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
            same_identity(&held.decode().map_err(Failed::Final)?, manifest).map_err(Failed::Final)?;
            if held.epoch > epoch {
                return Err(Failed::Final(BusError::Fenced { epoch, current: held.epoch }));
            }
        }
        let next = ManifestRecord { wire: WIRE_VERSION, epoch, manifest: manifest.encode() };
        self.write(link, WHAT, MANIFEST, &next, revision).await
    }

    async fn read<T: Record>(&self, link: &Link, what: &'static str, key: &str) -> Result<Held<T>, Failed> {
        let Some(store) = self.store(link, what).await? else { return Ok((None, 0)) };
        let Some(entry) = store.entry(key).await.map_err(|e| failed(what, &e))? else { return Ok((None, 0)) };
        let record = rmp_serde::from_slice::<T>(&entry.value).map_err(|e| not_ours(what, &e.to_string()))?;
        if !(1..=WIRE_VERSION).contains(&record.wire()) {
            return Err(not_ours(what, &format!("wire version {} is not known", record.wire())));
        }
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
        let bytes = rmp_serde::to_vec(record).expect("a record of numbers, bytes and strings can be encoded");
        match store.update(key, bytes.into(), revision).await {
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

/// A record with its wire version.
trait Record: Serialize + DeserializeOwned {
    fn wire(&self) -> u16;
}

impl Record for LeadRecord {
    fn wire(&self) -> u16 {
        self.wire
    }
}

impl Record for ManifestRecord {
    fn wire(&self) -> u16 {
        self.wire
    }
}

impl ManifestRecord {
    fn decode(&self) -> Result<Manifest, BusError> {
        let unknown = |e: ProtoError| BusError::Refused { what: "read the manifest", reason: e.to_string() };
        Manifest::decode(&self.manifest).map_err(unknown)
    }
}

fn not_ours(what: &'static str, reason: &str) -> Failed {
    Failed::Final(BusError::Refused { what, reason: format!("the record on the server cannot be read: {reason}") })
}
