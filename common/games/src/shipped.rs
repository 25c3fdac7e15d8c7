//! [`Shipped`]: the games that ship, by name.

use std::sync::Arc;

use fogfall_game::{GameError, GameSet, GameVisitor, without_rules};

use crate::{Battle, ConnectFour, KuhnPoker, LeducPoker, LiarsDice, Othello, PhantomTtt, TicTacToe};

/// The games that ship.
#[derive(Debug)]
pub struct Shipped;

impl GameSet for Shipped {
    fn names() -> Vec<&'static str> {
        vec![
            Battle::NAME,
            Battle::TINY_NAME,
            ConnectFour::NAME,
            KuhnPoker::NAME,
            LeducPoker::NAME,
            LiarsDice::NAME,
            Othello::NAME,
            PhantomTtt::NAME,
            TicTacToe::NAME,
        ]
    }

    fn with<V: GameVisitor>(name: &str, rules: Option<&str>, visitor: V) -> Result<V::Out, GameError> {
        match name {
            Battle::NAME => Ok(visitor.visit(Arc::new(Battle::new(rules)?))),
            Battle::TINY_NAME => Ok(visitor.visit(Arc::new(Battle::tiny(rules)?))),
            ConnectFour::NAME => Ok(visitor.visit(without_rules(ConnectFour::new(), rules)?)),
            KuhnPoker::NAME => Ok(visitor.visit(without_rules(KuhnPoker::new(), rules)?)),
            LeducPoker::NAME => Ok(visitor.visit(without_rules(LeducPoker::new(), rules)?)),
            LiarsDice::NAME => Ok(visitor.visit(without_rules(LiarsDice::new(), rules)?)),
            Othello::NAME => Ok(visitor.visit(without_rules(Othello::new(), rules)?)),
            PhantomTtt::NAME => Ok(visitor.visit(without_rules(PhantomTtt::new(), rules)?)),
            TicTacToe::NAME => Ok(visitor.visit(without_rules(TicTacToe::new(), rules)?)),
            _ => Err(Self::unknown(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use fogfall_game::Game;

    use super::*;

    struct Name;

    impl GameVisitor for Name {
        type Out = String;

        fn visit<G: Game>(self, game: Arc<G>) -> String {
            game.info().name.clone()
        }
    }

    #[test]
    fn every_name_leads_to_the_game_of_that_name() {
        for name in Shipped::names() {
            assert_eq!(Shipped::with(name, None, Name).unwrap(), name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Shipped::with("chess", None, Name).unwrap_err().to_string();
        assert!(error.starts_with("unknown game 'chess'; known games: "), "{error}");
        assert!(error.contains("kuhn_poker"), "{error}");
    }

    #[test]
    fn a_game_with_fixed_rules_refuses_a_rules_text() {
        let error = Shipped::with("kuhn_poker", Some("x = 1"), Name).unwrap_err().to_string();
        assert_eq!(error, "kuhn_poker takes no rules file");
    }
}
