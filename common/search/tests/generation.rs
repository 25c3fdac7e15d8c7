//! Method 2: one tree for all games of a generation, with falling leaves. Its agreement with Method 1, its bounds, its
//! budget, and the pitfalls of inheriting.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Game, Turn, stream};
use fogfall_games::{Battle, KuhnPoker, LeducPoker, TicTacToe};
use fogfall_search::{
    Budget, Choice, Decision, EvalBatch, Evaluator, FallOrder, Hash, Keys, Label, Opponents, Search, SearchSettings,
    Seats, TreeLife, Uniform,
};

const NEVER: u32 = u32::MAX;

fn tiny() -> Battle {
    Battle::tiny(None).unwrap()
}

fn generation(up: u32, down: u32) -> TreeLife {
    TreeLife::Generation { up, down, order: FallOrder::FirstIn }
}

/// Searches of the seats of a game.
struct Table<G: Game> {
    game: Arc<G>,
    searches: Vec<Search<G>>,
    settings: SearchSettings,
}

impl<G: Game> Table<G> {
    fn new(game: G, change: impl FnOnce(&mut SearchSettings)) -> Self {
        let game = Arc::new(game);
        let mut settings = SearchSettings::for_game(game.info());
        change(&mut settings);
        let trees = if settings.seats == Seats::Shared { 1 } else { 2 };
        let searches = (0..trees).map(|_| Search::new(Arc::clone(&game), settings)).collect();
        Self { game, searches, settings }
    }

    /// Plays a game from a seed; every decision on its way.
    fn play(&mut self, seed: u64, budget: Budget, evaluator: &mut dyn Evaluator) -> Vec<Decision> {
        let mut rng = stream(seed, &[0]);
        let mut state = self.game.start(&mut rng);
        self.game.settle(&mut state, &mut rng);
        let mut decisions = Vec::new();
        while let Turn::Player(mover) = self.game.turn(&state) {
            let search = &mut self.searches[if self.settings.seats == Seats::Shared { 0 } else { usize::from(mover) }];
            let ply = decisions.len() as u64;
            search.begin(self.game.view(&state, mover), budget, None, fogfall_game::mix(seed, ply));
            finish(search, evaluator, self.game.info().observation_len());
            let mut decision = Decision::default();
            search.decide(Choice::Sample { temperature: 1.0 }, &mut stream(seed, &[1, ply]), &mut decision);
            self.searches.iter_mut().for_each(|search| search.played(decision.action));
            self.game.advance(&mut state, decision.action, &mut rng);
            decisions.push(decision);
        }
        decisions
    }

    fn next_game(&mut self) {
        self.searches.iter_mut().for_each(Search::next_game);
        self.searches.iter().for_each(|search| search.check().unwrap());
    }

    fn nodes(&self) -> u64 {
        self.searches.iter().map(|search| search.tree().nodes).max().unwrap()
    }
}

/// A game's start as the seat that moves first sees it.
fn start<G: Game>(game: &G) -> G::View {
    let mut rng = stream(7, &[0]);
    let mut state = game.start(&mut rng);
    game.settle(&mut state, &mut rng);
    game.view(&state, 0)
}

/// Searches to the end and checks the tree.
fn finish<G: Game>(search: &mut Search<G>, evaluator: &mut dyn Evaluator, observation_len: usize) {
    search.run(evaluator, &mut EvalBatch::new(observation_len));
    search.check().unwrap();
}

/// The same games by both methods, where nothing falls and nothing is inherited from game to game.
fn assert_equal_to_method_1<G: Game>(game: impl Fn() -> G, change: impl Fn(&mut SearchSettings)) {
    for budget in [Budget::Simulations(40), Budget::NewNodes { nodes: 20, max_simulations: 160 }] {
        let mut one = Table::new(game(), |settings| {
            change(settings);
            settings.life = TreeLife::Game;
        });
        let mut two = Table::new(game(), |settings| {
            change(settings);
            settings.life = generation(NEVER, 0);
        });
        for seed in 0..10 {
            let mut hash = Hash { seed: 3 };
            assert_eq!(one.play(seed, budget, &mut hash), two.play(seed, budget, &mut hash));
            one.next_game();
            two.searches.iter_mut().for_each(Search::reset);
        }
    }
}

#[test]
fn without_falls_and_inheritance_it_is_method_1_bit_for_bit() {
    assert_equal_to_method_1(TicTacToe::new, |_| {});
    assert_equal_to_method_1(LeducPoker::new, |_| {});
    assert_equal_to_method_1(tiny, |_| {});
    assert_equal_to_method_1(tiny, |settings| settings.keys = Keys::Actions);
}

