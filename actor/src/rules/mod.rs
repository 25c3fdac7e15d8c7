//! `actor rules check`: plays a game by a text of rules and says whether it is one worth playing. Mistakes in the text
//! are found before: they are the game's own to report.

mod page;
mod plots;
mod report;

use std::sync::Arc;

use anyhow::Result;
use fogfall_eval::balance::{Balance, PlayedGame, PlayedMatch};
use fogfall_game::{Actions, Game, GameVisitor, Turn, mix};
use fogfall_selfplay::{MatchSettings, watch_match};

pub use self::report::RulesReport;
use crate::{
    agent::{AgentFlags, AgentSpec},
    parts::in_parts,
};

/// Games in progress a thread.
const SLOTS: usize = 32;
/// The name of the player that chooses by lot.
const RANDOM: &str = "random";

/// A check as asked for.
pub struct Check {
    /// What the rules are called in the report.
    pub source: String,
    /// Pairs of games of each two players that do not search.
    pub pairs: u32,
    /// Pairs of games where somebody searches.
    pub search_pairs: u32,
    /// A weights file to search with; without one, random playouts.
    pub weights: Option<String>,
    /// Root seed.
    pub seed: u64,
    /// How players search.
    pub flags: AgentFlags,
}

/// A player by name.
struct Player {
    name: String,
    spec: AgentSpec,
    searches: bool,
}

impl GameVisitor for Check {
    type Out = Result<RulesReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let players = self.players(&*game)?;
        let matches = pairings(players.len())
            .enumerate()
            .map(|(number, two)| self.play(&game, two.map(|player| &players[player]), mix(self.seed, number as u64)))
            .collect::<Result<Vec<_>>>()?;
        let judges: Vec<String> = players.iter().rev().take(2).rev().map(|player| player.name.clone()).collect();
        let judges: Vec<String> = judges.into_iter().filter(|judge| judge != RANDOM).collect();
        Ok(RulesReport {
            game: game.info().name.clone(),
            rules: self.source,
            seed: self.seed,
            fights: 2 * self.pairs,
            search_fights: 2 * self.search_pairs,
            simulations: self.flags.search.simulations,
            max_decisions: game.info().max_decisions,
            balance: Balance::of(&game.info().actions, &matches, &judges, RANDOM),
        })
    }
}

/// Two players each, by number and weakest first: every player against itself, the one below it and the first, and the
/// last against all.
fn pairings(players: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..players).flat_map(move |a| {
        let fits = move |b: &usize| *b == a || *b + 1 == a || *b == 0 || a + 1 == players;
        (0..=a).filter(fits).map(move |b| [a, b])
    })
}

impl Check {
    /// Weakest first: by lot, the game's rule-based players, search.
    fn players(&self, game: &impl Game) -> Result<Vec<Player>> {
        let search = match &self.weights {
            Some(path) => path.clone(),
            None => format!("search:{}", self.flags.search.simulations),
        };
        let names = [RANDOM].iter().chain(game.experts()).map(|&name| name.to_owned()).chain([search]);
        names
            .map(|name| {
                let spec = AgentSpec::parse(&name, game, &self.flags)?;
                let searches = spec.searches();
                let name = if spec.has_network() { "network".to_owned() } else { name };
                Ok(Player { name, spec, searches })
            })
            .collect()
    }

    fn play<G: Game>(&self, game: &Arc<G>, players: [&Player; 2], seed: u64) -> Result<PlayedMatch> {
        let searches = players.iter().any(|player| player.searches);
        let pairs = in_parts(if searches { self.search_pairs } else { self.pairs }, |first_pair, pairs| {
            let mut agents = players.map(|player| player.spec.agent(&**game));
            let settings = MatchSettings { pairs, first_pair, slots: SLOTS, seed };
            let mut played = vec![[None, None]; pairs as usize];
            let mut legal = Actions::new();
            watch_match(game, &mut agents, settings, &|| false, &mut |watched| {
                let place = &mut played[watched.pair as usize][usize::from(watched.first)];
                let state = watched.state;
                let one: &mut PlayedGame = place.get_or_insert_with(|| {
                    let character = |seat| game.character(state, seat).map(str::to_owned);
                    PlayedGame::new(game.info().num_actions(), [0, 1].map(character))
                });
                match watched.decision {
                    Some((seat, action)) => {
                        game.legal(state, &mut legal);
                        one.decide(seat, &legal, action);
                    }
                    None if game.turn(state) == Turn::Over => {
                        one.payoff = game.payoff(state);
                        one.ran_out = game.ran_out(state);
                    }
                    None => one.truncated = true,
                }
            });
            let pair = |[first, second]: [Option<PlayedGame>; 2]| Some([first?, second?]);
            played.into_iter().filter_map(pair).collect()
        })?;
        Ok(PlayedMatch { players: players.map(|player| player.name.clone()), pairs })
    }
}

#[cfg(test)]
mod tests;
