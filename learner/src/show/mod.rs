//! How a person sees a run: a live view for terminals, a log line for pipes, a metrics file, plots and a closing
//! summary, all drawn from [`Status`](crate::status::Status) alone; and a screen for an operator, drawn from an
//! [`Overview`](crate::overview::Overview). Nothing here measures, waits or decides.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod event_file;
mod history;
mod line;
mod live;
mod metrics_file;
mod overview;
mod plots;
mod scalars;
mod screen;
mod summary;
mod text;

#[cfg(test)]
mod samples;

pub use event_file::EventFile;
pub use history::History;
pub use line::{json_line, line};
pub use live::{Live, restore_terminal};
pub use metrics_file::{MetricsFile, read_metrics};
pub use overview::overview;
pub use plots::write_plots;
pub use summary::{Places, summary};
