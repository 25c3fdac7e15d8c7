//! What a run needs on the server: four streams, a bucket and a consumer. Each is created if it is missing and compared
//! setting by setting if it is there: two programs that disagree must not share a run.

use std::fmt::Debug;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{ConsumerInfoErrorKind, CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, ConsumerErrorKind, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{ErrorCode, consumer};

use super::link::{Failed, Link, failed, refused};
use super::names::{CONSUMER, Names};
use super::settings::NatsLimits;
use crate::BusError;

/// No limit, as the server writes it.
const NONE: i64 = -1;
/// Bytes of heartbeats stored: those of about ten thousand processes.
const MEMBERS_BYTES: u64 = 8 << 20;

/// Creates and checks everything.
pub(crate) async fn set_up(link: &Link, names: &Names, limits: &NatsLimits) -> Result<(), BusError> {
    for stream in streams(names, limits) {
        link.persist("set up a stream", || ensure_stream(link, &stream)).await?;
    }
    let (stream, consumer) = (names.trajectories(), consumer_config(limits));
    link.persist("set up the consumer", || ensure_consumer(link, &stream, &consumer)).await
}

fn streams(names: &Names, limits: &NatsLimits) -> [Config; 5] {
    let common = Config {
        max_messages: NONE,
        max_messages_per_subject: NONE,
        max_bytes: NONE,
        storage: StorageType::File,
        num_replicas: limits.replicas,
        duplicate_window: limits.duplicate_window,
        allow_direct: true,
        ..Config::default()
    };
    let trajectories = Config {
        name: names.trajectories(),
        subjects: vec![names.trajectory_subject()],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New, // a full store pushes back, it forgets nothing
        max_bytes: bytes(limits.store_bytes),
        ..common.clone()
    };
    let dead = Config {
        name: names.dead(),
        subjects: vec![names.dead_subject()],
        discard: DiscardPolicy::Old,
        max_bytes: bytes(limits.dead_bytes),
        max_messages: super::dead::KEEP,
        ..common.clone()
    };
    let weights = Config {
        name: names.weights(),
        subjects: vec![names.weights_subjects()],
        discard: DiscardPolicy::New,
        max_bytes: bytes(limits.weights_bytes),
        max_messages_per_subject: 1,
        ..common.clone()
    };
    let members = Config {
        name: names.members(),
        subjects: vec![names.members_subjects()],
        discard: DiscardPolicy::Old,
        max_bytes: bytes(MEMBERS_BYTES),
        max_messages_per_subject: 1,
        max_age: limits.gone_after,
        // The server allows none that is longer.
        duplicate_window: limits.duplicate_window.min(limits.gone_after),
        ..common.clone()
    };
    let bucket = Config {
        name: names.bucket_stream(),
        subjects: vec![names.bucket_subjects()],
        discard: DiscardPolicy::New,
        max_messages_per_subject: 1,
        allow_rollup: true,
        deny_delete: true,
        ..common
    };
    [trajectories, dead, weights, members, bucket]
}

/// The one consumer of trajectories. Deliveries are not limited: what can never be taken is put aside by who knows.
fn consumer_config(limits: &NatsLimits) -> pull::Config {
    pull::Config {
        durable_name: Some(CONSUMER.to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: limits.settle_within,
        max_ack_pending: i64::from(limits.max_unsettled),
        max_deliver: NONE,
        ..pull::Config::default()
    }
}

fn bytes(limit: u64) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

async fn ensure_stream(link: &Link, wanted: &Config) -> Result<(), Failed> {
    const WHAT: &str = "set up a stream";
    let found = match link.jetstream.get_stream(&wanted.name).await {
        Ok(stream) => stream.cached_info().config.clone(),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                let created = link.jetstream.create_stream(wanted).await;
                let created = created.map_err(|e| match e.kind() {
                    CreateStreamErrorKind::JetStream(e) => refused(WHAT, &e),
                    _ => failed(WHAT, &e),
                })?;
                created.cached_info().config.clone()
            }
            GetStreamErrorKind::JetStream(e) => return Err(refused(WHAT, &e)),
            _ => return Err(failed(WHAT, &error)),
        },
    };
    let mut check = Check { what: format!("stream {}", wanted.name), differs: None };
    check.same("subjects", &found.subjects, &wanted.subjects);
    check.same("retention", &found.retention, &wanted.retention);
    check.same("discard", &found.discard, &wanted.discard);
    check.same("storage", &found.storage, &wanted.storage);
    check.same("max_bytes", &found.max_bytes, &wanted.max_bytes);
    check.same("max_messages", &found.max_messages, &wanted.max_messages);
    check.same("max_messages_per_subject", &found.max_messages_per_subject, &wanted.max_messages_per_subject);
    check.same("max_age", &found.max_age, &wanted.max_age);
    check.same("duplicate_window", &found.duplicate_window, &wanted.duplicate_window);
    check.same("allow_direct", &found.allow_direct, &wanted.allow_direct);
    check.done()
}

async fn ensure_consumer(link: &Link, stream: &str, wanted: &pull::Config) -> Result<(), Failed> {
    const WHAT: &str = "set up the consumer";
    let handle = link.jetstream.get_stream_no_info(stream).await.map_err(|e| failed(WHAT, &e))?;
    let found: consumer::Config = match handle.consumer_info(CONSUMER).await {
        Ok(info) => info.config,
        Err(error) => match error.kind() {
            ConsumerInfoErrorKind::NotFound => {
                let created = handle.create_consumer(wanted.clone()).await;
                let created = created.map_err(|e| match e.kind() {
                    ConsumerErrorKind::JetStream(e) => refused(WHAT, &e),
                    _ => failed(WHAT, &e),
                })?;
                created.cached_info().config.clone()
            }
            ConsumerInfoErrorKind::JetStream(e) => return Err(refused(WHAT, &e)),
            _ => return Err(failed(WHAT, &error)),
        },
    };
    let mut check = Check { what: format!("consumer {CONSUMER} of stream {stream}"), differs: None };
    check.same("ack_policy", &found.ack_policy, &wanted.ack_policy);
    check.same("ack_wait", &found.ack_wait, &wanted.ack_wait);
    check.same("max_ack_pending", &found.max_ack_pending, &wanted.max_ack_pending);
    check.same("max_deliver", &found.max_deliver, &wanted.max_deliver);
    check.same("filter_subject", &found.filter_subject, &wanted.filter_subject);
    check.done()
}

/// Finds the first setting that differs.
struct Check {
    what: String,
    differs: Option<BusError>,
}

impl Check {
    fn same<T: PartialEq + Debug>(&mut self, field: &'static str, found: &T, expected: &T) {
        if found != expected && self.differs.is_none() {
            let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
            self.differs = Some(BusError::OtherSettings { what: self.what.clone(), field, found, expected });
        }
    }

    fn done(self) -> Result<(), Failed> {
        self.differs.map_or(Ok(()), |error| Err(Failed::Final(error)))
    }
}
