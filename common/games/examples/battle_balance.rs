//! Prints facts about `battle`'s rules: how long fights are, who wins, and which moves are played.
//!
//! `cargo run -p fogfall-games --example battle_balance -- [FIGHTS] [RULES.toml]`
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Instant;

use fogfall_game::{Action, Actions, Game, GameError, Seat, Turn, stream};
use fogfall_games::Battle;
use rand::RngExt;

/// A fight between two players by name.
struct Fight {
    payoff: f32,
    decisions: usize,
    sects: [usize; 2],
}

fn play(game: &Battle, players: [&str; 2], seed: u64, swap: bool, used: &mut [usize]) -> Fight {
    let mut rng = stream(seed, &[1, u64::from(swap)]);
    let mut state = game.start(&mut stream(seed, &[0]));
    let mut legal = Actions::new();
    let mut decisions = 0;
    let mut observation = vec![0.0; game.info().observation_len()];
    let sects = game.info().observation.range("own.sect").expect("battle observes its sect");
    let sect = |state: &_, seat: Seat, observation: &mut [f32]| {
        game.observe(state, seat, observation);
        observation[sects.clone()].iter().position(|&x| x == 1.0).unwrap_or(0)
    };
    let sects = [0, 1].map(|seat| sect(&state, seat, &mut observation));
    game.settle(&mut state, &mut rng);
    while let Turn::Player(seat) = game.turn(&state) {
        game.legal(&state, &mut legal);
        let player = players[usize::from(seat) ^ usize::from(swap)];
        let action: Action = match player {
            "random" => legal[rng.random_range(0..legal.len())],
            expert => game.expert_move(expert, &game.view(&state, seat), &legal, &mut rng),
        };
        used[usize::from(action)] += 1;
        decisions += 1;
        game.advance(&mut state, action, &mut rng);
    }
    Fight { payoff: game.payoff(&state), decisions, sects }
}

fn report(game: &Battle, players: [&str; 2], fights: u64) {
    let actions = game.info().num_actions();
    let mut used = vec![0; actions];
    let (mut score, mut seat0, mut draws, mut lengths) = (0.0, 0.0, 0, BTreeMap::new());
    let mut by_sect = BTreeMap::new();
    let began = Instant::now();
    for fight in 0..fights {
        let swap = fight % 2 == 1;
        let one = play(game, players, fight / 2, swap, &mut used);
        score += if swap { -one.payoff } else { one.payoff };
        seat0 += one.payoff;
        draws += u64::from(one.payoff == 0.0);
        *lengths.entry(one.decisions).or_insert(0) += 1u64;
        if one.sects[0] != one.sects[1] {
            for (seat, sect) in one.sects.into_iter().enumerate() {
                let won = if seat == 0 { one.payoff } else { -one.payoff };
                let entry = by_sect.entry(sect).or_insert((0.0, 0u64));
                *entry = (entry.0 + won, entry.1 + 1);
            }
        }
    }
    let share = |sum: f32, n: u64| 50.0 + 50.0 * sum / n as f32;
    let percentile = |p: f64| {
        let mut left = (fights as f64 * p) as u64;
        lengths.iter().find(|(_, n)| {
            let here = left < **n;
            left = left.saturating_sub(**n);
            here
        })
    };
    println!(
        "{:>8} against {:<8} {:5.1} %  seat 0 {:4.1} %  draws {:4.1} %  decisions {}..{}..{}  {:.1} us a decision",
        players[0],
        players[1],
        share(score, fights),
        share(seat0, fights),
        100.0 * draws as f32 / fights as f32,
        lengths.keys().next().unwrap_or(&0),
        percentile(0.5).map_or(0, |(n, _)| *n),
        lengths.keys().last().unwrap_or(&0),
        began.elapsed().as_secs_f64() * 1e6 / lengths.iter().map(|(n, k)| *n as f64 * *k as f64).sum::<f64>(),
    );
    let sects: Vec<String> = by_sect.iter().map(|(s, (sum, n))| format!("{s}: {:.0} %", share(*sum, *n))).collect();
    println!("    sects {}", sects.join(", "));
    let total: usize = used.iter().sum();
    let parts = used.iter().zip(&game.info().actions);
    let parts: Vec<String> = parts.map(|(n, name)| format!("{name} {:.1}", 100.0 * *n as f32 / total as f32)).collect();
    println!("    moves in percent: {}", parts.join(", "));
}

fn main() -> Result<(), GameError> {
    let mut args = std::env::args().skip(1);
    let fights = args.next().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let rules = args.next().map(|path| std::fs::read_to_string(path).expect("the rules file can be read"));
    let game = Battle::new(rules.as_deref())?;
    let layout = &game.info().observation;
    println!(
        "observation {} numbers, {} actions, state {} bytes",
        layout.len(),
        game.info().num_actions(),
        size_of::<<Battle as Game>::State>()
    );
    for players in [
        ["random", "random"],
        ["greedy", "random"],
        ["scripted", "random"],
        ["scripted", "greedy"],
        ["greedy", "greedy"],
        ["scripted", "scripted"],
    ] {
        report(&game, players, fights);
    }
    Ok(())
}
