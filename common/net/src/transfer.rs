//! [`Weights::transfer`]: old weights for new rules. What has the same name goes on as learnt; what is new starts so
//! that the rest is not disturbed.

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
    /// [`NetError::Shape`] if no network has the shape; [`NetError::Mismatch`] if its width is another one.
    pub fn transfer(&self, to: &Shape, seed: u64) -> Result<Transfer, NetError> {
        let from = self.shape();
        if from.width != to.width {
            let differences = vec![format!("width is {}, wanted is {}; it cannot change", from.width, to.width)];
            return Err(NetError::Mismatch { differences });
        }
        let weights = Self::random(to.clone(), seed)?;
        let mut transfer = Transfer { weights, mapped: vec![], fresh: vec![], dropped: vec![] };
        let fields = transfer.pair("field", &places(&from.observation), &places(&to.observation));
        let actions = transfer.pair("action", &indices(&from.actions), &indices(&to.actions));
        transfer.pair_blocks(from.blocks, to.blocks);
        for (name, new) in transfer.weights.tensors_mut() {
            let old = self.tensors().get(name);
            match (name.as_str(), old) {
                ("input.weight", Some(old)) => {
                    new.data.fill(0.0);
                    let lines = old.data.chunks_exact(from.observation_len());
                    for (old, new) in lines.zip(new.data.chunks_exact_mut(to.observation_len())) {
                        fields.iter().for_each(|run| run.copy(1, old, new));
                    }
                }
                ("policy.weight", Some(old)) => {
                    actions.iter().for_each(|run| run.copy(to.width, &old.data, &mut new.data));
                }
                ("policy.bias", Some(old)) => actions.iter().for_each(|run| run.copy(1, &old.data, &mut new.data)),
                (_, Some(old)) => new.clone_from(old),
                // Of a new block; without it the block adds nothing.
                (name, None) if name.ends_with("fc2.weight") => new.data.fill(0.0),
                (_, None) => (),
            }
        }
        Ok(transfer)
    }
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

    fn pair_blocks(&mut self, old: usize, new: usize) {
        let note = |block| format!("block {block}");
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
        Shape { observation, actions: actions.iter().map(|&a| a.to_owned()).collect(), width, blocks }
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

    #[test]
    fn another_width_is_refused() {
        let error = old().transfer(&shape(&[("hp", 1)], &["wait"], 32, 2), 2).unwrap_err();
        assert_eq!(error.to_string(), "weights do not fit:\n  width is 16, wanted is 32; it cannot change");
    }
}
