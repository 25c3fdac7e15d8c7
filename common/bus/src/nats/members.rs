//! Heartbeats on the server: a small stream with one message for each process, its newest. Messages age and go, so that
//! whoever falls silent is forgotten.
//!
//! In files, not in memory: a server forgets a stream in memory when it restarts, and none but a learner could create it
//! again.
//!
//! A reader takes all messages at once, through a consumer of its own that it removes again: for a thousand processes that
//! is a handful of requests. How old a message is follows from the server's clock alone.

use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::response::Response;
use fogfall_proto::{Heartbeat, Stage};
use futures_util::StreamExt;
use serde::Deserialize;
use time::OffsetDateTime;
use tokio::time::timeout;

use super::link::{Failed, Link, failed, refused};
use super::names::Names;
use crate::BusError;
use crate::bus::Member;

/// Messages of one request: fewer than the client holds for one subscription.
const PAGE: usize = 512;
/// The server removes a reader's consumer after this long, if the reader could not.
const FORGET_READER: Duration = Duration::from_secs(30);
/// A process that stops has little time for its last word, and each beat makes up for the one before.
const BEAT_WITHIN: Duration = Duration::from_secs(3);

/// What a server says of a stream, with its time when it says so.
#[derive(Debug, Deserialize)]
pub(crate) struct StreamNow {
    #[serde(with = "time::serde::rfc3339", rename = "ts")]
    now: OffsetDateTime,
    state: StateNow,
}

#[derive(Debug, Deserialize)]
struct StateNow {
    messages: u64,
    #[serde(with = "time::serde::rfc3339", rename = "last_ts")]
    last: OffsetDateTime,
}

impl StreamNow {
    /// Asks for it.
    pub(crate) async fn ask(link: &Link, what: &'static str, stream: &str) -> Result<Self, Failed> {
        let answer = link.jetstream.request(format!("STREAM.INFO.{stream}"), &()).await;
        match answer.map_err(|e| failed(what, &e))? {
            Response::Ok(now) => Ok(now),
            Response::Err { error } => Err(refused(what, &error)),
        }
    }

    /// How long ago the stream got its newest message, if it holds any.
    pub(crate) fn newest_age(&self) -> Option<Duration> {
        (self.state.messages > 0).then(|| self.age_of(self.state.last))
    }

    fn age_of(&self, then: OffsetDateTime) -> Duration {
        // Servers of a cluster may differ by a little.
        Duration::try_from(self.now - then).unwrap_or_default()
    }
}

/// Says that a process lives.
pub(crate) async fn beat(link: &Link, names: &Names, beat: &Heartbeat) -> Result<(), BusError> {
    const WHAT: &str = "say that this process lives";
    let (subject, bytes) = (names.member_subject(beat.life), beat.encode());
    let put = || async {
        let message = PublishMessage::build().payload(bytes.clone().into());
        let answer = link.jetstream.send_publish(subject.clone(), message).await.map_err(|e| failed(WHAT, &e))?;
        answer.await.map(|_| ()).map_err(|e| failed(WHAT, &e))
    };
    link.persist_for(BEAT_WITHIN.min(link.answer_within()), WHAT, put).await
}

/// All that have been heard lately and have not ended.
pub(crate) async fn alive(link: &Link, names: &Names) -> Result<Vec<Member>, BusError> {
    const WHAT: &str = "ask who is there";
    let mut members = link.persist(WHAT, || read(link, names, WHAT)).await?;
    members.retain(|member| member.beat.stage != Stage::Ended);
    members.sort_by_key(|member| (member.beat.role, member.beat.life));
    Ok(members)
}

async fn read(link: &Link, names: &Names, what: &'static str) -> Result<Vec<Member>, Failed> {
    let name = names.members();
    let now = StreamNow::ask(link, what, &name).await?;
    if now.state.messages == 0 {
        return Ok(Vec::new());
    }
    let stream = link.jetstream.get_stream_no_info(&name).await.map_err(|e| failed(what, &e))?;
    let reader = stream.create_consumer(pull::Config {
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::None,
        memory_storage: true,
        num_replicas: 1,
        inactive_threshold: FORGET_READER,
        ..pull::Config::default()
    });
    let reader = reader.await.map_err(|e| failed(what, &e))?;
    let members = take_all(link, &reader, &now).await;
    // If it fails the server does it a little later.
    let _ = stream.delete_consumer(&reader.cached_info().name).await;
    members
}

async fn take_all(link: &Link, reader: &PullConsumer, now: &StreamNow) -> Result<Vec<Member>, Failed> {
    let mut members = Vec::new();
    loop {
        let mut page = reader.fetch().max_messages(PAGE).messages().await.map_err(|_| Failed::Again)?;
        let mut taken = 0;
        while let Some(message) = timeout(link.try_within(), page.next()).await.map_err(|_| Failed::Again)? {
            members.extend(member(&message.map_err(|_| Failed::Again)?, now));
            taken += 1;
        }
        if taken < PAGE {
            return Ok(members);
        }
    }
}

fn member(message: &jetstream::Message, now: &StreamNow) -> Option<Member> {
    let age = now.age_of(message.info().ok()?.published);
    Some(Member { beat: Heartbeat::decode(&message.payload).ok()?, age })
}
