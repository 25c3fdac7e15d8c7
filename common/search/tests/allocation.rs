//! A search allocates while it warms up, and then no more: no simulation allocates, and the little that a move takes besides,
//! when its root is prepared and when it is decided, it gives back. It is warm once it has played the same games before:
//! no list has to become longer than it was.
#![allow(clippy::unwrap_used)]
// Counting what is allocated takes an allocator, and an allocator is unsafe to write. This one passes every call on as it
// is to the system's, which keeps the promises of `GlobalAlloc`, and does nothing else but add and subtract.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use fogfall_game::{Actions, Game, GameSet, GameVisitor, Turn, stream};
use fogfall_games::Shipped;
use fogfall_search::{
    Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Rollout, Search, SearchSettings, Seats, TreeLife, Uniform,
};
use rand::RngExt;

/// Simulations a move.
const SIMULATIONS: u32 = 200;
/// Games, each played twice.
const GAMES: u64 = 12;

#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

thread_local! {
    /// Calls of this thread that took memory, and bytes that it holds.
    static TAKEN: Cell<(u64, i64)> = const { Cell::new((0, 0)) };
}

fn count(calls: u64, bytes: i64) {
    let (taken, held) = TAKEN.get();
    TAKEN.set((taken + calls, held + bytes));
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as i64 - layout.size() as i64);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        unsafe { System.dealloc(at, layout) }
    }
}

/// Searches of games whose moves are drawn by lot.
struct Player<E> {
    evaluator: E,
    life: TreeLife,
}

/// What was taken the second time: calls that took memory within simulations after the root's, and bytes held more in the end,
/// each time with empty trees.
#[derive(Debug, PartialEq)]
struct Took {
    calls: u64,
    bytes: i64,
}

impl<E: Evaluator> GameVisitor for Player<E> {
    type Out = Took;

    fn visit<G: Game>(mut self, game: Arc<G>) -> Took {
        let settings = SearchSettings { life: self.life, ..SearchSettings::for_game(game.info()) };
        let mut searches = [0, 1].map(|_| Search::new(Arc::clone(&game), settings));
        let mut batch = EvalBatch::new(game.info().observation_len());
        batch.want_rollouts = self.evaluator.wants_rollouts();
        let (mut decision, mut legal) = (Decision::default(), Actions::new());
        let (mut calls, mut held) = (0, 0);
        for number in 0..2 * GAMES {
            let mut rng = stream(number % GAMES, &[]);
            let mut state = game.start(&mut rng);
            game.settle(&mut state, &mut rng);
            searches.iter_mut().for_each(Search::next_game);
            if number == GAMES {
                (calls, held) = (0, TAKEN.get().1);
            }
            while let Turn::Player(mover) = game.turn(&state) {
                let search = &mut searches[if settings.seats == Seats::Shared { 0 } else { usize::from(mover) }];
                search.begin(game.view(&state, mover), Budget::Simulations(SIMULATIONS), None, rng.random());
                let mut before = None; // its root is prepared
                while search.gather(0, &mut batch) != Gathered::Done {
                    if !batch.is_empty() {
                        self.evaluator.evaluate(&mut batch);
                        let (prior, value) = batch.answer(0);
                        search.apply(prior, value);
                        batch.clear();
                        before = before.or(Some(TAKEN.get().0));
                    }
                }
                calls += TAKEN.get().0 - before.unwrap();
                search.decide(Choice::Sample { temperature: 1.0 }, &mut rng, &mut decision);
                game.legal(&state, &mut legal);
                let action = legal[rng.random_range(0..legal.len())];
                searches.iter_mut().for_each(|search| search.played(action));
                game.advance(&mut state, action, &mut rng);
            }
        }
        searches.iter_mut().for_each(Search::next_game);
        Took { calls, bytes: TAKEN.get().1 - held }
    }
}

const NOTHING: Took = Took { calls: 0, bytes: 0 };

fn assert_nothing_is_taken(life: TreeLife) {
    for game in ["connect_four", "leduc_poker", "battle"] {
        assert_eq!(
            Shipped::with(game, None, Player { evaluator: Rollout, life }).unwrap(),
            NOTHING,
            "{game}, rollouts"
        );
        assert_eq!(
            Shipped::with(game, None, Player { evaluator: Uniform, life }).unwrap(),
            NOTHING,
            "{game}, observed"
        );
    }
}

#[test]
fn the_count_sees_calls_and_what_is_held() {
    let before = TAKEN.get();
    drop(std::hint::black_box(vec![1_u8; 5]));
    let kept = std::hint::black_box(vec![0_u8; 3]);
    assert_eq!(TAKEN.get(), (before.0 + 2, before.1 + 3));
    drop(kept);
}

#[test]
fn a_warm_search_takes_no_memory_when_each_move_has_its_own_tree() {
    assert_nothing_is_taken(TreeLife::Move);
}

#[test]
fn a_warm_search_takes_no_memory_when_a_game_has_one_tree() {
    assert_nothing_is_taken(TreeLife::Game);
}
