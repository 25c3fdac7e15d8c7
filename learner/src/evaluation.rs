//! The evaluation stage: while training goes on, the newest weights play short matches against a ladder of opponents,
//! with the search and budget of self-play, and where the game is small, they are measured exactly. Each round of matches
//! begins with a game of the weights against themselves that is recorded to be looked at. It takes a bounded share of the
//! machine and holds nothing up.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fogfall_eval::MatchStats;
use fogfall_game::{Game, mix};
use fogfall_net::NetEvaluator;
use fogfall_pipeline::{VersionedNet, WeightsCell};
use fogfall_proto::Version;
use fogfall_search::{Budget, Cached, Choice, SearchSettings};
use fogfall_selfplay::{Agent, MatchSettings, Searcher, play_match, record_game};
use fogfall_service::shutdown::Stop;

use crate::{board::Board, exact::RunFigures, shelf::Shelf, status::WinRate};

/// Answers that a player in a match remembers.
const CACHE_ENTRIES: usize = 4096;

/// The name under which the untrained network is an opponent.
pub const UNTRAINED: &str = "untrained";

/// How the stage works.
#[derive(Clone, Debug)]
pub struct EvaluationSettings {
    /// The searches of both sides.
    pub search: SearchSettings,
    /// Their budget.
    pub budget: Budget,
    /// Play matches.
    pub matches: bool,
    /// How moves are chosen where the policy is measured: as at the start of a game of self-play.
    pub choice: Choice,
    /// Pairs of games against each opponent.
    pub pairs: u32,
    /// Time from the start of one round of matches to the next.
    pub every: Duration,
    /// Time from one measurement of exact figures to the next.
    pub exact_every: Duration,
    /// Each kind of round takes at most this share of one core's time; later rounds wait longer if need be.
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
    /// Exact figures, where the game is small.
    pub exact: Option<RunFigures<G>>,
    /// Where results go.
    pub board: Board,
    /// Where recorded games go.
    pub shelf: Arc<Shelf>,
}

/// Stream of recorded games, below the stage's seed and a round.
const RECORD_STREAM: u64 = 1 << 32;

impl<G: Game> Evaluation<G> {
    /// Runs rounds on a thread until `stop` is set.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(self, stop: Stop) -> std::io::Result<JoinHandle<()>> {
        std::thread::Builder::new().name("evaluation".to_owned()).spawn(move || self.run(&stop))
    }

    fn run(mut self, stop: &Stop) {
        let (every, share) = (self.settings.every, self.settings.share);
        let mut matches = Clock::new(every, share);
        let mut exact = Clock::new(self.settings.exact_every, share);
        while !stop.is_requested() {
            let weights = self.weights.newest();
            if self.settings.matches {
                matches.round(weights.version, |round| {
                    self.record(&weights, round, stop);
                    self.round(&weights, round, stop);
                });
            }
            exact.round(weights.version, |round| {
                let player = self.agent(&weights, self.settings.choice);
                if let Some(exact) = &mut self.exact {
                    exact.measure(player, weights.version.step, mix(self.settings.seed, round), &self.board);
                }
            });
            stop.wait(matches.rest().min(exact.rest()));
        }
    }

    /// Records a game of the weights against themselves.
    fn record(&self, weights: &VersionedNet, round: u64, stop: &Stop) {
        if !self.shelf.keeps() {
            return;
        }
        let seed = mix(mix(self.settings.seed, round), RECORD_STREAM);
        let mut player = self.agent(weights, self.match_choice());
        let Some(game) = record_game(&self.game, &mut player, seed, &|| stop.is_requested()) else { return };
        if let Err(error) = self.shelf.put(&game, weights.version) {
            self.board.notice(format!("{error:#}"));
        }
    }

    /// One match against each opponent.
    fn round(&self, weights: &VersionedNet, round: u64, stop: &Stop) {
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
    }

    fn searcher(&self, weights: &VersionedNet) -> Agent {
        Agent::Search(Box::new(self.agent(weights, self.match_choice())))
    }

    /// How moves are chosen where a player shall win: the best one, unless good play must be mixed.
    fn match_choice(&self) -> Choice {
        if self.settings.choice == Choice::Label { Choice::Label } else { Choice::Visits }
    }

    fn agent(&self, weights: &VersionedNet, choice: Choice) -> Searcher {
        let net = NetEvaluator::new(Arc::clone(&weights.net));
        let evaluator = Box::new(Cached::new(net, CACHE_ENTRIES, self.game.info().num_actions()));
        Searcher { evaluator, search: self.settings.search, budget: self.settings.budget, choice }
    }
}

/// When a kind of round is due.
struct Clock {
    every: Duration,
    share: f64,
    next: Instant,
    rounds: u64,
    last: Option<Version>,
}

impl Clock {
    fn new(every: Duration, share: f64) -> Self {
        Self { every, share: share.max(0.001), next: Instant::now(), rounds: 0, last: None }
    }

    /// Runs a round if one is due and there are new weights; it may take its share of the time to the next.
    fn round(&mut self, version: Version, run: impl FnOnce(u64)) {
        let began = Instant::now();
        if began < self.next {
            return;
        }
        if self.last != Some(version) {
            run(self.rounds);
            self.last = Some(version);
            self.rounds += 1;
        }
        self.next = began + self.every.max(began.elapsed().div_f64(self.share));
    }

    /// Time until a round is due.
    fn rest(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }
}
