//! What can be broken, and how to say it to the game's author.

use std::collections::BTreeMap;
use std::fmt;

use crate::Action;

use super::place::Place;

/// One promise of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The game's description of itself makes sense.
    Info,
    /// Declared symmetries map played games to played games.
    Symmetry,
    /// Legal actions are sorted, unique, named and never missing.
    Legal,
    /// Observations and hidden labels are finite, of the declared length and fully overwritten.
    Numbers,
    /// Clones are equal and independent.
    Clone,
    /// Games end within the declared number of decisions.
    Length,
    /// Payoffs lie within the declared bound.
    Payoff,
    /// Listed chance outcomes are sorted, possible and sum to 1.
    ChanceList,
    /// `sample` is distributed as `chance` lists.
    Sample,
    /// `advance` is distributed as `apply` and listed chance.
    Advance,
    /// `play_out` pays as random moves one by one do.
    PlayOut,
    /// What is random comes from the generator passed in.
    Randomness,
    /// A view survives serialization.
    ViewBytes,
    /// A drawn world looks to its seat like the true state.
    ViewInvariance,
    /// Who moves is known from the view.
    MoverInvariance,
    /// Legal actions are known from the view.
    LegalInvariance,
    /// The observation is known from the view.
    ObservationInvariance,
    /// The tree key is known from the view.
    TreeKeyInvariance,
    /// A world depends on the view and the generator alone.
    WorldFromView,
    /// Worlds vary where something is hidden.
    WorldsVary,
    /// Worlds follow the rules' own odds.
    WorldOdds,
    /// Worlds can be played to their end.
    WorldPlayable,
    /// What a seat has seen shows in its observation or tree key.
    Sensitivity,
    /// `past` shows the decisions that were made.
    Past,
    /// `carry` gives worlds of the later view, and loses none that can be true.
    Carry,
    /// Rule-based players make legal, reproducible moves.
    Expert,
    /// Nothing panics on legal play and drawn worlds.
    Panic,
}

