//! Checks of what a game says of itself, before anything is played.

use std::collections::BTreeSet;

use crate::{Action, Game, Symmetry};

use super::rule::{Findings, Rule};

pub(super) fn check<G: Game>(game: &G, findings: &mut Findings) {
    let info = game.info();
    let mut expect = |holds: bool, text: String| findings.expect(holds, Rule::Info, || text);
    expect(!info.name.is_empty(), "the name is empty".to_owned());
    expect(info.observation_len() > 0, "observation has no numbers".to_owned());
    expect(!info.actions.is_empty(), "no action is named".to_owned());
    expect(info.num_actions() <= usize::from(Action::MAX), format!("{} actions do not fit", info.num_actions()));
    let names: BTreeSet<_> = info.actions.iter().collect();
    expect(names.len() == info.actions.len(), "two actions have the same name".to_owned());
    expect(info.max_decisions > 0, "max_decisions is 0".to_owned());
    let scale = info.value_scale;
    expect(scale.is_finite() && scale > 0.0, format!("value_scale {scale} is not positive"));
    let bound = info.value_bound;
    expect(bound.is_finite() && bound > 0.0, format!("value_bound {bound} is not positive"));
    expect(!info.perfect_information || info.hidden.is_empty(), "perfect information, but a hidden label".to_owned());
    if let Some(planes) = info.planes {
        let fit = (1..=info.observation_len()).contains(&planes.numbers());
        expect(fit, format!("{planes:?} do not fit into an observation of {} numbers", info.observation_len()));
    }
    for (place, symmetry) in info.symmetries.iter().enumerate() {
        let Symmetry { observation, actions } = symmetry;
        let sources = observation.iter().map(|&i| i as usize);
        let images = actions.iter().map(|&a| usize::from(a));
        expect(
            is_permutation(sources, info.observation_len()) && is_permutation(images, info.num_actions()),
            format!("symmetry {place} is not a pair of permutations"),
        );
    }
}

fn is_permutation(numbers: impl ExactSizeIterator<Item = usize>, len: usize) -> bool {
    numbers.len() == len && numbers.collect::<BTreeSet<_>>().into_iter().eq(0..len)
}
