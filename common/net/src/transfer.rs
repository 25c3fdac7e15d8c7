//! [`Weights::transfer`]: old weights for new rules. What has the same name goes on as learnt; what is new starts so
//! that the rest is not disturbed.

use fogfall_game::Planes;

use crate::{
    NetError, Shape, Weights,
    shape::{Place, indices, places},
};

/// Weights of another shape, and what became of the old ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// The weights of the new shape.
    pub weights: Weights,
    /// Fields, actions and blocks that were taken over.
    pub mapped: Vec<String>,
    /// Those that start untrained.
    pub fresh: Vec<String>,
    /// Those of the old shape that were left behind.
    pub dropped: Vec<String>,
}

impl Weights {
    /// Weights of the shape `to`, with what these have learnt of the fields and actions of the same names.
    ///
    /// A new field has zero weights and a new block adds nothing, so old positions are judged as before. A new action
    /// starts as in an untrained network. A field whose length changed counts as new: nothing says which of its
    /// numbers are the old ones.
    ///
    /// # Errors
    /// [`NetError::Shape`] if no network has the shape; [`NetError::Mismatch`] if what cannot change is another: the width,
    /// and where there is a tower its channels and the fields of its planes.
    pub fn transfer(&self, to: &Shape, seed: u64) -> Result<Transfer, NetError> {
        let from = self.shape();
        let differences = fixed_differences(from, to);
        if !differences.is_empty() {
            return Err(NetError::Mismatch { differences });
        }
        let weights = Self::random(to.clone(), seed)?;
        let mut transfer = Transfer { weights, mapped: vec![], fresh: vec![], dropped: vec![] };
        let fields = transfer.pair("field", &places(&from.observation), &places(&to.observation));
        let actions = transfer.pair("action", &indices(&from.actions), &indices(&to.actions));
        transfer.pair_blocks("block", from.blocks, to.blocks);
        let tower_blocks = |shape: &Shape| shape.tower.map_or(0, |tower| tower.blocks);
        transfer.pair_blocks("tower block", tower_blocks(from), tower_blocks(to));
        let features = input_runs(fields, to);
        for (name, new) in transfer.weights.tensors_mut() {
            let old = self.tensors().get(name);
            match (name.as_str(), old) {
                ("input.weight", Some(old)) => {
                    new.data.fill(0.0);
                    let lines = old.data.chunks_exact(from.features_len());
                    for (old, new) in lines.zip(new.data.chunks_exact_mut(to.features_len())) {
                        features.iter().for_each(|run| run.copy(1, old, new));
                    }
                }
                ("policy.weight", Some(old)) => {
                    actions.iter().for_each(|run| run.copy(to.width, &old.data, &mut new.data));
                }
                ("policy.bias", Some(old)) => actions.iter().for_each(|run| run.copy(1, &old.data, &mut new.data)),
                (_, Some(old)) => new.clone_from(old),
                // Of a new block; without it the block adds nothing.
                (name, None) if name.ends_with("fc2.weight") || name.ends_with("conv2.weight") => new.data.fill(0.0),
                (_, None) => (),
            }
        }
        Ok(transfer)
    }
}

/// What differs of two shapes that no transfer can bridge, one line each.
fn fixed_differences(from: &Shape, to: &Shape) -> Vec<String> {
    let mut lines = Vec::new();
    if from.width != to.width {
        lines.push(format!("width is {}, wanted is {}; it cannot change", from.width, to.width));
    }
    let channels = |shape: &Shape| shape.tower.map_or(0, |tower| tower.channels);
    if channels(from) != channels(to) {
        let (from, to) = (channels(from), channels(to));
        lines.push(format!("number of channels is {from}, wanted is {to}; it cannot change"));
    } else if plane_fields(from) != plane_fields(to) {
        lines.push("the planes have other fields or sizes; with convolutions they cannot change".to_owned());
    }
    lines
}

/// What a tower's channels mean: its planes, and the fields that lie in them.
fn plane_fields(shape: &Shape) -> Option<(Planes, Vec<Place<'_>>)> {
    let planes = shape.tower?.planes;
    let within = |place: &Place<'_>| place.start < planes.numbers();
    Some((planes, places(&shape.observation).into_iter().filter(within).collect()))
}

