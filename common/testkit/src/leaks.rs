//! The poison test of a search: two true games that one seat cannot tell apart give it the same visits, values, counts and
//! questions to the network, bit for bit, whatever the search has kept from the moves before.
//!
//! What it is not: a look at the clock. What a search takes is compared as what it counts: simulations, questions, nodes.

use std::sync::Arc;

use fogfall_game::{Action, Game, Rng, Seat, Turn, mix, stream};
use fogfall_search::{Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Search, SearchSettings, Seats};
use rand::RngExt;

/// What is searched.
pub struct Poison<'a, G: Game> {
    /// The game.
    pub game: Arc<G>,
    /// The search under test.
    pub settings: SearchSettings,
    /// Its budget a move.
    pub budget: Budget,
    /// Answers that depend on every bit of the observation show most.
    pub evaluator: &'a mut dyn Evaluator,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Decisions searched in two true games with the same view.
    pub decisions: usize,
    /// Those in which the games really differed.
    pub differing: usize,
}

/// One decision of a game: who moved, seeing what, and the action.
type Searched<G> = (Seat, <G as Game>::View, Action);

impl<G: Game> Poison<'_, G> {
    /// Plays `games` games at random. At every decision it searches the game so far as it was played, and again as it
    /// may have been played for all that the mover knows, and compares the mover's last search. Games without
    /// [`Game::past`] are compared in their last search alone.
    ///
    /// # Errors
    /// The first position in which the two searches differ: something hidden has reached the search.
    pub fn check(&mut self, games: u64, seed: u64) -> Result<Compared, String> {
        let mut compared = Compared::default();
        for number in 0..games {
            let mut rng = stream(seed, &[number]);
            let mut state = self.game.start(&mut rng);
            self.game.settle(&mut state, &mut rng);
            while let Turn::Player(seat) = self.game.turn(&state) {
                self.compare(&state, seat, &mut rng, &mut compared)?;
                let mut legal = Vec::new();
                self.game.legal(&state, &mut legal);
                let action = legal[rng.random_range(0..legal.len())];
                self.game.advance(&mut state, action, &mut rng);
            }
        }
        Ok(compared)
    }

    fn compare(&mut self, state: &G::State, mover: Seat, rng: &mut Rng, compared: &mut Compared) -> Result<(), String> {
        let view = self.game.view(state, mover);
        let other = self.game.determinize(&view, rng);
        let (played, maybe) = (self.game.describe(state), self.game.describe(&other));
        let seed = rng.random();
        let (truth, poisoned) = (self.search(state, mover, seed), self.search(&other, mover, seed));
        compared.decisions += 1;
        compared.differing += usize::from(played != maybe);
        if truth == poisoned {
            return Ok(());
        }
        Err(format!(
            "seat {mover} cannot tell these games apart, but its searches differ:\n{played}\n  {truth:?}\n{maybe}\n  \
             {poisoned:?}"
        ))
    }

    /// Searches every decision of the game so far and then the mover's. Randomness goes by what a seat knows: how often it
    /// has decided itself.
    fn search(&mut self, state: &G::State, mover: Seat, seed: u64) -> Trace {
        let mut asked = 0;
        let mut searches = [0, 1].map(|_| Search::new(Arc::clone(&self.game), self.settings));
        let shared = self.settings.seats == Seats::Shared;
        let index = |seat: Seat| if shared { 0 } else { usize::from(seat) };
        let mut decided = [0; 2];
        for (seat, view, action) in self.past(state, mover) {
            let own = &mut decided[usize::from(seat)];
            let questions = self.run(&mut searches[index(seat)], view, [seed, seat.into(), *own]).asked;
            *own += 1;
            if seat == mover {
                asked = mix(asked, questions);
            }
            for search in &mut searches {
                search.played(action);
            }
        }
        let view = self.game.view(state, mover);
        let last = self.run(&mut searches[index(mover)], view, [seed, mover.into(), decided[usize::from(mover)]]);
        Trace { asked: mix(asked, last.asked), ..last }
    }

    /// The game's decisions in their order; none if the game does not show them.
    fn past(&self, state: &G::State, mover: Seat) -> Vec<Searched<G>> {
        let view = self.game.view(state, mover);
        let mut past = Vec::new();
        for seat in [0, 1] {
            self.game.past(&view, state, seat, &mut |then, action| {
                past.push((self.decided(then), (seat, self.game.view(then, seat), action)));
            });
        }
        past.sort_by_key(|&(before, _)| before);
        past.into_iter().map(|(_, decision)| decision).collect()
    }

    /// How many decisions led to a state.
    fn decided(&self, state: &G::State) -> usize {
        let mut decided = 0;
        for seat in [0, 1] {
            self.game.past(&self.game.view(state, seat), state, seat, &mut |_, _| decided += 1);
        }
        decided
    }

    fn run(&mut self, search: &mut Search<G>, view: G::View, [seed, seat, number]: [u64; 3]) -> Trace {
        let seed = mix(mix(seed, seat), number);
        let mut asked = 0;
        let mut batch = EvalBatch::new(self.game.info().observation_len());
        batch.want_rollouts = self.evaluator.wants_rollouts();
        search.begin(view, self.budget, None, seed);
        loop {
            match search.gather(0, &mut batch) {
                Gathered::Busy => {}
                Gathered::Done => break,
                Gathered::Asked => {
                    asked = questions(&batch, asked);
                    self.evaluator.evaluate(&mut batch);
                    for row in 0..batch.len() {
                        let (prior, value) = batch.answer(row);
                        search.apply(prior, value);
                    }
                    batch.clear();
                }
            }
        }
        let mut decision = Decision::default();
        search.decide(Choice::Visits, &mut stream(seed, &[]), &mut decision);
        Trace { asked, decision }
    }
}

/// All that a search gives and takes.
#[derive(Debug)]
struct Trace {
    /// A hash of the questions to the evaluator by the mover's searches so far, in order.
    asked: u64,
    /// With counts of simulations, questions, nodes and effective worlds.
    decision: Decision,
}

/// Equal only bit for bit.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        let bits = |trace: &Self| {
            let decision = &trace.decision;
            let lists = decision.q.iter().chain(&decision.prior).chain(&decision.policy);
            let numbers = [decision.root_value, decision.network_value, decision.effective_worlds, decision.depth];
            lists.chain(&numbers).map(|number| number.to_bits()).collect::<Vec<_>>()
        };
        self.asked == other.asked && self.decision == other.decision && bits(self) == bits(other)
    }
}

/// Goes on with a hash of what was asked: all that the network, and a cache before it, is told.
fn questions(batch: &EvalBatch, before: u64) -> u64 {
    let observation = batch.observation.iter().map(|number| u64::from(number.to_bits()));
    let legal = batch.legal.iter().map(|&action| u64::from(action));
    let ends = batch.legal_end.iter().map(|&end| u64::from(end));
    observation.chain(legal).chain(ends).fold(before, mix)
}
