//! Worlds of phantom tic-tac-toe against all histories that agree with a view, listed one by one.

use std::collections::HashMap;
use std::hash::Hash;

use fogfall_game::{Action, Actions, Game, Seat, Turn, stream};
use rand::RngExt;

use super::board::{FULL, PhantomBoard, PhantomView};
use super::{PhantomTtt, worlds};

const DRAWS: u64 = 20_000;

/// All histories that go on from `then` and look to the view's seat as the view does.
fn histories(then: PhantomBoard, view: &PhantomView, out: &mut Vec<PhantomBoard>) {
    if then.seen(view.seat) == *view {
        out.push(then);
    }
    let own = usize::from(view.seat);
    let told = |now: &PhantomBoard| {
        now.marks[own] & !view.mine == 0
            && now.found[own] & !view.found == 0
            && now.marks[1 - own] & view.mine == 0
            && now.placed <= view.placed
    };
    let cells: Actions = if then.over {
        Vec::new()
    } else if then.mover() == view.seat {
        view.tries.get(then.tries[own].len()).into_iter().collect()
    } else {
        (0..9).filter(|&cell| then.unknown(1 - view.seat) >> cell & 1 == 1).collect()
    };
    for cell in cells {
        let mut next = then;
        next.attempt(cell);
        if told(&next) {
            histories(next, view, out);
        }
    }
}

fn after(cells: &[Action]) -> PhantomBoard {
    let mut board = PhantomBoard::default();
    cells.iter().for_each(|&cell| board.attempt(cell));
    board
}

/// How often a player would have made `seat`'s moves since `then` that tries unknown cells at random, up to a factor.
fn odds_at_random(then: &PhantomBoard, history: &PhantomBoard, seat: Seat) -> f64 {
    let mut odds = 1.0;
    then.replay(history, 1 - seat, seat, &mut |now, _| odds /= f64::from(now.unknown(seat).count_ones()));
    odds
}

/// Positions of seat 0 and seat 1, early and late, with marks found at once, later, and not at all.
fn positions() -> [(PhantomBoard, Seat); 6] {
    [
        (after(&[4, 4, 0]), 0),
        (after(&[4, 4, 0, 0, 1]), 1),
        (after(&[0, 4, 1, 0, 2, 4, 2]), 0),
        (after(&[0, 4, 8, 8, 0, 1, 1]), 0),
        (after(&[1, 1, 0, 0, 5, 5, 3, 3, 4, 4, 8]), 0),
        (after(&[0, 1, 2, 4, 4, 3]), 1),
    ]
}

/// Checks that `draw` gives each thing as often as `odds` say, which need not sum to 1.
fn follows<T: Eq + Hash + std::fmt::Debug>(odds: &HashMap<T, f64>, mut draw: impl FnMut(u64) -> T) {
    let total: f64 = odds.values().sum();
    let mut counts: HashMap<T, u64> = HashMap::new();
    (0..DRAWS).for_each(|number| *counts.entry(draw(number)).or_default() += 1);
    for drawn in counts.keys() {
        assert!(odds.contains_key(drawn), "{drawn:?} was drawn and cannot be");
    }
    for (thing, odds) in odds {
        let (p, count) = (odds / total, counts.get(thing).copied().unwrap_or(0));
        let (expected, deviation) = (p * DRAWS as f64, (p * (1.0 - p) * DRAWS as f64).sqrt());
        let off = (count as f64 - expected).abs();
        assert!(off < 5.0 * deviation + 1.0, "{thing:?}: {count} of {DRAWS}, expected {expected:.1}");
    }
}

/// What tells histories apart: what both seats tried.
fn key(board: &PhantomBoard) -> [u64; 2] {
    board.tries.map(|tries| tries.bits())
}

#[test]
fn worlds_are_drawn_as_a_player_at_random_would_have_left_them() {
    for (truth, seat) in positions() {
        let view = truth.seen(seat);
        assert_eq!(truth.mover(), seat);
        let mut all = Vec::new();
        histories(PhantomBoard::default(), &view, &mut all);
        assert!(all.contains(&truth));
        let odds = all.iter().map(|world| (key(world), odds_at_random(&PhantomBoard::default(), world, 1 - seat)));
        let game = PhantomTtt::new();
        follows(&odds.collect(), |number| key(&game.determinize(&view, &mut stream(number, &[]))));
    }
}

#[test]
fn all_sets_of_marks_that_agree_with_what_was_seen_are_equally_likely() {
    for (truth, seat) in positions() {
        let view = truth.seen(seat);
        let mut all = Vec::new();
        histories(PhantomBoard::default(), &view, &mut all);
        let foe = usize::from(1 - seat);
        let sets: HashMap<u16, f64> = all.iter().map(|world| (world.marks[foe], 1.0)).collect();
        let game = PhantomTtt::new();
        follows(&sets, |number| game.determinize(&view, &mut stream(number, &[])).marks[foe]);
    }
    // Of seat 0's first find, cell 0, the foe has marked one other of the six cells that are left.
    let view = after(&[4, 4, 0, 0, 1, 8]).seen(0);
    let sets: Vec<u32> = (0..300)
        .map(|number| {
            let world = PhantomTtt::new().determinize(&view, &mut stream(number, &[]));
            (world.marks[1] & !view.found).trailing_zeros()
        })
        .collect();
    assert!(
        [2, 3, 5, 6, 7, 8].iter().all(|cell| sets.contains(cell)) && sets.iter().all(|cell| ![0, 1, 4].contains(cell))
    );
}

