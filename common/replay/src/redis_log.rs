//! A replay log in Redis, for any number of writers and readers at once.
//!
//! The rows of a part are one string, under the position of the first. An append sets them under a name of their own and
//! has one script, which runs alone and wholly or not at all, give them their place: so they are copied once and no script
//! sees them. A read asks for the rows first and for the log's bounds last: what was evicted meanwhile is known.
//!
//! A server that lost its data holds no log; the next append begins a new one at position 0. Who was reading finds
//! [`ReplayError::Ahead`] while there is none, or after the server came back to an earlier state of the same log, and
//! [`ReplayError::Replaced`] once when there is a new one.
//!
//! One server leads, reached by one address. Redis Cluster: a run's keys lie in one slot, but another node's `MOVED` is an
//! error and not followed; not supported. Sentinel is not asked; behind a name that follows the leader, a `READONLY` answer
//! makes the connection anew. Untested, and a failover may take the newest rows, as replicas lag behind.

mod capacity;
mod info;
mod inspect;
mod link;
mod names;
mod prepare;
mod settings;
mod stored;
mod sync;
mod written;

use std::sync::{Arc, Mutex, MutexGuard};

use fogfall_proto::PartId;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Script, ServerErrorKind, Value, pipe};

use crate::ReplayError;
use crate::log::{Appended, Bounds, BoxFuture, LogCounts, ReplayLog};
use crate::redis_log::capacity::{Capacity, PART_BYTES};
use crate::redis_log::link::Link;
use crate::redis_log::names::Names;
use crate::sequences::{MAX_GAPS, MAX_PUBLISHERS};

pub use inspect::RedisLogState;
pub use settings::{RedisLogSettings, RedisServer};

const APPEND: &str = include_str!("redis_log/append.lua");

/// Larger numbers are no longer exact in a script: no publisher comes near them.
const MAX_SEQUENCE: u64 = 1 << 53;

/// How long rows that were set wait for the script: it comes with them.
const STAGED_MS: u64 = 60_000;

/// Parts that one read asks for.
const READ_PARTS: usize = 4096;

/// Bytes of one answer: many small ones come faster than a few large ones, rows of 512 bytes about twice as fast as by
/// the megabyte.
const PIECE_BYTES: usize = 32 << 10;

/// A replay log in Redis.
#[derive(Debug)]
pub struct RedisLog {
    settings: RedisLogSettings,
    capacity: Capacity,
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

/// Which log there is, and what it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Head {
    /// Empty if there is no log.
    identity: String,
    first: u64,
    end: u64,
    /// Parts held.
    parts: u64,
}

