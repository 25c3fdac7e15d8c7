//! `actor match`: pairs of games between two agents, on all cores, with intervals and with what a move took each side.
//!
//! CPU time is that of the playing threads (the thread's CPU clock), so other programs on the machine count little. It
//! holds the side's searches and evaluations, and the playing of its moves, which is next to nothing.

use std::{fmt, sync::Arc, time::Duration};

use anyhow::Result;
use fogfall_eval::MatchStats;
use fogfall_game::{Game, GameVisitor};
use fogfall_selfplay::{Effort, MatchSettings, PairResult, measure_match};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::{
    agent::{AgentFlags, AgentSpec},
    equal_cpu::equal_cpu,
    parts::in_parts,
    referee::{Judgement, Refereed, referee},
};

/// Games in progress a thread.
const SLOTS: usize = 32;

/// What was played, and what it took each side.
pub struct Played {
    /// The pairs in order.
    pub pairs: Vec<PairResult>,
    /// Of each side.
    pub efforts: [Effort; 2],
}

/// Plays `count` pairs from number `first` on, on all cores.
///
/// # Errors
/// If a thread died.
pub fn play<G: Game>(game: &Arc<G>, sides: [&AgentSpec; 2], [first, count]: [u32; 2], seed: u64) -> Result<Played> {
    let parts = in_parts(count, |part, pairs| {
        let mut agents = sides.map(|side| side.agent(&**game));
        let settings = MatchSettings { pairs, first_pair: first + part, slots: SLOTS, seed };
        vec![measure_match(game, &mut agents, settings, &thread_cpu)]
    })?;
    let mut played = Played { pairs: Vec::new(), efforts: [Effort::default(); 2] };
    for (pairs, efforts) in parts {
        played.add(Played { pairs, efforts });
    }
    Ok(played)
}

impl Played {
    /// Adds what was played after it.
    pub fn add(&mut self, more: Self) {
        self.pairs.extend(more.pairs);
        for (effort, more) in self.efforts.iter_mut().zip(more.efforts) {
            *effort += more;
        }
    }
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // A CPU clock begins at 0 and holds less than a second of nanoseconds.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// What a move took a side, in the mean.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// The agent.
    pub agent: String,
    /// It sees what is hidden from it: no player, but a ceiling.
    pub cheats: bool,
    /// Moves.
    pub moves: u64,
    /// CPU time of its thread, in milliseconds.
    pub cpu_ms_per_move: f64,
    /// Questions to its evaluator: a network, or random playouts.
    pub evaluations_per_move: f64,
    /// Simulations.
    pub simulations_per_move: f64,
}

impl Side {
    /// The side of `spec` in what was played.
    pub fn of(spec: &AgentSpec, effort: &Effort) -> Self {
        let mean = |sum: f64| sum / effort.moves.max(1) as f64;
        Self {
            agent: spec.name().to_owned(),
            cheats: spec.cheats(),
            moves: effort.moves,
            cpu_ms_per_move: mean(1000.0 * effort.time.as_secs_f64()),
            evaluations_per_move: mean(effort.evaluations as f64),
            simulations_per_move: mean(effort.simulations as f64),
        }
    }

    /// The agent, marked if it cheats.
    pub fn label(&self) -> String {
        label(&self.agent, self.cheats)
    }
}

/// An agent's name for people: nobody shall take a cheat for a player.
pub fn label(name: &str, cheats: bool) -> String {
    if cheats { format!("{name} (CHEATS: sees all)") } else { name.to_owned() }
}

/// Both sides as a table.
pub fn write_sides(sides: &[Side; 2], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let width = sides.iter().map(|side| side.label().chars().count()).max().unwrap_or(0);
    write!(f, "{:width$}  CPU ms a move  evaluations  simulations     moves", "")?;
    for side in sides {
        let Side { moves, cpu_ms_per_move: cpu, evaluations_per_move, simulations_per_move, .. } = side;
        let label = side.label();
        write!(f, "\n{label:width$}  {cpu:13.3}  {evaluations_per_move:11.1}  {simulations_per_move:11.1}  {moves:8}")?;
    }
    Ok(())
}

/// A match as asked for.
pub struct Match {
    /// The agents.
    pub agents: [String; 2],
    /// Pairs of games.
    pub pairs: u32,
    /// Root seed.
    pub seed: u64,
    /// How agents search and choose, but for their own settings.
    pub flags: AgentFlags,
    /// A referee judges both agents; with it, who else has one if this game has none.
    pub referee: Option<Refereed>,
}

/// A match and its numbers, from the first agent's side.
#[derive(Serialize)]
pub struct MatchReport {
    /// The game.
    pub game: String,
    /// Root seed.
    pub seed: u64,
    /// What a move took the first agent, and the second.
    pub sides: [Side; 2],
    /// Simulations that were found to take the other side's CPU time, if that was asked for.
    pub equal_cpu_simulations: Option<u32>,
    /// What the referee says, if it was asked.
    pub referee: Option<Judgement>,
    /// The numbers.
    #[serde(flatten)]
    pub stats: MatchStats,
}

impl fmt::Display for MatchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.sides;
        writeln!(f, "{}: {} against {}", self.game, a.label(), b.label())?;
        writeln!(f, "{}", self.stats)?;
        // Where payoffs are only won, drawn and lost they say nothing that the score does not.
        if let (Some(payoff), Some(score)) = (self.stats.payoff, self.stats.score)
            && (payoff.mean - (2.0 * score.mean - 1.0)).abs() > 1e-6
        {
            writeln!(f, "payoff {payoff} a game, in the game's own units")?;
        }
        writeln!(f)?;
        write_sides(&self.sides, f)?;
        if let Some(found) = self.equal_cpu_simulations {
            write!(f, "\nsearch:cpu: {found} simulations take about the other side's CPU time")?;
        }
        match &self.referee {
            Some(judgement) => judgement.write(&self.sides, f),
            None => Ok(()),
        }
    }
}

impl GameVisitor for Match {
    type Out = Result<MatchReport>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let [a, b] = &self.agents;
        let referee = self.referee.map(|refereed| referee(&*game, refereed)).transpose()?;
        let mut specs = [AgentSpec::parse(a, &*game, &self.flags)?, AgentSpec::parse(b, &*game, &self.flags)?];
        let equal_cpu_simulations = equal_cpu(&game, &mut specs, self.pairs, self.seed)?;
        let [a, b] = &specs;
        let Played { pairs, efforts } = play(&game, [a, b], [0, self.pairs], self.seed)?;
        Ok(MatchReport {
            game: game.info().name.clone(),
            seed: self.seed,
            sides: [Side::of(a, &efforts[0]), Side::of(b, &efforts[1])],
            equal_cpu_simulations,
            referee: referee.map(|referee| Judgement::of(&game, &referee, [a, b], self.seed)),
            stats: MatchStats::of(&pairs),
        })
    }
}