/// From runs of the observation to runs of the input layer, where outputs of a tower stand for the planes.
fn input_runs(fields: Vec<Run>, to: &Shape) -> Vec<Run> {
    let Some(tower) = to.tower else { return fields };
    let (planes, outputs) = (tower.planes.numbers(), tower.outputs());
    let behind = fields.into_iter().filter(|run| run.from >= planes && run.to >= planes);
    let moved = behind.map(|run| Run { from: run.from - planes + outputs, to: run.to - planes + outputs, ..run });
    [Run { from: 0, to: 0, len: outputs }].into_iter().chain(moved).collect()
}

/// What goes from one place to another, in fields' numbers or actions.
struct Run {
    from: usize,
    to: usize,
    len: usize,
}

impl Run {
    /// Copies the run of units of `unit` numbers.
    fn copy(&self, unit: usize, old: &[f32], new: &mut [f32]) {
        let old = &old[self.from * unit..(self.from + self.len) * unit];
        new[self.to * unit..(self.to + self.len) * unit].copy_from_slice(old);
    }
}

impl Transfer {
    /// Finds what old and new have in common, and notes what becomes of each.
    fn pair(&mut self, what: &str, old: &[Place<'_>], new: &[Place<'_>]) -> Vec<Run> {
        let note = |place: &Place<'_>| format!("{what} '{}'", place.name);
        let same = |a: &Place<'_>, b: &Place<'_>| a.name == b.name && a.len == b.len;
        let mut runs = Vec::new();
        for place in new {
            match old.iter().find(|old| same(old, place)) {
                Some(old) => {
                    self.mapped.push(note(place));
                    runs.push(Run { from: old.start, to: place.start, len: place.len });
                }
                None => self.fresh.push(note(place)),
            }
        }
        self.dropped.extend(old.iter().filter(|old| !new.iter().any(|new| same(old, new))).map(note));
        runs
    }

    fn pair_blocks(&mut self, what: &str, old: usize, new: usize) {
        let note = |block| format!("{what} {block}");
        self.mapped.extend((0..old.min(new)).map(note));
        self.fresh.extend((old..new).map(note));
        self.dropped.extend((new..old).map(note));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use fogfall_game::Layout;

    use super::*;
    use crate::{Net, NetEvaluator};

    fn shape(fields: &[(&str, usize)], actions: &[&str], width: usize, blocks: usize) -> Shape {
        let observation = Layout::new(fields.iter().copied());
        Shape { observation, actions: actions.iter().map(|&a| a.to_owned()).collect(), width, blocks, tower: None }
    }

    fn old() -> Weights {
        Weights::random(shape(&[("hp", 1), ("hand", 3), ("turn", 2)], &["wait", "hit", "heal"], 16, 2), 1).unwrap()
    }

    /// Logits and value of one position.
    fn outputs(weights: &Weights, observation: &[f32]) -> (Vec<f32>, f32) {
        let (logits, values) = NetEvaluator::new(Arc::new(Net::new(weights))).outputs(observation);
        (logits, values[0])
    }

    fn assert_close(found: &[f32], wanted: &[f32]) {
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}, wanted {wanted:?}");
    }

    #[test]
    fn another_order_of_fields_and_actions_changes_no_judgement() {
        let to = shape(&[("turn", 2), ("hp", 1), ("hand", 3)], &["heal", "wait", "hit"], 16, 2);
        let moved = old().transfer(&to, 2).unwrap();
        let (before, value_before) = outputs(&old(), &[0.5, 1.0, 2.0, 3.0, -1.0, -2.0]);
        let (after, value_after) = outputs(&moved.weights, &[-1.0, -2.0, 0.5, 1.0, 2.0, 3.0]);
        assert_close(&after, &[before[2], before[0], before[1]]);
        assert_close(&[value_after], &[value_before]);
        assert!(moved.fresh.is_empty() && moved.dropped.is_empty());
        let back = moved.weights.transfer(old().shape(), 3).unwrap().weights;
        assert_eq!(back, old());
    }

