//! Pools against Bayes' rule: the exact odds of what is hidden, by going through every game that looks to the owner like
//! the one played.

use std::collections::BTreeMap;

use fogfall_game::{Actions, Turn};
use fogfall_games::{BATTLE_TINY_RULES, Battle, KuhnPoker, LeducPoker, LiarsDice, PhantomTtt};

use super::*;
use crate::evaluator::Evaluator;
use crate::evaluators::Hash;

/// Odds by what the foe sees, or by a part of it.
type Odds = BTreeMap<Vec<u32>, f64>;

/// The part of the foe's observation that is compared.
type Part = fn(&[f32]) -> Vec<u32>;

/// Worlds in a pool.
const SIZE: usize = 64;

fn seen<G: Game>(game: &G, state: &G::State, seat: Seat) -> Vec<f32> {
    let mut observation = vec![0.0; game.info().observation_len()];
    game.observe(state, seat, &mut observation);
    observation
}

/// All of an observation.
fn bits(observation: &[f32]) -> Vec<u32> {
    observation.iter().map(|number| number.to_bits()).collect()
}

/// Of an observation of phantom tic-tac-toe: how many corners were marked, and edges, and how many marks were found.
fn marks(observation: &[f32]) -> Vec<u32> {
    let count = |numbers: &[f32], cells: [usize; 4]| {
        numbers.chunks_exact(9).flat_map(|plane| cells.map(|cell| plane[cell])).sum::<f32>() as u32
    };
    let (mine, found) = observation[..90].split_at(45);
    vec![count(mine, [0, 2, 6, 8]), count(mine, [1, 3, 5, 7]), found.iter().sum::<f32>() as u32]
}

/// The opponent's policy: a pseudo-network's, mixed with uniform play as the belief does.
fn policy<G: Game>(game: &G, state: &G::State, seat: Seat, legal: &[Action]) -> Vec<f64> {
    let mut batch = EvalBatch::new(game.info().observation_len());
    batch.push(0, legal).copy_from_slice(&seen(game, state, seat));
    Sharp.evaluate(&mut batch);
    let uniform = UNIFORM_SHARE / legal.len() as f64;
    batch.answer(0).0.iter().map(|&p| (1.0 - UNIFORM_SHARE) * f64::from(p) + uniform).collect()
}

/// A pseudo-network that likes one action much better than the others.
struct Sharp;

impl Evaluator for Sharp {
    fn evaluate(&mut self, batch: &mut EvalBatch) {
        Hash { seed: 3 }.evaluate(batch);
        for row in 0..batch.len() {
            let span = batch.span(row);
            let prior = &mut batch.prior[span];
            prior.iter_mut().for_each(|p| *p = p.powi(3));
            let total: f32 = prior.iter().sum();
            prior.iter_mut().for_each(|p| *p /= total);
        }
    }
}

/// One game played at random, up to a decision of `owner`.
struct Played<G: Game> {
    game: G,
    owner: Seat,
    part: Part,
    /// Worlds in a pool.
    size: usize,
    actions: Actions,
    /// Those of them that are the owner's decisions.
    decisions: Actions,
    /// What the owner saw at its decisions, the last one the decision that is due.
    views: Vec<G::View>,
}

/// A line of play that looks to the owner like the one played.
struct Line<G: Game> {
    state: G::State,
    odds: f64,
    /// The owner's decisions in it.
    own: usize,
}

impl<G: Game> Played<G> {
    /// Plays until the owner's decision number `decisions`; none if the game ends before.
    fn play(game: G, owner: Seat, decisions: usize, seed: u64) -> Option<Self> {
        let mut rng = stream(seed, &[]);
        let mut state = game.start(&mut rng);
        let (mut actions, mut views, mut legal) = (Actions::new(), Vec::new(), Actions::new());
        let mut own = Actions::new();
        loop {
            let action = match game.turn(&state) {
                Turn::Over => return None,
                Turn::Chance => game.sample(&state, &mut rng),
                Turn::Player(seat) => {
                    if seat == owner {
                        views.push(game.view(&state, owner));
                        if views.len() == decisions {
                            return Some(Self { game, owner, part: bits, size: SIZE, actions, decisions: own, views });
                        }
                    }
                    game.legal(&state, &mut legal);
                    let action = legal[rng.random_range(0..legal.len())];
                    own.extend((seat == owner).then_some(action));
                    action
                }
            };
            actions.push(action);
            game.apply(&mut state, action);
        }
    }

