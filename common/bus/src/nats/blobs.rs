//! Weights files on the server: each version in chunks at subjects of its own, written once and never changed.
//!
//! A reader asks for each chunk by name, as often as it must: it leaves nothing on the server, and a restart of the
//! server between two chunks does not matter. Old versions are removed when a new one has been announced; whoever was
//! reading one finds a chunk missing and asks for the newest.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::DirectGetErrorKind;
use bytes::Bytes;
use fogfall_proto::{Version, WeightsHead};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::link::{Failed, Link, failed};
use super::names::Names;
use super::patience::random_below;
use super::settings::NatsSettings;
use crate::BusError;
use crate::weights::check;

/// Bytes of a chunk, but of the last.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that a writer has under way at once.
const WRITES_AT_ONCE: usize = 8;
/// Chunks that a reader has under way at once: 512 KiB, of which the server holds about twice as much. A thousand readers
/// cost it 1 GiB.
const READS_AT_ONCE: usize = 2;

/// Memory taken at a head's word, before the chunks have come.
const RESERVE_BYTES: u64 = 64 << 20;

/// Reads and writes weights files.
#[derive(Debug)]
pub(crate) struct Blobs {
    names: Names,
    keep: usize,
    /// A fetch begins after a random time up to this.
    jitter: Duration,
    /// Longest time for a fetch after that.
    within: Duration,
    /// One fetch at a time; who waits for the same version takes what came.
    last: Mutex<Option<(WeightsHead, Weak<[u8]>)>>,
}

impl Blobs {
    pub(crate) fn new(names: &Names, settings: &NatsSettings) -> Self {
        Self {
            names: names.clone(),
            keep: settings.limits.keep_weights.max(1),
            jitter: settings.fetch_jitter,
            within: settings.fetch_within,
            last: Mutex::new(None),
        }
    }

    /// Stores a file that nobody is told of yet.
    pub(crate) async fn upload(&self, link: &Link, version: Version, blob: Arc<[u8]>) -> Result<(), BusError> {
        let blob = Bytes::from_owner(blob);
        let chunks = blob.len().div_ceil(CHUNK_BYTES).max(1);
        let put = |chunk: usize| {
            let part = blob.slice((chunk * CHUNK_BYTES).min(blob.len())..((chunk + 1) * CHUNK_BYTES).min(blob.len()));
            let subject = self.names.chunk_subject(version, chunk as u64);
            async move { link.persist("store weights", || put_chunk(link, &subject, part.clone())).await }
        };
        stream::iter((0..chunks).map(put)).buffer_unordered(WRITES_AT_ONCE).try_collect::<Vec<()>>().await?;
        Ok(())
    }

    /// The file of announced weights, checked.
    pub(crate) async fn fetch(&self, link: &Link, head: &WeightsHead) -> Result<Arc<[u8]>, BusError> {
        let mut last = self.last.lock().await;
        if let Some((held, blob)) = &*last
            && held == head
            && let Some(blob) = blob.upgrade()
        {
            return Ok(blob);
        }
        sleep(random_below(self.jitter)).await;
        let download = tokio::time::timeout(self.within, self.download(link, head)).await;
        let blob = download.map_err(|_| BusError::Unanswered { what: "fetch weights" })??;
        *last = Some((head.clone(), Arc::downgrade(&blob)));
        Ok(blob)
    }

    async fn download(&self, link: &Link, head: &WeightsHead) -> Result<Arc<[u8]>, BusError> {
        let get = |chunk: u64| {
            let subject = self.names.chunk_subject(head.version, chunk);
            async move {
                let version = head.version;
                link.persist_for(self.within, "fetch weights", || get_chunk(self, link, &subject, version)).await
            }
        };
        let first = get(0).await?;
        let chunks = head.bytes.div_ceil(first.len().max(1) as u64);
        let mut blob = Vec::with_capacity(head.bytes.min(RESERVE_BYTES) as usize);
        blob.extend_from_slice(&first);
        let mut rest = stream::iter((1..chunks).map(get)).buffered(READS_AT_ONCE);
        while let Some(chunk) = rest.try_next().await? {
            blob.extend_from_slice(&chunk);
            if blob.len() as u64 > head.bytes {
                break; // its length is wrong already
            }
        }
        check(head, &blob)?;
        Ok(blob.into())
    }

    /// Removes what is older than the newest versions up to this one. Whatever goes wrong, the next time does it.
    pub(crate) async fn prune(&self, link: &Link, newest: Version) {
        let Ok(stream) = link.jetstream.get_stream_no_info(self.names.weights()).await else { return };
        let Ok(mut subjects) = stream.info_with_subjects(self.names.first_chunks()).await else { return };
        let mut versions = Vec::new();
        while let Some(Ok((subject, _))) = subjects.next().await {
            versions.extend(self.names.version_of(&subject).filter(|&version| version <= newest));
        }
        versions.sort_unstable();
        versions.truncate(versions.len().saturating_sub(self.keep));
        for version in versions {
            self.remove(link, version).await;
        }
    }

    /// Removes one version, whole or in part. What is left if that fails is pruned later.
    pub(crate) async fn remove(&self, link: &Link, version: Version) {
        let Ok(stream) = link.jetstream.get_stream_no_info(self.names.weights()).await else { return };
        let _ = stream.purge().filter(self.names.version_subjects(version)).await;
    }
}

async fn put_chunk(link: &Link, subject: &str, bytes: Bytes) -> Result<(), Failed> {
    const WHAT: &str = "store weights";
    let message = PublishMessage::build().payload(bytes);
    let answer = link.jetstream.send_publish(subject.to_owned(), message).await.map_err(|e| failed(WHAT, &e))?;
    answer.await.map(|_| ()).map_err(|e| failed(WHAT, &e))
}

async fn get_chunk(blobs: &Blobs, link: &Link, subject: &str, version: Version) -> Result<Bytes, Failed> {
    const WHAT: &str = "fetch weights";
    // A server that a thousand ask at once is slow, not gone, and slower still if each asks again.
    let mut patient = link.jetstream.clone();
    patient.set_timeout(link.answer_within());
    let stream = patient.get_stream_no_info(blobs.names.weights()).await.map_err(|e| failed(WHAT, &e))?;
    match stream.direct_get_last_for_subject(subject).await {
        Ok(message) => Ok(message.payload),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Err(Failed::Final(BusError::Gone { version })),
        Err(error) => Err(failed(WHAT, &error)),
    }
}
