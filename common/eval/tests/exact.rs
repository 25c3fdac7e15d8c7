//! Exact numbers of Kuhn poker, Leduc poker and tic-tac-toe against what is known of them.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;

use fogfall_eval::{
    Average, Cfr, ConnectFourSolver, ExactError, Exploitability, GameTree, Referee, RefereeError, nash_conv,
};
use fogfall_game::contract::{Leak, Leaky};
use fogfall_game::{Action, Game, Turn, stream};
use fogfall_games::{ConnectFour, Hand, KuhnPoker, LeducPoker, LiarsDice, TicTacToe};
use rand::RngExt;

fn kuhn(policy: &mut dyn FnMut(&Hand, &[Action]) -> Vec<f64>) -> Result<Exploitability, ExactError> {
    let game = KuhnPoker::new();
    nash_conv(&game, &game.start(&mut stream(0, &[])), policy, 1_000)
}

fn lay_out<G: Game>(game: &G) -> GameTree<G::View> {
    GameTree::lay_out(game, &game.start(&mut stream(0, &[])), 300_000).unwrap()
}

fn simple(name: &str, actions: usize) -> Vec<f64> {
    let mut odds = vec![0.0; actions];
    match name {
        "uniform" => odds.fill(1.0 / actions as f64),
        "first_legal" => odds[0] = 1.0,
        "last_legal" => odds[actions - 1] = 1.0,
        "two_thirds_first_rest_last" => {
            odds[0] += 2.0 / 3.0;
            odds[actions - 1] += 1.0 / 3.0;
        }
        other => panic!("unknown policy {other}"),
    }
    odds
}

fn agrees_with_open_spiel(game: &impl Game, information_sets: usize) {
    let reference: HashMap<String, HashMap<String, HashMap<String, f64>>> =
        serde_json::from_str(include_str!("data/nash_conv_reference.json")).unwrap();
    let policies = &reference[&game.info().name];
    assert_eq!(policies.len(), 4);
    let tree = lay_out(game);
    assert_eq!(tree.information_sets(), information_sets);
    for (name, expected) in policies {
        let profile = tree.profile(|_, legal| simple(name, legal.len())).unwrap();
        let found = tree.exploitability(&profile);
        assert!((found.nash_conv - expected["nash_conv"]).abs() < 1e-6, "{name}: {found:?}");
        assert!((found.value - expected["value_player_0"]).abs() < 1e-6, "{name}: {found:?}");
    }
}

#[test]
fn nash_conv_of_simple_policies_of_kuhn_poker_agrees_with_open_spiel() {
    agrees_with_open_spiel(&KuhnPoker::new(), 6 + 6);
}

#[test]
fn nash_conv_of_simple_policies_of_leduc_poker_agrees_with_open_spiel() {
    agrees_with_open_spiel(&LeducPoker::new(), 468 + 468);
}

/// A die for each seat, and sets of bids below 12, those with an even number of bids for seat 0: 6 * 2^11 for each.
#[test]
fn nash_conv_of_simple_policies_of_liars_dice_agrees_with_open_spiel() {
    agrees_with_open_spiel(&LiarsDice::new(), 12_288 + 12_288);
}

#[test]
fn the_trees_of_kuhn_and_leduc_poker_have_their_known_sizes() {
    assert_eq!(lay_out(&KuhnPoker::new()).nodes(), 30 + 24 + 4); // ends, decisions, chance nodes
    assert_eq!(lay_out(&LeducPoker::new()).nodes(), 5520 + 3780 + 157);
}

/// NashConv and seat 0's value after these numbers of iterations of CFR+.
fn solve(game: &impl Game, iterations: &[u32]) -> Vec<(f64, f64)> {
    let tree = lay_out(game);
    let mut solver = Cfr::new(&tree);
    let mut curve = Vec::new();
    for &until in iterations {
        while solver.iterations() < until {
            solver.iterate();
        }
        let found = tree.exploitability(&solver.average());
        curve.push((found.nash_conv, found.value));
    }
    curve
}

/// Within 5 %: sums in another order change which regrets are 0, and with them the way there.
fn near(found: f64, reference: f64) {
    assert!((found / reference - 1.0).abs() < 0.05, "{found}, not {reference}");
}

#[test]
fn cfr_plus_solves_kuhn_poker_as_fast_as_open_spiels() {
    let curve = solve(&KuhnPoker::new(), &[10, 100, 1000]);
    near(curve[0].0, 0.0654);
    near(curve[1].0, 0.0024);
    near(curve[2].0, 0.00018);
    assert!((curve[2].1 + 1.0 / 18.0).abs() < 1e-4, "{curve:?}");
}

