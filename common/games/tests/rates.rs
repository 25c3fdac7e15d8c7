//! How random players fare against each other in the standard games: a port with a wrong rule seldom has the right rates.
#![allow(clippy::unwrap_used)]

use fogfall_game::{Actions, Game, Turn, stream};
use fogfall_games::{ConnectFour, LiarsDice, Othello, PhantomTtt, TicTacToe};
use rand::RngExt;

const GAMES: u64 = 20_000;

/// Shares of games that seat 0 wins, draws and loses, and decisions a game.
fn rates(game: &impl Game) -> [f64; 4] {
    let mut sums = [0.0; 4];
    let mut legal = Actions::new();
    for number in 0..GAMES {
        let mut rng = stream(number, &[]);
        let mut state = game.start(&mut rng);
        game.settle(&mut state, &mut rng);
        while let Turn::Player(_) = game.turn(&state) {
            game.legal(&state, &mut legal);
            game.advance(&mut state, legal[rng.random_range(0..legal.len())], &mut rng);
            sums[3] += 1.0;
        }
        let payoff = game.payoff(&state);
        sums[usize::from(payoff <= 0.0) + usize::from(payoff < 0.0)] += 1.0;
    }
    sums.map(|sum| sum / GAMES as f64)
}

/// Compares with shares of wins, draws and losses, and decisions a game. A share has a standard deviation of at most
/// 0.0035; those of the references are as large.
fn agree(game: &impl Game, shares: [f64; 3], decisions: f64) {
    let found = rates(game);
    let near = found.iter().zip(shares).all(|(found, share)| (found - share).abs() < 0.02);
    assert!(near && (found[3] / decisions - 1.0).abs() < 0.02, "{}: {found:?}", game.info().name);
}

#[test]
fn random_players_win_as_often_as_in_open_spiel() {
    agree(&TicTacToe::new(), [0.586, 0.125, 0.289], 7.6);
    agree(&ConnectFour::new(), [0.559, 0.002, 0.439], 21.4);
    agree(&PhantomTtt::new(), [0.580, 0.131, 0.289], 10.5);
    agree(&LiarsDice::new(), [0.4838, 0.0, 0.5162], 3.37); // exact: seat 0 loses 0.032407
    agree(&Othello::new(), [0.467, 0.037, 0.496], 60.4);
}
