//! The way out: ingesters share one durable consumer, so each part goes to one of them. What is handed out is remembered
//! by receipt until it is settled or so many others have been handed out that it must have come again.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::jetstream::stream::DirectGetErrorKind;
use async_nats::{Message, StatusCode, jetstream};
use bytes::Bytes;
use fogfall_proto::PartId;
use futures_util::StreamExt;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout_at};

use super::dead;
use super::link::{Failed, Link, failed, refused, server_error};
use super::names::{CONSUMER, Names, part_of};
use super::patience::pause;
use crate::BusError;
use crate::bus::{Delivery, Fill, Receipt, Settle};

const PULL: &str = "pull parts";
const SETTLE: &str = "settle a part";
const FILL: &str = "ask how full the store is";

/// Stands in the dead letters for the id of a message that has none.
const NO_PART: PartId = PartId { publisher: 0, sequence: 0 };
/// Header of the notice that ends a pull: messages asked for and not handed out.
const PENDING_MESSAGES: &str = "Nats-Pending-Messages";
/// Most parts of one pull.
const PULL_PARTS: usize = 256;
/// Most bytes of one pull.
const PULL_BYTES: usize = 32 << 20;
/// The server forgets a waiting pull after this long, and it is made again: a restarted server knows of none.
const WAIT_SLICE: Duration = Duration::from_secs(10);
/// How long a receipt is remembered, in times that a delivery may take. Then the part has long come again.
const REMEMBER: u32 = 4;

/// Hands out parts and settles them.
#[derive(Debug)]
pub(crate) struct Ingest {
    names: Names,
    consumer: OnceCell<PullConsumer>,
    handed: Mutex<Handed>,
}

/// What is handed out, by receipt.
#[derive(Debug, Default)]
struct Handed {
    count: u64,
    out: BTreeMap<u64, Ticket>,
}

/// How to settle one delivery.
#[derive(Clone, Debug)]
struct Ticket {
    part: PartId,
    /// The message's number in its stream.
    sequence: u64,
    /// The subject to answer on.
    reply: async_nats::Subject,
    /// When it came.
    at: Instant,
    /// The server hands it out again if it is not settled within this time.
    settle_within: Duration,
    /// The connection it came on.
    generation: u64,
}

impl Ticket {
    /// True if the server still counts the delivery as ours. It does not answer what is said of others.
    fn is_ours(&self, link: &Link) -> bool {
        self.generation == link.generation() && self.at.elapsed() < self.settle_within
    }
}

/// What to ask the server for.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// What there is, up to so many bytes with all that the server adds.
    AtHand(usize),
    /// One message of any size, as soon as there is one.
    Next(Duration),
}

impl Ingest {
    pub(crate) fn new(names: &Names) -> Self {
        Self { names: names.clone(), consumer: OnceCell::new(), handed: Mutex::default() }
    }

    pub(crate) async fn pull(&self, link: &Link, max_bytes: usize, wait: Duration) -> Result<Vec<Delivery>, BusError> {
        let until = Instant::now() + wait;
        let (mut answered, mut failures, mut ask) = (Instant::now(), 0, Ask::AtHand(max_bytes));
        loop {
            match self.take(link, ask).await {
                Ok(mut taken) if !taken.is_empty() => {
                    if let (Ask::Next(_), Some(left)) = (ask, max_bytes.checked_sub(taken[0].bytes.len()))
                        && left > 0
                    {
                        // It has ended the wait; others may have come with it. It counts even if they cannot be had.
                        taken.extend(self.take(link, Ask::AtHand(left)).await.unwrap_or_default());
                    }
                    return Ok(taken);
                }
                Ok(_) if Instant::now() >= until => return Ok(Vec::new()),
                Ok(_) => {
                    (answered, failures) = (Instant::now(), 0);
                    ask = Ask::Next(until.duration_since(answered).min(WAIT_SLICE));
                }
                Err(Failed::Final(error)) => return Err(error),
                Err(Failed::Again) if answered.elapsed() >= link.answer_within() => {
                    return Err(link.unanswered(PULL, answered));
                }
                Err(Failed::Again) => {
                    sleep(pause(failures)).await;
                    failures += 1;
                    ask = Ask::AtHand(max_bytes);
                }
            }
        }
    }

