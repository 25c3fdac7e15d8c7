//! A replay log in Redis, for any number of writers and readers at once.
//!
//! Rows lie in a ring of strings that have their whole size from the start; an append is one script, which runs alone and
//! wholly or not at all. A read asks for the rows first and for the log's end last: what was overwritten meanwhile is
//! known, and given to nobody.
//!
//! A server that lost its data holds no log; the next append begins a new one at position 0. Who was reading finds
//! [`ReplayError::Ahead`] while there is none, or after the server came back to an earlier state of the same log, and
//! [`ReplayError::Replaced`] once when there is a new one.
//!
//! One server leads, reached by one address. Redis Cluster: a run's keys lie in one slot, but another node's `MOVED` is an
//! error and not followed; not supported. Sentinel is not asked; behind a name that follows the leader, a `READONLY` answer
//! makes the connection anew. Untested, and a failover may take the newest rows, as replicas lag behind.

mod info;
mod inspect;
mod link;
mod names;
mod prepare;
mod ring;
mod settings;
mod stored;
mod sync;
mod written;

use std::sync::{Arc, Mutex, MutexGuard};

use fogfall_proto::PartId;
use redis::{Script, Value, pipe};

use crate::ReplayError;
use crate::log::{Appended, Bounds, BoxFuture, LogCounts, ReplayLog};
use crate::redis_log::link::Link;
use crate::redis_log::names::Names;
use crate::redis_log::ring::Ring;
use crate::sequences::{MAX_GAPS, MAX_PUBLISHERS};

pub use inspect::RedisLogState;
pub use settings::{RedisLogSettings, RedisServer};

const APPEND: &str = include_str!("redis_log/append.lua");

/// Larger numbers are no longer exact in a script: no publisher comes near them.
const MAX_SEQUENCE: u64 = 1 << 53;

/// Bytes of one answer: many small ones come faster than a few large ones, rows of 512 bytes about twice as fast as by
/// the megabyte.
const PIECE_BYTES: usize = 32 << 10;

/// A replay log in Redis.
#[derive(Debug)]
pub struct RedisLog {
    settings: RedisLogSettings,
    ring: Ring,
    names: Names,
    append: Script,
    /// Apart, so that a large read does not hold appends up, and a wait for the disk neither.
    writing: Arc<Link>,
    reading: Arc<Link>,
    syncing: Arc<Link>,
    /// Held while a log that was lost is begun anew.
    beginning: tokio::sync::Mutex<()>,
    /// [`MAX_GAPS`] and [`MAX_PUBLISHERS`], but in tests.
    most_gaps: usize,
    most_publishers: usize,
    /// What the reader knows of the log.
    known: Mutex<Head>,
    counts: Mutex<LogCounts>,
}

/// Which log there is, and where it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Head {
    /// Empty if there is no log.
    identity: String,
    end: u64,
}

impl RedisLog {
    /// Opens the run's log, or begins one: then all its memory is taken at once.
    ///
    /// # Errors
    /// [`ReplayError::Settings`]; [`ReplayError::Unfit`] if the server is older than 7.0, may evict keys, or keeps no
    /// append-only file although that is asked for; [`ReplayError::OtherLog`] if the run's log has another layout;
    /// [`ReplayError::Denied`], [`ReplayError::OutOfMemory`] and [`ReplayError::Server`].
    pub async fn open(settings: RedisLogSettings) -> Result<Self, ReplayError> {
        let link = || Link::new(&settings.server).map(Arc::new);
        let log = Self {
            ring: settings.ring()?,
            names: Names::new(&settings.run)?,
            append: Script::new(APPEND),
            writing: link()?,
            reading: link()?,
            syncing: link()?,
            beginning: tokio::sync::Mutex::default(),
            most_gaps: MAX_GAPS,
            most_publishers: MAX_PUBLISHERS,
            known: Mutex::default(),
            counts: Mutex::default(),
            settings,
        };
        log.prepare().await?;
        *log.known() = log.head().await?;
        Ok(log)
    }

