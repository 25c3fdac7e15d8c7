//! Played matches in numbers.

use std::collections::BTreeSet;

use serde::Serialize;

use super::findings::{Finding, find};
use super::played::{PlayedGame, PlayedMatch};
use crate::Interval;

/// How long games were, in decisions of both seats.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Lengths {
    /// The shortest.
    pub least: u32,
    /// One in twenty is shorter.
    pub low: u32,
    /// Half are shorter.
    pub median: u32,
    /// One in twenty is longer.
    pub high: u32,
    /// The longest.
    pub most: u32,
    /// `[most + 1]` games of each length.
    pub counts: Vec<u32>,
}

/// A match in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairingStats {
    /// Who played.
    pub players: [String; 2],
    /// Games.
    pub games: usize,
    /// The first player's mean score over pairs: win 1, draw 1/2, loss 0.
    pub score: Option<Interval>,
    /// Seat 0's mean score over pairs.
    pub seat0: Option<Interval>,
    /// Share of games drawn.
    pub draws: f64,
    /// Share of games that a limit of the rules has ended.
    pub ran_out: f64,
    /// Share of games cut at the game's largest number of decisions.
    pub truncated: f64,
    /// How long games were.
    pub lengths: Lengths,
}

/// What one judge made of one option, in its mirrors. A side is one seat of one game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionStats {
    /// Decisions at which it was legal.
    pub legal: u64,
    /// Share of these at which it was chosen.
    pub chosen: Option<Interval>,
    /// The same, in units of a choice by lot: 1 is as often as by lot.
    pub relative: Option<Interval>,
    /// Mean score of the sides that used it.
    pub used_score: Option<Interval>,
    /// Mean score of the sides that could have used it.
    pub could_score: f64,
}

/// A game's rules in numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Balance {
    /// The players by whose mirrors options, seats and characters are judged, weakest first.
    pub judges: Vec<String>,
    /// Every match.
    pub pairings: Vec<PairingStats>,
    /// Names of the options.
    pub options: Vec<String>,
    /// `[options]` legal at all, in any game.
    pub seen: Vec<bool>,
    /// `[judges, options]`.
    pub use_of: Vec<Vec<OptionStats>>,
    /// Names of the kinds of character, in order.
    pub characters: Vec<String>,
    /// `[judges, characters]` mean score against the other kinds.
    pub scores: Vec<Vec<Option<Interval>>>,
    /// `[judges, characters, characters]` mean score of the first kind against the second.
    pub match_ups: Vec<Vec<Vec<Option<Interval>>>>,
    /// The verdict.
    pub findings: Vec<Finding>,
}

impl Balance {
    /// Judges a game with these options by matches played, of which `judges` must have played mirrors; `random` is the
    /// name of the player that chooses by lot.
    pub fn of(options: &[String], matches: &[PlayedMatch], judges: &[String], random: &str) -> Self {
        let mirror = |judge: &String| matches.iter().find(|m| m.is_mirror() && m.players[0] == *judge);
        let (judges, mirrors): (Vec<String>, Vec<&PlayedMatch>) =
            judges.iter().filter_map(|judge| Some((judge.clone(), mirror(judge)?))).unzip();
        let kinds = matches.iter().flat_map(PlayedMatch::games).flat_map(|game| game.characters.iter().flatten());
        let characters: Vec<String> = kinds.collect::<BTreeSet<_>>().into_iter().cloned().collect();
        let legal = |option: usize| {
            let mut sides = matches.iter().flat_map(PlayedMatch::games).flat_map(|game| &game.options);
            sides.any(|side| side[option].legal > 0)
        };
        let use_by = |mirror: &&PlayedMatch| (0..options.len()).map(|option| option_stats(mirror, option)).collect();
        let score = |mirror: &PlayedMatch, one: &String| score_of(mirror, one, |foe| foe != one);
        let against = |mirror: &PlayedMatch, one: &String, other: &String| {
            if one == other { None } else { score_of(mirror, one, |foe| foe == other) }
        };
        let row = |mirror, one| characters.iter().map(|other| against(mirror, one, other)).collect();
        let mut balance = Self {
            pairings: matches.iter().map(pairing_stats).collect(),
            seen: (0..options.len()).map(legal).collect(),
            use_of: mirrors.iter().map(use_by).collect(),
            scores: mirrors.iter().map(|mirror| characters.iter().map(|one| score(mirror, one)).collect()).collect(),
            match_ups: mirrors.iter().map(|mirror| characters.iter().map(|one| row(mirror, one)).collect()).collect(),
            options: options.to_vec(),
            judges,
            characters,
            findings: Vec::new(),
        };
        balance.findings = find(&balance, random);
        balance
    }

