//! `docs/metrics.md`, from the list of names.

use std::fmt::Write;

use super::{
    name::{Buckets, Kind, Name, Section},
    names::SECTIONS,
};

const INTRODUCTION: &str = "\
# Metrics

Every process of a run serves its metrics in Prometheus's text format at `/metrics` of `--metrics-addr`, beside `/healthz`,
`/readyz` and `/status`:

```sh
cargo run --release --bin learner -- --local --game kuhn_poker --metrics-addr 127.0.0.1:9090
curl -s http://127.0.0.1:9090/metrics
```

The chart has every pod serve them on its port `http`, for a `PodMonitor`. No process pushes anything.

This page is written from `common/service/src/metrics/names.rs`; a test compares the two, and
`FOGFALL_BLESS=1 cargo test -p fogfall-service --test metrics_page` writes it anew.

**Labels.** All series of a process carry `run`, the id of its run, and `role`: `actor`, `ingester` or `learner`. Which machine or
pod a process is on, Prometheus adds. No label has a value that grows with a run: weights are a gauge, opponents and figures are
few.

**Counters** begin at 0 with their process, also where a run is gone on with; use `rate` and `increase`. Gauges whose names
contain `timestamp` are Unix time: `time() - fogfall_last_step_timestamp_seconds` is the time since. What is not known yet is
`NaN` in gauges of means, and 0 in those of times.

**Health.** `/healthz` fails when a loop named by `fogfall_heartbeat_age_seconds` has not gone round within its limit, or a game
hangs; then it is of use to start the process again. `/readyz` fails, and `fogfall_ready` is 0, while something is missing that
the process waits for; its body says what.
";

const PROCESS: &str = "
## The process itself: all roles, on Linux

| name | kind | unit | what |
|---|---|---|---|
| `process_cpu_seconds_total` | counter | seconds | Time on all cores, in user and system. |
| `process_resident_memory_bytes` | gauge | bytes | Memory in use. |
| `process_virtual_memory_bytes` | gauge | bytes | Addresses in use. |
| `process_open_fds` | gauge | | Open files and sockets. |
| `process_max_fds` | gauge | | Most that may be open. |
| `process_threads` | gauge | threads | Threads. |
| `process_start_time_seconds` | gauge | seconds | When the process started, in Unix time. |
";

/// The whole page.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    SECTIONS.iter().for_each(|section| section_of(&mut page, section));
    page.push_str(PROCESS);
    page
}

fn section_of(page: &mut String, section: &Section) {
    let _ = writeln!(page, "\n## {}\n\n| name | kind | unit | label | what |\n|---|---|---|---|---|", section.title);
    section.names.iter().for_each(|name| line_of(page, name));
}

fn line_of(page: &mut String, Name { name, kind, unit, label, help }: &Name) {
    let label = label.map_or_else(String::new, |label| match label.values {
        [] => format!("`{}`", label.name),
        values => format!("`{}`: {}", label.name, values.join(", ")),
    });
    let buckets = match kind {
        Kind::Histogram(buckets) => format!(" Buckets: {}.", in_words(buckets)),
        Kind::Counter | Kind::Gauge => String::new(),
    };
    let _ = writeln!(page, "| `{name}` | {} | {unit} | {label} | {help}{buckets} |", kind.word());
}

fn in_words(buckets: &Buckets) -> String {
    match buckets {
        Buckets::Exponential { start, factor, count } => {
            format!("{count} from {start} on, each {factor} times the last")
        }
        Buckets::These(bounds) => bounds.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
    }
}
