//! Parts put aside because they can never be taken: a small stream of its own, whose oldest messages go. Somebody who
//! looks into it sees the message as it came and why it was refused.

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::DirectGetErrorKind;
use bytes::Bytes;
use fogfall_proto::PartId;

use super::link::{Failed, Link, failed};
use super::names::{Names, part_of};
use crate::BusError;
use crate::bus::{DeadLetter, PutAside};

/// Most parts kept.
pub(crate) const KEEP: i64 = 100;
/// Header with the reason.
const REASON: &str = "Fogfall-Reason";
/// Header with the part's id.
const PART: &str = "Fogfall-Part";
/// Longest reason kept, in characters.
const MAX_REASON: usize = 500;

/// Puts a message aside.
pub(crate) async fn bury(link: &Link, names: &Names, part: PartId, reason: &str, bytes: Bytes) -> Result<(), BusError> {
    const WHAT: &str = "put a part aside";
    // A header is one line of text.
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let reason: String = reason.chars().take(MAX_REASON).map(plain).collect();
    let put = || async {
        let message = PublishMessage::build()
            .payload(bytes.clone())
            .header(PART, part.to_string())
            .header(REASON, reason.trim())
            .message_id(part.to_string());
        let answer = link.jetstream.send_publish(names.dead_subject(), message).await.map_err(|e| failed(WHAT, &e))?;
        answer.await.map(|_| ()).map_err(|e| failed(WHAT, &e))
    };
    link.persist(WHAT, put).await
}

/// What is kept, oldest first.
pub(crate) async fn letters(link: &Link, names: &Names) -> Result<Vec<DeadLetter>, BusError> {
    const WHAT: &str = "read the parts put aside";
    let range = link.persist(WHAT, || async {
        let stream = link.jetstream.get_stream_no_info(names.dead()).await.map_err(|e| failed(WHAT, &e))?;
        let state = stream.get_info().await.map_err(|e| failed(WHAT, &e))?.state;
        Ok(state.first_sequence.max(1)..state.last_sequence + 1)
    });
    let mut letters = Vec::new();
    for sequence in range.await? {
        letters.extend(link.persist(WHAT, || letter(link, names, sequence)).await?);
    }
    Ok(letters)
}

/// How many are kept, and the newest: two requests.
pub(crate) async fn at_a_glance(link: &Link, names: &Names) -> Result<PutAside, BusError> {
    const WHAT: &str = "ask for the parts put aside";
    let state = link.persist(WHAT, || async {
        let stream = link.jetstream.get_stream_no_info(names.dead()).await.map_err(|e| failed(WHAT, &e))?;
        Ok(stream.get_info().await.map_err(|e| failed(WHAT, &e))?.state)
    });
    let state = state.await?;
    if state.messages == 0 {
        return Ok(PutAside::default());
    }
    let newest = link.persist(WHAT, || letter(link, names, state.last_sequence)).await?;
    Ok(PutAside { kept: state.messages, newest })
}

async fn letter(link: &Link, names: &Names, sequence: u64) -> Result<Option<DeadLetter>, Failed> {
    const WHAT: &str = "read the parts put aside";
    let stream = link.jetstream.get_stream_no_info(names.dead()).await.map_err(|e| failed(WHAT, &e))?;
    match stream.direct_get(sequence).await {
        Ok(message) => {
            let header = |name| message.headers.get(name).map(|value| value.as_str());
            let part = header(PART).and_then(part_of);
            let reason = header(REASON).unwrap_or_default().to_owned();
            Ok(part.map(|part| DeadLetter { part, reason, bytes: message.payload.as_ref().into() }))
        }
        // It had to make room meanwhile.
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(WHAT, &error)),
    }
}
