//! Signs of life: heartbeats that must not grow old, and conditions that must be met, to be ready or to be healthy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What a process shows of its health. Clones share it.
#[derive(Clone, Debug)]
pub struct Vitals {
    started: Instant,
    /// Those whose loops go on.
    heartbeats: Arc<Mutex<Vec<Weak<Beats>>>>,
    conditions: Arc<Mutex<Vec<Condition>>>,
    /// Those of health.
    healthy: Arc<Mutex<Vec<Condition>>>,
}

/// A sign that some loop goes round, held by the loop: one that has ended, and has dropped it, need not go round any more.
/// Beating is one atomic store.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Beats>);

#[derive(Debug)]
struct Beats {
    name: &'static str,
    limit: Duration,
    started: Instant,
    /// Milliseconds from `started` to the last beat. Written by the loop, read by the routes.
    last_ms: AtomicU64,
}

/// Something that must be so before the process is of use. Not met until it is said to be.
#[derive(Clone, Debug)]
pub struct Condition {
    name: &'static str,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// What is missing; `None` if nothing is.
    missing: Option<String>,
    /// Since when there is something missing, or nothing.
    since: Instant,
}

impl Default for Vitals {
    fn default() -> Self {
        Self::new()
    }
}

impl Vitals {
    /// No heartbeats and no conditions yet: healthy and ready.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            heartbeats: Arc::default(),
            conditions: Arc::default(),
            healthy: Arc::default(),
        }
    }

    /// A new heartbeat, which beats now and must beat again within `limit` each time.
    pub fn heartbeat(&self, name: &'static str, limit: Duration) -> Heartbeat {
        let heartbeat =
            Heartbeat(Arc::new(Beats { name, limit, started: self.started, last_ms: AtomicU64::default() }));
        heartbeat.beat();
        let mut all = lock(&self.heartbeats);
        all.retain(|beats| beats.strong_count() > 0);
        all.push(Arc::downgrade(&heartbeat.0));
        heartbeat
    }

    /// A new condition, not met yet.
    pub fn condition(&self, name: &'static str) -> Condition {
        let condition = Condition::new(name, Some("not yet".into()));
        lock(&self.conditions).push(condition.clone());
        condition
    }

    /// A new condition of health, met until it is said not to be: whoever watches the process then starts it anew.
    pub fn healthy(&self, name: &'static str) -> Condition {
        let condition = Condition::new(name, None);
        lock(&self.healthy).push(condition.clone());
        condition
    }

    /// What is wrong at `now`, one line each; empty if the process is healthy: heartbeats that are too old, and conditions
    /// of health that are not met.
    pub fn stalled(&self, now: Instant) -> Vec<String> {
        let line = |beats: Arc<Beats>| {
            let (name, age, limit) = (beats.name, beats.age(now), beats.limit);
            (age > limit).then(|| format!("{name}: no beat for {} s, limit {} s", age.as_secs(), limit.as_secs()))
        };
        let mut lines: Vec<_> = lock(&self.heartbeats).iter().filter_map(Weak::upgrade).filter_map(line).collect();
        lines.extend(lock(&self.healthy).iter().filter_map(|condition| condition.line(&lock(&condition.state))));
        lines
    }

    /// How long ago each loop that goes on went round, by its name; of several of one name, the one that is longest ago.
    pub fn ages(&self, now: Instant) -> BTreeMap<&'static str, Duration> {
        let mut ages = BTreeMap::new();
        for beats in lock(&self.heartbeats).iter().filter_map(Weak::upgrade) {
            let age: &mut Duration = ages.entry(beats.name).or_default();
            *age = beats.age(now).max(*age);
        }
        ages
    }

    /// What is missing, one line each; empty if the process is ready.
    pub fn missing(&self) -> Vec<String> {
        lock(&self.conditions).iter().filter_map(|condition| condition.line(&lock(&condition.state))).collect()
    }

    /// What the process waits for, if it is not ready, and how long it has: the first condition that is not met, since it
    /// alone was missing. Conditions are met in the order in which they were made.
    pub fn waits_for(&self) -> Option<(String, Duration)> {
        let mut since = None;
        lock(&self.conditions).iter().find_map(|condition| {
            let state = lock(&condition.state);
            let latest = since.insert(since.map_or(state.since, |before: Instant| before.max(state.since)));
            Some((condition.line(&state)?, latest.elapsed()))
        })
    }
}

impl Heartbeat {
    /// Goes on.
    pub fn beat(&self) {
        self.beat_at(Instant::now());
    }

