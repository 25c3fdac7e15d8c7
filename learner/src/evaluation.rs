//! The evaluation stage: while training goes on, the newest weights play short matches against a ladder of opponents,
//! with the search and budget of self-play. It takes a bounded share of the machine and holds nothing up.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fogfall_eval::{ExactFigures, MatchStats};
use fogfall_game::{Game, mix};
use fogfall_net::NetEvaluator;
use fogfall_pipeline::{VersionedNet, WeightsCell};
use fogfall_search::{Budget, Choice, SearchSettings};
use fogfall_selfplay::{Agent, MatchSettings, Searcher, play_match};
use fogfall_service::shutdown::Stop;

use crate::{
    board::Board,
    status::{Figure, WinRate},
};

/// The name under which the untrained network is an opponent.
pub const UNTRAINED: &str = "untrained";

/// How the stage works.
#[derive(Clone, Debug)]
pub struct EvaluationSettings {
    /// The searches of both sides.
    pub search: SearchSettings,
    /// Their budget.
    pub budget: Budget,
    /// Pairs of games against each opponent.
    pub pairs: u32,
    /// Time from the start of one round to the next.
    pub every: Duration,
    /// Rounds take at most this share of one core's time; later rounds wait longer if need be.
    pub share: f64,
    /// Root seed.
    pub seed: u64,
}

/// The stage's own parts.
pub struct Evaluation<G: Game> {
    /// The game.
    pub game: Arc<G>,
    /// How it works.
    pub settings: EvaluationSettings,
    /// The newest weights.
    pub weights: Arc<WeightsCell>,
    /// The opponent of the same name: what training began with.
    pub untrained: VersionedNet,
    /// Where results go.
    pub board: Board,
}

impl<G: Game> Evaluation<G> {
    /// Runs rounds on a thread until `stop` is set.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("evaluation".to_owned()).spawn(move || self.run(&stop))
    }

    fn run(&self, stop: &Stop) {
        let exact = ExactFigures::new(&*self.game);
        let mut round = 0;
        let mut last = None;
        while !stop.is_requested() {
            let weights = self.weights.newest();
            let began = Instant::now();
            if last != Some(weights.version) {
                self.round(&weights, exact.as_ref(), round, stop);
                last = Some(weights.version);
                round += 1;
            }
            let least = self.settings.every.max(began.elapsed().div_f64(self.settings.share.max(0.001)));
            stop.wait(least.saturating_sub(began.elapsed()));
        }
    }

    /// One match against each opponent, and the exact figures where the game is small.
    fn round(&self, weights: &VersionedNet, exact: Option<&ExactFigures<G>>, round: u64, stop: &Stop) {
        let experts = self.game.experts().iter().copied();
        for (i, opponent) in ["random"].into_iter().chain(experts).chain([UNTRAINED]).enumerate() {
            let agent = match opponent {
                "random" => Agent::Random,
                UNTRAINED => self.searcher(&self.untrained),
                expert => Agent::Expert(expert.to_owned()),
            };
            let seed = mix(mix(self.settings.seed, round), i as u64);
            let settings = MatchSettings { pairs: self.settings.pairs, first_pair: 0, slots: 32, seed };
            let mut agents = [self.searcher(weights), agent];
            let pairs = play_match(&self.game, &mut agents, settings, &|| stop.is_requested());
            if stop.is_requested() {
                return;
            }
            let stats = MatchStats::of(&pairs);
            let Some(score) = stats.score else { continue };
            self.board.win_rate(WinRate {
                opponent: opponent.to_owned(),
                score: score.mean,
                low: score.low,
                high: score.high,
                games: stats.games as u64,
                distinct: stats.distinct_games as u64,
                step: weights.version.step,
            });
        }
        let Some(exact) = exact else { return };
        match exact.measure(&self.game, &mut self.agent(weights), mix(self.settings.seed, round)) {
            Ok(value) => self.board.figure(Figure { name: exact.name(), value, step: weights.version.step }),
            Err(error) => self.board.notice(format!("{}: {error}", exact.name())),
        }
    }

    fn searcher(&self, weights: &VersionedNet) -> Agent {
        Agent::Search(Box::new(self.agent(weights)))
    }

    fn agent(&self, weights: &VersionedNet) -> Searcher {
        Searcher {
            evaluator: Box::new(NetEvaluator::new(Arc::clone(&weights.net))),
            search: self.settings.search,
            budget: self.settings.budget,
            choice: Choice::Visits,
        }
    }
}
