//! The way in: a part is stored under its id, so that what is published again because an answer was lost is not stored
//! twice.

use std::sync::Arc;

use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use fogfall_proto::PartId;
use tokio::sync::OnceCell;

use super::link::{Failed, Link, failed, server_error};
use super::names::Names;
use crate::BusError;
use crate::bus::Published;

const WHAT: &str = "publish a part";

/// Bytes that the server adds to a message, at most: lengths, subject, id.
const OVERHEAD_BYTES: u64 = 512;

/// Publishes parts.
#[derive(Debug)]
pub(crate) struct Publisher {
    stream: String,
    subject: String,
    /// Bytes that the stream may store; it does not change.
    capacity_bytes: OnceCell<u64>,
}

impl Publisher {
    pub(crate) fn new(names: &Names) -> Self {
        Self { stream: names.trajectories(), subject: names.trajectory_subject(), capacity_bytes: OnceCell::new() }
    }

    pub(crate) async fn publish(&self, link: &Link, part: PartId, bytes: Arc<[u8]>) -> Result<Published, BusError> {
        let capacity_bytes = *self.capacity_bytes.get_or_try_init(|| self.ask_capacity(link)).await?;
        let size = bytes.len() as u64;
        // The server counts subject and headers, too; so a message that just fits by its own length does not fit.
        let limit_bytes = capacity_bytes.min(link.client.max_payload() as u64).saturating_sub(OVERHEAD_BYTES);
        if size > limit_bytes {
            return Err(BusError::TooLarge { part, bytes: size, limit_bytes });
        }
        let bytes = Bytes::from_owner(bytes);
        match link.persist(WHAT, || self.put(link, part, bytes.clone())).await? {
            Some(published) => Ok(published),
            None => Err(BusError::Full { bytes: self.stored(link).await, capacity_bytes }),
        }
    }

    /// Stores a part, or finds no room.
    async fn put(&self, link: &Link, part: PartId, bytes: Bytes) -> Result<Option<Published>, Failed> {
        let message = PublishMessage::build().payload(bytes).message_id(part.to_string());
        let answer = match link.jetstream.send_publish(self.subject.clone(), message).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(ack) if ack.duplicate => Ok(Some(Published::Duplicate)),
            Ok(_) => Ok(Some(Published::Stored)),
            Err(error) if is_full(&error) => Ok(None),
            Err(error) => Err(failed(WHAT, &error)),
        }
    }

    async fn ask_capacity(&self, link: &Link) -> Result<u64, BusError> {
        let ask = || async {
            let stream = link.jetstream.get_stream(&self.stream).await.map_err(|e| failed(WHAT, &e))?;
            // Without a limit the server writes -1.
            Ok(u64::try_from(stream.cached_info().config.max_bytes).unwrap_or(u64::MAX))
        };
        link.persist(WHAT, ask).await
    }

    /// Bytes stored, for people: 0 if the server does not say.
    async fn stored(&self, link: &Link) -> u64 {
        let Ok(stream) = link.jetstream.get_stream_no_info(&self.stream).await else { return 0 };
        stream.get_info().await.map_or(0, |info| info.state.bytes)
    }
}

/// True if a stream that discards new messages has no room. The server has one code for all failures to store.
fn is_full(error: &PublishError) -> bool {
    let store_failed = |e: &async_nats::jetstream::Error| {
        e.error_code() == ErrorCode::STREAM_STORE_FAILED && e.to_string().contains("maximum")
    };
    error.kind() == PublishErrorKind::Other && server_error(error).is_some_and(store_failed)
}
