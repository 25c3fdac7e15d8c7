//! Compares the true state with worlds drawn from what each seat sees of it: the leak tests.

use std::collections::{HashMap, HashSet};

use rand::RngExt;

use crate::{Game, Seat, Turn, stream};

use super::Report;
use super::past;
use super::probe::{Probe, difference, digest, number_of};
use super::rule::{Findings, Rule};

/// Streams below the root seed.
const WORLD: u64 = 3;
const PLAY_ON: u64 = 5;
const EXPERT: u64 = 6;

/// Worlds drawn from each view.
const WORLDS: u64 = 2;

/// How often a hidden number must take its rarer values before it is blamed for never differing.
const ENOUGH: u64 = 50;

/// How often views must differ before the encoding is blamed for not showing it.
const ENOUGH_VIEWS: usize = 100;

/// What was seen over all pairs.
pub(super) struct Worlds<'a, G: Game> {
    probe: &'a Probe<'a, G>,
    seed: u64,
    /// `[hidden.len()]`
    numbers: Vec<HiddenNumber>,
    /// Views of movers by (seat, tree key, observation).
    codes: HashMap<u64, HashSet<u64>>,
    /// Pairs in which the other seat's view differed and its observation or key did too.
    foe_shown: usize,
}

/// What is known of one number of the hidden label.
#[derive(Clone, Default)]
struct HiddenNumber {
    /// Its true value when first met.
    first: Option<u32>,
    /// True states with the first value, and with another.
    truths: [u64; 2],
    /// Some world had another value than the truth.
    differed: bool,
}

impl<'a, G: Game> Worlds<'a, G> {
    pub(super) fn new(probe: &'a Probe<'a, G>, seed: u64) -> Self {
        let numbers = vec![HiddenNumber::default(); probe.game.info().hidden.len()];
        Self { probe, seed, numbers, codes: HashMap::new(), foe_shown: 0 }
    }

    /// Draws worlds from both seats' views of `state` and compares. `place` is the game and the ply in it.
    pub(super) fn compare(
        &mut self,
        state: &G::State,
        mover: Seat,
        place: [u64; 2],
        report: &mut Report,
        findings: &mut Findings,
    ) {
        let probe = self.probe;
        let view = probe.view_bytes(state, mover);
        let code = digest(&(mover, probe.game.tree_key(state, mover), probe.observation(state, mover)));
        self.codes.entry(code).or_default().insert(digest(&(mover, view)));
        for seat in [0, 1] {
            let truth = probe.hidden(state, seat);
            for (number, &value) in self.numbers.iter_mut().zip(&truth) {
                let first = *number.first.get_or_insert(value);
                number.truths[usize::from(value != first)] += 1;
            }
            for k in 0..WORLDS {
                let counters = [WORLD, place[0], place[1], u64::from(seat), k];
                let pair = Pair { probe, state, seat, mover };
                let world = pair.draw(self.seed, &counters, findings);
                pair.check(&world, findings);
                self.count(&pair, &world, &truth, report);
                if (place[0] + place[1]).is_multiple_of(8) {
                    self.play_on(world, place[1] as usize, findings);
                }
            }
        }
        self.ask_experts(state, mover, findings);
    }

    fn count(&mut self, pair: &Pair<'_, G>, world: &G::State, truth: &[u32], report: &mut Report) {
        let (probe, foe) = (self.probe, 1 - pair.seat);
        report.pairs += 1;
        report.differing_pairs += usize::from(probe.fingerprint(world) != probe.fingerprint(pair.state));
        for ((number, guess), truth) in self.numbers.iter_mut().zip(probe.hidden(world, pair.seat)).zip(truth) {
            number.differed |= guess != *truth;
        }
        if probe.view_bytes(world, foe) != probe.view_bytes(pair.state, foe) {
            report.differing_foe_views += 1;
            let code = |state| (probe.game.tree_key(state, foe), probe.observation(state, foe));
            self.foe_shown += usize::from(code(world) != code(pair.state));
        }
    }