    fn known(&self) -> MutexGuard<'_, Head> {
        self.known.lock().expect("no holder of the log's head panics")
    }

    fn counts(&self) -> MutexGuard<'_, LogCounts> {
        self.counts.lock().expect("no holder of the counts panics")
    }

    /// Stores a part's rows, or notes it if there are none.
    async fn put(&self, part: PartId, rows: u64, payload: &[u8]) -> Result<Appended, ReplayError> {
        if part.sequence >= MAX_SEQUENCE {
            return Err(ReplayError::Sequence { part, limit: MAX_SEQUENCE });
        }
        let mut done = self.run_append(part, rows, payload).await?;
        if done == "missing" {
            // Many may find it missing at once: one begins it.
            let _beginning = self.beginning.lock().await;
            done = self.run_append(part, rows, payload).await?;
            if done == "missing" {
                tracing::warn!(server = self.writing.server(), "redis has lost the log: a new one is begun");
                self.prepare().await?;
                done = self.run_append(part, rows, payload).await?;
            }
        }
        let mut counts = self.counts();
        match done.as_str() {
            "stored" => {
                counts.appended_parts += u64::from(rows > 0);
                counts.appended_rows += rows;
                Ok(Appended::Stored)
            }
            "duplicate" => {
                counts.duplicate_parts += 1;
                counts.duplicate_rows += rows;
                Ok(Appended::Duplicate)
            }
            "too old" => {
                counts.too_old_parts += 1;
                Ok(Appended::TooOld)
            }
            other => Err(match other.split_once(' ') {
                Some(("other", layout)) => self.other_layout(layout),
                _ => self.broken(other),
            }),
        }
    }

    /// Rows of a part that the log can take.
    fn check_part(&self, part: PartId, payload: &[u8]) -> Result<u64, ReplayError> {
        let row_bytes = self.settings.row_bytes;
        if payload.is_empty() || !payload.len().is_multiple_of(row_bytes) {
            return Err(ReplayError::RowBytes { part, bytes: payload.len(), row_bytes });
        }
        let (rows, limit_rows) = ((payload.len() / row_bytes) as u64, self.ring.largest_part());
        if rows > limit_rows {
            let (bytes, limit_bytes) = (payload.len() as u64, limit_rows * row_bytes as u64);
            return Err(ReplayError::PartTooLarge { part, rows, bytes, limit_rows, limit_bytes });
        }
        Ok(rows)
    }

    async fn run_append(&self, part: PartId, rows: u64, payload: &[u8]) -> Result<String, ReplayError> {
        let Ring { row_bytes, segment_rows, segments } = self.ring;
        let mut call = self.append.key(&self.names.log);
        let Names { below, ranges, forgotten, heard, .. } = &self.names;
        call.key(below).key(ranges).key(forgotten).key(heard);
        call.arg(self.ring.layout()).arg(&self.names.segments).arg(row_bytes).arg(segment_rows).arg(segments);
        call.arg(self.most_gaps).arg(self.most_publishers).arg(publisher(part)).arg(part.sequence);
        call.arg(rows).arg(payload);
        let (done, _end): (String, u64) =
            self.writing.ask_durably("append to", async |mut c| call.invoke_async(&mut c).await).await?;
        Ok(done)
    }

    async fn read_rows(&self, from: u64, max_bytes: usize) -> Result<Vec<u8>, ReplayError> {
        let most = (max_bytes / self.settings.row_bytes).max(1) as u64;
        loop {
            let known = self.known().clone();
            if from.saturating_add(most) > known.end {
                let now = self.head().await?;
                self.compare(from, &known, now)?;
            }
            let known = self.known().clone();
            let Bounds { first, end, .. } = self.ring.bounds(known.end);
            if from > end {
                return Err(ReplayError::Ahead { from, end });
            }
            if from < first {
                return Err(ReplayError::Evicted { first });
            }
            let rows = most.min(end - from);
            if rows == 0 {
                return Ok(Vec::new());
            }
            let (bytes, now) = self.fetch(from, rows).await?;
            let Bounds { first, end, .. } = self.ring.bounds(now.end);
            self.compare(from, &known, now)?;
            if from < first {
                return Err(ReplayError::Evicted { first });
            }
            if from + rows <= end {
                return Ok(bytes);
            }
            // The server has gone back to an earlier state: what was read beyond its end is not in the log.
        }
    }

    /// Takes what the server says now as known, if it is still the same log; else says so, once.
    fn compare(&self, from: u64, known: &Head, now: Head) -> Result<(), ReplayError> {
        let end = now.end;
        if now.identity.is_empty() {
            self.known().end = 0;
            return if from == 0 { Ok(()) } else { Err(ReplayError::Ahead { from, end: 0 }) };
        }
        let replaced = !known.identity.is_empty() && known.identity != now.identity;
        *self.known() = now;
        if replaced {
            let first = self.ring.bounds(end).first;
            return Err(ReplayError::Replaced { server: self.reading.server().into(), first, end });
        }
        Ok(())
    }

    /// The rows' bytes, and what the log was right after they were read.
    async fn fetch(&self, from: u64, rows: u64) -> Result<(Vec<u8>, Head), ReplayError> {
        let mut request = pipe();
        for span in self.ring.spans(from, rows) {
            let key = self.names.segment(span.segment);
            let end = span.offset + span.bytes;
            for offset in (span.offset..end).step_by(PIECE_BYTES) {
                let last = end.min(offset + PIECE_BYTES as u64) - 1;
                request.cmd("GETRANGE").arg(&key).arg(offset).arg(last);
            }
        }
        request.cmd("HMGET").arg(&self.names.log).arg("identity").arg("end");
        let mut answers: Vec<Value> =
            self.reading.ask("read from", async |mut c| request.query_async(&mut c).await).await?;
        let head = answers.pop().unwrap_or(Value::Nil);
        let head = parse_head(head).ok_or_else(|| self.broken("the log has no end"))?;
        let mut bytes = Vec::with_capacity((rows * self.ring.row_bytes) as usize);
        for answer in answers {
            let Value::BulkString(piece) = answer else { return Err(self.broken("a segment is no string")) };
            bytes.extend(piece);
        }
        // A log that is gone is told by its head; a segment that alone is gone must not pass for rows.
        if !head.identity.is_empty() && bytes.len() as u64 != rows * self.ring.row_bytes {
            return Err(self.broken("rows are missing"));
        }
        Ok((bytes, head))
    }

    async fn head(&self) -> Result<Head, ReplayError> {
        let mut request = redis::cmd("HMGET");
        request.arg(&self.names.log).arg("identity").arg("end");
        let answer = self.reading.ask("look at", async |mut c| request.query_async::<Value>(&mut c).await).await?;
        parse_head(answer).ok_or_else(|| self.broken("the log has no end"))
    }

    fn broken(&self, what: &str) -> ReplayError {
        ReplayError::Broken { reason: format!("the keys of run {} are damaged: {what}", self.settings.run) }
    }
}

/// A publisher's name in the keys.
fn publisher(part: PartId) -> String {
    format!("{:016x}", part.publisher)
}

/// `HMGET log identity end`.
fn parse_head(answer: Value) -> Option<Head> {
    let (identity, end): (Option<String>, Option<u64>) = redis::from_redis_value(answer).ok()?;
    Some(match identity {
        None => Head::default(),
        Some(identity) => Head { identity, end: end? },
    })
}

impl ReplayLog for RedisLog {
    fn append<'a>(&'a self, part: PartId, rows: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>> {
        Box::pin(async move { self.put(part, self.check_part(part, rows)?, rows).await })
    }

    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>> {
        Box::pin(self.put(part, 0, &[]))
    }

    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>> {
        Box::pin(async { Ok(self.ring.bounds(self.head().await?.end)) })
    }

    fn read(&self, from: u64, max_bytes: usize) -> BoxFuture<'_, Result<Vec<u8>, ReplayError>> {
        Box::pin(self.read_rows(from, max_bytes))
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), ReplayError>> {
        Box::pin(self.wait_for_sync())
    }

    fn counts(&self) -> LogCounts {
        *self.counts()
    }
}

#[cfg(test)]
mod tests;