#[test]
fn what_was_searched_in_one_game_serves_the_next() {
    let mut table = Table::new(TicTacToe::new(), |settings| settings.life = generation(NEVER, 0));
    let first = table.play(1, Budget::Simulations(50), &mut Uniform);
    table.next_game();
    let second = table.play(2, Budget::Simulations(50), &mut Uniform);
    // All simulations of the game count above where they began; the first of them ended at the start itself.
    assert_eq!((first[0].inherited, second[0].inherited), (0, 50 * first.len() as u32 - 1));
    assert_eq!(second[0].visits.iter().sum::<u32>(), second[0].inherited + 50);
}

#[test]
fn games_that_start_differently_share_the_tree_without_mixing() {
    let mut table = Table::new(KuhnPoker::new(), |settings| settings.life = generation(NEVER, 0));
    let mut fresh = Table::new(KuhnPoker::new(), |settings| settings.life = TreeLife::Move);
    let mut hash = Hash { seed: 5 };
    for seed in 0..200 {
        let decisions = table.play(seed, Budget::Simulations(8), &mut hash);
        let alone = fresh.play(seed, Budget::Simulations(8), &mut hash);
        // The network is asked about what the seat sees: another card's node would bring another card's priors.
        assert_eq!(
            (decisions[0].prior.clone(), decisions[0].network_value),
            (alone[0].prior.clone(), alone[0].network_value)
        );
        table.next_game();
    }
    let nodes = table.nodes();
    assert!((3 * 4..=60).contains(&nodes), "{nodes} nodes: three cards, at most the whole game for each");
}

#[test]
fn a_tree_keeps_its_bounds_whatever_is_played_and_a_game_adds_no_more_than_its_budget() {
    for order in [FallOrder::FirstIn, FallOrder::LeastRecent] {
        let (up, down, nodes) = (400, 200, 16);
        let life = TreeLife::Generation { up, down, order };
        let mut table = Table::new(tiny(), |settings| settings.life = life);
        let longest = table.game.info().max_decisions as u64;
        let mut peak = 0;
        for seed in 0..150 {
            let before = table.nodes();
            assert!(before <= u64::from(up), "game {seed} begins with {before} nodes");
            let budget = Budget::NewNodes { nodes, max_simulations: 8 * nodes };
            let decisions = table.play(seed, budget, &mut Hash { seed: 1 });
            assert!(decisions.iter().all(|decision| decision.new_nodes <= nodes));
            // A root that hung nowhere is a node, too.
            assert!(table.nodes() <= before + longest * u64::from(nodes + 1));
            peak = peak.max(table.nodes());
            table.next_game();
        }
        let tree = table.searches[0].tree();
        assert!(peak > u64::from(up) && tree.falls > 1000 && tree.re_expansions > 0, "{order:?}: {peak}, {tree:?}");
    }
}

#[test]
fn a_search_of_n_adds_n_nodes_whatever_was_inherited_and_ends_where_nothing_is_new() {
    let budget = Budget::NewNodes { nodes: 30, max_simulations: 240 };
    let mut table = Table::new(TicTacToe::new(), |settings| settings.life = generation(NEVER, 0));
    for seed in 0..5 {
        let decisions = table.play(seed, budget, &mut Uniform);
        assert_eq!(decisions[0].new_nodes, 30, "game {seed}");
        table.next_game();
    }
    // All of Kuhn poker is less than one search asks for: the cap ends it, game after game.
    let mut table = Table::new(KuhnPoker::new(), |settings| settings.life = generation(NEVER, 0));
    for seed in 0..50 {
        let decisions = table.play(seed, budget, &mut Uniform);
        assert!(decisions.iter().all(|d| d.simulations <= 240 && d.new_nodes < 30));
        table.next_game();
    }
}