    /// Plays a world to its end. `decided` decisions were made in the true game; where some went unnoticed, a world may have
    /// others.
    fn play_on(&self, mut world: G::State, decided: usize, findings: &mut Findings) {
        let (game, info) = (self.probe.game, self.probe.game.info());
        let mut rng = stream(self.seed, &[PLAY_ON, decided as u64]);
        for _ in past::made(self.probe, &world).unwrap_or(decided)..=info.max_decisions {
            match game.turn(&world) {
                Turn::Over => {
                    let payoff = game.payoff(&world);
                    return findings.expect(payoff.abs() <= info.value_bound, Rule::WorldPlayable, || {
                        let (bound, at) = (info.value_bound, self.probe.at(&world));
                        format!(
                            "expected a world to end with a payoff up to {bound} (value_bound), found {payoff}, at{at}"
                        )
                    });
                }
                Turn::Chance => {
                    return findings.add(Rule::WorldPlayable, || {
                        let at = self.probe.at(&world);
                        format!("expected a decision or the end after advance() in a world, found chance due, at{at}")
                    });
                }
                Turn::Player(_) => {
                    let Some(legal) = self.probe.checked_legal(&world, findings, Rule::WorldPlayable) else { return };
                    game.advance(&mut world, legal[rng.random_range(0..legal.len())], &mut rng);
                }
            }
        }
        findings.add(Rule::WorldPlayable, || {
            let (most, at) = (info.max_decisions, self.probe.at(&world));
            format!(
                "expected a world to end after at most {most} decisions (max_decisions), found one more due, at{at}"
            )
        });
    }

    fn ask_experts(&self, state: &G::State, mover: Seat, findings: &mut Findings) {
        let game = self.probe.game;
        for expert in game.experts() {
            let legal = self.probe.legal(state);
            let ask = || {
                let view = game.view(state, mover);
                game.expert_move(expert, &view, &legal, &mut stream(self.seed, &[EXPERT]))
            };
            let (first, second) = (ask(), ask());
            findings.expect(first == second && legal.contains(&first), Rule::Expert, || {
                format!(
                    "expected '{expert}' to play one of {legal:?}, and the same twice; found {first}, then {second}, at{}",
                    self.probe.at(state)
                )
            });
        }
    }

    /// Checks that need all pairs.
    pub(super) fn finish(&self, report: &mut Report, findings: &mut Findings) {
        let info = self.probe.game.info();
        report.views = self.codes.values().map(HashSet::len).sum();
        report.merged_views = self.codes.values().map(HashSet::len).filter(|&views| views > 1).sum();
        findings.expect(
            info.perfect_information || report.pairs == 0 || report.differing_pairs > 0,
            Rule::WorldsVary,
            || {
                let pairs = report.pairs;
                format!(
                    "expected some of {pairs} worlds to differ from the true state, as something is hidden; found none"
                )
            },
        );
        for (place, number) in self.numbers.iter().enumerate() {
            let rarer = number.truths[0].min(number.truths[1]);
            findings.expect(number.differed || rarer < ENOUGH, Rule::WorldsVary, || {
                let number = number_of(&info.hidden, place);
                format!("expected {number} of hidden() to vary in worlds as it does in games, found always the truth")
            });
        }
        let foes = report.differing_foe_views;
        findings.expect(foes < ENOUGH_VIEWS || 2 * self.foe_shown >= foes, Rule::Sensitivity, || {
            format!(
                "expected what changes a seat's view to change its observation or tree key, at least every second time; \
                 found that it did {} of {foes} times",
                self.foe_shown
            )
        });
        let (views, merged) = (report.views, report.merged_views);
        findings.expect(views < ENOUGH_VIEWS || 2 * merged <= views, Rule::Sensitivity, || {
            format!(
                "expected at least half of all views to be told apart by observation or tree key; found {merged} of {views} \
                 that share both with another view"
            )
        });
    }
}

