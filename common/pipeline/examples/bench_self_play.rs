//! What self-play of a game costs besides its network, and how much of the bare network's rate is left; by default
//! settings, on one thread. Figures for a page, not a test: nothing fails.
//!
//! `cargo run -p fogfall-pipeline --example bench_self_play [-- SECONDS [GAME [WEIGHTS]]]`: seconds of CPU time for each
//! figure, 5 by default; `battle` by default; and trained weights in place of random ones of two sizes.
//!
//! All times are CPU time of this thread, so other load matters little. Three workers and the bare network take turns
//! every few milliseconds and meet the same conditions. All workers play the same games, since neither the evaluation
//! cache nor a probe changes any: *plain* has no cache and shows what lies before and after the network's work,
//! *cached* is self-play as it is, *probed* plays a game whose methods are timed, for the split.
#![allow(clippy::print_stdout)]

use std::{
    cell::Cell,
    sync::Arc,
    time::{Duration, Instant},
};

use fogfall_game::{Action, Actions, Game, GameInfo, GameSet, GameVisitor, Rng, Seat, Turn, stream};
use fogfall_games::Shipped;
use fogfall_net::{Net, NetEvaluator, Shape, Weights};
use fogfall_pipeline::{PlayFlags, SearchFlags};
use fogfall_proto::{Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Cached, EvalBatch, Evaluator};
use fogfall_selfplay::{Origin, PlaySettings, Worker};
use rand::RngExt;
use rustix::time::{ClockId, clock_gettime};

/// Games in progress and cached answers of a thread: the learner's defaults.
const SLOTS: usize = 32;
const CACHE_ENTRIES: usize = 16_384;
/// Rounds of a worker before the next one's turn.
const TURN: u64 = 64;
/// Rounds before anything counts: slots begin their games together and must drift apart.
const WARM_UP: u64 = 4096;
/// What the product promises for some games, us of CPU time.
const LIMITS_US: [(&str, f64); 2] = [("battle", 3.0), ("connect_four", 1.5)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let game = arguments.next().unwrap_or_else(|| "battle".to_owned());
    let weights = arguments.next().map(|file| Weights::from_bytes(&std::fs::read(file)?).map_err(Box::from));
    let weights: Option<Result<_, Box<dyn std::error::Error>>> = weights;
    Shipped::with(&game, None, Bench { seconds, weights: weights.transpose()? })?
}

struct Bench {
    /// CPU time for each figure.
    seconds: f64,
    /// Random ones of two sizes if none.
    weights: Option<Weights>,
}

impl GameVisitor for Bench {
    type Out = Result<(), Box<dyn std::error::Error>>;

    fn visit<G: Game>(self, game: Arc<G>) -> Self::Out {
        let weights = match self.weights {
            Some(weights) => vec![weights],
            None => {
                let random = |(width, blocks)| Weights::random(Shape::new(game.info(), width, blocks), 1);
                [(128, 2), (256, 4)].into_iter().map(random).collect::<Result<_, _>>()?
            }
        };
        let clock_ns = probe::clock_ns();
        let budget = Duration::from_secs_f64(self.seconds).as_nanos() as u64;
        let columns: Vec<Figures> =
            weights.iter().map(|weights| measure(&game, Arc::new(Net::new(weights)), budget, clock_ns)).collect();
        print(game.info(), &columns);
        Ok(())
    }
}

/// CPU time of this thread, ns.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

thread_local! {
    /// When the network began and ended its work in this round, and how many rows it did.
    static WORKED: Cell<Option<(u64, u64, u64)>> = const { Cell::new(None) };
}

/// The network with a stop-watch.
struct Watched(NetEvaluator);

impl Evaluator for Watched {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        let began = cpu_ns();
        self.0.evaluate(batch);
        WORKED.set(Some((began, cpu_ns(), batch.len() as u64)));
    }
}

/// CPU time of a worker's rounds, ns, and rows that its network computed.
#[derive(Clone, Copy, Default)]
struct Spent {
    before: u64,
    network: u64,
    after: u64,
    rows: u64,
}

