//! The actor: what plays without training. Matches between agents, exact figures of agents in small games, replays of
//! recorded games, checks of rules. Free of torch.
//!
//! [`main`] makes a studio's own actor ten lines long.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
mod cli;
mod exact;
mod matches;
mod parts;
pub mod replay;
mod rules;
mod solve;
mod suitability;
mod wrap;

use std::process::ExitCode;

use fogfall_game::{GameError, GameSet};
use fogfall_service::{settings::Mistakes, telemetry};

/// Bad usage: flags, settings, rules.
const EXIT_USAGE: u8 = 2;

/// Runs the actor with the games of a set. The process's arguments and environment say what to do.
pub fn main<S: GameSet>() -> ExitCode {
    let matches = cli::command::<S>().get_matches();
    let filter = std::env::var(telemetry::FILTER_ENV).ok();
    let done = telemetry::init(telemetry::LogFormat::Text, filter.as_deref())
        .map_err(anyhow::Error::from)
        .and_then(|()| cli::run::<S>(&matches));
    match done {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            if error.is::<Mistakes>() || error.is::<GameError>() {
                ExitCode::from(EXIT_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn report(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
