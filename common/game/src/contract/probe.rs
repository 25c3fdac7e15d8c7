//! Reads a game's answers in a form that can be compared: bits, bytes and fingerprints.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::{Action, Game, Layout, Seat, Turn};

use super::rule::{Findings, Rule};

/// A game under test.
pub(super) struct Probe<'a, G: Game> {
    pub(super) game: &'a G,
}

impl<'a, G: Game> Probe<'a, G> {
    pub(super) fn new(game: &'a G) -> Self {
        Self { game }
    }

    /// The bits of `seat`'s observation.
    pub(super) fn observation(&self, state: &G::State, seat: Seat) -> Vec<u32> {
        let mut numbers = vec![f32::NAN; self.game.info().observation_len()];
        self.game.observe(state, seat, &mut numbers);
        numbers.into_iter().map(f32::to_bits).collect()
    }

    /// The bits of what is hidden from `seat`.
    pub(super) fn hidden(&self, state: &G::State, seat: Seat) -> Vec<u32> {
        let mut numbers = vec![f32::NAN; self.game.info().hidden.len()];
        self.game.hidden(state, seat, &mut numbers);
        numbers.into_iter().map(f32::to_bits).collect()
    }

    /// The mover's legal actions, out of a list that held something else.
    pub(super) fn legal(&self, state: &G::State) -> Vec<Action> {
        let mut legal = vec![Action::MAX; 2];
        self.game.legal(state, &mut legal);
        legal
    }

    /// The chance outcomes, out of a list that held something else.
    pub(super) fn chance(&self, state: &G::State) -> Vec<(Action, f32)> {
        let mut outcomes = vec![(Action::MAX, f32::NAN)];
        self.game.chance(state, &mut outcomes);
        outcomes
    }

    /// A view's bytes.
    pub(super) fn bytes(&self, view: &G::View) -> Vec<u8> {
        rmp_serde::to_vec(view).expect("a view is plain data")
    }

    /// The bytes of what `seat` has seen.
    pub(super) fn view_bytes(&self, state: &G::State, seat: Seat) -> Vec<u8> {
        self.bytes(&self.game.view(state, seat))
    }

    /// A hash of all that can be read from a state.
    pub(super) fn fingerprint(&self, state: &G::State) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.game.describe(state).hash(&mut hasher);
        for seat in [0, 1] {
            self.view_bytes(state, seat).hash(&mut hasher);
            self.hidden(state, seat).hash(&mut hasher);
        }
        match self.game.turn(state) {
            Turn::Chance => 2.hash(&mut hasher),
            Turn::Over => self.game.payoff(state).to_bits().hash(&mut hasher),
            Turn::Player(seat) => {
                (seat, self.legal(state)).hash(&mut hasher);
                for seat in [0, 1] {
                    (self.observation(state, seat), self.game.tree_key(state, seat)).hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }

    /// The mover's legal actions if they are well formed, else none.
    pub(super) fn checked_legal(&self, state: &G::State, findings: &mut Findings, rule: Rule) -> Option<Vec<Action>> {
        let legal = self.legal(state);
        let named = self.game.info().num_actions();
        let good = !legal.is_empty()
            && legal.windows(2).all(|pair| pair[0] < pair[1])
            && legal.iter().all(|&action| usize::from(action) < named);
        findings.expect(good, rule, || {
            format!(
                "expected legal actions in ascending order, each once, at least one, all below {named} (as many as \
                 info().actions names); found {legal:?}, at{}",
                self.at(state)
            )
        });
        good.then_some(legal)
    }

    /// Checks that observations and labels are finite and do not show what was in the output before.
    pub(super) fn check_numbers(&self, state: &G::State, findings: &mut Findings) {
        let info = self.game.info();
        for seat in [0, 1] {
            for (method, layout) in [("observe", &info.observation), ("hidden", &info.hidden)] {
                let write = |filler: f32| {
                    let mut numbers = vec![filler; layout.len()];
                    if method == "observe" {
                        self.game.observe(state, seat, &mut numbers);
                    } else {
                        self.game.hidden(state, seat, &mut numbers);
                    }
                    numbers
                };
                let (first, second) = (write(f32::NAN), write(12_345.678));
                let bad = first.iter().zip(&second).position(|(a, b)| !a.is_finite() || a.to_bits() != b.to_bits());
                if let Some(place) = bad {
                    findings.add(Rule::Numbers, || {
                        let (number, at) = (number_of(layout, place), self.at(state));
                        let (first, second) = (first[place], second[place]);
                        format!(
                            "{method}() for seat {seat}: expected {number} to be written and finite; found {first} where \
                             the output held NaN, {second} where it held 12345.678, at{at}"
                        )
                    });
                }
            }
        }
    }

    /// The position for a message.
    pub(super) fn at(&self, state: &G::State) -> String {
        format!("\n    {}", self.game.describe(state).replace('\n', "\n    "))
    }
}

/// A number of a layout, by its field.
pub(super) fn number_of(layout: &Layout, mut place: usize) -> String {
    for field in layout.fields() {
        if place < field.len {
            return format!("number {place} of field '{}'", field.name);
        }
        place -= field.len;
    }
    format!("number {place} beyond all fields")
}

/// The first number in which two rows of numbers, as bits, differ.
pub(super) fn difference(layout: &Layout, expected: &[u32], found: &[u32]) -> String {
    match expected.iter().zip(found).position(|(expected, found)| expected != found) {
        Some(place) => {
            let [expected, found] = [expected, found].map(|numbers| f32::from_bits(numbers[place]));
            format!("{expected} as {}, found {found}", number_of(layout, place))
        }
        None => "the same numbers, found others".to_owned(),
    }
}

/// A hash of anything comparable.
pub(super) fn digest(thing: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}
