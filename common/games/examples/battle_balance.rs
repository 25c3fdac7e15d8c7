//! Prints facts about `battle`'s rules: how long fights are, who wins, and which moves are played.
//!
//! `cargo run -p fogfall-games --example battle_balance -- [FIGHTS] [ROLLOUTS] [RULES.toml]`
//!
//! ROLLOUTS is how often the player `rollouts`, one with foresight, tries each legal action; 0 leaves it out.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::time::Instant;

use fogfall_game::{Action, Actions, Game, GameError, Rng, Seat, Turn, stream};
use fogfall_games::Battle;
use rand::RngExt;

/// A game and players for it.
struct Arena {
    game: Battle,
    rollouts: usize,
}

/// How a fight went.
struct Fight {
    payoff: f32,
    decisions: usize,
    sects: [usize; 2],
}

/// Sums over fights, from the first player's side unless said otherwise.
#[derive(Default)]
struct Tally {
    fights: u64,
    score: f32,
    seat0: f32,
    draws: u64,
    lengths: Vec<usize>,
    /// Payoff and fights of each sect against others, whoever plays it.
    sects: BTreeMap<usize, (f32, u64)>,
    /// How often each action was played by the first player.
    played: Vec<usize>,
}

impl Arena {
    fn fight(&self, players: [&str; 2], seed: u64, swap: bool, played: &mut [usize]) -> Fight {
        let game = &self.game;
        let mut rng = stream(seed, &[1, u64::from(swap)]);
        let mut state = game.start(&mut stream(seed, &[0]));
        let sects = [0, 1].map(|seat| self.sect(&state, seat));
        let mut legal = Actions::new();
        let mut decisions = 0;
        game.settle(&mut state, &mut rng);
        while let Turn::Player(seat) = game.turn(&state) {
            game.legal(&state, &mut legal);
            let player = usize::from(seat) ^ usize::from(swap);
            let action = self.choose(players[player], &state, seat, &legal, &mut rng);
            played[usize::from(action)] += 1 - player;
            decisions += 1;
            game.advance(&mut state, action, &mut rng);
        }
        Fight { payoff: game.payoff(&state), decisions, sects }
    }

    fn choose(&self, player: &str, state: &State, seat: Seat, legal: &[Action], rng: &mut Rng) -> Action {
        match player {
            "random" => legal[rng.random_range(0..legal.len())],
            "rollouts" => self.by_rollouts(&self.game.view(state, seat), seat, legal, rng),
            expert => self.game.expert_move(expert, &self.game.view(state, seat), legal, rng),
        }
    }

    /// The action with the best mean result when the scripted player plays on for both sides, in worlds drawn from
    /// what the mover has seen.
    fn by_rollouts(&self, view: &View, seat: Seat, legal: &[Action], rng: &mut Rng) -> Action {
        let game = &self.game;
        let mut sums = vec![0.0; legal.len()];
        let mut moves = Actions::new();
        for _ in 0..self.rollouts {
            for (sum, &first) in sums.iter_mut().zip(legal) {
                let mut world = game.determinize(view, rng);
                game.advance(&mut world, first, rng);
                while let Turn::Player(mover) = game.turn(&world) {
                    game.legal(&world, &mut moves);
                    let action = self.choose("scripted", &world, mover, &moves, rng);
                    game.advance(&mut world, action, rng);
                }
                *sum += if seat == 0 { game.payoff(&world) } else { -game.payoff(&world) };
            }
        }
        let best = (0..legal.len()).max_by(|&a, &b| sums[a].total_cmp(&sums[b]));
        legal[best.expect("a mover has a legal action")]
    }

    fn sect(&self, state: &State, seat: Seat) -> usize {
        let layout = &self.game.info().observation;
        let mut observation = vec![0.0; layout.len()];
        self.game.observe(state, seat, &mut observation);
        let sects = layout.range("own.sect").expect("battle observes its sect");
        observation[sects].iter().position(|&x| x == 1.0).expect("a fighter has a sect")
    }

    fn report(&self, players: [&str; 2], fights: u64) {
        let began = Instant::now();
        let mut tally = Tally { played: vec![0; self.game.info().num_actions()], ..Tally::default() };
        for fight in 0..fights {
            let swap = fight % 2 == 1;
            let one = self.fight(players, fight / 2, swap, &mut tally.played);
            tally.add(&one, swap);
        }
        tally.print(players, &self.game, began.elapsed().as_secs_f64());
    }
}

type State = <Battle as Game>::State;
type View = <Battle as Game>::View;

impl Tally {
    fn add(&mut self, one: &Fight, swap: bool) {
        self.fights += 1;
        self.score += if swap { -one.payoff } else { one.payoff };
        self.seat0 += one.payoff;
        self.draws += u64::from(one.payoff == 0.0);
        self.lengths.push(one.decisions);
        if one.sects[0] != one.sects[1] {
            for (sect, payoff) in one.sects.into_iter().zip([one.payoff, -one.payoff]) {
                let entry = self.sects.entry(sect).or_default();
                *entry = (entry.0 + payoff, entry.1 + 1);
            }
        }
    }

    fn print(&mut self, players: [&str; 2], game: &Battle, seconds: f64) {
        let share = |sum: f32, n: u64| 50.0 + 50.0 * sum / n as f32;
        self.lengths.sort_unstable();
        let (last, decisions) = (self.lengths.len() - 1, self.lengths.iter().sum::<usize>());
        println!(
            "{:>8} against {:<8} {:5.1} %  seat 0 {:4.1} %  draws {:4.1} %  decisions {}..{}..{}  {:.1} us a decision",
            players[0],
            players[1],
            share(self.score, self.fights),
            share(self.seat0, self.fights),
            100.0 * self.draws as f32 / self.fights as f32,
            self.lengths[0],
            self.lengths[last / 2],
            self.lengths[last],
            1e6 * seconds / decisions as f64,
        );
        let sects = self.sects.iter().map(|(sect, (sum, n))| format!("{sect}: {:.0}", share(*sum, *n)));
        println!("    sects in percent: {}", sects.collect::<Vec<_>>().join(", "));
        let total: usize = self.played.iter().sum();
        let played = self.played.iter().zip(&game.info().actions);
        let played = played.map(|(n, name)| format!("{name} {:.1}", 100.0 * *n as f32 / total as f32));
        println!("    moves in percent: {}", played.collect::<Vec<_>>().join(", "));
    }
}

fn main() -> Result<(), GameError> {
    let mut args = std::env::args().skip(1);
    let mut number = |default| args.next().and_then(|n| n.parse().ok()).unwrap_or(default);
    let (fights, rollouts) = (number(2_000), number(24));
    let rules = args.next().map(|path| std::fs::read_to_string(path).expect("the rules file can be read"));
    let arena = Arena { game: Battle::new(rules.as_deref())?, rollouts: rollouts as usize };
    let info = arena.game.info();
    let (numbers, actions) = (info.observation_len(), info.num_actions());
    println!("observation {numbers} numbers, {actions} actions, state {} bytes", size_of::<State>());
    for players in [
        ["random", "random"],
        ["greedy", "random"],
        ["scripted", "random"],
        ["scripted", "greedy"],
        ["greedy", "greedy"],
        ["scripted", "scripted"],
    ] {
        arena.report(players, fights);
    }
    if rollouts > 0 {
        for players in [["rollouts", "greedy"], ["rollouts", "scripted"], ["rollouts", "rollouts"]] {
            arena.report(players, fights / 20);
        }
    }
    Ok(())
}
