//! Ending in good order: a token that all stages watch, and the signals that set it.
//!
//! The first SIGTERM or SIGINT asks all to stop, and gives them a time to do it. A second Ctrl-C ends the process at
//! once with exit code 130; when the time is up it ends with exit code 1.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Exit code after a second Ctrl-C: 128 + SIGINT.
pub const EXIT_INTERRUPTED: i32 = 130;

/// Exit code when the stages did not end in time.
pub const EXIT_TOO_LATE: i32 = 1;

/// Asks all who hold a clone to stop, once. For plain threads and for tasks.
#[derive(Clone)]
pub struct Stop(Arc<Inner>);

struct Inner {
    /// Why, once somebody asked; with what is to be done then.
    state: Mutex<State>,
    asked: Condvar,
    /// The same for tasks.
    sender: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    reason: Option<String>,
    deadline: Option<Instant>,
    then: Vec<Box<dyn FnOnce() + Send>>,
}

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(Inner { state: Mutex::default(), asked: Condvar::new(), sender: watch::Sender::new(false) }))
    }
}

impl std::fmt::Debug for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stop").field("reason", &self.reason()).finish_non_exhaustive()
    }
}

impl Stop {
    /// Nobody has asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all to stop; only the first reason counts.
    pub fn request(&self, reason: &str) {
        self.request_by(reason, None);
    }

    /// Asks all to stop before `deadline`.
    pub fn request_by(&self, reason: &str, deadline: Option<Instant>) {
        let mut state = self.state();
        if state.reason.is_some() {
            return;
        }
        state.reason = Some(reason.to_owned());
        state.deadline = deadline;
        let then = std::mem::take(&mut state.then);
        // Under the lock: who has seen the reason, or was woken, finds the stop requested too.
        self.0.sender.send_replace(true);
        drop(state);
        self.0.asked.notify_all();
        then.into_iter().for_each(|f| f());
    }

    /// True once somebody asked.
    pub fn is_requested(&self) -> bool {
        *self.0.sender.borrow()
    }

    /// Why, once somebody asked.
    pub fn reason(&self) -> Option<String> {
        self.state().reason.clone()
    }

    /// Time left to end in good order, if there is a limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.state().deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// Calls `f` when somebody asks, on their thread; at once if they have.
    pub fn then(&self, f: impl FnOnce() + Send + 'static) {
        let mut state = self.state();
        if state.reason.is_none() {
            state.then.push(Box::new(f));
        } else {
            drop(state);
            f();
        }
    }

    /// Waits on a plain thread until somebody asks, for at most `timeout`; true if they have.
    pub fn wait(&self, timeout: Duration) -> bool {
        let state = self.0.asked.wait_timeout_while(self.state(), timeout, |state| state.reason.is_none());
        state.expect("no holder of the state panics").0.reason.is_some()
    }

    /// Waits in a task until somebody asks.
    pub async fn requested(&self) {
        let mut receiver = self.0.sender.subscribe();
        // The sender lives as long as this clone.
        let _ = receiver.wait_for(|&asked| asked).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("no holder of the state panics")
    }
}

/// Lets SIGTERM and Ctrl-C ask for a stop from now on, with `grace` to end in good order.
///
/// # Errors
/// What the system says if signals or a thread cannot be had.
pub fn listen(stop: &Stop, grace: Duration) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (terminate, interrupt) = {
        let _inside = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let stop = stop.clone();
    let watch = move || runtime.block_on(watch_signals(stop, grace, terminate, interrupt));
    thread::Builder::new().name("signals".into()).spawn(watch)?;
    Ok(())
}

async fn watch_signals(stop: Stop, grace: Duration, mut terminate: Signal, mut interrupt: Signal) {
    let name = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "Ctrl-C",
    };
    tracing::info!(signal = name, grace_s = grace.as_secs_f64(), "stopping; a second Ctrl-C ends at once");
    stop.request_by(name, Some(Instant::now() + grace));
    let code = tokio::select! {
        _ = interrupt.recv() => EXIT_INTERRUPTED,
        () = tokio::time::sleep(grace) => EXIT_TOO_LATE,
    };
    tracing::error!(code, "ended before all was stopped");
    std::process::exit(code);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn threads_and_tasks_are_woken_and_the_first_reason_counts() {
        let stop = Stop::new();
        assert!(!stop.is_requested());
        assert!(!stop.wait(Duration::ZERO));
        let calls = Arc::new(AtomicUsize::new(0));
        let count = |calls: &Arc<AtomicUsize>| {
            let calls = Arc::clone(calls);
            move || {
                calls.fetch_add(1, Ordering::SeqCst);
            }
        };
        stop.then(count(&calls));
        let thread = {
            let stop = stop.clone();
            thread::spawn(move || stop.wait(Duration::from_secs(600)))
        };
        let task = {
            let stop = stop.clone();
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(stop.requested());
            })
        };
        stop.request("done");
        stop.request("again");
        assert!(thread.join().unwrap());
        task.join().unwrap();
        assert_eq!(stop.reason().as_deref(), Some("done"));
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        stop.then(count(&calls)); // too late to be told later
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        assert_eq!(stop.time_left(), None);
    }

    #[test]
    fn a_deadline_counts_down_to_nothing() {
        let stop = Stop::new();
        stop.request_by("SIGTERM", Some(Instant::now()));
        assert_eq!(stop.time_left(), Some(Duration::ZERO));
        let stop = Stop::new();
        stop.request_by("SIGTERM", Some(Instant::now() + Duration::from_secs(600)));
        assert!(stop.time_left() <= Some(Duration::from_secs(600)));
        assert!(stop.time_left() > Some(Duration::from_secs(60)));
    }
}
