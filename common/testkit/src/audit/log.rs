//! A log that is written down.

use std::sync::Arc;

use fogfall_proto::PartId;
use fogfall_replay::{Appended, Bounds, BoxFuture, LogCounts, ReplayError, ReplayLog};

use super::{Event, Journal};

/// Passes everything on to another log and writes down what was appended.
pub struct AuditedLog {
    log: Arc<dyn ReplayLog>,
    journal: Arc<Journal>,
}

impl AuditedLog {
    /// Around a log.
    pub fn new(log: Arc<dyn ReplayLog>, journal: Arc<Journal>) -> Self {
        Self { log, journal }
    }
}

impl AuditedLog {
    /// Writes down that the log is asked, and what it says; `stored` is what it has done if it did it.
    async fn ask(
        &self,
        part: PartId,
        stored: Event,
        asked: BoxFuture<'_, Result<Appended, ReplayError>>,
    ) -> Result<Appended, ReplayError> {
        self.journal.note(Event::Append(part));
        let appended = asked.await;
        self.journal.note(match appended {
            Ok(Appended::Stored) => stored,
            Ok(Appended::Duplicate) => Event::Duplicate(part),
            Ok(Appended::TooOld) => Event::TooOld(part),
            Err(_) => Event::Failed(part),
        });
        appended
    }
}

impl ReplayLog for AuditedLog {
    fn append<'a>(&'a self, part: PartId, rows: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>> {
        Box::pin(self.ask(part, Event::Stored(part), self.log.append(part, rows)))
    }

    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>> {
        Box::pin(self.ask(part, Event::Noted(part), self.log.note(part)))
    }

    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>> {
        self.log.bounds()
    }

    fn read(&self, from: u64, max_bytes: usize) -> BoxFuture<'_, Result<Vec<u8>, ReplayError>> {
        self.log.read(from, max_bytes)
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), ReplayError>> {
        self.log.sync()
    }

    fn counts(&self) -> LogCounts {
        self.log.counts()
    }
}
