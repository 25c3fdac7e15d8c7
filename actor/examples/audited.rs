//! The actor, with a journal of what passes between it and its servers, for tests that audit a whole run: all its
//! commands and flags are the actor's own.
//!
//! The environment says the rest. `AUDIT_JOURNAL` is the journal's file; `AUDIT_PACE_MS` the least time between two
//! publications, so that a small machine has time for all else; `AUDIT_MUTANT`, `ack-first` or `drop-one`, what is done
//! wrong on purpose.

use std::{env, path::Path, process::ExitCode, sync::Arc, time::Duration};

use actor::Seams;
use fogfall_games::Shipped;
use fogfall_testkit::audit::{AuditedBus, AuditedLog, Journal, Mutant};

fn main() -> ExitCode {
    let path = env::var("AUDIT_JOURNAL").expect("AUDIT_JOURNAL names the journal's file");
    let journal = Arc::new(Journal::open(Path::new(&path)).expect("the journal's file can be written"));
    let pace_ms = env::var("AUDIT_PACE_MS").map_or(0, |text| text.parse().expect("AUDIT_PACE_MS is a number"));
    let mutant = match env::var("AUDIT_MUTANT").as_deref() {
        Ok("ack-first") => Mutant::AckFirst,
        Ok("drop-one") => Mutant::DropOne,
        Ok(other) => panic!("AUDIT_MUTANT is {other}, which is no mutant"),
        Err(_) => Mutant::None,
    };
    let of_log = Arc::clone(&journal);
    actor::main_through::<Shipped>(&Seams {
        bus: Box::new(move |bus| {
            Arc::new(AuditedBus::new(bus, Arc::clone(&journal), mutant, Duration::from_millis(pace_ms)))
        }),
        log: Box::new(move |log| Arc::new(AuditedLog::new(log, Arc::clone(&of_log)))),
    })
}
