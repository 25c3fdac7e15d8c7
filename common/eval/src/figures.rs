//! Exact figures of a searching player, for games small enough to have them: mistakes by the referee's count, or the
//! policy that it plays, and from that NashConv.

use std::sync::Arc;

use fogfall_game::{Game, mix, stream};
use fogfall_search::{Choice, Decision, EvalBatch, Gathered, Search};
use fogfall_selfplay::{Agent, Searcher};
use rand::RngExt;

use crate::{ExactError, GameTree, Profile, Referee, Verdict, connect_four};

/// A game with more positions or tree nodes than this has no figures that are at hand within seconds.
const MAX_SIZE: usize = 500_000;
/// Positions searched at a time.
const LANES: usize = 64;
/// Searches of all information sets together, about.
const SEARCHES: usize = 32_768;
/// Searches of each information set, whose odds are averaged: one search is noise, and NashConv is convex.
const REPEATS: std::ops::RangeInclusive<usize> = 4..=64;

/// What can be said exactly about players of a game.
pub enum ExactFigures<G: Game> {
    /// A deterministic game of perfect information: how often a player gives value away.
    Mistakes(Referee<G::View>),
    /// A larger one with a fixed set of solved positions: in what share of them a player keeps the game-theoretic value.
    Kept(Referee<G::View>),
    /// A small game with chance or hidden information: NashConv.
    NashConv(GameTree<G::View>),
}

impl<G: Game> ExactFigures<G> {
    /// Lays the game out; none if it is too large to be searched everywhere within seconds, or its start is drawn at
    /// random.
    pub fn new(game: &G) -> Option<Self> {
        Self::up_to(game, MAX_SIZE)
    }

    /// The same for games with up to `max_size` positions or tree nodes.
    pub fn up_to(game: &G, max_size: usize) -> Option<Self> {
        let root = game.start(&mut stream(0, &[]));
        if game.describe(&root) != game.describe(&game.start(&mut stream(1, &[]))) {
            return None;
        }
        if let Some(referee) = connect_four::referee(game, &root) {
            return Some(Self::Kept(referee));
        }
        if game.info().is_deterministic() {
            return Referee::solve(game, &root, max_size).ok().map(Self::Mistakes);
        }
        GameTree::lay_out(game, &root, max_size).ok().map(Self::NashConv)
    }

    /// The referee of a game that has one: its own fixed positions, or all that can be reached; none for games with chance or
    /// hidden facts, and for large ones.
    pub fn referee(game: &G) -> Option<Referee<G::View>> {
        // Others would be laid out in vain.
        match game.info().is_deterministic().then(|| Self::new(game))?? {
            Self::Mistakes(referee) | Self::Kept(referee) => Some(referee),
            Self::NashConv(_) => None,
        }
    }

    /// What the figure is called.
    pub fn name(&self) -> String {
        match self {
            Self::Mistakes(referee) => format!("mistakes in {} positions", referee.decisions().len()),
            Self::Kept(referee) => format!("value kept, {} positions", referee.decisions().len()),
            Self::NashConv(_) => "NashConv".to_owned(),
        }
    }

    /// Measures a player.
    ///
    /// # Errors
    /// [`ExactError`] if the game's views or legal actions contradict each other.
    pub fn measure(&self, game: &Arc<G>, player: &mut Searcher, seed: u64) -> Result<f64, ExactError> {
        match self {
            Self::Mistakes(referee) => Ok(verdict(game, referee, player, seed).mistakes as f64),
            Self::Kept(referee) => {
                let verdict = verdict(game, referee, player, seed);
                Ok(1.0 - verdict.mistakes as f64 / verdict.decisions as f64)
            }
            Self::NashConv(tree) => Ok(tree.exploitability(&played_profile(game, tree, player, seed)?).nash_conv),
        }
    }
}

/// What any agent does in the referee's positions, one decision each. Nothing is hidden there, so a cheat searches as others do.
pub fn judge<G: Game>(game: &Arc<G>, referee: &Referee<G::View>, agent: &mut Agent, seed: u64) -> Verdict {
    let mut rng = stream(seed, &[]);
    match agent {
        Agent::Random => referee.judge(|_, legal| legal[rng.random_range(0..legal.len())]),
        Agent::Expert(name) => referee.judge(|view, legal| game.expert_move(name, view, legal, &mut rng)),
        Agent::Search(searcher) | Agent::Cheat(searcher) => verdict(game, referee, searcher, seed),
    }
}