/// A true state, as one seat sees it.
struct Pair<'a, G: Game> {
    probe: &'a Probe<'a, G>,
    state: &'a G::State,
    seat: Seat,
    mover: Seat,
}

impl<G: Game> Pair<'_, G> {
    /// Draws a world three times from the same stream: twice from the view of the true state, once from the view of
    /// the world, which is the same view.
    fn draw(&self, seed: u64, counters: &[u64], findings: &mut Findings) -> G::State {
        let (probe, game) = (self.probe, self.probe.game);
        let view = game.view(self.state, self.seat);
        let draw = |view| game.determinize(view, &mut stream(seed, counters));
        let (world, again) = (draw(&view), draw(&view));
        let same_view = game.view(&world, self.seat);
        let third = draw(&same_view);
        let print = probe.fingerprint(&world);
        findings.expect(print == probe.fingerprint(&again), Rule::Randomness, || {
            format!(
                "determinize(): expected the same world from the same view and generator, found{}\n  and{}",
                probe.at(&world),
                probe.at(&again)
            )
        });
        findings.expect(same_view != view || print == probe.fingerprint(&third), Rule::WorldFromView, || {
            format!(
                "expected the same world from equal views of two states by the same generator; found{}\n  and{}\n  of{}",
                probe.at(&world),
                probe.at(&third),
                probe.at(self.state)
            )
        });
        world
    }

    /// What the seat sees of the world is what it sees of the true state.
    fn check(&self, world: &G::State, findings: &mut Findings) {
        let (probe, game, state, seat) = (self.probe, self.probe.game, self.state, self.seat);
        let (view, bytes) = (game.view(state, seat), probe.view_bytes(state, seat));
        let back = rmp_serde::from_slice::<G::View>(&bytes).ok();
        findings.expect(back.as_ref() == Some(&view), Rule::ViewBytes, || {
            format!("expected {view:?} to come back from its bytes (MessagePack), found {back:?}")
        });
        let seen = game.view(world, seat);
        findings.expect(seen == view && probe.bytes(&seen) == bytes, Rule::ViewInvariance, || {
            format!("expected seat {seat} to see in a world\n    {view:?}\n  found\n    {seen:?}, at{}", self.at(world))
        });
        let (mover, found) = (Turn::Player(self.mover), game.turn(world));
        findings.expect(found == mover, Rule::MoverInvariance, || {
            format!(
                "expected {mover:?} to be due in a world of seat {seat}'s view, found {found:?}, at{}",
                self.at(world)
            )
        });
        if found != mover {
            return;
        }
        let [expected, found] = [state, world].map(|state| probe.observation(state, seat));
        findings.expect(expected == found, Rule::ObservationInvariance, || {
            let difference = difference(&game.info().observation, &expected, &found);
            format!("expected seat {seat} to observe in a world {difference}, at{}", self.at(world))
        });
        let [expected, found] = [state, world].map(|state| game.tree_key(state, seat));
        findings.expect(expected == found, Rule::TreeKeyInvariance, || {
            format!(
                "expected the tree key {expected:#x} for seat {seat} in a world, found {found:#x}, at{}",
                self.at(world)
            )
        });
        if seat == self.mover {
            let [expected, found] = [state, world].map(|state| probe.legal(state));
            findings.expect(expected == found, Rule::LegalInvariance, || {
                format!(
                    "expected legal actions {expected:?} in a world of seat {seat}'s view, found {found:?}, at{}",
                    self.at(world)
                )
            });
        }
        if game.info().perfect_information {
            findings.expect(probe.fingerprint(world) == probe.fingerprint(state), Rule::Info, || {
                format!(
                    "expected worlds to be the true state where perfect_information is true, found another, at{}",
                    self.at(world)
                )
            });
        }
    }

    fn at(&self, world: &G::State) -> String {
        format!("{}\n  and the world{}", self.probe.at(self.state), self.probe.at(world))
    }
}