    /// True if some world of an earlier view was carried on with odds of its own.
    fn has_shown(&self) -> bool {
        let carried = |(index, pair): (usize, &[G::View])| {
            let rng = &mut stream(index as u64, &[]);
            let world = World::draw(&self.game, &pair[0], rng);
            world.carry(&self.game, &pair[1], 1 - self.owner, rng, |_, _, _| ()).is_some_and(|(_, odds)| odds != 1.0)
        };
        self.views.windows(2).cycle().take(100).enumerate().any(carried)
    }

    /// Bayes' posterior: every line of play that gives the owner the same views, with the odds of its chance outcomes and
    /// of the foe's decisions.
    fn exact(&self, setup: u64) -> Odds {
        let game = &self.game;
        let mut truth = game.start(&mut stream(setup, &[]));
        let (mut now, mut lines) =
            (game.view(&truth, self.owner), vec![Line { state: truth.clone(), odds: 1.0, own: 0 }]);
        for &action in &self.actions {
            game.apply(&mut truth, action);
            let next = game.view(&truth, self.owner);
            if next != now {
                let mut longer = Vec::new();
                lines.iter().for_each(|line| self.follow(line, &now, &next, &mut longer));
                (now, lines) = (next, longer);
            }
        }
        let mut odds = Odds::new();
        for line in &lines {
            assert_eq!(game.turn(&line.state), Turn::Player(self.owner));
            *odds.entry((self.part)(&seen(game, &line.state, 1 - self.owner))).or_default() += line.odds;
        }
        normalised(odds)
    }

    /// Goes on with a line of play up to the first change in what the owner sees, if it is this one.
    fn follow(&self, line: &Line<G>, now: &G::View, next: &G::View, out: &mut Vec<Line<G>>) {
        for (option, p) in self.options(line) {
            let own = line.own + usize::from(self.game.turn(&line.state) == Turn::Player(self.owner));
            let mut longer = Line { state: line.state.clone(), odds: line.odds * p, own };
            self.game.apply(&mut longer.state, option);
            let view = self.game.view(&longer.state, self.owner);
            if view == *next {
                out.push(longer);
            } else if view == *now {
                self.follow(&longer, now, next, out);
            }
        }
    }

    /// What can come next, with its odds; the owner does what it did.
    fn options(&self, line: &Line<G>) -> Vec<(Action, f64)> {
        let game = &self.game;
        match game.turn(&line.state) {
            Turn::Over => Vec::new(),
            Turn::Chance => {
                let mut outcomes = Vec::new();
                game.chance(&line.state, &mut outcomes);
                outcomes.into_iter().map(|(outcome, p)| (outcome, f64::from(p))).collect()
            }
            Turn::Player(seat) if seat == self.owner => {
                self.decisions.get(line.own).map(|&action| (action, 1.0)).into_iter().collect()
            }
            Turn::Player(seat) => {
                let mut legal = Actions::new();
                game.legal(&line.state, &mut legal);
                let policy = policy(game, &line.state, seat, &legal);
                legal.into_iter().zip(policy).collect()
            }
        }
    }

    /// Mean shares of the worlds in pools that have lived through these views.
    fn pooled(&self, views: &[G::View], seeds: u64, refill: bool) -> Odds {
        let mut odds = Odds::new();
        for seed in 0..seeds {
            let pool = self.pool(views, seed, refill);
            let mut before = 0.0;
            for (weighted, &sum) in pool.worlds.iter().zip(&pool.shares) {
                let mut observation = vec![0.0; self.game.info().observation_len()];
                weighted.world.observe(&self.game, 1 - self.owner, &mut observation);
                *odds.entry((self.part)(&observation)).or_default() += sum - before;
                before = sum;
            }
        }
        normalised(odds)
    }