    /// The match of two players, in this order.
    pub fn pairing(&self, first: &str, second: &str) -> Option<&PairingStats> {
        self.pairings.iter().find(|pairing| pairing.players[0] == first && pairing.players[1] == second)
    }
}

fn pairing_stats(played: &PlayedMatch) -> PairingStats {
    let games = 2 * played.pairs.len();
    let share =
        |of: fn(&PlayedGame) -> bool| played.games().filter(|game| of(game)).count() as f64 / games.max(1) as f64;
    let over_pairs =
        |of: fn(&[PlayedGame; 2]) -> f64| Interval::of_score(&played.pairs.iter().map(of).collect::<Vec<_>>());
    PairingStats {
        players: played.players.clone(),
        games,
        score: over_pairs(|[first, second]| (first.score(0) + second.score(1)) / 2.0),
        seat0: over_pairs(|[first, second]| (first.score(0) + second.score(0)) / 2.0),
        draws: share(|game| game.payoff == 0.0),
        ran_out: share(|game| game.ran_out),
        truncated: share(|game| game.truncated),
        lengths: lengths(played.games().map(|game| game.decisions).collect()),
    }
}

fn lengths(mut all: Vec<u32>) -> Lengths {
    all.sort_unstable();
    let Some(&most) = all.last() else { return Lengths::default() };
    let at = |share: f64| all[((all.len() - 1) as f64 * share).round() as usize];
    let mut counts = vec![0; most as usize + 1];
    all.iter().for_each(|&length| counts[length as usize] += 1);
    Lengths { least: all[0], low: at(0.05), median: at(0.5), high: at(0.95), most, counts }
}

fn option_stats(mirror: &PlayedMatch, option: usize) -> OptionStats {
    let sides = mirror.games().flat_map(|game| [0, 1].map(|seat| (game.options[seat][option], game.score(seat))));
    let could: Vec<_> = sides.filter(|(side, _)| side.legal > 0).collect();
    let sum = |of: fn(&super::OptionUse) -> f64| could.iter().map(|(side, _)| of(side)).sum::<f64>();
    let (legal, chosen) = (sum(|side| side.legal.into()), sum(|side| side.chosen.into()));
    let by_lot = sum(|side| side.by_lot.into());
    let share = Interval::of_share(chosen as usize, legal as usize);
    let scale = |share: Interval| {
        let units = legal / by_lot;
        Interval { mean: share.mean * units, low: share.low * units, high: share.high * units, ..share }
    };
    let used: Vec<f64> = could.iter().filter(|(side, _)| side.chosen > 0).map(|&(_, score)| score).collect();
    OptionStats {
        legal: legal as u64,
        chosen: share,
        relative: share.map(scale),
        used_score: Interval::of_score(&used),
        could_score: could.iter().map(|(_, score)| score).sum::<f64>() / could.len().max(1) as f64,
    }
}

/// Mean score of a kind of character against foes of some kinds. The sample is the pair: its games share their set-up.
fn score_of(mirror: &PlayedMatch, one: &String, foes: impl Fn(&String) -> bool) -> Option<Interval> {
    let mut scores = Vec::new();
    for pair in &mirror.pairs {
        let sides = pair.iter().flat_map(|game| [0, 1].map(|seat| (game, seat)));
        let fits = |&(game, seat): &(&PlayedGame, usize)| {
            game.characters[seat].as_ref() == Some(one) && game.characters[1 - seat].as_ref().is_some_and(&foes)
        };
        let of_pair: Vec<f64> = sides.filter(fits).map(|(game, seat)| game.score(seat)).collect();
        if !of_pair.is_empty() {
            scores.push(of_pair.iter().sum::<f64>() / of_pair.len() as f64);
        }
    }
    Interval::of_score(&scores)
}
