//! The actor that knows our game.

use std::process::ExitCode;

use own_game::Mine;

fn main() -> ExitCode {
    actor::main::<Mine>()
}