#[test]
fn cfr_plus_solves_leduc_poker_as_fast_as_open_spiels() {
    let curve = solve(&LeducPoker::new(), &[10, 100, 400]);
    near(curve[0].0, 1.22);
    near(curve[1].0, 0.027);
    near(curve[2].0, 0.0025);
    assert!((curve[2].1 + 0.085_538).abs() < 1e-4, "{curve:?}");
}

#[test]
fn an_average_counts_profiles_by_how_likely_they_get_somewhere() {
    let tree = lay_out(&KuhnPoker::new());
    let betting = |bet: f64| tree.profile(move |_, _| vec![1.0 - bet, bet]).unwrap();
    // Facing a bet after its pass, seat 0 got there with 0.9 by the first profile and 0.1 by the second: it calls with
    // (0.9 * 0.1 + 0.1 * 0.9) / (0.9 + 0.1) = 0.18. Elsewhere the mean is 0.5.
    let mut average = Average::new(&tree);
    average.add(&tree, 1.0, &betting(0.1));
    average.add(&tree, 1.0, &betting(0.9));
    let average = average.profile(&tree);
    let mut bets: Vec<f64> = tree.policy(&average).map(|(_, _, odds)| odds[1]).collect();
    bets.sort_by(f64::total_cmp);
    assert_eq!(bets.len(), 12);
    assert!(bets[..3].iter().all(|bet| (bet - 0.18).abs() < 1e-12), "{bets:?}");
    assert!(bets[3..].iter().all(|bet| (bet - 0.5).abs() < 1e-12), "{bets:?}");
}

/// Kuhn's equilibria are a family in seat 0's probability `alpha` of betting the lowest card: it bets the highest with
/// `3 alpha`, and calls with the middle card with `alpha + 1/3`. Seat 1 always answers with the highest card, bets the
/// lowest after a pass and calls with the middle card, each in a third of the cases.
fn equilibrium(hand: &Hand, alpha: f64) -> Vec<f64> {
    let text = serde_json::to_value(hand).unwrap();
    let card = text["card"].as_u64().unwrap() as usize;
    let made = text["betting"]["count"].as_u64().unwrap();
    let facing_bet = made == 2 || (made == 1 && text["betting"]["made"][0] == 1);
    let bet = match (text["seat"].as_u64().unwrap(), facing_bet) {
        (0, false) => [alpha, 0.0, 3.0 * alpha][card],
        (0, true) => [0.0, alpha + 1.0 / 3.0, 1.0][card],
        (_, false) => [1.0 / 3.0, 0.0, 1.0][card],
        (_, true) => [0.0, 1.0 / 3.0, 1.0][card],
    };
    vec![1.0 - bet, bet]
}

#[test]
fn the_known_equilibria_of_kuhn_poker_have_nash_conv_zero_and_cost_the_first_seat_an_eighteenth() {
    for alpha in [0.0, 0.2, 1.0 / 3.0] {
        let found = kuhn(&mut |hand, _| equilibrium(hand, alpha)).unwrap();
        assert!(found.nash_conv.abs() < 1e-6, "{alpha}: {found:?}");
        assert!((found.value + 1.0 / 18.0).abs() < 1e-6, "{alpha}: {found:?}");
    }
}

#[test]
fn a_policy_that_is_no_distribution_is_refused() {
    let error = kuhn(&mut |_, _| vec![0.5, 0.6]).unwrap_err();
    assert_eq!(error, ExactError::Policy { probabilities: vec![0.5, 0.6], legal: 2 });
}

#[test]
fn legal_actions_that_depend_on_the_hidden_card_are_refused() {
    let game = Leaky::new(KuhnPoker::new(), Leak::Legal);
    let root = game.start(&mut stream(0, &[]));
    let refused = nash_conv(&game, &root, &mut |_, legal| simple("uniform", legal.len()), 1_000);
    assert!(matches!(refused, Err(ExactError::Legal { .. })), "{refused:?}");
}

#[test]
fn a_tree_above_the_limit_is_refused() {
    let game = TicTacToe::new();
    let root = game.start(&mut stream(0, &[]));
    let policy = &mut |_: &_, legal: &[Action]| simple("uniform", legal.len());
    assert_eq!(nash_conv(&game, &root, policy, 1_000), Err(ExactError::TooLarge { max_nodes: 1_000 }));
}

