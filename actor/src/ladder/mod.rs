//! `actor ladder`: Elo ratings of a run's checkpoints and of fixed players, from matches of who meets whom.
//!
//! Fixed players (`random`, the game's rule-based players, the run's untrained network, agents named on the command line)
//! meet everybody; a checkpoint meets the fixed ones and its next two neighbours. The ratings hang together that way, and
//! their number of meetings grows with the checkpoints, not with their square.

mod plot;
mod report;
mod run;

use std::{path::Path, sync::Arc};

use anyhow::{Context, Result, bail, ensure};
use fogfall_eval::{MatchStats, Meeting, ratings};
use fogfall_game::{Game, GameVisitor, mix};

use self::report::{LadderMeeting, LadderPlayer};
pub use self::{report::LadderReport, run::RunWeights};
use crate::{
    agent::{AgentFlags, AgentSpec},
    matches::play,
};

/// How far apart checkpoints are that still meet.
const NEIGHBOURS: usize = 2;
/// Samples of the bootstrap.
const RESAMPLES: u32 = 400;
/// Apart from the seeds of matches.
const RESAMPLE_SEED: u64 = 0x656c_6f21;
/// The players that a ladder has always.
const RANDOM: &str = "random";

/// A ladder as asked for.
pub struct Ladder {
    /// The run, if its checkpoints shall be rated.
    pub run: Option<RunWeights>,
    /// Agents that meet everybody, besides the game's own.
    pub agents: Vec<String>,
    /// The player whose rating is 0.
    pub anchor: String,
    /// Pairs of each meeting.
    pub pairs: u32,
    /// Root seed.
    pub seed: u64,
    /// How agents search and choose, but for their own settings.
    pub flags: AgentFlags,
}

/// A player on the ladder.
struct Player {
    name: String,
    spec: AgentSpec,
    /// Train steps of a network of the run.
    step: Option<u64>,
    /// Its place among the checkpoints; none for players that meet everybody.
    checkpoint: Option<usize>,
}

impl GameVisitor for Ladder {
    type Out = Result<LadderReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let players = self.players(&*game)?;
        let names = || players.iter().map(|player| player.name.as_str());
        let anchor = names().position(|name| name == self.anchor).with_context(|| {
            format!("--anchor {}: no such player; there are {}", self.anchor, names().collect::<Vec<_>>().join(", "))
        })?;
        let mut meetings = Vec::new();
        let mut results = Vec::new();
        let pairings = pairings(&players);
        for (number, &[a, b]) in pairings.iter().enumerate() {
            let seed = mix(self.seed, number as u64);
            let played = play(&game, [&players[a].spec, &players[b].spec], [0, self.pairs], seed)?;
            tracing::info!(a = players[a].name, b = players[b].name, "meeting {} of {}", number + 1, pairings.len());
            meetings.push(Meeting::of([a, b], &played.pairs));
            results.push(([a, b], MatchStats::of(&played.pairs)));
        }
        let elo = ratings(players.len(), anchor, &meetings, RESAMPLES, mix(self.seed, RESAMPLE_SEED));
        Ok(LadderReport {
            game: game.info().name.clone(),
            run: self.run.map(|run| run.dir.display().to_string()),
            anchor: self.anchor,
            seed: self.seed,
            games_per_meeting: 2 * self.pairs,
            players: players.iter().zip(elo).enumerate().map(|(i, (p, elo))| p.rated(i, elo, &results)).collect(),
            meetings: results
                .iter()
                .map(|([a, b], stats)| LadderMeeting::of([&players[*a], &players[*b]], stats))
                .collect(),
        })
    }
}

/// Who meets whom, by number.
fn pairings(players: &[Player]) -> Vec<[usize; 2]> {
    let meet = |a: &Player, b: &Player| match (a.checkpoint, b.checkpoint) {
        (Some(a), Some(b)) => b - a <= NEIGHBOURS,
        _ => true,
    };
    let all = (0..players.len()).flat_map(|b| (0..b).map(move |a| [a, b]));
    all.filter(|&[a, b]| meet(&players[a], &players[b])).collect()
}

impl Ladder {
    fn players(&self, game: &impl Game) -> Result<Vec<Player>> {
        let mut players = Vec::new();
        let named = [RANDOM].iter().chain(game.experts()).map(|&name| name.to_owned());
        for name in named.chain(self.agents.iter().cloned()) {
            let spec = AgentSpec::parse(&name, game, &self.flags)?;
            ensure!(!spec.wants_equal_cpu(), "search:cpu takes the CPU time of one other side, and here are several");
            players.push(Player { name, spec, step: None, checkpoint: None });
        }
        if let Some(run) = &self.run {
            if let Some(weights) = &run.untrained {
                players.push(self.network("untrained".to_owned(), weights, game, 0, None)?);
            }
            let one_start = run.checkpoints.windows(2).all(|two| two[0].0.epoch == two[1].0.epoch);
            for (place, (version, weights)) in run.checkpoints.iter().enumerate() {
                let start = if one_start { String::new() } else { format!("start {}, ", version.epoch) };
                let name = format!("{start}step {}", version.step);
                players.push(self.network(name, weights, game, version.step, Some(place))?);
            }
        }
        let mut names: Vec<_> = players.iter().map(|player| &player.name).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
            bail!("{} is on the ladder twice", twice[0]);
        }
        ensure!(players.len() > 1, "a ladder has two players or more: give --run or agents");
        Ok(players)
    }

    fn network(
        &self,
        name: String,
        weights: &[u8],
        game: &impl Game,
        step: u64,
        checkpoint: Option<usize>,
    ) -> Result<Player> {
        let spec = AgentSpec::network(name.clone(), weights, game, &self.flags)?;
        Ok(Player { name, spec, step: Some(step), checkpoint })
    }
}

impl Player {
    fn rated(&self, number: usize, elo: fogfall_eval::Interval, results: &[([usize; 2], MatchStats)]) -> LadderPlayer {
        let mut player = LadderPlayer {
            name: self.name.clone(),
            cheats: self.spec.cheats(),
            step: self.step,
            checkpoint: self.checkpoint.is_some(),
            elo,
            score: 0.0,
            games: 0,
            distinct_games: 0,
        };
        let mut points = 0.0;
        for ([a, _], stats) in results.iter().filter(|(two, _)| two.contains(&number)) {
            let won = if *a == number { stats.wins } else { stats.losses };
            points += won as f64 + stats.draws as f64 / 2.0;
            player.games += stats.games;
            player.distinct_games += stats.distinct_games;
        }
        player.score = points / player.games.max(1) as f64;
        player
    }
}

/// Writes the curve of a ladder.
///
/// # Errors
/// If the ladder has no run, or the file cannot be written.
pub fn write_plot(report: &LadderReport, path: &Path) -> Result<()> {
    let svg = plot::svg(report)?;
    std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests;