impl Spent {
    fn all(&self) -> u64 {
        self.before + self.network + self.after
    }
}

struct Pass<G: Game> {
    worker: Worker<G, Watched>,
    spent: Spent,
    finished: Vec<Trajectory>,
}

impl<G: Game> Pass<G> {
    fn new(game: Arc<G>, net: &Arc<Net>, cache_entries: usize) -> Self {
        let info = game.info();
        let settings: PlaySettings = PlayFlags::default().play(&SearchFlags::default(), info);
        let evaluator = Watched(NetEvaluator::new(Arc::clone(net)));
        let evaluator = Cached::new(evaluator, cache_entries, info.num_actions());
        let origin =
            Origin { wire: WIRE_VERSION, run: "bench".into(), rules_hash: 0, settings_hash: 0, publisher: 0, seed: 1 };
        let worker = Worker::new(game, settings, origin, SLOTS, Version::default(), evaluator);
        let mut pass = Self { worker, spent: Spent::default(), finished: Vec::new() };
        pass.run(WARM_UP);
        pass.spent = Spent::default();
        pass
    }

    fn run(&mut self, rounds: u64) {
        for _ in 0..rounds {
            let start = cpu_ns();
            self.worker.round(&mut self.finished);
            self.finished.clear();
            let end = cpu_ns();
            match WORKED.take() {
                Some((began, ended, rows)) => {
                    self.spent.before += began - start;
                    self.spent.network += ended - began;
                    self.spent.after += end - ended;
                    self.spent.rows += rows;
                }
                None => self.spent.before += end - start,
            }
        }
    }
}

/// The bare network: batches of positions of the game, eight decisions in or the last ones, again and again.
struct Bare {
    evaluator: NetEvaluator,
    batch: EvalBatch,
    cpu_ns: u64,
    rows: u64,
}

impl Bare {
    fn new(game: &impl Game, net: &Arc<Net>) -> Self {
        let mut batch = EvalBatch::new(game.info().observation_len());
        let mut legal = Actions::new();
        for lane in 0..SLOTS {
            let mut rng = stream(1, &[lane as u64]);
            let mut state = game.start(&mut rng);
            game.settle(&mut state, &mut rng);
            for ply in 0.. {
                let Turn::Player(mover) = game.turn(&state) else { unreachable!("the last decision ends the walk") };
                game.legal(&state, &mut legal);
                let mut next = state.clone();
                game.advance(&mut next, legal[rng.random_range(0..legal.len())], &mut rng);
                if ply == 8 || game.turn(&next) == Turn::Over {
                    game.observe(&state, mover, batch.push(lane as u32, &legal));
                    break;
                }
                state = next;
            }
        }
        Self { evaluator: NetEvaluator::new(Arc::clone(net)), batch, cpu_ns: 0, rows: 0 }
    }

    fn run(&mut self, rounds: u64) {
        let start = cpu_ns();
        for _ in 0..rounds {
            self.evaluator.evaluate(&mut self.batch);
        }
        self.cpu_ns += cpu_ns() - start;
        self.rows += rounds * self.batch.len() as u64;
    }
}

