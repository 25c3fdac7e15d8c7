//! What can be broken, and how to say it to the game's author.

use std::collections::BTreeMap;
use std::fmt;

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
}

impl Rule {
    /// What the rule asks, and what to do when it is broken.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Info => "GameInfo is the same for every state: correct the sizes, names and scales it declares",
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
            Self::Clone => "a State must own all it needs: no shared interior, nothing outside it",
            Self::Length => {
                "every game must end within max_decisions decisions of both seats: raise it, or end the game"
            }
            Self::Payoff => "no payoff may exceed value_bound: raise the bound, or scale the payoff",
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
            Self::WorldPlayable => "a world is a full state: it must play on to a legal end like any other",
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
    /// The first time, with the position.
    pub first: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.times == 1 { "" } else { "s" };
        write!(f, "{:?} broken {} time{plural}, first: {}\n  {}", self.rule, self.times, self.first, self.rule.advice())
    }
}

/// Collects violations: the first example of each rule and a count.
#[derive(Debug, Default)]
pub(super) struct Findings(BTreeMap<Rule, (u64, String)>);

impl Findings {
    /// Notes a broken rule; `example` is only written for the first.
    pub(super) fn add(&mut self, rule: Rule, example: impl FnOnce() -> String) {
        self.0.entry(rule).or_insert_with(|| (0, example())).0 += 1;
    }

    /// Notes a broken rule unless `holds`.
    pub(super) fn expect(&mut self, holds: bool, rule: Rule, example: impl FnOnce() -> String) {
        if !holds {
            self.add(rule, example);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_result<T>(self, report: T) -> Result<T, Vec<Violation>> {
        if self.is_empty() {
            return Ok(report);
        }
        Err(self.0.into_iter().map(|(rule, (times, first))| Violation { rule, times, first }).collect())
    }
}
