//! The games that ship with Fogfall, and [`Shipped`], the set of them.
//!
//! Standard games have the names, action numbers, turn order and chance outcomes of OpenSpiel.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bits;
mod square;

mod battle;
mod connect_four;
mod kuhn_poker;
mod leduc_poker;
mod liars_dice;
mod othello;
mod phantom_ttt;
mod tic_tac_toe;

mod shipped;

pub use battle::{
    Battle, DEFAULT_RULES as BATTLE_RULES, State as BattleState, TINY_RULES as BATTLE_TINY_RULES, View as BattleView,
};
pub use connect_four::{ConnectFour, ConnectFourBoard};
pub use kuhn_poker::{BET, Deal, Hand, KuhnPoker, PASS};
pub use leduc_poker::{LeducPoker, LeducState, LeducView};
pub use liars_dice::{LiarsDice, LiarsDiceState, LiarsDiceView};
pub use othello::{Othello, OthelloBoard};
pub use phantom_ttt::{PhantomBoard, PhantomTtt, PhantomView};
pub use shipped::Shipped;
pub use tic_tac_toe::{Board, TicTacToe};
