//! What is kept of a played game.

use fogfall_game::{Action, Seat};

/// What became of one option in one seat's hands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OptionUse {
    /// Decisions at which it was legal.
    pub legal: u32,
    /// Decisions at which it was chosen.
    pub chosen: u32,
    /// How often it would have been chosen by lot: the sum of `1 / legal actions`.
    pub by_lot: f32,
}

/// A finished game.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedGame {
    /// Seat 0's payoff; 0 if the game was cut.
    pub payoff: f32,
    /// Decisions of both seats.
    pub decisions: u32,
    /// It was cut at the game's largest number of decisions, which a sound game never reaches.
    pub truncated: bool,
    /// It was ended by a limit of its rules, and not by what was played.
    pub ran_out: bool,
    /// The kind of character in each seat, for games that have several.
    pub characters: [Option<String>; 2],
    /// `[seats, actions]` what became of each option.
    pub options: [Vec<OptionUse>; 2],
}

impl PlayedGame {
    /// A game about to begin, with `num_actions` options.
    pub fn new(num_actions: usize, characters: [Option<String>; 2]) -> Self {
        Self {
            payoff: 0.0,
            decisions: 0,
            truncated: false,
            ran_out: false,
            characters,
            options: [vec![OptionUse::default(); num_actions], vec![OptionUse::default(); num_actions]],
        }
    }

    /// Counts a decision.
    pub fn decide(&mut self, seat: Seat, legal: &[Action], action: Action) {
        self.decisions += 1;
        let options = &mut self.options[usize::from(seat)];
        for &one in legal {
            let option = &mut options[usize::from(one)];
            option.legal += 1;
            option.by_lot += 1.0 / legal.len() as f32;
        }
        options[usize::from(action)].chosen += 1;
    }

    /// Win 1, draw 1/2, loss 0, for one seat.
    pub(crate) fn score(&self, seat: usize) -> f64 {
        let payoff = if seat == 0 { self.payoff } else { -self.payoff };
        match payoff {
            payoff if payoff > 0.0 => 1.0,
            payoff if payoff < 0.0 => 0.0,
            _ => 0.5,
        }
    }
}

/// The games of two players: pairs with the same set-up, the first player in seat 0 and then in seat 1.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedMatch {
    /// Who played.
    pub players: [String; 2],
    /// Pairs of games.
    pub pairs: Vec<[PlayedGame; 2]>,
}

impl PlayedMatch {
    /// A player against itself.
    pub fn is_mirror(&self) -> bool {
        self.players[0] == self.players[1]
    }

    pub(crate) fn games(&self) -> impl Iterator<Item = &PlayedGame> {
        self.pairs.iter().flatten()
    }
}