    /// One request and all its answers.
    async fn take(&self, link: &Link, ask: Ask) -> Result<Vec<Delivery>, Failed> {
        let consumer = self.consumer(link).await?;
        let inbox = link.client.new_inbox();
        let mut answers = link.client.subscribe(inbox.clone()).await.map_err(|e| failed(PULL, &e))?;
        let (batch, patience) = match ask {
            Ask::AtHand(max_bytes) => {
                let max_bytes = max_bytes.min(PULL_BYTES);
                (BatchConfig { batch: PULL_PARTS, no_wait: true, max_bytes, ..BatchConfig::default() }, Duration::ZERO)
            }
            Ask::Next(wait) => (BatchConfig { batch: 1, expires: Some(wait), ..BatchConfig::default() }, wait),
        };
        let (wanted, settle_within) = (batch.batch, consumer.cached_info().config.ack_wait);
        let until = Instant::now() + patience + link.try_within();
        consumer.request_batch(batch, inbox.into()).await.map_err(|e| failed(PULL, &e))?;
        let (mut taken, mut came, mut to_come) = (Vec::new(), 0, wanted);
        while came < to_come {
            let Ok(Some(answer)) = timeout_at(until, answers.next()).await else {
                // Silence in the middle: what has come has come.
                return if taken.is_empty() { Err(Failed::Again) } else { Ok(taken) };
            };
            match answer.status {
                None | Some(StatusCode::OK) => {
                    came += 1;
                    taken.extend(self.hand_out(link, answer, settle_within).await?);
                }
                Some(StatusCode::IDLE_HEARTBEAT) => {}
                Some(status) if came == 0 && !is_end(status, &answer) => return Err(Failed::Again),
                // It may come before what it ends: with several copies the server holds each message back until another
                // server has noted that it was handed out, and the notice not.
                Some(_) => to_come = handed_out(&answer, wanted).unwrap_or(came),
            }
        }
        Ok(taken)
    }

    /// Remembers a message and makes a delivery of it, unless nobody can tell which part it is.
    async fn hand_out(
        &self,
        link: &Link,
        message: Message,
        settle_within: Duration,
    ) -> Result<Option<Delivery>, Failed> {
        let message = jetstream::Message { message, context: link.jetstream.clone() };
        let (Ok(info), Some(reply)) = (message.info(), message.reply.clone()) else { return Ok(None) };
        let (sequence, attempt) = (info.stream_sequence, u32::try_from(info.delivered).unwrap_or(u32::MAX));
        let named = message.headers.as_ref().and_then(|headers| part_of(headers.get(NATS_MESSAGE_ID)?.as_str()));
        let (at, generation) = (Instant::now(), link.generation());
        let ticket = Ticket { part: named.unwrap_or(NO_PART), sequence, reply, at, settle_within, generation };
        let Some(part) = named else {
            // Somebody else's message, which no ingester could name: put it aside here.
            self.poison(link, &ticket, "its message id is not the id of a part").await.map_err(Failed::Final)?;
            return Ok(None);
        };
        let receipt = self.remember(ticket);
        Ok(Some(Delivery { receipt, part, attempt, bytes: message.payload.as_ref().into() }))
    }

    fn remember(&self, ticket: Ticket) -> Receipt {
        let mut handed = self.handed.lock().expect("no holder panics");
        let forgotten = |ticket: &Ticket| ticket.at.elapsed() > ticket.settle_within * REMEMBER;
        while handed.out.first_key_value().is_some_and(|(_, oldest)| forgotten(oldest)) {
            handed.out.pop_first();
        }
        let receipt = handed.count;
        handed.count += 1;
        handed.out.insert(receipt, ticket);
        Receipt(receipt)
    }