    fn pool(&self, views: &[G::View], seed: u64, refill: bool) -> Pool<G> {
        let mut kept = None;
        for (ply, view) in views.iter().enumerate() {
            let seed = fogfall_game::mix(seed, ply as u64);
            let pool = Pool::begin(kept.take(), &self.game, view, self.owner, self.size as u32, seed);
            let mut pool = pool.expect("the game replays its past");
            pool.refill_below = if refill { 2.0 } else { 0.0 };
            answer(&mut pool, &self.game, view);
            assert_eq!(pool.worlds.len(), self.size);
            assert_eq!(pool.refilled, refill);
            kept = Some(pool);
        }
        kept.expect("there is a view")
    }
}

/// Answers all questions of a pool; how many.
fn answer<G: Game>(pool: &mut Pool<G>, game: &G, view: &G::View) -> u32 {
    let mut batch = EvalBatch::new(game.info().observation_len());
    let mut all = 0;
    loop {
        let asked = pool.gather(game, view, 0, &mut batch);
        if asked == 0 {
            return all;
        }
        Sharp.evaluate(&mut batch);
        (0..batch.len()).for_each(|row| pool.answer(batch.answer(row).0));
        batch.clear();
        all += asked;
    }
}

fn normalised(mut odds: Odds) -> Odds {
    let total: f64 = odds.values().sum();
    odds.values_mut().for_each(|p| *p /= total);
    odds
}

/// Half the sum of absolute differences.
fn distance(a: &Odds, b: &Odds) -> f64 {
    let keys: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let of = |odds: &Odds, key| odds.get(key).copied().unwrap_or(0.0);
    keys.into_iter().map(|key| (of(a, key) - of(b, key)).abs()).sum::<f64>() / 2.0
}

/// A comparison of pools with the exact posterior, in several games that come to the owner's decision of a number.
struct Check {
    decisions: usize,
    games: usize,
    /// Pools.
    seeds: u64,
    /// The distance allowed.
    limit: f64,
    /// Only games in which chance has shown something that worlds give different odds.
    shown: bool,
    /// Worlds in a pool.
    size: usize,
    part: Part,
}

impl Check {
    fn new(decisions: usize, games: usize, seeds: u64, limit: f64) -> Self {
        Self { decisions, games, seeds, limit, shown: false, size: SIZE, part: bits }
    }

    fn run<G: Game>(self, make: impl Fn() -> G) {
        let Self { decisions, games, seeds, limit, shown, size, part } = self;
        let mut compared = 0;
        let mut telling = 0.0f64;
        for setup in 0..20_000 {
            let owner = (setup % 2) as Seat;
            let Some(played) = Played::play(make(), owner, decisions, setup) else { continue };
            let played = Played { part, size, ..played };
            if shown && !played.has_shown() {
                continue;
            }
            let exact = played.exact(setup);
            let last = &played.views[decisions - 1..];
            let fresh = played.pooled(last, seeds, false);
            let living = played.pooled(&played.views, seeds, false);
            let refilled = played.pooled(&played.views, seeds, true);
            for (what, pooled) in [("fresh", &fresh), ("living", &living), ("refilled", &refilled)] {
                let distance = distance(&exact, pooled);
                assert!(
                    distance < limit,
                    "{what} {distance}, game {setup}: {:?} {:?}",
                    exact.values(),
                    pooled.values()
                );
            }
            // What the rules' own odds alone would say.
            let drawn = (0..1000).map(|seed| {
                let world = World::draw(&played.game, &last[0], &mut stream(seed, &[]));
                let mut observation = vec![0.0; played.game.info().observation_len()];
                world.observe(&played.game, 1 - owner, &mut observation);
                part(&observation)
            });
            let mut rules = Odds::new();
            drawn.for_each(|key| *rules.entry(key).or_default() += 1.0);
            telling = telling.max(distance(&exact, &normalised(rules)));
            compared += 1;
            if compared == games {
                break;
            }
        }
        assert_eq!(compared, games, "too few games come that far");
        assert!(telling > 2.0 * limit, "the opponent's decisions tell too little to be tested by: {telling}");
    }
}

