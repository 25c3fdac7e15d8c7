//! The learner with the games that ship.

use std::process::ExitCode;

use fogfall_games::Shipped;

fn main() -> ExitCode {
    learner::main::<Shipped>()
}
