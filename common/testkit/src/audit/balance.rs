//! The audit itself: journals and counters on one side, what the log holds on the other.

use std::collections::{BTreeMap, BTreeSet};

use fogfall_proto::PartId;

use super::{Event, Settled};

/// Differences of one kind that are told; of the others only the number.
const TOLD: usize = 5;

/// What one life of a process wrote down.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Its name, for people.
    pub name: String,
    /// Its journal.
    pub events: Vec<Event>,
    /// Its last counters, if it ended in good order and had any: those of a player or those of an ingester.
    pub counts: Option<BTreeMap<String, u64>>,
}

/// What the log holds after everybody has stopped and the bus is empty.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The parts that it says it has stored, of those that were sent.
    pub held: BTreeSet<PartId>,
    /// Rows ever stored.
    pub end: u64,
    /// [`super::row_sum`] of all rows ever stored, if none was evicted.
    pub sum: Option<u64>,
}

/// Compares; empty if everything is as it must be.
pub fn audit(lives: &[Life], found: &Found) -> Vec<String> {
    let books = Books::of(lives);
    let mut differences = books.losses(found);
    differences.extend(books.rows(found));
    differences.extend(books.answers(found));
    differences.extend(books.too_old());
    differences.extend(lives.iter().flat_map(unstored));
    differences.extend(lives.iter().flat_map(counters));
    differences.extend(lives.iter().filter_map(versions));
    differences
}

/// All lives together.
struct Books<'a> {
    lives: &'a [Life],
    /// Rows and their sum, of each part sent.
    sent: BTreeMap<PartId, (u64, u64)>,
    acked: BTreeSet<PartId>,
    /// Parts that were noted instead of stored.
    noted: BTreeSet<PartId>,
}

impl<'a> Books<'a> {
    fn of(lives: &'a [Life]) -> Self {
        let (mut sent, mut acked, mut noted) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        for event in lives.iter().flat_map(|life| &life.events) {
            match *event {
                Event::Sent { part, rows, sum } => drop(sent.insert(part, (rows, sum))),
                Event::Acked(part) => drop(acked.insert(part)),
                Event::Noted(part) => drop(noted.insert(part)),
                _ => {}
            }
        }
        Self { lives, sent, acked, noted }
    }

    /// All that was noted of a part.
    fn history(&self, part: PartId) -> String {
        let of_life = |life: &Life| {
            let events: Vec<_> = life.events.iter().filter(|e| e.part() == Some(part)).map(|e| short(*e)).collect();
            (!events.is_empty()).then(|| format!("{}: {}", life.name, events.join(", ")))
        };
        self.lives.iter().filter_map(of_life).collect::<Vec<_>>().join("; ")
    }

    /// What the bus acknowledged must be stored.
    fn losses(&self, found: &Found) -> Vec<String> {
        let lost = self.acked.difference(&found.held);
        told("parts were acknowledged and are not stored", lost.map(|&part| (part, self.history(part))))
    }

    /// What is stored must be what was sent, each part once: then the log is as long as the parts together.
    fn rows(&self, found: &Found) -> Vec<String> {
        let (mut rows, mut sum) = (0, 0_u64);
        for (part_rows, part_sum) in found.held.difference(&self.noted).filter_map(|part| self.sent.get(part)) {
            rows += part_rows;
            sum = sum.wrapping_add(*part_sum);
        }
        let mut differences = Vec::new();
        if rows != found.end {
            differences.push(format!("the parts stored have {rows} rows, but the log ends at {}", found.end));
        } else if found.sum.is_some_and(|found| found != sum) {
            differences.push("the rows stored are not the rows sent".to_owned());
        }
        differences
    }

    /// Each part was stored at one moment: the log said so to one who asked, or the answer was lost.
    fn answers(&self, found: &Found) -> Vec<String> {
        let (mut stored, mut unanswered) = (BTreeMap::new(), BTreeSet::new());
        for life in self.lives {
            let mut open = BTreeSet::new();
            for event in &life.events {
                match *event {
                    Event::Append(part) if !open.insert(part) => drop(unanswered.insert(part)),
                    Event::Stored(part) | Event::Noted(part) => {
                        open.remove(&part);
                        *stored.entry(part).or_insert(0_u32) += 1;
                    }
                    Event::Duplicate(part) => drop(open.remove(&part)),
                    Event::Failed(part) => {
                        open.remove(&part);
                        unanswered.insert(part);
                    }
                    _ => {}
                }
            }
            unanswered.extend(open); // it was killed in the middle
        }
        let twice = stored.iter().filter(|(_, times)| **times > 1).map(|(&part, _)| part);
        let mut differences = told("parts were stored twice", twice.map(|part| (part, self.history(part))));
        let silent = |part: &&PartId| !stored.contains_key(part) && !unanswered.contains(part);
        let by_nobody = found.held.iter().filter(silent).map(|&part| (part, self.history(part)));
        differences.extend(told("parts are stored that no ingester stored", by_nobody));
        differences
    }