    fn beat_at(&self, now: Instant) {
        let Beats { started, last_ms, .. } = &*self.0;
        last_ms.store(now.saturating_duration_since(*started).as_millis() as u64, Ordering::Relaxed);
    }
}

impl Beats {
    fn age(&self, now: Instant) -> Duration {
        let last = self.started + Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        now.saturating_duration_since(last)
    }
}

impl Condition {
    fn new(name: &'static str, missing: Option<String>) -> Self {
        Self { name, state: Arc::new(Mutex::new(State { missing, since: Instant::now() })) }
    }

    /// It is so.
    pub fn met(&self) {
        self.set(None);
    }

    /// It is not, or no longer, so: what is missing.
    pub fn unmet(&self, missing: impl Into<String>) {
        self.set(Some(missing.into()));
    }

    fn set(&self, missing: Option<String>) {
        let mut state = lock(&self.state);
        if missing.is_some() != state.missing.is_some() {
            state.since = Instant::now();
        }
        state.missing = missing;
    }

    fn line(&self, state: &State) -> Option<String> {
        state.missing.as_ref().map(|missing| format!("{}: {missing}", self.name))
    }
}

/// What is guarded stays whole even if a holder panicked: each change is an assignment or two.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_is_missed_only_after_its_limit() {
        let vitals = Vitals::new();
        let beat = vitals.heartbeat("train step", Duration::from_secs(30));
        let begin = vitals.started;
        let after = |seconds| begin + Duration::from_secs(seconds);
        beat.beat_at(after(10));
        assert!(vitals.stalled(after(40)).is_empty()); // 30 s
        assert_eq!(vitals.stalled(after(45)), ["train step: no beat for 35 s, limit 30 s"]);
        beat.beat_at(after(44));
        assert!(vitals.stalled(after(45)).is_empty());
    }

    #[test]
    fn a_loop_that_has_ended_is_not_waited_for() {
        let vitals = Vitals::new();
        let (now, limit) = (vitals.started + Duration::from_secs(90), Duration::from_secs(30));
        let (watch, train) = (vitals.heartbeat("watch", limit), vitals.heartbeat("train", limit));
        assert_eq!(vitals.stalled(now).len(), 2);
        drop(watch);
        assert_eq!(vitals.ages(now).into_keys().collect::<Vec<_>>(), ["train"]);
        let again = vitals.heartbeat("train", limit);
        again.beat_at(vitals.started + Duration::from_secs(80));
        assert_eq!(vitals.ages(now)["train"].as_secs(), 90, "the one that is longest ago");
        drop(train);
        assert_eq!(vitals.ages(now)["train"].as_secs(), 10);
        assert!(vitals.stalled(now).is_empty());
    }

    #[test]
    fn a_process_is_as_healthy_as_it_says() {
        let vitals = Vitals::new();
        let play = vitals.healthy("self-play");
        assert!(vitals.stalled(vitals.started).is_empty());
        play.unmet("thread 0 hangs");
        assert_eq!(vitals.stalled(vitals.started), ["self-play: thread 0 hangs"]);
        assert!(vitals.missing().is_empty(), "it is ready all the same");
    }

    #[test]
    fn a_wait_begins_when_what_comes_before_is_there() {
        let vitals = Vitals::new();
        let (bus, weights) = (vitals.condition("bus"), vitals.condition("weights"));
        let began = Instant::now() - Duration::from_secs(100);
        for condition in [&bus, &weights] {
            lock(&condition.state).since = began;
        }
        bus.unmet("no answer"); // as before
        assert!(vitals.waits_for().is_some_and(|(what, since)| what == "bus: no answer" && since.as_secs() >= 100));
        bus.met();
        assert!(vitals.waits_for().is_some_and(|(what, since)| what == "weights: not yet" && since.as_secs() < 100));
    }

    #[test]
    fn conditions_are_missing_until_met_and_again_when_lost() {
        let vitals = Vitals::new();
        let (weights, bus) = (vitals.condition("weights"), vitals.condition("bus"));
        assert_eq!(vitals.missing(), ["weights: not yet", "bus: not yet"]);
        weights.met();
        bus.unmet("connection lost");
        assert_eq!(vitals.missing(), ["bus: connection lost"]);
        assert!(vitals.waits_for().is_some_and(|(what, _)| what == "bus: connection lost"));
        bus.met();
        assert!(vitals.missing().is_empty());
        assert_eq!(vitals.waits_for(), None);
    }
}
