//! Checks of what a game says of itself, before anything is played.

use std::collections::BTreeSet;

use crate::{Action, Game, Symmetry};

use super::rule::{Findings, Rule};

pub(super) fn check<G: Game>(game: &G, findings: &mut Findings) {
    let info = game.info();
    let mut expect = |holds: bool, text: String| findings.expect(holds, Rule::Info, || text);
    expect(!info.name.is_empty(), "expected a name, found an empty one".to_owned());
    expect(info.observation_len() > 0, "expected an observation of at least one number, found none".to_owned());
    expect(!info.actions.is_empty(), "expected a name in actions for each action, found none".to_owned());
    let (most, count) = (Action::MAX, info.num_actions());
    expect(count <= usize::from(most), format!("expected at most {most} actions, found {count}"));
    let mut names = BTreeSet::new();
    if let Some(twice) = info.actions.iter().find(|&name| !names.insert(name)) {
        expect(false, format!("expected another name for each action, found '{twice}' twice"));
    }
    expect(info.max_decisions > 0, "expected max_decisions above 0, found 0".to_owned());
    for (what, number) in [("value_scale", info.value_scale), ("value_bound", info.value_bound)] {
        expect(number.is_finite() && number > 0.0, format!("expected a finite {what} above 0, found {number}"));
    }
    let hidden = info.hidden.len();
    expect(
        !info.perfect_information || hidden == 0,
        format!("expected nothing hidden where perfect_information is true, found a hidden label of {hidden} numbers"),
    );
    if let Some(planes) = info.planes {
        let fit = (1..=info.observation_len()).contains(&planes.numbers());
        let (most, found) = (info.observation_len(), planes.numbers());
        expect(
            fit,
            format!("expected planes of 1 to {most} numbers, as the observation has; found {found}: {planes:?}"),
        );
    }
    for (place, symmetry) in info.symmetries.iter().enumerate() {
        let Symmetry { observation, actions } = symmetry;
        let sources = observation.iter().map(|&i| i as usize);
        let images = actions.iter().map(|&a| usize::from(a));
        expect(
            is_permutation(sources, info.observation_len()) && is_permutation(images, info.num_actions()),
            format!(
                "expected symmetry {place} to be two permutations, of all {} numbers of the observation and of all {} \
                 actions; found {symmetry:?}",
                info.observation_len(),
                info.num_actions()
            ),
        );
    }
}

fn is_permutation(numbers: impl ExactSizeIterator<Item = usize>, len: usize) -> bool {
    numbers.len() == len && numbers.collect::<BTreeSet<_>>().into_iter().eq(0..len)
}
