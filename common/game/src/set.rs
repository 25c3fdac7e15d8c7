//! A set of games known by name, and the one place where the house goes from a name to a type.

use std::sync::Arc;

use thiserror::Error;

use crate::Game;

/// Why a game could not be built.
#[derive(Debug, Error)]
pub enum GameError {
    /// No such game in the set.
    #[error("unknown game '{name}'; known games: {}", known.join(", "))]
    UnknownGame {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// The game's rules are fixed.
    #[error("{game} takes no rules file")]
    NoRules {
        /// The game's name.
        game: String,
    },
    /// The rules text has mistakes; all of them are listed.
    #[error("rules of {game}: {} mistake{}\n  {}", mistakes.len(), if mistakes.len() == 1 { "" } else { "s" }, mistakes.join("\n  "))]
    Rules {
        /// The game's name.
        game: String,
        /// One text a mistake, with line and allowed values.
        mistakes: Vec<String>,
    },
}

/// Work that can be done for any game.
pub trait GameVisitor {
    /// What the work gives.
    type Out;
    /// Does it. Inside, all is static.
    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out;
}

/// Games by name. A studio's own binaries are generic over their own set.
pub trait GameSet: 'static {
    /// The names, in the order in which help shows them.
    fn names() -> Vec<&'static str>;

    /// Builds the named game, with rules text if the game takes any, and does `visitor`'s work for it.
    ///
    /// # Errors
    /// [`GameError`] if there is no such game or its rules do not hold.
    fn with<V: GameVisitor>(name: &str, rules: Option<&str>, visitor: V) -> Result<V::Out, GameError>;

    /// The error for a name that is not in the set.
    fn unknown(name: &str) -> GameError {
        GameError::UnknownGame { name: name.to_owned(), known: Self::names().into_iter().map(str::to_owned).collect() }
    }
}

/// Builds a game without rules, refusing a rules text.
///
/// # Errors
/// [`GameError::NoRules`] if there is one.
pub fn without_rules<G: Game>(game: G, rules: Option<&str>) -> Result<Arc<G>, GameError> {
    match rules {
        None => Ok(Arc::new(game)),
        Some(_) => Err(GameError::NoRules { game: game.info().name.clone() }),
    }
}
