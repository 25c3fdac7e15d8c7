//! What the processes of a run left behind, and what must be true of it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use fogfall_proto::{Manifest, PartId, Version};
use fogfall_replay::{RedisLog, RedisLogSettings, RedisServer as RedisAt, ReplayError, ReplayLog};
use fogfall_testkit::{
    audit::{Event, Found, Journal, Life, audit, row_sum},
    redis_server::RedisServer,
    supervise::{Supervised, Victim},
};
use serde_json::Value;
use tokio::runtime::Runtime;

/// The durable checkpoint that each life of the learner began with, if any.
#[derive(Clone, Default)]
pub struct Starts(Arc<Mutex<Vec<Option<Version>>>>);

impl Starts {
    pub fn note(&self, checkpoint: Option<Version>) {
        self.0.lock().unwrap().push(checkpoint);
    }

    fn all(&self) -> Vec<Option<Version>> {
        self.0.lock().unwrap().clone()
    }
}

/// The newest complete checkpoint of a run.
pub fn latest_checkpoint(run_dir: &Path) -> Option<Version> {
    let checkpoints = run_dir.join("checkpoints");
    if let Ok(name) = fs::read_to_string(checkpoints.join("latest")) {
        return Some(version(name.trim()));
    }
    // Killed before the first one was named.
    let names = fs::read_dir(checkpoints).ok()?.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())).map(|name| version(&name)).max()
}

/// `EPOCH.STEP`, with or without leading zeros.
fn version(text: &str) -> Version {
    let (epoch, step) = text.split_once('.').unwrap();
    Version { epoch: epoch.parse().unwrap(), step: step.parse().unwrap() }
}

/// The journal of a life of a process.
pub fn journal(folder: &Path, name: &str, life: u32) -> PathBuf {
    folder.join(format!("{name}-{life}.journal"))
}

/// What all lives of these processes wrote down. The last life of each is one that ended in good order.
pub fn lives(folder: &Path, processes: &[&Supervised]) -> Vec<Life> {
    let mut lives = Vec::new();
    for process in processes {
        let counts = process.record("stopped").map(|record| numbers(&record));
        for life in 1..=process.lives() {
            // Who is killed at once has none.
            let events = Journal::read(&journal(folder, process.name(), life)).unwrap_or_default();
            let counts = counts.clone().filter(|_| life == process.lives());
            lives.push(Life { name: format!("{}-{life}", process.name()), events, counts });
        }
    }
    lives
}

fn numbers(record: &Value) -> BTreeMap<String, u64> {
    let fields = record.as_object().into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect()
}

/// The run's replay log, for reading.
pub struct Log<'a> {
    log: RedisLog,
    row_bytes: usize,
    runtime: &'a Runtime,
}

impl<'a> Log<'a> {
    pub fn open(manifest: &Manifest, capacity_rows: u64, redis: &RedisServer, runtime: &'a Runtime) -> Self {
        let row_bytes = manifest.row_layout().row_bytes();
        let settings = RedisLogSettings {
            server: RedisAt::at(&redis.url()),
            run: manifest.run.clone(),
            row_bytes,
            capacity_rows,
            capacity_bytes: 4 << 30,
            require_aof: true,
        };
        Self { log: runtime.block_on(RedisLog::open(settings)).unwrap(), row_bytes, runtime }
    }

    /// Rows ever stored.
    pub fn end(&self) -> u64 {
        self.runtime.block_on(self.log.bounds()).unwrap().end
    }

    fn found(&self, sent: &[PartId]) -> Found {
        let stored = self.runtime.block_on(self.log.stored(sent)).unwrap();
        let held = sent.iter().zip(stored).filter(|(_, stored)| *stored).map(|(&part, _)| part).collect();
        Found { held, end: self.end(), sum: self.sum() }
    }

