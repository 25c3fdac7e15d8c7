//! Pools against Bayes' rule: the exact odds of what is hidden, by going through every game that looks to the owner like
//! the one played.

use std::collections::BTreeMap;

use fogfall_game::{Actions, Turn};
use fogfall_games::{BATTLE_TINY_RULES, Battle, KuhnPoker, LeducPoker};

use super::*;
use crate::evaluator::Evaluator;
use crate::evaluators::Hash;

/// Odds by what the foe sees.
type Odds = BTreeMap<Vec<u32>, f64>;

/// Worlds in a pool.
const SIZE: usize = 64;

fn seen<G: Game>(game: &G, state: &G::State, seat: Seat) -> Vec<f32> {
    let mut observation = vec![0.0; game.info().observation_len()];
    game.observe(state, seat, &mut observation);
    observation
}

fn bits(observation: &[f32]) -> Vec<u32> {
    observation.iter().map(|number| number.to_bits()).collect()
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
    actions: Actions,
    /// What the owner saw at its decisions, the last one the decision that is due.
    views: Vec<G::View>,
}

impl<G: Game> Played<G> {
    /// Plays until the owner's decision number `decisions`; none if the game ends before.
    fn play(game: G, owner: Seat, decisions: usize, seed: u64) -> Option<Self> {
        let mut rng = stream(seed, &[]);
        let mut state = game.start(&mut rng);
        let (mut actions, mut views, mut legal) = (Actions::new(), Vec::new(), Actions::new());
        loop {
            let action = match game.turn(&state) {
                Turn::Over => return None,
                Turn::Chance => game.sample(&state, &mut rng),
                Turn::Player(seat) => {
                    if seat == owner {
                        views.push(game.view(&state, owner));
                        if views.len() == decisions {
                            return Some(Self { game, owner, actions, views });
                        }
                    }
                    game.legal(&state, &mut legal);
                    legal[rng.random_range(0..legal.len())]
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
        let start = game.start(&mut stream(setup, &[]));
        let (mut truth, mut lines) = (start.clone(), vec![(start, 1.0)]);
        for &action in &self.actions {
            game.apply(&mut truth, action);
            let view = &game.view(&truth, self.owner);
            let next = lines.iter().flat_map(|(state, odds)| {
                let options: Vec<(Action, f64)> = match game.turn(state) {
                    Turn::Over => Vec::new(),
                    Turn::Chance => {
                        let mut outcomes = Vec::new();
                        game.chance(state, &mut outcomes);
                        outcomes.into_iter().map(|(outcome, p)| (outcome, f64::from(p))).collect()
                    }
                    Turn::Player(seat) if seat == self.owner => vec![(action, 1.0)],
                    Turn::Player(seat) => {
                        let mut legal = Actions::new();
                        game.legal(state, &mut legal);
                        let policy = policy(game, state, seat, &legal);
                        legal.into_iter().zip(policy).collect()
                    }
                };
                options.into_iter().filter_map(move |(option, p)| {
                    let mut next = state.clone();
                    game.apply(&mut next, option);
                    (game.view(&next, self.owner) == *view).then_some((next, odds * p))
                })
            });
            lines = next.collect();
        }
        let mut odds = Odds::new();
        for (state, p) in &lines {
            *odds.entry(bits(&seen(game, state, 1 - self.owner))).or_default() += p;
        }
        normalised(odds)
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
                *odds.entry(bits(&observation)).or_default() += sum - before;
                before = sum;
            }
        }
        normalised(odds)
    }

    fn pool(&self, views: &[G::View], seed: u64, refill: bool) -> Pool<G> {
        let mut kept = None;
        for (ply, view) in views.iter().enumerate() {
            let seed = fogfall_game::mix(seed, ply as u64);
            let pool = Pool::begin(kept.take(), &self.game, view, self.owner, SIZE as u32, seed);
            let mut pool = pool.expect("the game replays its past");
            pool.refill_below = if refill { 2.0 } else { 0.0 };
            answer(&mut pool, &self.game, view);
            assert_eq!(pool.worlds.len(), SIZE);
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

/// Compares pools with the exact posterior in several games that come to the owner's decision number `decisions`.
///
/// `shown`: only games in which chance has shown something that worlds give different odds.
fn check<G: Game>(make: impl Fn() -> G, decisions: usize, games: usize, seeds: u64, limit: f64, shown: bool) {
    let mut compared = 0;
    let mut telling = 0.0f64;
    for setup in 0..20_000 {
        let owner = (setup % 2) as Seat;
        let Some(played) = Played::play(make(), owner, decisions, setup) else { continue };
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
            assert!(distance < limit, "{what} {distance}, game {setup}: {:?} {:?}", exact.values(), pooled.values());
        }
        // What the rules' own odds alone would say.
        let drawn = (0..1000).map(|seed| {
            let world = World::draw(&played.game, &last[0], &mut stream(seed, &[]));
            let mut observation = vec![0.0; played.game.info().observation_len()];
            world.observe(&played.game, 1 - owner, &mut observation);
            bits(&observation)
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

#[test]
fn pools_follow_bayes_rule_in_kuhn_poker() {
    // Two cards, 100 pools of 64: a share's standard deviation is below sqrt(.25 / 6400) / efficiency .5 = .01.
    check(KuhnPoker::new, 2, 3, 100, 0.03, false);
}

#[test]
fn pools_follow_bayes_rule_in_leduc_poker_where_worlds_die_when_the_tables_card_falls() {
    check(LeducPoker::new, 2, 6, 100, 0.04, false);
    check(LeducPoker::new, 3, 4, 100, 0.04, false);
}

#[test]
fn pools_follow_bayes_rule_in_battle_tiny() {
    check(|| Battle::tiny(None).expect("rules that ship"), 3, 6, 200, 0.05, false);
}

#[test]
fn pools_follow_bayes_rule_where_the_foe_uses_or_has_to_show_one_of_two_equal_cards() {
    let rules = BATTLE_TINY_RULES.replace("copies = 1", "copies = 2").replace("bag_size = 1", "bag_size = 3");
    check(|| Battle::tiny(Some(&rules)).expect("rules of cards in pairs"), 3, 10, 200, 0.05, false);
    check(|| Battle::tiny(Some(&rules)).expect("rules of cards in pairs"), 3, 5, 200, 0.05, true);
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
