//! Plays games at random and checks every position on the way.

use rand::RngExt;

use crate::{Action, Game, Rng, Seat, Turn, stream};

use super::past::{self, Carried, Decided};
use super::place::Place;
use super::probe::{Probe, difference};
use super::rule::{Findings, Rule};
use super::worlds::Worlds;
use super::{Report, Settings};

/// Positions kept for the checks of distributions.
const KEPT: usize = 24;

/// More chance outcomes in a row than any game needs.
const MAX_CHANCE: usize = 10_000;

/// Streams below the root seed, one a purpose.
const PLAY: u64 = 1;

/// Positions met in play, each as likely as any other.
pub(super) struct Probed<G: Game> {
    /// Where chance was due.
    pub(super) chance: Vec<(G::State, Option<Place>)>,
    /// Where a player decided, with a legal action.
    pub(super) decisions: Vec<(G::State, Action, Option<Place>)>,
}

pub(super) fn check<G: Game>(
    probe: &Probe<'_, G>,
    settings: &Settings,
    report: &mut Report,
    findings: &mut Findings,
) -> Probed<G> {
    let mut player = Player {
        probe,
        settings,
        worlds: Worlds::new(probe, settings.seed),
        probed: Probed { chance: Vec::new(), decisions: Vec::new() },
        report,
        findings,
    };
    // A game without decisions gives no pairs: the number of games is bounded too.
    let most = settings.games + settings.pairs;
    let mut game = 0;
    while game < settings.games || (player.report.pairs < settings.pairs && game < most) {
        player.play(game as u64);
        game += 1;
    }
    player.findings.go_to(None);
    player.worlds.finish(player.report, player.findings);
    past::finish(player.report, player.findings);
    player.probed
}

struct Player<'a, G: Game> {
    probe: &'a Probe<'a, G>,
    settings: &'a Settings,
    worlds: Worlds<'a, G>,
    probed: Probed<G>,
    report: &'a mut Report,
    findings: &'a mut Findings,
}

impl<G: Game> Player<'_, G> {
    /// Plays one game, to its end unless its rules break down.
    fn play(&mut self, number: u64) {
        let game = self.probe.game;
        let mut rng = stream(self.settings.seed, &[PLAY, number]);
        let place = Place::new(self.settings.seed, number);
        self.findings.go_to(Some(place.clone()));
        let (mut state, again) = (place.start(game), place.start(game));
        self.findings.expect(
            self.probe.fingerprint(&state) == self.probe.fingerprint(&again),
            Rule::Randomness,
            || {
                let [first, second] = [&state, &again].map(|state| self.probe.at(state));
                format!("start(): expected the same from the same set-up stream, found{first}\n  and{second}")
            },
        );
        let mut mirrors = Mirrors::new(game, &state);
        let mut decided: Vec<Decided> = Vec::new();
        let mut carried = Carried::new(self.settings.seed, number);
        loop {
            match game.turn(&state) {
                Turn::Over => break self.finish(&state, decided.len()),
                Turn::Chance => {
                    if !self.settle(&mut state, &mut rng) {
                        break;
                    }
                }
                Turn::Player(seat) => {
                    if decided.len() == game.info().max_decisions {
                        break self.findings.add(Rule::Length, || {
                            let (most, at) = (decided.len(), self.probe.at(&state));
                            format!("expected the end after at most {most} decisions (max_decisions), found one more due, at{at}")
                        });
                    }
                    let Some(legal) = self.probe.checked_legal(&state, self.findings, Rule::Legal) else { break };
                    self.look(&state, seat, number, &decided);
                    carried.check(self.probe, &state, seat, &decided, self.report, self.findings);
                    mirrors.check(self.probe, &state, &legal, self.findings);
                    let action = legal[rng.random_range(0..legal.len())];
                    self.keep(&state, action, &mut rng);
                    let noticed = past::noticed(self.probe, &state, seat, action);
                    decided.push(Decided { seat, action, view: self.probe.view_bytes(&state, seat), noticed });
                    self.apply(&mut state, action);
                    mirrors.apply(game, action);
                }
            }
        }
    }

    fn finish(&mut self, state: &G::State, decisions: usize) {
        self.report.games += 1;
        self.report.longest = self.report.longest.max(decisions);
        let payoff = self.probe.game.payoff(state);
        let bound = self.probe.game.info().value_bound;
        self.findings.expect(payoff.abs() <= bound, Rule::Payoff, || {
            let at = self.probe.at(state);
            format!("expected a payoff from -{bound} to {bound} (value_bound), found {payoff}, at{at}")
        });
    }

    /// Checks of one decision that need no other position.
    fn look(&mut self, state: &G::State, mover: Seat, number: u64, decided: &[Decided]) {
        self.report.decisions += 1;
        self.probe.check_numbers(state, self.findings);
        let place = [number, decided.len() as u64];
        self.worlds.compare(state, mover, place, self.report, self.findings);
        if place[1] % 4 == number % 4 {
            past::check(self.probe, state, decided, self.settings.seed, self.report, self.findings);
        }
    }

    /// Applies an action to the state and, apart from it, to a clone.
    fn apply(&mut self, state: &mut G::State, action: Action) {
        let (probe, mut clone) = (self.probe, state.clone());
        let before = probe.fingerprint(state);
        probe.game.apply(state, action);
        let independent = probe.fingerprint(&clone) == before;
        probe.game.apply(&mut clone, action);
        let equal = probe.fingerprint(&clone) == probe.fingerprint(state);
        self.findings.expect(independent && equal, Rule::Clone, || {
            let [original, clone] = [&*state, &clone].map(|state| probe.at(state));
            let expected = match independent {
                true => "the same after an action was applied to a state and to its clone",
                false => "a clone to stay as it was while an action is applied to the original",
            };
            format!("expected {expected}; found after action {action} the original{original}\n  and the clone{clone}")
        });
        self.findings.step(action);
    }

    /// Draws chance outcomes until a player moves or the game is over; false if chance breaks down.
    fn settle(&mut self, state: &mut G::State, rng: &mut Rng) -> bool {
        let game = self.probe.game;
        for _ in 0..MAX_CHANCE {
            if game.turn(state) != Turn::Chance {
                return true;
            }
            self.report.chance_nodes += 1;
            let outcomes = self.probe.chance(state);
            let sum: f64 = outcomes.iter().map(|&(_, p)| f64::from(p)).sum();
            let sorted = outcomes.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let good = sorted && outcomes.iter().all(|&(_, p)| p > 0.0) && (sum - 1.0).abs() < 1e-5;
            self.findings.expect(good, Rule::ChanceList, || {
                format!(
                    "expected (outcome, probability) in ascending order, each outcome once, all probabilities above 0 with \
                     sum 1; found {outcomes:?} with sum {sum}, at{}",
                    self.probe.at(state)
                )
            });
            self.findings.expect(game.info().has_chance, Rule::Info, || {
                format!(
                    "expected no chance outcome where has_chance is false, found one due, at{}",
                    self.probe.at(state)
                )
            });
            let (outcome, again) = (game.sample(state, &mut rng.clone()), game.sample(state, rng));
            self.findings.expect(outcome == again, Rule::Randomness, || {
                let at = self.probe.at(state);
                format!(
                    "sample(): expected the same outcome from the same generator, found {outcome} and {again}, at{at}"
                )
            });
            if !outcomes.iter().any(|&(listed, _)| listed == again) {
                self.findings.add(Rule::Sample, || {
                    format!(
                        "expected one of chance()'s outcomes {outcomes:?}, found {again}, at{}",
                        self.probe.at(state)
                    )
                });
                return false;
            }
            if let Some(place) = reservoir(self.report.chance_nodes, rng) {
                put(&mut self.probed.chance, place, (state.clone(), self.findings.place()));
            }
            game.apply(state, again);
            self.findings.step(again);
        }
        self.findings.add(Rule::Length, || {
            format!(
                "expected a decision or the end after at most {MAX_CHANCE} chance outcomes in a row, found another due, at{}",
                self.probe.at(state)
            )
        });
        false
    }

    fn keep(&mut self, state: &G::State, action: Action, rng: &mut Rng) {
        if let Some(place) = reservoir(self.report.decisions, rng) {
            put(&mut self.probed.decisions, place, (state.clone(), action, self.findings.place()));
        }
    }
}

