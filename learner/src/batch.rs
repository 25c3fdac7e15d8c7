//! From rows to a batch: numbers in the trainer's order, labels mixed, symmetries applied.

use fogfall_game::Symmetry;
use fogfall_proto::{RowLayout, RowRef};

use crate::train::Batch;

/// Fills a batch with rows, each in a symmetry or as it is. The value label is `(1 - share) * result + share * root
/// value`.
pub fn fill<'a>(
    batch: &mut Batch,
    layout: RowLayout,
    root_value_share: f32,
    rows: impl ExactSizeIterator<Item = (RowRef<'a>, Option<&'a Symmetry>)>,
) {
    let n = rows.len();
    batch.rows = n;
    batch.legal.clear();
    for list in
        [&mut batch.observation, &mut batch.policy, &mut batch.value, &mut batch.policy_weight, &mut batch.value_weight]
    {
        list.clear();
    }
    for (i, (row, symmetry)) in rows.enumerate() {
        batch.observation.extend(row.observation());
        batch.policy.extend(row.policy());
        batch.legal.extend((0..layout.actions as u16).map(|a| row.is_legal(a)));
        batch.value.push((1.0 - root_value_share) * row.value() + root_value_share * row.root_value());
        batch.policy_weight.push(row.policy_weight());
        batch.value_weight.push(row.value_weight());
        if let Some(symmetry) = symmetry {
            let original = batch.observation.split_off(i * layout.observation);
            batch.observation.extend(symmetry.observation.iter().map(|&from| original[from as usize]));
            permute(&mut batch.policy[i * layout.actions..], symmetry);
            permute(&mut batch.legal[i * layout.actions..], symmetry);
        }
    }
}

/// Moves each action's entry to the action's image.
fn permute<T: Copy>(row: &mut [T], symmetry: &Symmetry) {
    let original = row.to_vec();
    for (value, &image) in original.into_iter().zip(&symmetry.actions) {
        row[image as usize] = value;
    }
}

#[cfg(test)]
mod tests {
    use fogfall_proto::Row;

    use super::*;

    #[test]
    fn labels_are_mixed_and_symmetries_move_observation_policy_and_legal_actions_together() {
        let layout = RowLayout::new(3, 3, 0);
        let row = Row {
            value: 1.0,
            root_value: 0.5,
            policy_weight: 0.0,
            value_weight: 1.0,
            observation: vec![1.0, 2.0, 3.0],
            legal: vec![0, 2],
            policy: vec![0.75, 0.25],
            prior: vec![0.5; 2],
            visits: vec![1; 2],
            ..Row::default()
        };
        let mut bytes = Vec::new();
        layout.write(&row, &mut bytes);
        let row = layout.rows(&bytes).next().unwrap();
        let turn = Symmetry { observation: vec![1, 2, 0], actions: vec![2, 0, 1] };
        let mut batch = Batch::default();
        fill(&mut batch, layout, 0.25, [(row, None), (row, Some(&turn))].into_iter());
        assert_eq!(batch.rows, 2);
        assert_eq!(batch.observation, [1.0, 2.0, 3.0, 2.0, 3.0, 1.0]);
        assert_eq!(batch.legal, [true, false, true, false, true, true]); // 0 -> 2, 2 -> 1
        assert_eq!(batch.policy, [0.75, 0.0, 0.25, 0.0, 0.25, 0.75]);
        assert_eq!(batch.value, [0.875, 0.875]); // 0.75 * 1 + 0.25 * 0.5
        assert_eq!((batch.policy_weight, batch.value_weight), (vec![0.0; 2], vec![1.0; 2]));
    }
}