#[test]
fn the_odds_of_a_past_take_back_how_worlds_are_drawn() {
    let game = PhantomTtt::new();
    for (truth, seat) in positions() {
        let view = truth.seen(seat);
        let mut all = Vec::new();
        histories(PhantomBoard::default(), &view, &mut all);
        let even = all.iter().map(|world| {
            game.past(&view, world, seat, &mut |_, _| ()).unwrap()
                * odds_at_random(&PhantomBoard::default(), world, 1 - seat)
        });
        // All worlds of the view come to the same.
        let even: Vec<f64> = even.collect();
        assert!(even.iter().all(|product| (product / even[0] - 1.0).abs() < 1e-12), "{even:?}");
    }
}

#[test]
fn worlds_carried_on_are_drawn_and_weighed_as_new_ones_would_be() {
    let game = PhantomTtt::new();
    for (before, since, seat) in [
        (after(&[4, 4, 0]), vec![1, 1, 8], 0),          // marks, and the foe moves
        (after(&[4, 4, 0, 0]), vec![1, 1, 8], 0),       // it has found 0 before
        (after(&[4, 4, 0]), vec![0], 0),                // finds 0
        (after(&[4, 4, 0]), vec![1, 1, 2, 5, 7, 2], 0), // two turns of the foe; finds 2
        (after(&[4]), vec![4, 0, 5, 1, 2], 1),          // two turns of the foe
    ] {
        let (seen_before, mut truth) = (before.seen(seat), before);
        since.iter().for_each(|&cell| truth.attempt(cell));
        let view = truth.seen(seat);
        assert_eq!((before.mover(), truth.mover()), (seat, seat));
        let mut worlds = Vec::new();
        histories(PhantomBoard::default(), &seen_before, &mut worlds);
        // For each world: the sum over what it can come to of how often it is drawn, times its weight, is the same.
        let mut constants = Vec::new();
        for world in &worlds {
            let mut all = Vec::new();
            histories(*world, &view, &mut all);
            let mut weights = HashMap::new();
            let mut draw = |number: u64| {
                let rng = &mut stream(number, &[]);
                let (now, odds) = game.carry(&view, world, seat, rng, &mut |_, _| ())?;
                weights.insert(key(&now), odds);
                Some(key(&now))
            };
            if all.is_empty() {
                assert_eq!(draw(0), None, "{world:?}");
                continue;
            }
            let odds: HashMap<_, f64> =
                all.iter().map(|now| (key(now), odds_at_random(world, now, 1 - seat))).collect();
            follows(&odds, |number| draw(number).expect("it can be carried on"));
            let total: f64 = odds.values().sum();
            constants.extend(weights.iter().map(|(now, weight)| odds[now] / total * weight));
        }
        assert!(constants.len() > 1);
        assert!(constants.iter().all(|product| (product / constants[0] - 1.0).abs() < 1e-9), "{constants:?}");
    }
}

#[test]
fn worlds_of_lost_and_of_full_boards_end_as_they_did() {
    let game = PhantomTtt::new();
    for cells in [vec![0, 4, 1, 3, 8, 5], vec![0, 4, 1, 3, 2], vec![0, 1, 2, 4, 3, 5, 7, 6, 8]] {
        let board = after(&cells);
        for seat in [0, 1] {
            let view = game.view(&board, seat);
            for number in 0..200 {
                let world = game.determinize(&view, &mut stream(number, &[]));
                assert_eq!(game.view(&world, seat), view);
                assert_eq!((game.turn(&world), game.payoff(&world)), (Turn::Over, game.payoff(&board)));
            }
        }
    }
}

#[test]
fn every_view_of_random_games_has_worlds_and_its_truth_is_carried_on() {
    let rng = &mut stream(7, &[]);
    let game = PhantomTtt::new();
    for _ in 0..500 {
        let mut board = PhantomBoard::default();
        let mut seen = [board; 2];
        while !board.over {
            for seat in [0, 1] {
                let world = game.determinize(&board.seen(seat), rng);
                assert_eq!(world.seen(seat), board.seen(seat));
                assert_eq!(world.marks[usize::from(1 - seat)] & board.marks[usize::from(seat)], 0);
                assert_eq!((world.marks[0] | world.marks[1]) & !FULL, 0);
            }
            let seat = board.mover();
            let then = &mut seen[usize::from(seat)];
            if then.mover() == seat {
                let (now, ways) = worlds::go_on(then, &board.seen(seat), rng).expect("the truth goes on");
                assert!(now.seen(seat) == board.seen(seat) && ways >= 1.0);
            }
            *then = board;
            let unknown: Actions = (0..9).filter(|&cell| board.unknown(seat) >> cell & 1 == 1).collect();
            board.attempt(unknown[rng.random_range(0..unknown.len())]);
        }
    }
}