/// Where to keep the `count`-th thing met so that each of them is kept with the same probability (Vitter's R).
fn reservoir(count: usize, rng: &mut Rng) -> Option<usize> {
    let place = if count <= KEPT { count - 1 } else { rng.random_range(0..count) };
    (place < KEPT).then_some(place)
}

fn put<T>(kept: &mut Vec<T>, place: usize, thing: T) {
    match kept.get_mut(place) {
        Some(old) => *old = thing,
        None => kept.push(thing),
    }
}

/// The images of a game under its symmetries, played along. Only without chance: outcomes have no image.
struct Mirrors<G: Game>(Vec<G::State>);

impl<G: Game> Mirrors<G> {
    fn new(game: &G, start: &G::State) -> Self {
        let count = if game.info().has_chance { 0 } else { game.info().symmetries.len() };
        Self(vec![start.clone(); count])
    }

    fn apply(&mut self, game: &G, action: Action) {
        for (mirror, symmetry) in self.0.iter_mut().zip(&game.info().symmetries) {
            game.apply(mirror, symmetry.actions[usize::from(action)]);
        }
    }

    fn check(&mut self, probe: &Probe<'_, G>, state: &G::State, legal: &[Action], findings: &mut Findings) {
        for (place, mirror) in self.0.iter().enumerate() {
            if let Some(fault) = fault(probe, place, state, mirror, legal) {
                findings.add(Rule::Symmetry, || {
                    let [played, image] = [state, mirror].map(|state| probe.at(state));
                    format!("{fault}, at{played}\n  and its image{image}")
                });
                return self.0.clear();
            }
        }
    }
}

/// In what `mirror` is not the image of `state` under the symmetry at `place`.
fn fault<G: Game>(
    probe: &Probe<'_, G>,
    place: usize,
    state: &G::State,
    mirror: &G::State,
    legal: &[Action],
) -> Option<String> {
    let info = probe.game.info();
    let symmetry = &info.symmetries[place];
    for seat in [0, 1] {
        let seen = probe.observation(state, seat);
        let image: Vec<u32> = symmetry.observation.iter().map(|&source| seen[source as usize]).collect();
        let found = probe.observation(mirror, seat);
        if image != found {
            let difference = difference(&info.observation, &image, &found);
            return Some(format!("symmetry {place}: expected seat {seat} to observe {difference}"));
        }
    }
    let mut image: Vec<Action> = legal.iter().map(|&action| symmetry.actions[usize::from(action)]).collect();
    image.sort_unstable();
    let found = probe.legal(mirror);
    (image != found).then(|| format!("symmetry {place}: expected legal actions {image:?}, found {found:?}"))
}