impl RedisLog {
    /// Opens the run's log, or begins one.
    ///
    /// # Errors
    /// [`ReplayError::Settings`]; [`ReplayError::Unfit`] if the server is older than 7.0, may evict keys, may take less memory
    /// than the log, or keeps no append-only file although that is asked for; [`ReplayError::OtherLog`] if the run's log has
    /// another layout; [`ReplayError::Denied`], [`ReplayError::OutOfMemory`] and [`ReplayError::Server`].
    pub async fn open(settings: RedisLogSettings) -> Result<Self, ReplayError> {
        let link = || Link::new(&settings.server).map(Arc::new);
        let log = Self {
            capacity: settings.capacity()?,
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
        let (rows, limit_rows) = ((payload.len() / row_bytes) as u64, self.capacity.largest_part());
        if rows > limit_rows {
            let (bytes, limit_bytes) = (payload.len() as u64, limit_rows * row_bytes as u64);
            return Err(ReplayError::PartTooLarge { part, rows, bytes, limit_rows, limit_bytes });
        }
        Ok(rows)
    }

    async fn run_append(&self, part: PartId, rows: u64, payload: &[u8]) -> Result<String, ReplayError> {
        let staged = self.names.staged(part);
        let mut request = pipe();
        request.ignore_errors();
        if rows > 0 {
            let mut set = Cmd::with_capacity(5, payload.len() + 256);
            set.arg("SET").arg(&staged).arg(payload).arg("PX").arg(STAGED_MS);
            request.add_command(set);
        }
        let Capacity { row_bytes, rows: most_rows, bytes: most_bytes } = self.capacity;
        let Names { log, parts, below, ranges, forgotten, heard, .. } = &self.names;
        let call = request.cmd("EVALSHA").arg(self.append.get_hash()).arg(7);
        call.arg(log).arg(parts).arg(below).arg(ranges).arg(forgotten).arg(heard).arg(&staged);
        call.arg(self.capacity.layout()).arg(&self.names.part).arg(row_bytes).arg(most_rows).arg(most_bytes);
        call.arg(PART_BYTES).arg(self.most_gaps).arg(self.most_publishers);
        call.arg(publisher(part)).arg(part.sequence).arg(rows);
        let done = self.writing.ask_durably("append to", async |mut c| {
            let done = last_of(request.query_async(&mut c).await?);
            if !done.as_ref().is_err_and(is_no_script) {
                return done;
            }
            // A server that was started again knows no scripts.
            self.append.load_async(&mut c).await?;
            last_of(request.query_async(&mut c).await?)
        });
        done.await
    }

    async fn read_rows(&self, from: u64, max_bytes: usize) -> Result<Vec<u8>, ReplayError> {
        let most = (max_bytes / self.settings.row_bytes).max(1) as u64;
        loop {
            let known = self.known().clone();
            let (now, starts) = self.look(from).await?;
            self.compare(from, &known, now.clone())?;
            let Head { first, end, .. } = now;
            if from > end {
                return Err(ReplayError::Ahead { from, end });
            }
            if from < first {
                return Err(ReplayError::Evicted { first });
            }
            if from == end {
                return Ok(Vec::new());
            }
            let (bytes, later) = self.fetch(from, end.min(from.saturating_add(most)), &starts).await?;
            self.compare(from, &now, later.clone())?;
            if from < later.first {
                return Err(ReplayError::Evicted { first: later.first });
            }
            if let Some(bytes) = bytes {
                return Ok(bytes);
            }
            if later.end >= end {
                return Err(self.broken("rows are missing"));
            }
            // The server has gone back to an earlier state: what lay beyond its end is not in the log.
        }
    }

    /// Takes what the server says now as known, if it is still the same log; else says so, once.
    fn compare(&self, from: u64, known: &Head, now: Head) -> Result<(), ReplayError> {
        let (first, end) = (now.first, now.end);
        if now.identity.is_empty() {
            return if from == 0 { Ok(()) } else { Err(ReplayError::Ahead { from, end: 0 }) };
        }
        let replaced = !known.identity.is_empty() && known.identity != now.identity;
        *self.known() = now;
        if replaced {
            return Err(ReplayError::Replaced { server: self.reading.server().into(), first, end });
        }
        Ok(())
    }

    /// The log's head, and where parts begin: that which holds position `from`, and those behind it. The last says no more
    /// than where the one before it ends, if as many were found as were asked for.
    async fn look(&self, from: u64) -> Result<(Head, Vec<u64>), ReplayError> {
        let (parts, behind, mut request) = (&self.names.parts, format!("({from}"), pipe());
        // The head first: what is stored meanwhile lies beyond its end.
        self.ask_head(&mut request);
        request.cmd("ZRANGE").arg(parts).arg(from).arg("-inf").arg("BYSCORE").arg("REV").arg("LIMIT").arg(0).arg(1);
        request.cmd("ZRANGE").arg(parts).arg(behind).arg("+inf").arg("BYSCORE").arg("LIMIT").arg(0).arg(READ_PARTS);
        let (head, mut starts, behind): (Value, Vec<u64>, Vec<u64>) =
            self.reading.ask("look at", async |mut c| request.query_async(&mut c).await).await?;
        starts.extend(behind);
        Ok((self.parse_head(head)?, starts))
    }

    /// The rows' bytes from position `from` to `to` or as far as the parts reach that begin at `starts`, and what the log was
    /// right after they were read. None if they are not there any more.
    async fn fetch(&self, from: u64, to: u64, starts: &[u64]) -> Result<(Option<Vec<u8>>, Head), ReplayError> {
        let to = if starts.len() > READ_PARTS { to.min(starts[READ_PARTS]) } else { to };
        let (row_bytes, mut request) = (self.capacity.row_bytes, pipe());
        for (i, &start) in starts.iter().enumerate().take_while(|&(_, &start)| start < to) {
            let end = starts.get(i + 1).map_or(to, |&next| next.min(to));
            let (key, bytes_end) = (self.names.part_at(start), (end - start) * row_bytes);
            for offset in (from.saturating_sub(start) * row_bytes..bytes_end).step_by(PIECE_BYTES) {
                let last = bytes_end.min(offset + PIECE_BYTES as u64) - 1;
                request.cmd("GETRANGE").arg(&key).arg(offset).arg(last);
            }
        }
        self.ask_head(&mut request);
        let mut answers: Vec<Value> =
            self.reading.ask("read from", async |mut c| request.query_async(&mut c).await).await?;
        let head = self.parse_head(answers.pop().unwrap_or(Value::Nil))?;
        let mut bytes = Vec::with_capacity(((to - from) * row_bytes) as usize);
        for answer in answers {
            let Value::BulkString(piece) = answer else { return Err(self.broken("a part is no string")) };
            bytes.extend(piece);
        }
        let whole = starts.first().is_some_and(|&start| start <= from) && bytes.len() as u64 == (to - from) * row_bytes;
        Ok((whole.then_some(bytes), head))
    }

    async fn head(&self) -> Result<Head, ReplayError> {
        let mut request = pipe();
        self.ask_head(&mut request);
        let (head,): (Value,) = self.reading.ask("look at", async |mut c| request.query_async(&mut c).await).await?;
        self.parse_head(head)
    }

    fn ask_head(&self, request: &mut redis::Pipeline) {
        request.cmd("HMGET").arg(&self.names.log).arg("identity").arg("first").arg("end").arg("held");
    }

    fn parse_head(&self, answer: Value) -> Result<Head, ReplayError> {
        type Fields = (Option<String>, Option<u64>, Option<u64>, Option<u64>);
        match redis::from_redis_value::<Fields>(answer).ok() {
            Some((None, ..)) => Ok(Head::default()),
            Some((Some(identity), Some(first), Some(end), Some(parts))) => Ok(Head { identity, first, end, parts }),
            _ => Err(self.broken("the log has no bounds")),
        }
    }

    fn broken(&self, what: &str) -> ReplayError {
        ReplayError::Broken { reason: format!("the keys of run {} are damaged: {what}", self.settings.run) }
    }
}

/// A publisher's name in the keys.
fn publisher(part: PartId) -> String {
    format!("{:016x}", part.publisher)
}

/// The last answer, unless an earlier one is an error.
fn last_of(answers: Vec<RedisResult<Value>>) -> RedisResult<String> {
    let answers = answers.into_iter().collect::<RedisResult<Vec<Value>>>()?;
    Ok(redis::from_redis_value(answers.into_iter().next_back().unwrap_or(Value::Nil))?)
}

fn is_no_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

impl ReplayLog for RedisLog {
    fn append<'a>(&'a self, part: PartId, rows: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>> {
        Box::pin(async move { self.put(part, self.check_part(part, rows)?, rows).await })
    }

    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>> {
        Box::pin(self.put(part, 0, &[]))
    }

    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>> {
        Box::pin(async {
            let Head { first, end, parts, .. } = self.head().await?;
            Ok(self.capacity.bounds(first, end, parts))
        })
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