    /// The sum of all rows ever stored, if none was evicted.
    fn sum(&self) -> Option<u64> {
        const PORTION_BYTES: usize = 1 << 20;
        let (mut sum, mut position) = (0_u64, 0);
        loop {
            match self.runtime.block_on(self.log.read(position, PORTION_BYTES)) {
                Ok(rows) if rows.is_empty() => return Some(sum),
                Ok(rows) => {
                    sum = sum.wrapping_add(row_sum(&rows, self.row_bytes));
                    position += (rows.len() / self.row_bytes) as u64;
                }
                Err(ReplayError::Evicted { .. }) => return None,
                Err(error) => panic!("the log cannot be read: {error}"),
            }
        }
    }
}

/// The audit: journals and counters beside the log.
pub fn compare(lives: &[Life], log: &Log<'_>) -> Vec<String> {
    let events = lives.iter().flat_map(|life| &life.events);
    let sent = events.filter_map(|event| if let Event::Sent { part, .. } = event { Some(*part) } else { None });
    let mut sent: Vec<_> = sent.collect();
    sent.sort_unstable();
    sent.dedup();
    audit(lives, &log.found(&sent))
}

/// What must be true of a learner that has ended: weights only grew, no start went back behind the checkpoint that lay
/// there, and it counted the rows that the log holds.
pub fn learner(
    learner: &Supervised,
    starts: &Starts,
    seen: &[Version],
    newest: Option<Version>,
    end: u64,
) -> Vec<String> {
    let mut differences = Vec::new();
    let mut all = Vec::new();
    for (life, start) in (1..).zip(starts.all()) {
        let published = published(&learner.output_of(life).1);
        if let (Some(first), Some(checkpoint)) = (published.first(), start)
            && (first.epoch <= checkpoint.epoch || first.step < checkpoint.step)
        {
            differences.push(format!("learner-{life} began with weights {first} after checkpoint {checkpoint}"));
        }
        all.extend(published);
    }
    for (who, versions) in [("the learner published", &all[..]), ("weights were seen:", seen)] {
        if let Some(pair) = versions.windows(2).find(|pair| pair[0] >= pair[1]) {
            differences.push(format!("{who} {} after {}", pair[1], pair[0]));
        }
    }
    if newest != all.last().copied() {
        differences.push(format!("the newest weights are {newest:?}, the last published are {:?}", all.last()));
    }
    let out = fs::read_to_string(learner.output().0).unwrap();
    let status: Value = serde_json::from_str(out.lines().last().unwrap_or_default()).unwrap_or_default();
    if status["rows"].as_u64() != Some(end) {
        differences.push(format!("the learner counts {} rows, but the log ends at {end}", status["rows"]));
    }
    differences
}

/// The versions that a life of the learner says it has published.
fn published(log: &Path) -> Vec<Version> {
    let log = fs::read_to_string(log).unwrap_or_default();
    let records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of_publication = records.filter(|record| record["message"] == "published weights");
    of_publication.map(|record| version(record["version"].as_str().unwrap())).collect()
}

/// One line on what there was to audit.
pub fn summary(lives: &[Life], starts: &Starts, seen: &[Version], end: u64) -> String {
    let count = |wanted: fn(&Event) -> bool| lives.iter().flat_map(|life| &life.events).filter(|e| wanted(e)).count();
    let [taken, stored, duplicates, failed] = [
        count(|e| matches!(e, Event::Taken(_))),
        count(|e| matches!(e, Event::Stored(_))),
        count(|e| matches!(e, Event::Duplicate(_))),
        count(|e| matches!(e, Event::Failed(_))),
    ];
    let sent = count(|e| matches!(e, Event::Sent { .. }));
    format!(
        "{} lives of actors and ingesters, {} of the learner; parts: {sent} sent, {taken} taken, {stored} stored, \
         {duplicates} duplicates, {failed} failed; {end} rows; {} weights seen",
        lives.len(),
        starts.all().len(),
        seen.len()
    )
}