#[test]
fn pools_follow_bayes_rule_in_kuhn_poker() {
    // Two cards, 100 pools of 64: a share's standard deviation is below sqrt(.25 / 6400) / efficiency .5 = .01.
    Check::new(2, 3, 100, 0.03).run(KuhnPoker::new);
}

#[test]
fn pools_follow_bayes_rule_in_liars_dice() {
    Check::new(2, 6, 200, 0.04).run(LiarsDice::new);
    Check::new(3, 4, 200, 0.04).run(LiarsDice::new);
}

#[test]
fn pools_follow_bayes_rule_in_phantom_tic_tac_toe_where_moves_go_unnoticed() {
    // Weights are so uneven that small pools would be off by more; of 8192 worlds they are off by less than 0.009.
    Check { part: marks, size: 1024, ..Check::new(2, 6, 40, 0.045) }.run(PhantomTtt::new);
    Check { part: marks, size: 1024, ..Check::new(3, 4, 40, 0.045) }.run(PhantomTtt::new);
}

#[test]
fn pools_follow_bayes_rule_in_leduc_poker_where_worlds_die_when_the_tables_card_falls() {
    Check::new(2, 6, 100, 0.04).run(LeducPoker::new);
    Check::new(3, 4, 100, 0.04).run(LeducPoker::new);
}

#[test]
fn pools_follow_bayes_rule_in_battle_tiny() {
    Check::new(3, 6, 200, 0.05).run(|| Battle::tiny(None).expect("rules that ship"));
}

#[test]
fn pools_follow_bayes_rule_where_the_foe_uses_or_has_to_show_one_of_two_equal_cards() {
    let rules = BATTLE_TINY_RULES.replace("copies = 1", "copies = 2").replace("bag_size = 1", "bag_size = 3");
    Check::new(3, 10, 200, 0.05).run(|| Battle::tiny(Some(&rules)).expect("rules of cards in pairs"));
    Check { shown: true, ..Check::new(3, 5, 200, 0.05) }
        .run(|| Battle::tiny(Some(&rules)).expect("rules of cards in pairs"));
}

#[test]
fn a_kept_pool_asks_about_what_is_new_and_about_new_worlds_alone() {
    let mut asked = [0, 0];
    let fights = (0..).filter_map(|seed| Played::play(Battle::new(None).expect("rules that ship"), 0, 8, seed));
    for played in fights.take(10) {
        let (before, now) = (&played.views[..7], &played.views[7]);
        for (sum, kept) in asked.iter_mut().zip([Some(played.pool(before, 1, false)), None]) {
            let pool = Pool::begin(kept, &played.game, now, 0, SIZE as u32, 9);
            let mut pool = pool.expect("the fight is short enough");
            pool.refill_below = 0.0;
            *sum += answer(&mut pool, &played.game, now);
        }
    }
    assert!(asked[0] < asked[1] / 2, "{asked:?}");
}

#[test]
fn another_owner_gets_another_pool() {
    let game = KuhnPoker::new();
    let mut state = game.start(&mut stream(0, &[]));
    for action in [0, 1] {
        game.apply(&mut state, action);
    }
    let mine = Pool::begin(None, &game, &game.view(&state, 0), 0, 8, 1).expect("poker replays");
    game.apply(&mut state, 0);
    let view = game.view(&state, 1);
    let theirs = Pool::begin(Some(mine), &game, &view, 1, 8, 2).expect("poker replays");
    assert_eq!((theirs.owner, theirs.drawn), (1, 8));
}