    #[test]
    fn new_fields_and_blocks_leave_old_positions_as_they_were() {
        let to = shape(&[("hp", 1), ("mana", 1), ("hand", 3), ("turn", 2)], &["wait", "hit", "cast", "heal"], 16, 3);
        let grown = old().transfer(&to, 2).unwrap();
        let (before, value_before) = outputs(&old(), &[0.5, 1.0, 2.0, 3.0, -1.0, -2.0]);
        for mana in [0.0, 7.0] {
            let (after, value_after) = outputs(&grown.weights, &[0.5, mana, 1.0, 2.0, 3.0, -1.0, -2.0]);
            assert_close(
                &[after[0], after[1], after[3], value_after],
                &[before[0], before[1], before[2], value_before],
            );
        }
        assert!(grown.weights.data("policy.weight")[2 * 16..3 * 16].iter().any(|&x| x != 0.0), "cast has to be learnt");
    }

    #[test]
    fn what_becomes_of_every_part_is_listed() {
        let to = shape(&[("hand", 4), ("turn", 2), ("mana", 1)], &["hit", "cast"], 16, 1);
        let transfer = old().transfer(&to, 2).unwrap();
        assert_eq!(transfer.mapped, ["field 'turn'", "action 'hit'", "block 0"]);
        assert_eq!(transfer.fresh, ["field 'hand'", "field 'mana'", "action 'cast'"]);
        let dropped = ["field 'hp'", "field 'hand'", "action 'wait'", "action 'heal'", "block 1"];
        assert_eq!(transfer.dropped, dropped);
        assert!(transfer.weights.fits(&to).is_ok());
    }

    fn with_tower(fields: &[(&str, usize)], channels: usize, blocks: usize) -> Shape {
        shape(fields, &["a", "b"], 16, 1).with_tower(
            Some(Planes { channels: 2, height: 2, width: 3 }),
            channels,
            blocks,
        )
    }

    #[test]
    fn a_tower_goes_on_with_more_blocks_and_other_numbers_behind_its_planes() {
        let old = Weights::random(with_tower(&[("mine", 6), ("theirs", 6), ("turn", 2)], 16, 1), 1).unwrap();
        let to = with_tower(&[("mine", 6), ("theirs", 6), ("clock", 1), ("turn", 2)], 16, 2);
        let grown = old.transfer(&to, 2).unwrap();
        assert_eq!(
            grown.mapped,
            ["field 'mine'", "field 'theirs'", "field 'turn'", "action 'a'", "action 'b'", "block 0", "tower block 0"]
        );
        assert_eq!(grown.fresh, ["field 'clock'", "tower block 1"]);
        let board = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0];
        let (before, value_before) = outputs(&old, &[&board[..], &[0.5, -0.5]].concat());
        let (after, value_after) = outputs(&grown.weights, &[&board[..], &[3.0, 0.5, -0.5]].concat());
        assert_close(&after, &before);
        assert_close(&[value_after], &[value_before]);
    }

    #[test]
    fn other_channels_and_planes_are_refused() {
        let old = Weights::random(with_tower(&[("mine", 6), ("theirs", 6)], 16, 1), 1).unwrap();
        let error = |to: &Shape| old.transfer(to, 2).unwrap_err().to_string();
        let wider = error(&with_tower(&[("mine", 6), ("theirs", 6)], 32, 1));
        assert_eq!(wider, "weights do not fit:\n  number of channels is 16, wanted is 32; it cannot change");
        let none = error(&with_tower(&[("mine", 6), ("theirs", 6)], 0, 0));
        assert_eq!(none, "weights do not fit:\n  number of channels is 16, wanted is 0; it cannot change");
        let swapped = error(&with_tower(&[("theirs", 6), ("mine", 6)], 16, 1));
        assert!(swapped.contains("the planes have other fields or sizes"), "{swapped}");
    }

    #[test]
    fn another_width_is_refused() {
        let error = old().transfer(&shape(&[("hp", 1)], &["wait"], 32, 2), 2).unwrap_err();
        assert_eq!(error.to_string(), "weights do not fit:\n  width is 16, wanted is 32; it cannot change");
    }
}
