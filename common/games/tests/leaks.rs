//! Nothing that a seat cannot know reaches its search, for every shipped game; and the test that says so finds a
//! search that leaks.

use std::sync::Arc;

use fogfall_game::contract::{Leak, Leaky};
use fogfall_game::{Game, GameSet, GameVisitor};
use fogfall_games::{KuhnPoker, Shipped};
use fogfall_search::{Belief, Budget, Hash, Keys, Opponents, SearchSettings, Seats, TreeLife};
use fogfall_testkit::leaks::{Compared, Poison};

fn poison<G: Game>(game: G, change: impl FnOnce(&mut SearchSettings)) -> Result<Compared, String> {
    poison_shared(Arc::new(game), 40, change)
}

fn poison_shared<G: Game>(
    game: Arc<G>,
    games: u64,
    change: impl FnOnce(&mut SearchSettings),
) -> Result<Compared, String> {
    let mut settings = SearchSettings::for_game(game.info());
    change(&mut settings);
    let evaluator = &mut Hash { seed: 7 };
    Poison { game, settings, budget: Budget::Simulations(24), evaluator }.check(games, 1)
}

struct PoisonAll;

impl GameVisitor for PoisonAll {
    type Out = ();

    fn visit<G: Game>(self, game: Arc<G>) {
        for life in [TreeLife::Move, TreeLife::Game] {
            let hidden = !game.info().perfect_information;
            let compared = poison_shared(Arc::clone(&game), 4, |settings| settings.life = life);
            let compared = compared.unwrap_or_else(|leak| panic!("{}, life {life:?}: {leak}", game.info().name));
            assert_eq!(compared.differing > 0, hidden, "{compared:?}");
        }
        let compared = poison_shared(Arc::clone(&game), 4, |settings| {
            settings.belief = Belief::Reach { pool: 16, floor: 0.1 };
            settings.opponents = Opponents::Policy { uniform: 0.05 };
        });
        compared.unwrap_or_else(|leak| panic!("{}, worlds weighted by reach: {leak}", game.info().name));
    }
}

#[test]
fn no_shipped_game_lets_hidden_facts_reach_a_search() {
    for name in Shipped::names() {
        Shipped::with(name, None, PoisonAll).expect("the set builds its own games");
    }
}

#[test]
fn a_tree_shared_by_both_seats_that_outlives_a_move_is_found_to_leak() {
    let leak = poison(KuhnPoker::new(), |settings| {
        (settings.seats, settings.keys, settings.life) = (Seats::Shared, Keys::Actions, TreeLife::Game);
    })
    .expect_err("the foe's searches fill the tree that the seat goes on with");
    assert!(leak.contains("its searches differ"), "{leak}");
}

#[test]
fn worlds_that_depend_on_the_played_state_are_found_in_the_search() {
    for leak in [Leak::Seed, Leak::Order] {
        let found = poison(Leaky::new(KuhnPoker::new(), leak), |_| ()).expect_err("the truth reaches the search");
        assert!(found.contains("its searches differ"), "{leak:?}: {found}");
    }
}