/// What a player does in the referee's positions.
fn verdict<G: Game>(game: &Arc<G>, referee: &Referee<G::View>, player: &mut Searcher, seed: u64) -> Verdict {
    let views: Vec<_> = referee.decisions().iter().map(|d| d.view.clone()).collect();
    referee.verdict(decide_all(game, player, &views, seed).iter().map(|d| d.action))
}

/// The policy that a player plays, its choice rule included: the mean over several searches of each information set.
///
/// # Errors
/// [`ExactError`] if the game's views or legal actions contradict each other.
pub fn played_profile<G: Game>(
    game: &Arc<G>,
    tree: &GameTree<G::View>,
    player: &mut Searcher,
    seed: u64,
) -> Result<Profile, ExactError> {
    let repeats = (SEARCHES / tree.decisions().len().max(1)).clamp(*REPEATS.start(), *REPEATS.end());
    let repeated = tree.decisions().flat_map(|(view, _)| std::iter::repeat_n(view, repeats));
    let views: Vec<_> = repeated.cloned().collect();
    let choice = player.choice;
    let decisions = decide_all(game, player, &views, seed);
    let mut searched = decisions.chunks_exact(repeats);
    tree.profile(|_, legal| {
        let mut mean = vec![0.0; legal.len()];
        for decision in searched.next().expect("each view was searched") {
            add_odds(decision, choice, &mut mean);
        }
        let total: f64 = mean.iter().sum();
        mean.iter().map(|odds| odds / total).collect()
    })
}

/// Adds the odds by which a choice rule plays each legal action of a decision.
fn add_odds(decision: &Decision, choice: Choice, odds: &mut [f64]) {
    match choice {
        Choice::Label => odds.iter_mut().zip(&decision.policy).for_each(|(odds, &p)| *odds += f64::from(p)),
        Choice::Sample { temperature } => {
            // In units of the most visited action, so that no power overflows.
            let most = decision.visits.iter().copied().max().unwrap_or(0);
            let weigh = |i: usize| {
                // A search of one simulation has no visits: it plays by its prior.
                let share = match most {
                    0 => f64::from(decision.prior[i]),
                    most => f64::from(decision.visits[i]) / f64::from(most),
                };
                share.powf(1.0 / f64::from(temperature.max(1e-3)))
            };
            let total: f64 = (0..odds.len()).map(weigh).sum();
            odds.iter_mut().enumerate().for_each(|(i, odds)| *odds += weigh(i) / total);
        }
        Choice::Visits | Choice::Confidence { .. } => {
            let chosen = decision.legal.binary_search(&decision.action).expect("a chosen action is legal");
            odds[chosen] += 1.0;
        }
    }
}

/// The player's decision in each of these situations, many at a time.
pub fn decide_all<G: Game>(game: &Arc<G>, player: &mut Searcher, views: &[G::View], seed: u64) -> Vec<Decision> {
    let mut decisions = vec![Decision::default(); views.len()];
    let mut batch = EvalBatch::new(game.info().observation_len());
    batch.want_rollouts = player.evaluator.wants_rollouts();
    let mut waiting = (0..views.len()).rev().collect::<Vec<_>>();
    let mut lanes: Vec<Option<(usize, Search<G>)>> = (0..LANES.min(views.len())).map(|_| None).collect();
    loop {
        for (lane, place) in lanes.iter_mut().enumerate() {
            loop {
                if place.is_none() {
                    let Some(index) = waiting.pop() else { break };
                    let mut search = Search::new(Arc::clone(game), player.search);
                    search.begin(views[index].clone(), player.budget, None, mix(seed, index as u64));
                    *place = Some((index, search));
                }
                let Some((index, search)) = place else { break };
                if search.gather(lane as u32, &mut batch) != Gathered::Done {
                    break;
                }
                let rng = &mut stream(seed, &[*index as u64, 1]);
                search.decide(player.choice, rng, &mut decisions[*index]);
                *place = None;
            }
        }
        if lanes.iter().all(Option::is_none) {
            return decisions;
        }
        player.evaluator.evaluate(&mut batch);
        for row in 0..batch.len() {
            let (prior, value) = batch.answer(row);
            let (_, search) = lanes[batch.lane[row] as usize].as_mut().expect("it asked");
            search.apply(prior, value);
        }
        batch.clear();
    }
}

