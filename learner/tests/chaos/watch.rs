//! Watches a run's newest weights, as an actor would that is never harmed.

use std::{
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
    time::Duration,
};

use fogfall_bus::{Bus, NatsBus};
use fogfall_proto::Version;
use fogfall_service::shutdown::Stop;
use tokio::runtime::Handle;

/// Between two looks while the bus does not answer.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for newer weights before it looks whether it shall stop.
const LISTEN: Duration = Duration::from_secs(1);

/// The watch, on a thread of its own.
pub struct Watch {
    seen: Arc<Mutex<Vec<Version>>>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub fn start(bus: &Arc<NatsBus>, runtime: &Handle) -> Self {
        let (seen, stop) = (Arc::<Mutex<Vec<Version>>>::default(), Stop::new());
        let watch = {
            let (bus, runtime, seen, stop) = (Arc::clone(bus), runtime.clone(), Arc::clone(&seen), stop.clone());
            move || {
                while !stop.is_requested() {
                    let newest = seen.lock().unwrap().last().copied();
                    // What is newest now, be it older than before: that is what is to be found out.
                    let head = match runtime.block_on(bus.newer_than(newest, LISTEN)) {
                        Ok(Some(head)) => Some(head),
                        Ok(None) => runtime.block_on(bus.newest()).ok().flatten(),
                        Err(_) => None,
                    };
                    let version = head.map(|head| head.version).filter(|&version| Some(version) != newest);
                    seen.lock().unwrap().extend(version);
                    if version.is_none() {
                        stop.wait(LOOK_EVERY);
                    }
                }
            }
        };
        Self { seen, stop, thread: Some(thread::spawn(watch)) }
    }

    /// Ends it and returns all that it saw.
    pub fn end(&mut self) -> Vec<Version> {
        self.stop.request("the run ends");
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        self.seen.lock().unwrap().clone()
    }
}
