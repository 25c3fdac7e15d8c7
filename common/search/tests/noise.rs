//! Root noise touches the root alone, stays the same through a search, and is drawn anew on a root that was kept.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_game::{Action, Actions, Game, GameInfo, Layout, Rng, Seat, Turn, stream};
use fogfall_search::{
    Budget, Choice, Decision, EvalBatch, Evaluator, Gathered, Hash, RootNoise, Search, SearchSettings, TreeLife,
};

/// Nothing but noise. Of two actions each share is as likely as any other.
const NOISE: RootNoise = RootNoise { concentration: 2.0, fraction: 1.0 };

/// A binary tree of four moves by turns; the first may be forced. Seat 0 wins where the moves add up to an even number.
struct Moves {
    info: GameInfo,
    forced: bool,
}

impl Moves {
    fn new(forced: bool) -> Arc<Self> {
        let info = GameInfo {
            name: "moves".into(),
            rules: None,
            observation: Layout::new([("made", 4)]),
            planes: None,
            actions: vec!["a".into(), "b".into()],
            hidden: Layout::default(),
            max_decisions: 4,
            value_scale: 1.0,
            value_bound: 1.0,
            perfect_information: true,
            mixed_play: false,
            has_chance: false,
            symmetries: Vec::new(),
        };
        Arc::new(Self { info, forced })
    }
}

impl Game for Moves {
    type State = Vec<Action>;
    type View = Vec<Action>;

    fn info(&self) -> &GameInfo {
        &self.info
    }

    fn start(&self, _: &mut Rng) -> Vec<Action> {
        Vec::new()
    }

    fn turn(&self, made: &Vec<Action>) -> Turn {
        if made.len() == 4 { Turn::Over } else { Turn::Player(made.len() as Seat % 2) }
    }

    fn legal(&self, made: &Vec<Action>, out: &mut Actions) {
        *out = if self.forced && made.is_empty() { vec![1] } else { vec![0, 1] };
    }

    fn chance(&self, _: &Vec<Action>, out: &mut Vec<(Action, f32)>) {
        out.clear();
    }

    fn sample(&self, _: &Vec<Action>, _: &mut Rng) -> Action {
        unreachable!("there is no chance")
    }

    fn apply(&self, made: &mut Vec<Action>, action: Action) {
        made.push(action);
    }

    fn payoff(&self, made: &Vec<Action>) -> f32 {
        if made.iter().sum::<Action>() % 2 == 0 { 1.0 } else { -1.0 }
    }

    fn view(&self, made: &Vec<Action>, _: Seat) -> Vec<Action> {
        made.clone()
    }

    fn tree_key(&self, made: &Vec<Action>, _: Seat) -> u64 {
        made.iter().fold(1, |key, &action| key * 2 + u64::from(action))
    }

    fn observe(&self, made: &Vec<Action>, _: Seat, out: &mut [f32]) {
        out.fill(-1.0);
        out.iter_mut().zip(made).for_each(|(number, &action)| *number = f32::from(action));
    }

    fn hidden(&self, _: &Vec<Action>, _: Seat, _: &mut [f32]) {}

    fn determinize(&self, view: &Vec<Action>, _: &mut Rng) -> Vec<Action> {
        view.clone()
    }

    fn describe(&self, made: &Vec<Action>) -> String {
        format!("{made:?}")
    }
}

/// Searches a position; the decision, and all that the network was asked.
fn run(search: &mut Search<Moves>, made: &[Action], noise: Option<RootNoise>, seed: u64) -> (Decision, Vec<f32>) {
    let mut batch = EvalBatch::new(4);
    let mut asked = Vec::new();
    search.begin(made.to_vec(), Budget::Simulations(100), noise, seed);
    loop {
        match search.gather(0, &mut batch) {
            Gathered::Done => break,
            Gathered::Busy => {}
            Gathered::Asked => {
                Hash { seed: 1 }.evaluate(&mut batch);
                asked.extend_from_slice(&batch.observation);
                let (prior, value) = batch.answer(0);
                search.apply(prior, value);
                batch.clear();
            }
        }
    }
    let mut decision = Decision::default();
    search.decide(Choice::Visits, &mut stream(0, &[]), &mut decision);
    (decision, asked)
}

/// A search that follows priors whatever the values are.
fn new(forced: bool, life: TreeLife) -> Search<Moves> {
    let game = Moves::new(forced);
    let settings = SearchSettings { life, c_puct: 100.0, ..SearchSettings::for_game(game.info()) };
    Search::new(game, settings)
}

/// Share of the visits that the first action got.
fn share(decision: &Decision) -> f32 {
    decision.visits[0] as f32 / decision.visits.iter().sum::<u32>() as f32
}

#[test]
fn noise_below_a_forced_root_changes_nothing() {
    // Noise over a single action is 1: any difference would be noise at another node.
    let fresh = |forced, noise| run(&mut new(forced, TreeLife::Move), &[], noise, 3);
    assert_eq!(fresh(true, None), fresh(true, Some(NOISE)));
    assert_ne!(fresh(false, None), fresh(false, Some(NOISE)), "where there is a choice it does");
}

#[test]
fn noise_is_the_same_through_a_search_and_other_in_the_next() {
    let shares: Vec<_> =
        (0..40).map(|seed| share(&run(&mut new(false, TreeLife::Move), &[], Some(NOISE), seed).0)).collect();
    // Visits follow one draw. If noise were drawn at every simulation all shares would be near 1/2.
    let count = |range: std::ops::Range<f32>| shares.iter().filter(|share| range.contains(share)).count();
    assert!(count(0.0..0.25) >= 4 && count(0.25..0.75) >= 8 && count(0.75..1.1) >= 4, "{shares:?}");
}

#[test]
fn a_root_that_was_kept_gets_noise_of_its_own_and_keeps_its_prior() {
    let second = |noise, seed| {
        let mut search = new(false, TreeLife::Game);
        run(&mut search, &[], None, 1);
        search.played(0);
        run(&mut search, &[0], noise, seed).0
    };
    let plain = second(None, 2);
    assert!(plain.visits.iter().sum::<u32>() > 100, "visits were inherited: {plain:?}");
    let noisy: Vec<_> = (0..20).map(|seed| second(Some(NOISE), seed)).collect();
    assert!(noisy.iter().all(|noisy| noisy.prior == plain.prior), "noise is never stored");
    let far = noisy.iter().filter(|noisy| (share(noisy) - share(&plain)).abs() > 0.05).count();
    assert!(far >= 10, "inherited visits drown the noise in {} of 20 searches", 20 - far);
}
