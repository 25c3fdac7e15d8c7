//! The actor with the games that ship.

use std::process::ExitCode;

use fogfall_games::Shipped;

fn main() -> ExitCode {
    actor::main::<Shipped>()
}
