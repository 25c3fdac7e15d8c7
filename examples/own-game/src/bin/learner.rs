//! The learner that knows our game.

use std::process::ExitCode;

use own_game::Mine;

fn main() -> ExitCode {
    learner::main::<Mine>()
}
