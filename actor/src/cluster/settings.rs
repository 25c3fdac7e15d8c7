//! Settings of the services. How games are played is no setting here: the run's manifest says it.

fogfall_service::settings! {
    /// Process
    pub struct ProcessFlags {
        /// The run's id, as its learner says it.
        run: String = String::new(), class Operational;
        /// Where /metrics, /healthz, /readyz and /status are served, such as 127.0.0.1:9090; nowhere if empty.
        metrics_addr: String = String::new(), class Operational;
        /// Seconds that a stop may take before what is unfinished is given up.
        stop_within_s: u64 = 20, in 2..=100_000, class Operational;
        /// Log one JSON object a line instead of text.
        json: bool = false, class Operational;
    }
}

fogfall_service::settings! {
    /// Self-play of a run
    pub struct PlayerFlags {
        /// Self-play threads; 0 for one a core, or as many as the CPU limit of a container allows.
        threads: usize = 0, in 0..=4096, class Operational;
        /// Games in progress a thread.
        slots: usize = 32, in 1..=65_536, class Operational;
        /// Evaluations that each self-play thread remembers; 0 for none.
        cache_entries: usize = 16_384, in 0..=1_000_000_000, class Operational;
        /// Seconds after which a game that does not go on is taken to hang; then /healthz fails.
        hung_after_s: u64 = 120, in 1..=86_400, class Operational;
        /// Begin with an untrained network instead of waiting for the run's first weights.
        start_without_weights: bool = false, class Operational;
    }
}

impl PlayerFlags {
    /// Threads that play. The system counts the cores that this process may use: affinity and CPU limits of control
    /// groups are taken off.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn play_threads(&self) -> std::io::Result<usize> {
        match self.threads {
            0 => Ok(std::thread::available_parallelism()?.get()),
            n => Ok(n),
        }
    }
}