#[test]
fn an_inherited_tree_with_thousands_of_visits_still_gives_the_label_of_its_values() {
    // A hundred games have favoured whatever the tree favours; the gain in visits of one more search says little, but
    // the values are known better than ever.
    let label = Label::CompletedQ { scale: 0.1, offset: 50.0 };
    let mut table = Table::new(TicTacToe::new(), |settings| {
        (settings.life, settings.label) = (generation(NEVER, 0), label);
    });
    let mut last = Vec::new();
    for seed in 0..100 {
        last = table.play(seed, Budget::Simulations(64), &mut Uniform);
        table.next_game();
    }
    let first = &last[0];
    assert!(first.inherited > 5000, "{}", first.inherited);
    let best = |values: &[f32]| (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap();
    assert_eq!(best(&first.policy), best(&first.q), "{first:?}");
    assert!(first.policy.iter().all(|&p| p < 0.999), "no sharper than a fresh search's: {:?}", first.policy);
}

#[test]
fn new_weights_begin_a_new_tree() {
    let mut table = Table::new(TicTacToe::new(), |settings| settings.life = generation(NEVER, 0));
    let first = table.play(1, Budget::Simulations(50), &mut Hash { seed: 1 });
    table.searches.iter_mut().for_each(Search::reset);
    assert_eq!(table.nodes(), 0);
    let again = table.play(1, Budget::Simulations(50), &mut Hash { seed: 1 });
    assert_eq!(first, again, "nothing of the old tree is left");
}

#[test]
fn first_in_first_out_sheds_the_opening_and_least_recently_visited_keeps_what_is_used() {
    let re_expansions = |order| {
        let life = TreeLife::Generation { up: 300, down: 150, order };
        let mut table = Table::new(TicTacToe::new(), |settings| settings.life = life);
        for seed in 0..60 {
            table.play(seed, Budget::NewNodes { nodes: 20, max_simulations: 160 }, &mut Uniform);
            table.next_game();
        }
        let tree = table.searches[0].tree();
        tree.re_expansions as f64 / tree.falls as f64
    };
    let (first_in, least_recent) = (re_expansions(FallOrder::FirstIn), re_expansions(FallOrder::LeastRecent));
    assert!(first_in > 0.0 && least_recent > 0.0);
    assert_ne!(first_in, least_recent);
}

/// Searches from a view with the tree of seat 0; what was decided.
fn search<G: Game>(table: &mut Table<G>, view: G::View, simulations: u32, seed: u64) -> Decision {
    let (search, mut decision) = (&mut table.searches[0], Decision::default());
    search.next_game();
    search.begin(view, Budget::Simulations(simulations), None, seed);
    search.run(&mut Uniform, &mut EvalBatch::new(table.game.info().observation_len()));
    search.decide(Choice::Visits, &mut stream(1, &[]), &mut decision);
    decision
}

#[test]
fn a_question_is_spared_at_each_node_on_the_way_that_an_earlier_search_has_evaluated() {
    fn deepest<G: Game>(game: G, change: impl FnOnce(&mut SearchSettings)) -> u32 {
        let mut table = Table::new(game, |settings| {
            change(settings);
            settings.life = generation(1500, 1000);
        });
        let view = start(&*table.game);
        let spared = (0..3000).map(|seed| {
            let decision = search(&mut table, view.clone(), 1, seed);
            // One walk comes past all nodes above its last one; each of them but the root was evaluated before.
            assert_eq!(decision.tree_hits, (decision.depth as u32).saturating_sub(1), "search {seed}: {decision:?}");
            decision.tree_hits
        });
        spared.max().unwrap()
    }
    assert!(deepest(TicTacToe::new(), |_| {}) > 3);
    assert!(deepest(LeducPoker::new(), |_| {}) > 3);
    let policy = Opponents::Policy { uniform: 0.05 };
    assert!(deepest(LeducPoker::new(), |settings| settings.opponents = policy) > 3);
}

#[test]
fn a_question_is_spared_once_a_search_and_never_by_a_tree_of_its_own() {
    let mut table = Table::new(TicTacToe::new(), |settings| settings.life = generation(NEVER, 0));
    let (first, reply) = {
        let game = TicTacToe::new();
        let mut state = game.start(&mut stream(7, &[0]));
        game.advance(&mut state, 4, &mut stream(7, &[0]));
        (start(&game), game.view(&state, 1))
    };
    let ten = |table: &mut Table<TicTacToe>| {
        let decision = search(table, first, 10, 1);
        (decision.evaluations, decision.tree_hits)
    };
    // All is worth 0, so actions are tried in turn: the root, then each of its nine children.
    assert_eq!(ten(&mut table), (10, 0));
    // The root is asked again. Each child is come past, the first of them twice, and ten nodes below are asked.
    assert_eq!(ten(&mut table), (11, 9));
    // Searches are numbered up to 65,535 and then anew: this one has the number of the last, and none came here since. It
    // comes past the nine children and the ten nodes below them.
    for seed in 0..65_534 {
        search(&mut table, reply, 1, seed);
    }
    assert_eq!(ten(&mut table), (11, 19));

    let mut fresh = Table::new(TicTacToe::new(), |settings| settings.life = TreeLife::Move);
    for seed in 0..5 {
        let decisions = fresh.play(seed, Budget::Simulations(200), &mut Uniform);
        assert!(decisions.iter().all(|decision| decision.tree_hits == 0));
        fresh.next_game();
    }
}