#[test]
fn tic_tac_toe_has_5478_positions_and_4520_decisions_and_is_a_draw() {
    let game = TicTacToe::new();
    let referee = Referee::solve(&game, &game.start(&mut stream(0, &[])), 10_000).unwrap();
    assert_eq!((referee.positions(), referee.decisions().len()), (5478, 4520));
    let start = referee.decisions().iter().find(|position| position.legal.len() == 9).unwrap();
    assert_eq!(start.values, [0.0; 9]);
}

#[test]
fn perfect_play_makes_no_mistake_and_the_first_legal_action_many() {
    let game = TicTacToe::new();
    let referee = Referee::solve(&game, &game.start(&mut stream(0, &[])), 10_000).unwrap();
    let best: Vec<Action> = referee
        .decisions()
        .iter()
        .map(|position| position.legal[position.values.iter().position(|&v| v == position.value()).unwrap()])
        .collect();
    assert_eq!(referee.verdict(best).mistakes, 0);
    let verdict = referee.judge(|_, legal| legal[0]);
    assert_eq!(verdict.decisions, 4520);
    assert!(verdict.mistakes > 1_000, "{verdict:?}");
    assert_eq!(verdict.examples.len(), 5);
}

#[test]
fn a_missed_win_and_an_unblocked_line_are_mistakes() {
    let game = TicTacToe::new();
    let mut board = game.start(&mut stream(0, &[]));
    for action in [0, 3, 1, 4] {
        game.apply(&mut board, action); // x: 0 1, o: 3 4: x wins by 2, else o wins by 5
    }
    let referee = Referee::solve(&game, &board, 10_000).unwrap();
    let position = referee.decisions().iter().find(|position| position.view == board).unwrap();
    assert_eq!(position.legal, [2, 5, 6, 7, 8]);
    assert_eq!(position.loss(2), 0.0);
    assert_eq!(position.loss(6), 2.0); // from won to lost
}

#[test]
fn a_game_with_hidden_cards_has_no_referee() {
    let game = KuhnPoker::new();
    let refused = Referee::solve(&game, &game.start(&mut stream(0, &[])), 10_000).unwrap_err();
    assert_eq!(refused, RefereeError::NotDeterministic { game: "kuhn_poker".to_owned() });
}

/// Seat 0's value under perfect play, by looking at every continuation.
fn minimax(game: &ConnectFour, board: &<ConnectFour as Game>::State) -> f32 {
    let Turn::Player(seat) = game.turn(board) else { return game.payoff(board) };
    let mut legal = Vec::new();
    game.legal(board, &mut legal);
    let values = legal.iter().map(|&column| {
        let mut next = *board;
        game.apply(&mut next, column);
        minimax(game, &next)
    });
    if seat == 0 { values.fold(-1.0, f32::max) } else { values.fold(1.0, f32::min) }
}

#[test]
fn the_solver_of_connect_four_agrees_with_a_look_at_every_continuation() {
    let (game, mut solver) = (ConnectFour::new(), ConnectFourSolver::new());
    let (mut solved, mut seen) = (0, [0; 3]);
    for number in 0.. {
        let mut rng = stream(number, &[]);
        let (mut board, mut columns, mut legal) = (game.start(&mut rng), Vec::new(), Vec::new());
        while let (Turn::Player(seat), true) = (game.turn(&board), columns.len() < 33) {
            game.legal(&board, &mut legal);
            if columns.len() >= 30 {
                let values = solver.values(&columns).unwrap();
                assert!(values.iter().map(|(column, _)| column).eq(&legal));
                for (column, value) in values {
                    let mut next = board;
                    game.apply(&mut next, column);
                    let sign = if seat == 0 { 1.0 } else { -1.0 };
                    assert_eq!(f32::from(value), sign * minimax(&game, &next), "{columns:?}, {column}");
                    seen[(value + 1) as usize] += 1;
                }
                solved += 1;
            }
            columns.push(legal[rng.random_range(0..legal.len())]);
            game.apply(&mut board, columns[columns.len() - 1]);
        }
        if solved >= 200 {
            break;
        }
    }
    assert!(seen.iter().all(|&times| times > 20), "{seen:?}");
}

#[test]
fn games_of_connect_four_that_are_over_or_cannot_be_played_have_no_values() {
    let mut solver = ConnectFourSolver::new();
    assert_eq!(solver.values(&[3, 2, 3, 2, 3, 2, 3]), None); // four upwards
    assert_eq!(solver.values(&[0, 0, 0, 0, 0, 0, 0]), None); // seven in a column
    assert_eq!(solver.values(&[7]), None);
}
