//! What does not work now and is tried again: said when it begins, once in a while as it lasts, and when it is over.
//! Nothing here decides what is tried again, or for how long.

use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// The same trouble is logged at most this often, however often it comes and goes.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Something that does not work now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What does not work.
    pub what: &'static str,
    /// The newest reason.
    pub reason: String,
    /// How long it has not worked.
    pub lasts: Duration,
}

#[derive(Debug, Default)]
struct Entry {
    /// Since when it does not work, and why; `None` while it works.
    now: Option<(Instant, String)>,
    /// When it was last logged, and how often it has failed since.
    said: Option<Instant>,
    unsaid: u64,
}

/// All that may not work, by name.
#[derive(Debug, Default)]
pub struct Troubles(Mutex<BTreeMap<&'static str, Entry>>);

impl Troubles {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `what` has failed and will be tried again.
    pub fn failed(&self, what: &'static str, reason: &dyn Display) {
        let mut entries = self.lock();
        let entry = entries.entry(what).or_default();
        let (_, newest) = entry.now.get_or_insert_with(|| (Instant::now(), String::new()));
        *newest = reason.to_string();
        entry.unsaid += 1;
        if entry.said.is_none_or(|at| at.elapsed() >= SAY_EVERY) {
            tracing::warn!(%reason, times = entry.unsaid, "{what} fails and is tried again");
            (entry.said, entry.unsaid) = (Some(Instant::now()), 0);
        }
    }

    /// `what` works, or works again.
    pub fn works(&self, what: &'static str) {
        if let Some((since, _)) = self.lock().get_mut(what).and_then(|entry| entry.now.take()) {
            tracing::info!(after_s = since.elapsed().as_secs_f64(), "{what} works again");
        }
    }

    /// What does not work now.
    pub fn now(&self) -> Vec<Trouble> {
        let trouble = |(&what, entry): (&&'static str, &Entry)| {
            let (since, reason) = entry.now.as_ref()?;
            Some(Trouble { what, reason: reason.clone(), lasts: since.elapsed() })
        };
        self.lock().iter().filter_map(trouble).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_there_with_its_newest_reason_until_it_works_again() {
        let troubles = Troubles::default();
        troubles.works("storing rows");
        assert_eq!(troubles.now(), []);
        troubles.failed("storing rows", &"disk full");
        troubles.failed("storing rows", &"quota");
        troubles.failed("pulling", &"no answer");
        let now: Vec<_> = troubles.now().into_iter().map(|t| (t.what, t.reason)).collect();
        assert_eq!(now, [("pulling", "no answer".to_owned()), ("storing rows", "quota".to_owned())]);
        troubles.works("storing rows");
        let now: Vec<_> = troubles.now().into_iter().map(|t| t.what).collect();
        assert_eq!(now, ["pulling"]);
    }
}
