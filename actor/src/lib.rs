//! The actor: what plays without training. Self-play of a run on a cluster, and ingest of what was played; matches
//! between agents, ratings of a run's checkpoints, tests for promotion, exact figures of agents in small games, decisions
//! for other programs, replays of recorded games, checks of rules. Free of torch.
//!
//! [`main`] makes a studio's own actor ten lines long; [`main_through`] lets a test stand between it and its servers.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cli;
mod commands;

mod cluster;
mod ingest;
mod selfplay;

mod agent;
mod canvas;
mod engine;
mod equal_cpu;
mod exact;
mod ladder;
mod matches;
mod parts;
mod promote;
mod referee;
pub mod replay;
mod rules;
mod seams;
mod solve;
mod suitability;
mod wrap;

use std::process::ExitCode;

use fogfall_game::GameSet;

pub use seams::{Around, Seams};

/// Runs the actor with the games of a set. The process's arguments and environment say what to do.
pub fn main<S: GameSet>() -> ExitCode {
    main_through::<S>(&Seams::default())
}

/// The same, with something between its services and their servers.
pub fn main_through<S: GameSet>(seams: &Seams) -> ExitCode {
    let matches = commands::command::<S>().get_matches();
    match cli::run::<S>(&matches, seams) {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            cli::error_code(&matches, &error)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the last words of the process")]
fn report(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}
