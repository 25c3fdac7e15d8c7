//! Random play of a world to its end.

use fogfall_game::{Actions, Game, Rng, World};

/// Plays uniformly at random to the end; seat 0's payoff in units of the game's scale.
pub(crate) fn play_out<G: Game>(game: &G, world: &mut World<G>, scratch: &mut Actions, rng: &mut Rng) -> f32 {
    world.play_out(game, scratch, rng) / game.info().value_scale
}