#[cfg(test)]
mod tests {
    use fogfall_games::{ConnectFour, KuhnPoker, TicTacToe};
    use fogfall_search::{Budget, Evaluator, Rollout, SearchSettings, Uniform};

    use super::*;
    use crate::SolvedPosition;

    fn player(game: &impl Game, evaluator: Box<dyn Evaluator>, simulations: u32) -> Searcher {
        Searcher {
            evaluator,
            search: SearchSettings::for_game(game.info()),
            budget: Budget::Simulations(simulations),
            choice: Choice::Sample { temperature: 1.0 },
        }
    }

    #[test]
    fn more_search_makes_fewer_mistakes() {
        let game = Arc::new(TicTacToe::new());
        let exact = ExactFigures::new(&*game).unwrap();
        assert_eq!(exact.name(), "mistakes in 4520 positions");
        let mistakes = |n| {
            let player = Searcher { choice: Choice::Visits, ..player(&*game, Box::new(Rollout), n) };
            exact.measure(&game, &mut { player }, 1).unwrap()
        };
        let (few, many) = (mistakes(4), mistakes(400));
        assert!(many < 60.0 && few > 5.0 * many, "{few} with 4 simulations, {many} with 400");
    }

    #[test]
    fn more_search_keeps_the_value_in_more_of_the_known_positions_of_connect_four() {
        let game = Arc::new(ConnectFour::new());
        let exact = ExactFigures::new(&*game).unwrap();
        assert_eq!(exact.name(), "value kept, 120 positions");
        let kept = |n| {
            let player = Searcher { choice: Choice::Visits, ..player(&*game, Box::new(Rollout), n) };
            exact.measure(&game, &mut { player }, 1).unwrap()
        };
        let (few, many) = (kept(2), kept(800));
        assert!((0.4..0.7).contains(&few) && (0.8..=1.0).contains(&many), "{few} with 2 simulations, {many} with 800");
    }

    #[test]
    fn an_agent_that_moves_at_random_keeps_the_value_as_often_as_moves_do() {
        let game = Arc::new(ConnectFour::new());
        let referee = ExactFigures::referee(&*game).unwrap();
        let good = |p: &SolvedPosition<_>| p.values.iter().filter(|&&value| value == p.value()).count();
        let odds = referee.decisions().iter().map(|p| good(p) as f64 / p.legal.len() as f64);
        let expected = odds.sum::<f64>() / 120.0;
        let kept = judge(&game, &referee, &mut Agent::Random, 1).kept().unwrap();
        assert!(kept.low < expected && expected < kept.high && kept.samples == 120, "{kept}, not {expected}");
    }

    #[test]
    fn where_nothing_is_hidden_a_cheat_moves_as_an_honest_search_does() {
        let game = Arc::new(TicTacToe::new());
        let referee = ExactFigures::referee(&*game).unwrap();
        let searcher = || Box::new(player(&*game, Box::new(Rollout), 10));
        let honest = judge(&game, &referee, &mut Agent::Search(searcher()), 1);
        assert_eq!(judge(&game, &referee, &mut Agent::Cheat(searcher()), 1), honest);
        assert!(honest.mistakes > 0 && honest.kept().unwrap().samples == 4520);
        assert!(ExactFigures::referee(&KuhnPoker::new()).is_none());
    }

    #[test]
    fn a_player_that_follows_uniform_priors_has_the_uniform_policys_nash_conv() {
        let game = Arc::new(KuhnPoker::new());
        let exact = ExactFigures::new(&*game).unwrap();
        let found = exact.measure(&game, &mut player(&*game, Box::new(Uniform), 1), 1).unwrap();
        assert!((found - 0.916_667).abs() < 1e-5, "{found}");
        let searched = exact.measure(&game, &mut player(&*game, Box::new(Rollout), 200), 1).unwrap();
        assert!((0.2..0.5).contains(&searched), "{searched}"); // about 0.3 for literal determinized search
    }
}
