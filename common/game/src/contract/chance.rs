//! Checks that drawing follows the listed odds: `sample` against `chance`, `advance` against `apply` and `chance`,
//! `play_out` against one move after the other.

use rand::RngExt;

use crate::{Action, Game, Rng, Turn, stream};

use super::Settings;
use super::play::Probed;
use super::probe::Probe;
use super::rule::{Findings, Rule};
use super::statistics::{Counts, SURPRISE, surprise_of_fit};

/// Streams below the root seed.
const SAMPLE: u64 = 7;
const ADVANCE: u64 = 8;
const LISTED: u64 = 9;
const PLAY_OUT: u64 = 13;
const ONE_BY_ONE: u64 = 14;

/// Playouts are compared for this share of what other draws are: they take a game each.
const PLAYOUT_SHARE: usize = 4;

pub(super) fn check<G: Game>(probe: &Probe<'_, G>, settings: &Settings, probed: &Probed<G>, findings: &mut Findings) {
    for (number, (state, place)) in probed.chance.iter().enumerate() {
        findings.go_to(place.clone());
        check_sample(probe, state, settings.draws, &mut stream(settings.seed, &[SAMPLE, number as u64]), findings);
    }
    for (number, (state, action, place)) in probed.decisions.iter().enumerate() {
        findings.go_to(place.clone());
        let streams = [ADVANCE, LISTED].map(|purpose| stream(settings.seed, &[purpose, number as u64]));
        check_advance(probe, state, *action, settings.draws, streams, findings);
        let streams = [PLAY_OUT, ONE_BY_ONE].map(|purpose| stream(settings.seed, &[purpose, number as u64]));
        check_play_out(probe, state, settings.draws / PLAYOUT_SHARE, streams, findings);
    }
    findings.go_to(None);
}

fn check_sample<G: Game>(probe: &Probe<'_, G>, state: &G::State, draws: usize, rng: &mut Rng, findings: &mut Findings) {
    let outcomes = probe.chance(state);
    let mut counts = vec![0; outcomes.len()];
    for _ in 0..draws {
        let drawn = probe.game.sample(state, rng);
        match outcomes.binary_search_by_key(&drawn, |&(outcome, _)| outcome) {
            Ok(place) => counts[place] += 1,
            Err(_) => {
                return findings.add(Rule::Sample, || {
                    format!("expected one of chance()'s outcomes {outcomes:?}, found {drawn}, at{}", probe.at(state))
                });
            }
        }
    }
    let odds: Vec<f32> = outcomes.iter().map(|&(_, p)| p).collect();
    let surprise = surprise_of_fit(&counts, &odds);
    findings.expect(surprise < SURPRISE, Rule::Sample, || {
        format!(
            "expected {draws} draws as often as chance() lists, {outcomes:?}; found counts {counts:?}, {surprise:.1} standard \
             deviations off, at{}",
            probe.at(state)
        )
    });
}

fn check_advance<G: Game>(
    probe: &Probe<'_, G>,
    state: &G::State,
    action: Action,
    draws: usize,
    [mut fused, mut listed]: [Rng; 2],
    findings: &mut Findings,
) {
    let advanced = |rng: &mut Rng| {
        let mut next = state.clone();
        probe.game.advance(&mut next, action, rng);
        probe.fingerprint(&next)
    };
    findings.expect(advanced(&mut fused.clone()) == advanced(&mut fused.clone()), Rule::Randomness, || {
        format!(
            "advance(): expected the same after action {action} from the same generator, found another, at{}",
            probe.at(state)
        )
    });
    let mut counts = Counts::default();
    for _ in 0..draws {
        counts.add(advanced(&mut fused), 0);
        let mut next = state.clone();
        probe.game.apply(&mut next, action);
        while probe.game.turn(&next) == Turn::Chance {
            let outcome = draw(&probe.chance(&next), &mut listed);
            probe.game.apply(&mut next, outcome);
        }
        counts.add(probe.fingerprint(&next), 1);
    }
    let surprise = counts.surprise();
    findings.expect(surprise < SURPRISE, Rule::Advance, || {
        let [fused, listed] = [0, 1].map(|sample| counts.only(sample));
        format!(
            "expected advance() to give the same states as apply() and listed chance, as often, after action {action}; found \
             {fused} of {draws} results in advance() alone, {listed} in the other alone, odds {surprise:.1} standard deviations \
             apart, at{}",
            probe.at(state)
        )
    });
}

fn check_play_out<G: Game>(
    probe: &Probe<'_, G>,
    state: &G::State,
    draws: usize,
    [mut fused, mut stepwise]: [Rng; 2],
    findings: &mut Findings,
) {
    let game = probe.game;
    let played_out = |rng: &mut Rng| {
        let mut over = state.clone();
        game.play_out(&mut over, &mut vec![Action::MAX; 2], rng).to_bits()
    };
    findings.expect(played_out(&mut fused.clone()) == played_out(&mut fused.clone()), Rule::Randomness, || {
        format!("play_out(): expected the same payoff from the same generator, found another, at{}", probe.at(state))
    });
    let (mut counts, mut sums) = (Counts::default(), [0.0; 2]);
    let mut count = |payoff: u32, sample: usize| {
        counts.add(payoff.into(), sample);
        sums[sample] += f64::from(f32::from_bits(payoff));
    };
    for _ in 0..draws {
        count(played_out(&mut fused), 0);
        let mut next = state.clone();
        while let Turn::Player(_) = game.turn(&next) {
            let legal = probe.legal(&next);
            game.advance(&mut next, legal[stepwise.random_range(0..legal.len())], &mut stepwise);
        }
        count(game.payoff(&next).to_bits(), 1);
    }
    let surprise = counts.surprise();
    findings.expect(surprise < SURPRISE, Rule::PlayOut, || {
        let [fused, stepwise] = sums.map(|sum| sum / draws as f64);
        format!(
            "expected the same payoffs, as often, from play_out() as from {draws} games move by move; found a mean of \
             {fused:.3} against {stepwise:.3}, odds {surprise:.1} standard deviations apart, at{}",
            probe.at(state)
        )
    });
}

/// Draws from listed outcomes.
fn draw(outcomes: &[(Action, f32)], rng: &mut Rng) -> Action {
    let mut left = rng.random::<f32>();
    for &(outcome, p) in outcomes {
        left -= p;
        if left < 0.0 {
            return outcome;
        }
    }
    outcomes.last().expect("chance lists at least one outcome").0 // the sum was a rounding error below 1
}