/// One column of the table, us.
struct Figures {
    size: String,
    width: usize,
    parts: Vec<(&'static str, f64)>,
    /// Of self-play as it is, for each simulation that asked a question.
    non_network: f64,
    network: f64,
    bare: f64,
    /// Positions a second that self-play has computed, as a share of the bare network's.
    share: f64,
    hits: f64,
    evaluations: f64,
    decisions: f64,
}

fn measure<G: Game>(game: &Arc<G>, net: Arc<Net>, budget: u64, clock_ns: f64) -> Figures {
    let mut plain = Pass::new(Arc::clone(game), &net, 0);
    let mut cached = Pass::new(Arc::clone(game), &net, CACHE_ENTRIES);
    let mut probed = Pass::new(Arc::new(probe::Probed(Arc::clone(game))), &net, 0);
    let mut bare = Bare::new(&**game, &net);
    let counts = cached.worker.counts();
    probe::reset();
    while [plain.spent.all(), cached.spent.all(), bare.cpu_ns].into_iter().any(|spent| spent < budget) {
        plain.run(TURN);
        cached.run(TURN);
        probed.run(TURN);
        bare.run(TURN);
    }
    let mut did = cached.worker.counts();
    did.cache_hits -= counts.cache_hits;
    did.simulations -= counts.simulations;
    did.evaluations -= counts.evaluations;
    did.decisions -= counts.decisions;

    let us = |ns: u64, rows: u64| ns as f64 / rows as f64 / 1e3;
    let rows = plain.spent.rows;
    let asked = cached.spent.rows + did.cache_hits;
    let before = us(plain.spent.before, rows);
    let [draw, rules, encode] = probe::totals_ns(clock_ns).map(|ns| ns / rows as f64 / 1e3);
    let backup = us(plain.spent.after, rows);
    let non_network = us(cached.spent.before + cached.spent.after, asked);
    let parts = vec![
        ("select, tree and moves", before - draw - rules - encode),
        ("worlds: draw", draw),
        ("worlds: rules", rules),
        ("encode", encode),
        ("expand and backup", backup),
        ("evaluation cache", non_network - before - backup),
    ];
    let bare_us = us(bare.cpu_ns, bare.rows);
    Figures {
        size: format!("{}x{}", net.shape().width, net.shape().blocks),
        width: net.shape().width,
        parts,
        non_network,
        network: us(cached.spent.network, asked),
        bare: bare_us,
        share: bare_us / us(cached.spent.all(), cached.spent.rows),
        hits: did.cache_hits as f64 / asked as f64,
        evaluations: did.evaluations as f64 / did.simulations as f64,
        decisions: did.decisions as f64 / (cached.spent.all() as f64 / 1e9),
    }
}

fn print(info: &GameInfo, columns: &[Figures]) {
    let simulations = SearchFlags::default().simulations;
    println!(
        "self-play of {}: {SLOTS} slots, {simulations} simulations a move, observation {}, one thread",
        info.name,
        info.observation_len()
    );
    println!("us of CPU time for each simulation that asked for an evaluation");
    let line = |name: &str, figure: &dyn Fn(&Figures) -> f64| {
        let numbers: String = columns.iter().map(|column| format!("{:>9.2}", figure(column))).collect();
        println!("  {name:<28}{numbers}");
    };
    println!("  {:<28}{}", "network", columns.iter().map(|column| format!("{:>9}", column.size)).collect::<String>());
    for (index, (name, _)) in columns[0].parts.iter().enumerate() {
        line(name, &|column| column.parts[index].1);
    }
    line("all but the network", &|column| column.non_network);
    line("network", &|column| column.network);
    line(&format!("bare network, {SLOTS} positions"), &|column| column.bare);
    line("answered by the cache, %", &|column| 100.0 * column.hits);
    line("evaluations a simulation", &|column| column.evaluations);
    line("moves a second of CPU time", &|column| column.decisions);
    for column in columns {
        let Figures { width, share, .. } = column;
        println!("share of bare network rate at width {width}: {share:.2}x");
    }
    for column in columns {
        let Figures { width, non_network, .. } = column;
        let limit = LIMITS_US.iter().find(|(game, _)| *game == info.name);
        let limit = limit.map_or_else(String::new, |(_, us)| format!(" (limit {us} us)"));
        println!("non-network CPU per simulation at width {width}: {non_network:.2} us{limit}");
    }
}

/// A game whose methods are timed: every few calls, so that the others run as they always do.
mod probe {
    use super::{Action, Actions, Arc, Cell, Duration, Game, GameInfo, Instant, Rng, Seat, Turn};