    pub(crate) async fn settle(&self, link: &Link, receipt: Receipt, outcome: Settle) -> Result<(), BusError> {
        let ticket = self.handed.lock().expect("no holder panics").out.get(&receipt.0).cloned();
        let Some(ticket) = ticket else { return Ok(()) };
        match outcome {
            Settle::Done => self.answer(link, &ticket, "+ACK").await?,
            Settle::Retry if ticket.is_ours(link) => {
                let sent = link.client.publish(ticket.reply.clone(), Bytes::from_static(b"-NAK")).await;
                sent.map_err(|_| BusError::Unanswered { what: SETTLE })?;
            }
            // It has come again, or will, without a word from us.
            Settle::Retry => {}
            Settle::Poison(reason) => self.poison(link, &ticket, &reason).await?,
        }
        self.handed.lock().expect("no holder panics").out.remove(&receipt.0);
        Ok(())
    }

    /// Copies a message to the dead letters, then removes it.
    async fn poison(&self, link: &Link, ticket: &Ticket, reason: &str) -> Result<(), BusError> {
        let message = link.persist(SETTLE, || async {
            let stream = link.jetstream.get_stream_no_info(self.names.trajectories()).await;
            match stream.map_err(|e| failed(SETTLE, &e))?.direct_get(ticket.sequence).await {
                Ok(message) => Ok(Some(message)),
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
                Err(error) => Err(failed(SETTLE, &error)),
            }
        });
        let Some(message) = message.await? else { return Ok(()) }; // settled already, by somebody else
        dead::bury(link, &self.names, ticket.part, reason, message.payload).await?;
        self.answer(link, ticket, "+TERM").await
    }

    /// Says what became of a delivery and waits until the server has taken note, if it will say so.
    async fn answer(&self, link: &Link, ticket: &Ticket, word: &'static str) -> Result<(), BusError> {
        let word = Bytes::from_static(word.as_bytes());
        let send = || async {
            let (reply, word) = (ticket.reply.clone(), word.clone());
            if ticket.is_ours(link) {
                link.client.request(reply, word).await.map(|_| ()).map_err(|_| Failed::Again)
            } else {
                link.client.publish(reply, word).await.map_err(|_| Failed::Again)
            }
        };
        link.persist(SETTLE, send).await
    }

    pub(crate) async fn fill(&self, link: &Link) -> Result<Fill, BusError> {
        let ask = || async {
            let stream = link.jetstream.get_stream(self.names.trajectories()).await.map_err(|e| failed(FILL, &e))?;
            let unsettled = match stream.consumer_info(CONSUMER).await {
                Ok(info) => info.num_ack_pending as u64,
                Err(error) => return Err(failed(FILL, &error)),
            };
            let info = stream.cached_info();
            let capacity_bytes = u64::try_from(info.config.max_bytes).unwrap_or(u64::MAX);
            Ok(Fill { parts: info.state.messages, unsettled, bytes: info.state.bytes, capacity_bytes })
        };
        link.persist(FILL, ask).await
    }

    async fn consumer(&self, link: &Link) -> Result<&PullConsumer, Failed> {
        let open = async || {
            let opened = link.jetstream.get_consumer_from_stream(CONSUMER, self.names.trajectories()).await;
            opened.map_err(|e| match server_error(&e) {
                Some(e) => refused(PULL, e),
                None => Failed::Again,
            })
        };
        self.consumer.get_or_try_init(open).await
    }
}

/// How many of the messages that were asked for the server has handed out, by the notice that ends its answer. It does not say
/// so where it had none.
fn handed_out(notice: &Message, wanted: usize) -> Option<usize> {
    let left: usize = notice.headers.as_ref()?.get(PENDING_MESSAGES)?.as_str().parse().ok()?;
    Some(wanted.saturating_sub(left))
}

/// True if a status says that all there is to hand out now has been handed out.
fn is_end(status: StatusCode, answer: &Message) -> bool {
    let description = answer.description.as_deref().unwrap_or_default();
    match status {
        StatusCode::NOT_FOUND | StatusCode::TIMEOUT => true,
        // The first message is larger than asked for, or as many are out as may be.
        StatusCode::REQUEST_TERMINATED => {
            ["MaxBytes", "MaxAckPending", "Batch Completed"].iter().any(|end| description.contains(end))
        }
        _ => false,
    }
}
