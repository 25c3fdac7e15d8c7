//! A game of one's own for Fogfall, and the set that makes it known by name to an actor and a learner.

mod game;

use fogfall_game::{GameError, GameSet, GameVisitor, without_rules};

pub use game::{Table, TreasureHunt, View};

/// Our games by name: one.
#[derive(Debug)]
pub struct Mine;

impl GameSet for Mine {
    fn names() -> Vec<&'static str> {
        vec![TreasureHunt::NAME]
    }

    fn with<V: GameVisitor>(name: &str, rules: Option<&str>, visitor: V) -> Result<V::Out, GameError> {
        match name {
            TreasureHunt::NAME => Ok(visitor.visit(without_rules(TreasureHunt::new(), rules)?)),
            _ => Err(Self::unknown(name)),
        }
    }
}
