//! Our side of `scripts/bench peers`: simulations of plain searches with random rollouts, as other libraries count them.
//!
//!   peers GAME SIMULATIONS [CUT]
//!
//! Searches positions of games in which each move is drawn by lot, so that whatever searches meets the same positions; a
//! search of a move begins with an empty tree. Moves without a choice are not searched. With CUT a rollout that has not
//! ended after so many moves counts 0. First says how large nodes and edges are, then answers each line
//! `THREADS SECONDS` on stdin by what as many threads, each with searches of its own, did in this time.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::{
    io::stdin,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fogfall_game::{Action, Actions, Game, GameInfo, GameSet, GameVisitor, Rng, Seat, Turn, stream};
use fogfall_games::Shipped;
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Rollout, Search, SearchSettings, Seats, tree_bytes};
use rand::RngExt;
use rustix::time::{ClockId, clock_gettime};

/// Games from one player's seed to the next.
const LANES: u64 = 1 << 32;

/// Games at random, searched at each decision.
struct Player<G: Game> {
    game: Arc<G>,
    searches: [Search<G>; 2],
    seats: Seats,
    batch: EvalBatch,
    decision: Decision,
    legal: Actions,
    state: G::State,
    rng: Rng,
    seed: u64,
}

impl<G: Game> Player<G> {
    fn new(game: &Arc<G>, lane: u64) -> Self {
        let settings = SearchSettings { free_simulations: u32::MAX, ..SearchSettings::for_game(game.info()) };
        let mut rng = stream(lane * LANES, &[]);
        let batch = EvalBatch::new(game.info().observation_len());
        Self {
            searches: [0, 1].map(|_| Search::new(Arc::clone(game), settings)),
            seats: settings.seats,
            batch,
            decision: Decision::default(),
            legal: Actions::new(),
            state: game.start(&mut rng),
            game: Arc::clone(game),
            rng,
            seed: lane * LANES,
        }
    }

    /// Searches for so long; simulations and the CPU time that they took.
    fn play(&mut self, simulations: u32, seconds: Duration) -> (u64, Duration) {
        let (began, mut all, mut took) = (Instant::now(), 0, Duration::ZERO);
        while began.elapsed() < seconds {
            self.game.settle(&mut self.state, &mut self.rng);
            let Turn::Player(mover) = self.game.turn(&self.state) else {
                self.seed += 1;
                self.rng = stream(self.seed, &[]);
                self.state = self.game.start(&mut self.rng);
                continue;
            };
            self.game.legal(&self.state, &mut self.legal);
            if self.legal.len() > 1 {
                let view = self.game.view(&self.state, mover);
                let since = cpu();
                self.search(mover, view, simulations);
                took += cpu() - since;
                all += u64::from(self.decision.simulations);
            }
            let action = self.legal[self.rng.random_range(0..self.legal.len())];
            self.game.advance(&mut self.state, action, &mut self.rng);
        }
        (all, took)
    }

    fn search(&mut self, mover: Seat, view: G::View, simulations: u32) {
        let search = &mut self.searches[if self.seats == Seats::Shared { 0 } else { usize::from(mover) }];
        search.begin(view, Budget::Simulations(simulations), None, self.rng.random());
        search.run(&mut Rollout, &mut self.batch);
        search.decide(Choice::Visits, &mut self.rng, &mut self.decision);
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

struct Bench {
    simulations: u32,
    cut: Option<u32>,
}

impl GameVisitor for Bench {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        match self.cut {
            Some(moves) => answer(&Arc::new(Cut { game, moves }), self.simulations),
            None => answer(&game, self.simulations),
        }
    }
}

/// Answers all lines on stdin.
fn answer<G: Game>(game: &Arc<G>, simulations: u32) {
    let (node, one_edge) = (tree_bytes(1, 0) / 2, tree_bytes(1, 1) / 2);
    println!(r#"{{"node_bytes": {node}, "edge_bytes": {}}}"#, one_edge - node);
    let mut players: Vec<Box<Player<G>>> = Vec::new(); // apart from each other in memory
    for line in stdin().lines() {
        let line = line.unwrap();
        let (threads, seconds) = line.split_once(' ').expect("THREADS SECONDS");
        let (threads, seconds): (usize, f64) = (threads.parse().unwrap(), seconds.parse().unwrap());
        let seconds = Duration::from_secs_f64(seconds);
        while players.len() < threads {
            players.push(Box::new(Player::new(game, players.len() as u64)));
        }
        let began = Instant::now();
        let did: Vec<_> = thread::scope(|scope| {
            let playing = players[..threads].iter_mut().map(|player| scope.spawn(|| player.play(simulations, seconds)));
            playing.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let wall_s = began.elapsed().as_secs_f64();
        let simulations: u64 = did.iter().map(|(simulations, _)| simulations).sum();
        let cpu_s: f64 = did.iter().map(|(_, took)| took.as_secs_f64()).sum();
        println!(r#"{{"simulations": {simulations}, "cpu_s": {cpu_s:.6}, "wall_s": {wall_s:.6}}}"#);
    }
}

/// A game whose rollouts are cut.
struct Cut<G> {
    game: Arc<G>,
    /// Most moves of a rollout.
    moves: u32,
}

impl<G: Game> Game for Cut<G> {
    type State = G::State;
    type View = G::View;

    fn play_out(&self, state: &mut G::State, scratch: &mut Actions, rng: &mut Rng) -> f32 {
        for _ in 0..self.moves {
            if self.game.turn(state) == Turn::Over {
                break;
            }
            self.game.legal(state, scratch);
            let action = scratch[rng.random_range(0..scratch.len())];
            self.game.advance(state, action, rng);
        }
        if self.game.turn(state) == Turn::Over { self.game.payoff(state) } else { 0.0 }
    }

    fn info(&self) -> &GameInfo {
        self.game.info()
    }

    fn start(&self, setup: &mut Rng) -> G::State {
        self.game.start(setup)
    }

    fn turn(&self, state: &G::State) -> Turn {
        self.game.turn(state)
    }

    fn legal(&self, state: &G::State, out: &mut Actions) {
        self.game.legal(state, out);
    }

    fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
        self.game.chance(state, out);
    }

    fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
        self.game.sample(state, rng)
    }

    fn apply(&self, state: &mut G::State, action: Action) {
        self.game.apply(state, action);
    }

    fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
        self.game.advance(state, action, rng);
    }

    fn payoff(&self, state: &G::State) -> f32 {
        self.game.payoff(state)
    }

    fn view(&self, state: &G::State, seat: Seat) -> G::View {
        self.game.view(state, seat)
    }

    fn tree_key(&self, state: &G::State, seat: Seat) -> u64 {
        self.game.tree_key(state, seat)
    }

    fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.observe(state, seat, out);
    }

    fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
        self.game.hidden(state, seat, out);
    }

    fn determinize(&self, view: &G::View, rng: &mut Rng) -> G::State {
        self.game.determinize(view, rng)
    }

    fn describe(&self, state: &G::State) -> String {
        self.game.describe(state)
    }

    fn describe_view(&self, view: &G::View, seat: Seat) -> String {
        self.game.describe_view(view, seat)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (game, simulations, cut) = match &arguments[..] {
        [game, simulations] => (game, simulations, None),
        [game, simulations, cut] => (game, simulations, Some(cut.parse().unwrap())),
        _ => panic!("peers GAME SIMULATIONS [CUT]"),
    };
    let bench = Bench { simulations: simulations.parse().unwrap(), cut };
    Shipped::with(game, None, bench).unwrap();
}