    /// What the log could not tell may be lost.
    fn too_old(&self) -> Vec<String> {
        let events = self.lives.iter().flat_map(|life| &life.events);
        let parts = events.filter_map(|event| if let Event::TooOld(part) = *event { Some(part) } else { None });
        told("parts came so late that the log could not tell", parts.map(|part| (part, self.history(part))))
    }
}

/// A delivery is settled as done after its part is stored, never before.
fn unstored(life: &Life) -> Vec<String> {
    let (mut stored, mut early) = (BTreeSet::new(), Vec::new());
    for event in &life.events {
        match *event {
            Event::Stored(part) | Event::Noted(part) => drop(stored.insert(part)),
            Event::Duplicate(part) | Event::TooOld(part) => drop(stored.insert(part)),
            Event::Settle(part, Settled::Done) if !stored.contains(&part) => early.push((part, life.name.clone())),
            _ => {}
        }
    }
    told("parts were settled that were not stored", early.into_iter())
}

/// What a process counted must be what it did.
fn counters(life: &Life) -> Vec<String> {
    let Some(counts) = &life.counts else { return Vec::new() };
    let of = |name: &str| counts.get(name).copied();
    let (mut sent, mut acked) = (BTreeSet::new(), BTreeSet::new());
    let (mut stored, mut duplicates, mut stale) = (0, 0, 0);
    for event in &life.events {
        match *event {
            Event::Sent { part, .. } => drop(sent.insert(part)),
            Event::Acked(part) => drop(acked.insert(part)),
            Event::Stored(_) => stored += 1,
            Event::Duplicate(_) => duplicates += 1,
            Event::Noted(_) | Event::TooOld(_) => stale += 1,
            _ => {}
        }
    }
    let mut wanted = Vec::new();
    if let (Some(played), Some(published), Some(again), Some(lost)) =
        (of("parts"), of("published"), of("duplicates"), of("lost"))
    {
        wanted.push(("parts and published + duplicates + lost", played, published + again + lost));
        wanted.push(("published + duplicates and parts acknowledged", published + again, acked.len() as u64));
        wanted.push(("parts sent and parts not lost", sent.len() as u64, played - lost));
    } else {
        wanted.push(("stored and parts stored", of("stored").unwrap_or(0), stored));
        wanted.push(("duplicates and parts stored before", of("duplicates").unwrap_or(0), duplicates));
        wanted.push(("stale and parts noted", of("stale").unwrap_or(0), stale));
        wanted.push(("refused and none", of("refused").unwrap_or(0), 0));
    }
    let differ = wanted.into_iter().filter(|(_, one, other)| one != other);
    differ.map(|(what, one, other)| format!("{}: {what} are {one} and {other}", life.name)).collect()
}

/// Weights never go back.
fn versions(life: &Life) -> Option<String> {
    let heard: Vec<_> =
        life.events.iter().filter_map(|e| if let Event::Heard(v) = e { Some(v) } else { None }).collect();
    let back = heard.windows(2).find(|pair| pair[0] >= pair[1])?;
    Some(format!("{} heard of weights {} after {}", life.name, back[1], back[0]))
}

fn told(what: &str, all: impl Iterator<Item = (PartId, String)>) -> Vec<String> {
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{} {what}", all.len())];
    lines.extend(all.into_iter().take(TOLD).map(|(part, history)| format!("  {part}: {history}")));
    lines
}

fn short(event: Event) -> String {
    match event {
        Event::Sent { rows, .. } => format!("sent {rows} rows"),
        Event::Settle(_, settled) => format!("settle {settled:?}").to_lowercase(),
        Event::Acked(_) => "acked".into(),
        Event::Taken(_) => "taken".into(),
        Event::Append(_) => "append".into(),
        Event::Stored(_) => "stored".into(),
        Event::Noted(_) => "noted".into(),
        Event::Duplicate(_) => "duplicate".into(),
        Event::TooOld(_) => "too old".into(),
        Event::Failed(_) => "failed".into(),
        Event::Heard(version) => format!("heard {version}"),
    }
}

#[cfg(test)]
mod tests;
