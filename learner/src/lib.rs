//! The learner: samples batches, trains the network, writes checkpoints, publishes weights. With `--local` it plays
//! and stores in the same process.
//!
//! [`main`] makes a studio's own learner ten lines long. The work is in `common/`; here is what needs libtorch, and
//! what a person sees.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cli;
mod resume;
mod run_dir;
mod settings;

mod beginning;
mod local;
mod lockstep;
mod patience;
mod pipeline;
mod place;
mod replay;
mod supply;

pub mod batch;
mod calibration;
mod checkpoint;
mod saver;
mod shown;
pub mod train;
mod train_loop;

mod evaluation;
mod exact;

mod board;
mod export;
mod heartbeat;
mod output;
mod overview;
mod page;
mod reporter;
mod shelf;
mod show;
mod status;

use std::{fs::File, process::ExitCode, sync::Mutex, time::Duration};

use anyhow::Context;
use fogfall_game::{GameError, GameSet};
use fogfall_service::{
    settings::Mistakes,
    shutdown::{Stop, listen},
    telemetry,
};

/// Bad usage: flags, settings, rules.
const EXIT_USAGE: u8 = 2;

/// Runs the learner with the games of a set. The process's arguments and environment say what to do.
pub fn main<S: GameSet>() -> ExitCode {
    let matches = cli::command::<S>().get_matches();
    let ended = match matches.subcommand_matches(overview::NAME) {
        Some(matches) => overview::run(matches),
        None => cli::order::<S>(&matches, std::env::vars()).and_then(run::<S>).map(|()| ExitCode::SUCCESS),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            show::restore_terminal();
            report(&error);
            if error.is::<Mistakes>() || error.is::<GameError>() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn run<S: GameSet>(order: cli::Order) -> anyhow::Result<()> {
    start_logging(&order)?;
    let stop = Stop::new();
    listen(&stop, Duration::from_secs(order.flags.run.stop_within_s))?;
    let (game, rules) = (order.game.clone(), order.rules.clone());
    S::with(&game, rules.as_deref(), local::Local { order, stop })?
}

/// Logs to standard error, or into the run's directory while the live view has the terminal.
fn start_logging(order: &cli::Order) -> anyhow::Result<()> {
    let filter = std::env::var(telemetry::FILTER_ENV).ok();
    if !order.json && show::Live::is_possible() {
        std::fs::create_dir_all(&order.run_dir)
            .with_context(|| format!("cannot create {}", order.run_dir.display()))?;
        let path = order.run_dir.join("learner.log");
        let file = File::options().create(true).append(true).open(&path);
        let file = Mutex::new(file.with_context(|| format!("cannot write {}", path.display()))?);
        let subscriber = telemetry::subscriber(telemetry::LogFormat::Text, filter.as_deref(), false, file)?;
        tracing::subscriber::set_global_default(subscriber).context("logging was set up twice")?;
        return Ok(());
    }
    let format = if order.json { telemetry::LogFormat::Json } else { telemetry::LogFormat::Text };
    Ok(telemetry::init(format, filter.as_deref())?)
}

#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn report(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
