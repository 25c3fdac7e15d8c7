//! Random play of a world to its end.

use fogfall_game::{Actions, Game, Rng, Turn, World};
use rand::RngExt;

/// Plays uniformly at random to the end; seat 0's payoff in units of the game's scale.
pub(crate) fn play_out<G: Game>(game: &G, world: &mut World<G>, rng: &mut Rng) -> f32 {
    let mut legal = Actions::new();
    while let Turn::Player(_) = world.turn(game) {
        world.legal(game, &mut legal);
        let action = legal[rng.random_range(0..legal.len())];
        world.advance(game, action, rng);
    }
    world.payoff(game) / game.info().value_scale
}
