//! Reach belief and policy opponents in whole games: the same bits whatever shares a batch, and what they cost.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Game, Turn, mix, stream};
use fogfall_games::{Battle, KuhnPoker, LeducPoker};
use fogfall_search::{
    Belief, Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Hash, Opponents, Search, SearchSettings, Seats,
};
use rand::RngExt;

const BUDGET: Budget = Budget::Simulations(32);

fn settings<G: Game>(game: &G, pool: u32) -> SearchSettings {
    SearchSettings {
        belief: Belief::Reach { pool, floor: 0.1 },
        opponents: Opponents::Policy { uniform: 0.05 },
        ..SearchSettings::for_game(game.info())
    }
}

/// One game in progress, with a search a seat.
struct Lane<G: Game> {
    game: Arc<G>,
    seed: u64,
    state: G::State,
    searches: Vec<Search<G>>,
    decisions: Vec<Decision>,
}

impl<G: Game> Lane<G> {
    fn start(game: &Arc<G>, settings: SearchSettings, seed: u64) -> Self {
        let mut rng = stream(seed, &[]);
        let mut state = game.start(&mut rng);
        game.settle(&mut state, &mut rng);
        let searches = (0..2).map(|_| Search::new(Arc::clone(game), settings)).collect();
        let mut lane = Self { game: Arc::clone(game), seed, state, searches, decisions: Vec::new() };
        lane.begin();
        lane
    }

    /// The mover's search; none once the game is over.
    fn search(&mut self) -> Option<&mut Search<G>> {
        let Turn::Player(mover) = self.game.turn(&self.state) else { return None };
        let shared = self.searches[0].settings().seats == Seats::Shared;
        Some(&mut self.searches[if shared { 0 } else { usize::from(mover) }])
    }

    fn begin(&mut self) {
        let Turn::Player(mover) = self.game.turn(&self.state) else { return };
        let (view, seed) = (self.game.view(&self.state, mover), mix(self.seed, self.decisions.len() as u64));
        if let Some(search) = self.search() {
            search.begin(view, BUDGET, None, seed);
        }
    }

    /// Goes on until something was asked; false once the game is over.
    fn gather(&mut self, lane: u32, batch: &mut EvalBatch) -> bool {
        while let Some(search) = self.search() {
            match search.gather(lane, batch) {
                Gathered::Asked => return true,
                Gathered::Busy => {}
                Gathered::Done => self.play(),
            }
        }
        false
    }

    /// Decides, but plays at random: what is searched does not hang on the settings.
    fn play(&mut self) {
        let ply = self.decisions.len() as u64;
        let (mut rng, mut decision) = (stream(self.seed, &[1, ply]), Decision::default());
        let search = self.search().unwrap();
        search.decide(Choice::Visits, &mut rng, &mut decision);
        search.check().unwrap();
        let action = decision.legal[rng.random_range(0..decision.legal.len())];
        self.game.advance(&mut self.state, action, &mut rng);
        self.decisions.push(decision);
        self.begin();
    }
}

/// Plays games whose searches share batches; the decisions of each.
fn play<G: Game>(game: &Arc<G>, settings: SearchSettings, seeds: std::ops::Range<u64>) -> Vec<Vec<Decision>> {
    let mut lanes: Vec<_> = seeds.map(|seed| Lane::start(game, settings, seed)).collect();
    let mut batch = EvalBatch::new(game.info().observation_len());
    loop {
        let asked: Vec<bool> = (0..).zip(&mut lanes).map(|(lane, game)| game.gather(lane, &mut batch)).collect();
        if !asked.contains(&true) {
            return lanes.into_iter().map(|lane| lane.decisions).collect();
        }
        Hash { seed: 5 }.evaluate(&mut batch);
        for row in 0..batch.len() {
            let (prior, value) = batch.answer(row);
            lanes[batch.lane[row] as usize].search().unwrap().apply(prior, value);
        }
        batch.clear();
    }
}

fn alone_as_together<G: Game>(game: G, games: u64) {
    let game = Arc::new(game);
    let settings = settings(&*game, 16);
    let together = play(&game, settings, 0..games);
    for (seed, together) in (0..).zip(together) {
        let alone = play(&game, settings, seed..seed + 1);
        assert_eq!(alone[0], together, "{}, game {seed}", game.info().name);
        assert!(together.iter().all(|d| d.simulations == 32 && d.effective_worlds >= 1.0));
    }
}

#[test]
fn suspended_descents_and_pools_give_the_same_bits_alone_and_in_shared_batches() {
    alone_as_together(KuhnPoker::new(), 20);
    alone_as_together(LeducPoker::new(), 20);
    alone_as_together(Battle::tiny(None).unwrap(), 10);
    alone_as_together(Battle::new(None).unwrap(), 3);
}

#[test]
fn a_tree_shared_by_both_seats_takes_a_new_pool_when_the_owner_changes() {
    let game = Arc::new(LeducPoker::new());
    let shared = SearchSettings { seats: Seats::Shared, ..settings(&*game, 16) };
    for decision in play(&game, shared, 0..10).concat() {
        assert!(decision.effective_worlds >= 1.0 && decision.simulations == 32, "{decision:?}");
    }
}
