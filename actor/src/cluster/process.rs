//! The process around a service: logs, signals, admin routes, a runtime, and patience with servers.

use std::{
    cell::OnceCell,
    collections::hash_map::RandomState,
    fmt::Display,
    hash::BuildHasher,
    net::TcpListener,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use fogfall_bus::Bus;
use fogfall_pipeline::{Pulse, StageCounts, Stages, Troubles};
use fogfall_proto::{Heartbeat, Role};
use fogfall_service::{
    admin::{Admin, AdminServer, Condition, Vitals, serve},
    host,
    metrics::Metrics,
    shutdown::{Stop, listen},
    telemetry::{self, LogFormat},
};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::order::Order;

/// Least pause before a server is tried again.
const TRY_AGAIN: Duration = Duration::from_millis(500);
/// At most so much is added to it, another time for each process: thousands must not come at once.
const SPREAD_MS: u64 = 1000;

/// What a service must have before it is of use, in the order in which it comes.
pub struct Needs {
    /// A connection to the bus.
    pub bus: Condition,
    /// The run's manifest.
    pub manifest: Condition,
    /// What this service works with besides.
    pub tool: Condition,
}

/// What a service shows of itself: as a record, and in its heartbeat.
pub trait Report: Serialize {
    /// Brings the heartbeat's figures up to date.
    fn note(&self, beat: &mut Heartbeat);
}

/// A service's process.
pub struct Process {
    /// Asked to stop by signals.
    pub stop: Stop,
    /// What `/readyz` waits for.
    pub needs: Needs,
    /// Its health.
    pub vitals: Vitals,
    /// Drawn anew at each start: no other process ever has the same.
    pub life: u64,
    runtime: Runtime,
    counts: Arc<StageCounts>,
    troubles: Arc<Troubles>,
    status: Arc<Mutex<serde_json::Value>>,
    pulse: OnceCell<Pulse>,
    _server: Option<AdminServer>,
}

impl Process {
    /// Begins to log, to listen to signals and to serve the admin routes. Its stages count in `counts`; `tool` is what the
    /// service needs besides bus and manifest.
    ///
    /// # Errors
    /// If the system does not let it, or the address of the admin routes cannot be used.
    pub fn start(
        order: &Order,
        metrics: &Metrics,
        counts: &Arc<StageCounts>,
        tool: &'static str,
    ) -> anyhow::Result<Self> {
        let format = if order.process.json { LogFormat::Json } else { LogFormat::Text };
        telemetry::init(format, std::env::var(telemetry::FILTER_ENV).ok().as_deref())?;
        let stop = Stop::new();
        listen(&stop, order.grace())?;
        let vitals = Vitals::new();
        vitals.export(metrics)?;
        // Before anybody can ask.
        let [bus, manifest, tool] = ["bus", "manifest", tool].map(|name| vitals.condition(name));
        let status: Arc<Mutex<serde_json::Value>> = Arc::default();
        let server = match order.metrics_addr {
            None => None,
            Some(address) => {
                let listener = TcpListener::bind(address);
                let listener = listener.with_context(|| format!("metrics address {address} cannot be used"))?;
                let shown = Arc::clone(&status);
                let status = move || shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let admin = Admin {
                    metrics: metrics.clone(),
                    vitals: vitals.clone(),
                    status: Arc::new(status),
                    routes: Default::default(),
                };
                Some(serve(listener, admin)?)
            }
        };
        Ok(Self {
            stop,
            needs: Needs { bus, manifest, tool },
            vitals,
            life: RandomState::new().hash_one(std::process::id()),
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?,
            counts: Arc::clone(counts),
            troubles: Arc::default(),
            status,
            pulse: OnceCell::new(),
            _server: server,
        })
    }

    /// Begins to say on the bus that this process lives.
    pub fn live(&self, bus: &Arc<dyn Bus>, run: &str, role: Role) {
        let first = Heartbeat::new(run, role, self.life, &host::name());
        self.pulse.get_or_init(|| Pulse::start(&self.stages(bus), first, &self.stop));
    }

    /// Ends in good order, and says so.
    pub fn end(self) {
        if let Some(pulse) = self.pulse.into_inner() {
            pulse.end();
        }
    }

    /// What `/status` and the heartbeat show from now on.
    pub fn show(&self, status: &impl Report) {
        let value = serde_json::to_value(status).unwrap_or_default();
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = value;
        if let Some(pulse) = self.pulse.get() {
            pulse.note(|beat| status.note(beat));
        }
    }

    /// Stages on this process's runtime.
    pub fn stages(&self, bus: &Arc<dyn Bus>) -> Stages {
        Stages {
            counts: Arc::clone(&self.counts),
            troubles: Arc::clone(&self.troubles),
            vitals: self.vitals.clone(),
            ..Stages::new(self.runtime.handle().clone(), Arc::clone(bus))
        }
    }

    /// Waits for an answer; `None` if the process is to stop first.
    pub fn ask<T>(&self, question: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(async {
            tokio::select! {
                answer = question => Some(answer),
                () = self.stop.requested() => None,
            }
        })
    }

    /// Tries until it works; `None` if the process is to stop first. Until then `condition` says what is wrong.
    ///
    /// # Errors
    /// The first error that will not pass.
    pub fn persist<T, E: Display>(
        &self,
        what: &'static str,
        condition: &Condition,
        may_pass: impl Fn(&E) -> bool,
        mut attempt: impl AsyncFnMut() -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        loop {
            match self.ask(attempt()) {
                None => return Ok(None),
                Some(Ok(answer)) => {
                    self.troubles.works(what);
                    return Ok(Some(answer));
                }
                Some(Err(error)) if !may_pass(&error) => return Err(error),
                Some(Err(error)) => {
                    self.troubles.failed(what, &error);
                    condition.unmet(error.to_string());
                    if self.stop.wait(self.pause()) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Time before a server is asked again.
    pub fn pause(&self) -> Duration {
        TRY_AGAIN + Duration::from_millis(self.life % SPREAD_MS)
    }
}
