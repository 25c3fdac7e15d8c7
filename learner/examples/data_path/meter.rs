//! CPU time: of this process, of its threads, of the servers with the children that they have waited for.

use std::{cell::RefCell, collections::BTreeMap, fs, time::Instant};

use anyhow::Context;
use fogfall_proto::RowLayout;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

/// Linux counts it in hundredths of a second.
const TICKS_PER_S: f64 = 100.0;

/// Measures stages and says what they took.
pub struct Meter {
    kind: &'static str,
    row_bytes: usize,
    servers: Vec<(&'static str, u32)>,
    threads: RefCell<BTreeMap<String, f64>>,
}

impl Meter {
    /// A meter over these servers, by process id.
    pub fn new(kind: &'static str, layout: RowLayout, servers: &[(&'static str, u32)]) -> Self {
        let threads = RefCell::default();
        Self { kind, row_bytes: layout.row_bytes(), servers: servers.to_vec(), threads }
    }

    /// Says what `work` on so many rows took.
    pub fn measure(&self, what: &str, rows: u64, work: impl FnOnce(&Self) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let threads_before = thread_times()?;
        self.threads.borrow_mut().clear();
        let (began, before) = (Instant::now(), self.times()?);
        work(self)?;
        let (seconds, after) = (began.elapsed().as_secs_f64(), self.times()?);
        let cpu: BTreeMap<_, _> =
            after.iter().zip(before).map(|((name, now), (_, then))| (*name, now - then)).collect();
        let mut threads = self.threads.borrow().clone();
        for (name, time) in &mut threads {
            *time -= threads_before.get(name).copied().unwrap_or(0.0);
        }
        println!(
            "{}",
            json!({
                "kind": self.kind, "row_bytes": self.row_bytes, "what": what, "rows": rows, "seconds": seconds,
                "cpu_s": cpu, "threads_s": threads,
            })
        );
        Ok(())
    }

    /// Notes what this process's threads have taken, before those of a stage end.
    pub fn note_threads(&self) {
        *self.threads.borrow_mut() = thread_times().unwrap_or_default();
    }

    /// Says what train steps took.
    pub fn say_steps(&self, steps: usize, bare_s: f64, busy_s: f64, sampling_s: f64) {
        println!(
            "{}",
            json!({
                "kind": self.kind, "row_bytes": self.row_bytes, "what": "train step", "steps": steps,
                "bare_s": bare_s, "busy_s": busy_s, "sampling_s": sampling_s,
            })
        );
    }

    fn times(&self) -> anyhow::Result<Vec<(&'static str, f64)>> {
        let mut times = vec![("this process", seconds(ClockId::ProcessCPUTime))];
        for &(name, pid) in &self.servers {
            // User and system time, its own and that of its children.
            times.push((name, stat(&format!("/proc/{pid}/stat"), 11..15)?));
        }
        Ok(times)
    }
}

/// CPU time of this thread.
pub fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// CPU time of all threads that there are, by name.
fn thread_times() -> anyhow::Result<BTreeMap<String, f64>> {
    let mut times = BTreeMap::new();
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        let name = fs::read_to_string(path.join("comm"))?.trim().to_owned();
        *times.entry(name).or_default() += stat(&path.join("stat").to_string_lossy(), 11..13)?;
    }
    Ok(times)
}

/// The sum of some fields after a process's name, in seconds.
fn stat(file: &str, fields: std::ops::Range<usize>) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(file)?;
    let all: Vec<&str> = stat.rsplit(')').next().context("no name")?.split_whitespace().collect();
    let ticks = all[fields].iter().map(|field| field.parse::<u64>()).sum::<Result<u64, _>>()?;
    Ok(ticks as f64 / TICKS_PER_S)
}