    /// Calls from one that is timed to the next; a prime, so that it falls in step with nothing.
    const EVERY: u64 = 17;
    /// No call takes so long: another process had the core.
    const OUTLIER: Duration = Duration::from_micros(20);

    #[derive(Clone, Copy, Default)]
    struct Calls {
        all: u64,
        timed: u64,
        ns: u64,
    }

    #[derive(Clone, Copy)]
    enum Part {
        Draw,
        Rules,
        Encode,
    }

    thread_local! {
        static CALLS: [Cell<Calls>; 3] = const { [const { Cell::new(Calls { all: 0, timed: 0, ns: 0 }) }; 3] };
    }

    fn timed<T>(part: Part, work: impl FnOnce() -> T) -> T {
        CALLS.with(|calls| {
            let calls = &calls[part as usize];
            let mut now = calls.get();
            now.all += 1;
            if now.all % EVERY != 0 {
                calls.set(now);
                return work();
            }
            let start = Instant::now();
            let done = work();
            let took = start.elapsed();
            if took < OUTLIER {
                now.timed += 1;
                now.ns += took.as_nanos() as u64;
            }
            calls.set(now);
            done
        })
    }

    pub(super) fn reset() {
        CALLS.with(|calls| calls.iter().for_each(|calls| calls.set(Calls::default())));
    }

    /// Time of all calls of each part, the clock's own taken off.
    pub(super) fn totals_ns(clock_ns: f64) -> [f64; 3] {
        CALLS.with(|calls| {
            [Part::Draw, Part::Rules, Part::Encode].map(|part| {
                let Calls { all, timed, ns } = calls[part as usize].get();
                (ns as f64 / timed.max(1) as f64 - clock_ns).max(0.0) * all as f64
            })
        })
    }

    /// What timing nothing shows.
    pub(super) fn clock_ns() -> f64 {
        reset();
        (0..EVERY * 200_000).for_each(|_| timed(Part::Draw, || ()));
        CALLS.with(|calls| {
            let Calls { timed, ns, .. } = calls[Part::Draw as usize].get();
            ns as f64 / timed as f64
        })
    }

    pub(super) struct Probed<G>(pub(super) Arc<G>);

    impl<G: Game> Game for Probed<G> {
        type State = G::State;
        type View = G::View;

        fn info(&self) -> &GameInfo {
            self.0.info()
        }

        fn start(&self, setup: &mut Rng) -> G::State {
            self.0.start(setup)
        }

        fn turn(&self, state: &G::State) -> Turn {
            self.0.turn(state)
        }

        fn legal(&self, state: &G::State, out: &mut Actions) {
            timed(Part::Rules, || self.0.legal(state, out));
        }

        fn chance(&self, state: &G::State, out: &mut Vec<(Action, f32)>) {
            self.0.chance(state, out);
        }

        fn sample(&self, state: &G::State, rng: &mut Rng) -> Action {
            self.0.sample(state, rng)
        }

        fn apply(&self, state: &mut G::State, action: Action) {
            self.0.apply(state, action);
        }

        fn advance(&self, state: &mut G::State, action: Action, rng: &mut Rng) {
            timed(Part::Rules, || self.0.advance(state, action, rng));
        }

        fn payoff(&self, state: &G::State) -> f32 {
            self.0.payoff(state)
        }

        fn view(&self, state: &G::State, seat: Seat) -> G::View {
            self.0.view(state, seat)
        }

        fn tree_key(&self, state: &G::State, seat: Seat) -> u64 {
            timed(Part::Rules, || self.0.tree_key(state, seat))
        }

        fn observe(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
            timed(Part::Encode, || self.0.observe(state, seat, out));
        }

        fn hidden(&self, state: &G::State, seat: Seat, out: &mut [f32]) {
            self.0.hidden(state, seat, out);
        }

        fn determinize(&self, view: &G::View, rng: &mut Rng) -> G::State {
            timed(Part::Draw, || self.0.determinize(view, rng))
        }

        fn describe(&self, state: &G::State) -> String {
            self.0.describe(state)
        }
    }
}
