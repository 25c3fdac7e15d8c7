//! A game whose rows do not fit one message: it arrives in several parts, each of use alone, and all of it arrives once.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn};
use fogfall_games::KuhnPoker;
use fogfall_proto::{MAX_MESSAGE_BYTES, MAX_PART_ROW_BYTES, RowLayout, Trajectory, Version, WIRE_VERSION};
use fogfall_search::{Budget, Cached, Uniform};
use fogfall_selfplay::{Origin, PlaySettings, Worker};

/// Two rows fit a part, and three do not: 4 bytes each, and some for all else in a row.
const OBSERVATION: usize = 50_000;
const GAMES: usize = 20;

/// Kuhn poker whose players see it through very many numbers. A game has two or three decisions.
struct Wide {
    poker: KuhnPoker,
    info: GameInfo,
}

impl Wide {
    fn new() -> Self {
        let poker = KuhnPoker::new();
        let info = GameInfo { observation: Layout::new([("all", OBSERVATION)]), ..poker.info().clone() };
        Self { poker, info }
    }
}

impl Game for Wide {
    type State = <KuhnPoker as Game>::State;
    type View = <KuhnPoker as Game>::View;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, setup: &mut Rng) -> Self::State {
        self.poker.start(setup)
    }

    fn turn(&self, state: &Self::State) -> Turn {
        self.poker.turn(state)
    }

    fn legal(&self, state: &Self::State, out: &mut Actions) {
        self.poker.legal(state, out);
    }

    fn chance(&self, state: &Self::State, out: &mut Vec<(Action, f32)>) {
        self.poker.chance(state, out);
    }

    fn sample(&self, state: &Self::State, rng: &mut Rng) -> Action {
        self.poker.sample(state, rng)
    }

    fn apply(&self, state: &mut Self::State, action: Action) {
        self.poker.apply(state, action);
    }

    fn payoff(&self, state: &Self::State) -> f32 {
        self.poker.payoff(state)
    }

    fn view(&self, state: &Self::State, seat: Seat) -> Self::View {
        self.poker.view(state, seat)
    }

    fn tree_key(&self, state: &Self::State, seat: Seat) -> u64 {
        self.poker.tree_key(state, seat)
    }

    fn observe(&self, state: &Self::State, seat: Seat, out: &mut [f32]) {
        let seen = self.poker.info().observation_len();
        out.fill(0.0);
        // The same again and again, so that every part of a row tells which it is.
        for copy in out.chunks_exact_mut(seen) {
            self.poker.observe(state, seat, copy);
        }
    }

    fn hidden(&self, state: &Self::State, seat: Seat, out: &mut [f32]) {
        self.poker.hidden(state, seat, out);
    }

    fn determinize(&self, view: &Self::View, rng: &mut Rng) -> Self::State {
        self.poker.determinize(view, rng)
    }

    fn describe(&self, state: &Self::State) -> String {
        self.poker.describe(state)
    }
}

fn origin() -> Origin {
    Origin { wire: WIRE_VERSION, run: "long".into(), rules_hash: 1, settings_hash: 2, publisher: 3, seed: 4 }
}

#[test]
fn a_game_of_many_large_rows_comes_in_parts_that_together_are_the_game() {
    let game = Arc::new(Wide::new());
    let settings = PlaySettings::new(game.info(), Budget::Simulations(4));
    let evaluator = || Cached::new(Uniform, 0, game.info().num_actions());
    let version = Version::default();

    // The same games, whole: a worker that is told their numbers cuts none.
    let mut numbers = 1..=GAMES as u64 + 3;
    let next = move || numbers.next();
    let mut whole = Vec::new();
    let mut worker = Worker::of_games(Arc::clone(&game), settings.clone(), origin(), next, 3, version, evaluator());
    while !worker.is_idle() {
        worker.round(&mut whole);
    }
    assert_eq!(worker.counts().parts, worker.counts().games);
    let whole: BTreeMap<u64, Trajectory> = whole.into_iter().map(|game| (game.seed, game)).collect();

    let mut parts = Vec::new();
    let mut worker = Worker::new(Arc::clone(&game), settings, origin(), 3, version, evaluator());
    while worker.counts().games < GAMES as u64 {
        worker.round(&mut parts);
    }
    let counts = worker.counts();
    assert!(counts.parts > counts.games, "{counts:?}");
    assert_eq!(parts.len() as u64, counts.parts);
    assert_eq!(parts.iter().filter(|part| part.part_of_game.is_last()).count() as u64, counts.games);
    assert_eq!(parts.iter().map(|part| u64::from(part.row_count)).sum::<u64>(), counts.rows);

    let row_bytes = RowLayout::new(OBSERVATION, game.info().num_actions(), game.info().hidden.len()).row_bytes();
    let mut games: BTreeMap<u64, Vec<Trajectory>> = BTreeMap::new();
    for (sequence, part) in parts.into_iter().enumerate() {
        assert_eq!((part.part.publisher, part.part.sequence), (3, sequence as u64), "without gaps");
        assert!(part.rows.len() <= MAX_PART_ROW_BYTES && part.rows.len() == part.row_count as usize * row_bytes);
        let message = part.encode();
        assert!(message.len() < MAX_MESSAGE_BYTES);
        assert_eq!(Trajectory::decode(&message).unwrap(), part);
        games.entry(part.seed).or_default().push(part);
    }
    for (seed, parts) in games {
        let whole = &whole[&seed];
        assert_eq!(parts.len(), whole.row_count.div_ceil(2) as usize, "two rows a part");
        assert_eq!(parts.iter().flat_map(|part| part.rows.clone()).collect::<Vec<_>>(), whole.rows);
        assert_eq!(parts.iter().map(|part| part.decisions).sum::<u32>(), whole.decisions);
        assert_eq!(parts.iter().map(|part| part.evaluations).sum::<u64>(), whole.evaluations);
        assert!(parts.iter().all(|part| part.result == whole.result));
    }
}