impl Rule {
    /// The methods of [`Game`](crate::Game) to look at.
    pub fn methods(self) -> &'static str {
        match self {
            Self::Info => "info()",
            Self::Symmetry => "info().symmetries, observe() and legal()",
            Self::Legal => "legal(), and info().actions",
            Self::Numbers => "observe() and hidden(), and their layouts in info()",
            Self::Clone => "apply(), and what a State holds",
            Self::Length => "turn() and apply(), and info().max_decisions",
            Self::Payoff => "payoff(), and info().value_bound",
            Self::ChanceList => "chance()",
            Self::Sample => "sample() and chance()",
            Self::Advance => "advance()",
            Self::PlayOut => "play_out()",
            Self::Randomness => "the one named here, and where it takes its random numbers from",
            Self::ViewBytes => "view(), and what its View serializes",
            Self::ViewInvariance => "view() and determinize()",
            Self::MoverInvariance => "turn() and determinize()",
            Self::LegalInvariance => "legal() and determinize()",
            Self::ObservationInvariance => "observe() and determinize()",
            Self::TreeKeyInvariance => "tree_key() and determinize()",
            Self::WorldFromView | Self::WorldOdds => "determinize()",
            Self::WorldsVary => "determinize() and hidden()",
            Self::WorldPlayable => "determinize()",
            Self::Sensitivity => "observe() and tree_key()",
            Self::Past => "past()",
            Self::Carry => "carry()",
            Self::Expert => "expert_move()",
            Self::Panic => "the one whose line the panic's own message above names",
        }
    }

    /// What the rule asks, and what to do when it is broken.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Info => {
                "what info() declares must be true of every game: correct it, or the method that contradicts it"
            }
            Self::Symmetry => {
                "playing the image actions must give the image observation and the image legal actions: check both \
                 permutations (image[i] = x[observation[i]], image of a = actions[a]), or declare no symmetry"
            }
            Self::Legal => {
                "legal() must replace its output by ascending, unique actions below num_actions, at least one"
            }
            Self::Numbers => {
                "observe() and hidden() must write every number of their output, finite, whatever was there before"
            }
            Self::Clone => {
                "apply() must follow from the state and the action alone, and a State must own all it needs: no shared \
                 interior, no counter outside it, nothing drawn at random (that is what chance nodes are for)"
            }
            Self::Length => {
                "every game must end within max_decisions decisions of both seats: raise it, or end the game; after a \
                 step somebody else may be due, so apply() must move on"
            }
            Self::Payoff => {
                "payoff() is seat 0's, a number no larger than value_bound: raise the bound, or correct the payoff"
            }
            Self::ChanceList => {
                "chance() must replace its output by ascending, unique outcomes with positive probabilities that sum to 1"
            }
            Self::Sample => "sample() must draw with the probabilities that chance() lists",
            Self::Advance => "advance() must give the same results, as often, as apply() followed by listed chance",
            Self::PlayOut => {
                "play_out() must end with the same payoffs, as often, as legal(), one action at random and advance() in \
                 turn"
            }
            Self::Randomness => "the same generator must give the same result: take randomness from `rng` alone",
            Self::ViewBytes => "a View must come back equal from its serialized form: serialize every field",
            Self::ViewInvariance => {
                "view(determinize(view)) must be the view: either determinize() changes what was seen (it must keep all \
                 of it, also failed attempts and reveals), or view() holds what the seat has not seen (an id, an order, \
                 a hash or a length that depends on hidden facts)"
            }
            Self::MoverInvariance => {
                "turn() must follow from what both seats have seen: make the fact public, or use another"
            }
            Self::LegalInvariance => {
                "legal() must be a function of the mover's view: an action that fails for hidden reasons stays legal, \
                 and its failure is an outcome"
            }
            Self::ObservationInvariance => "observe() must be a function of the seat's view: it reads a hidden fact",
            Self::TreeKeyInvariance => "tree_key() must be a function of the seat's view: it hashes a hidden fact",
            Self::WorldFromView => {
                "determinize() must depend on the view and `rng` alone: it remembers the played state in a field, a \
                 static or a thread local"
            }
            Self::WorldsVary => {
                "determinize() must draw what is hidden anew from `rng`: it returns the truth, or always the same world; \
                 if a fact can never differ it is not hidden and has no place in hidden()"
            }
            Self::WorldOdds => {
                "determinize() must draw chance facts with the rules' own odds (copies of a card count as often as there \
                 are copies) and independently of the truth"
            }
            Self::WorldPlayable => {
                "a world is a full state: it must play on to a legal end like any other, so draw every fact that play needs"
            }
            Self::Sensitivity => {
                "views that differ should differ in observation or tree key: encode the seat's own private facts and the \
                 public ones, or the network and the tree cannot tell the situations apart"
            }
            Self::Past => {
                "past() must show every earlier decision of the seat, in order, as the state before it and the action \
                 taken, as many as the viewer saw being made; if the game cannot, let it return None"
            }
            Self::Carry => {
                "carry() must give a world of the view it is given, show every decision made since, and return None only \
                 for worlds that contradict what was seen; a game that cannot tell returns None always"
            }
            Self::Expert => "expert_move() must return one of `legal`, the same for the same view and generator",
            Self::Panic => "no method may panic on what the others allow: legal actions, listed outcomes, drawn worlds",
        }
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub rule: Rule,
    /// How often it was seen.
    pub times: u64,
    /// The first time: what was expected and what was found, with the position as text.
    pub first: String,
    /// How to get there; none for what one position alone does not show.
    pub place: Option<Place>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, times, first, place } = self;
        let plural = if *times == 1 { "" } else { "s" };
        writeln!(f, "{rule:?} broken {times} time{plural}; look at {}", rule.methods())?;
        writeln!(f, "  first: {first}")?;
        if let Some(place) = place {
            writeln!(f, "  where: {place}")?;
        }
        write!(f, "  to do: {}", rule.advice())
    }
}

/// Collects violations: the first example of each rule and a count. Knows where the suite is.
#[derive(Debug, Default)]
pub(super) struct Findings {
    broken: BTreeMap<Rule, Violation>,
    place: Option<Place>,
}

impl Findings {
    /// The suite begins a game, goes back to a position it kept, or looks at no position in particular.
    pub(super) fn go_to(&mut self, place: Option<Place>) {
        self.place = place;
    }

    /// The suite has applied an action or a chance outcome.
    pub(super) fn step(&mut self, step: Action) {
        if let Some(place) = &mut self.place {
            place.steps.push(step);
        }
    }

    /// Where the suite is.
    pub(super) fn place(&self) -> Option<Place> {
        self.place.clone()
    }

    /// Notes a broken rule; `example` is only written for the first.
    pub(super) fn add(&mut self, rule: Rule, example: impl FnOnce() -> String) {
        let place = &self.place;
        let first = || Violation { rule, times: 0, first: example(), place: place.clone() };
        self.broken.entry(rule).or_insert_with(first).times += 1;
    }

    /// Notes a broken rule unless `holds`.
    pub(super) fn expect(&mut self, holds: bool, rule: Rule, example: impl FnOnce() -> String) {
        if !holds {
            self.add(rule, example);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.broken.is_empty()
    }

    pub(super) fn into_result<T>(self, report: T) -> Result<T, Vec<Violation>> {
        if self.is_empty() { Ok(report) } else { Err(self.broken.into_values().collect()) }
    }
}
