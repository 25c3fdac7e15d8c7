//! From rows to a batch: numbers in the trainer's order, labels mixed and weighted, symmetries applied.

use std::str::FromStr;

use fogfall_game::Symmetry;
use fogfall_proto::{RowLayout, RowRef};

use crate::train::Batch;

/// How much an information state counts in the loss that the window holds in `n` rows: `f(n)`, so that each of its rows
/// counts `f(n) / n`. The mean loss over equal rows and the loss of their mean label have the same gradient, so this is
/// the position averaging of AlphaZero.jl (its learning.jl), without merging rows; unlike there, where it is `log2`,
/// the logarithm is natural. A state and its image in a symmetry are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionWeight {
    /// `f(n) = n`: as often as it was met.
    Linear,
    /// `f(n) = 1 + ln n`.
    Log,
    /// `f(n) = 1`: as much as any other.
    Once,
}

impl PositionWeight {
    /// The names that are read.
    pub const NAMES: &[&str] = &["linear", "log", "once"];

    /// `f(n) / n`.
    pub fn of_row(self, n: u32) -> f32 {
        match self {
            Self::Linear => 1.0,
            Self::Log => ((1.0 + f64::from(n).ln()) / f64::from(n)) as f32,
            Self::Once => 1.0 / n as f32,
        }
    }
}

impl FromStr for PositionWeight {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "linear" => Ok(Self::Linear),
            "log" => Ok(Self::Log),
            "once" => Ok(Self::Once),
            _ => anyhow::bail!("position weight '{text}' is not linear, log or once"),
        }
    }
}

/// A row as it goes into a batch.
#[derive(Clone, Copy)]
pub struct Picked<'a> {
    /// The row.
    pub row: RowRef<'a>,
    /// Factor of both label weights.
    pub weight: f32,
    /// The symmetry it is seen in; none for as it is.
    pub symmetry: Option<&'a Symmetry>,
}

/// Fills a batch with rows. The value label is `(1 - share) * result + share * root
/// value`.
pub fn fill<'a>(
    batch: &mut Batch,
    layout: RowLayout,
    root_value_share: f32,
    rows: impl ExactSizeIterator<Item = Picked<'a>>,
) {
    let n = rows.len();
    batch.rows = n;
    batch.legal.clear();
    for list in
        [&mut batch.observation, &mut batch.policy, &mut batch.value, &mut batch.policy_weight, &mut batch.value_weight]
    {
        list.clear();
    }
    for (i, Picked { row, weight, symmetry }) in rows.enumerate() {
        batch.observation.extend(row.observation());
        batch.policy.extend(row.policy());
        batch.legal.extend((0..layout.actions as u16).map(|a| row.is_legal(a)));
        batch.value.push((1.0 - root_value_share) * row.value() + root_value_share * row.root_value());
        batch.policy_weight.push(weight * row.policy_weight());
        batch.value_weight.push(weight * row.value_weight());
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
            policy_weight: 0.0, // as of a cheap search
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
        let plain = Picked { row, weight: 1.0, symmetry: None };
        fill(&mut batch, layout, 0.25, [plain, Picked { weight: 0.25, symmetry: Some(&turn), ..plain }].into_iter());
        assert_eq!(batch.rows, 2);
        assert_eq!(batch.observation, [1.0, 2.0, 3.0, 2.0, 3.0, 1.0]);
        assert_eq!(batch.legal, [true, false, true, false, true, true]); // 0 -> 2, 2 -> 1
        assert_eq!(batch.policy, [0.75, 0.0, 0.25, 0.0, 0.25, 0.75]);
        assert_eq!(batch.value, [0.875, 0.875]); // 0.75 * 1 + 0.25 * 0.5
        assert_eq!((batch.policy_weight, batch.value_weight), (vec![0.0; 2], vec![1.0, 0.25]));
    }

    #[test]
    fn what_is_hidden_from_a_mover_is_in_no_batch() {
        let layout = RowLayout::new(1, 2, 2);
        let batch_of = |hidden: Vec<f32>| {
            let (legal, policy, prior, visits) = (vec![0, 1], vec![0.5; 2], vec![0.5; 2], vec![1; 2]);
            let row = Row { observation: vec![1.0], legal, policy, prior, visits, hidden, ..Row::default() };
            let (mut bytes, mut batch) = (Vec::new(), Batch::default());
            layout.write(&row, &mut bytes);
            let row = layout.rows(&bytes).next().unwrap();
            fill(&mut batch, layout, 0.5, [Picked { row, weight: 1.0, symmetry: None }].into_iter());
            format!("{batch:?}")
        };
        assert_eq!(batch_of(vec![0.0, 0.0]), batch_of(vec![7.0, -1e6]));
    }

    #[test]
    fn rows_of_a_state_count_together_what_their_number_says() {
        let of_state = |name: &str, n: u32| n as f32 * name.parse::<PositionWeight>().unwrap().of_row(n);
        for n in [1, 2, 1_000] {
            assert_eq!(of_state("linear", n), n as f32);
            assert!((of_state("once", n) - 1.0).abs() < 1e-6);
        }
        assert_eq!(of_state("log", 1), 1.0); // 1 + ln 1
        assert!((of_state("log", 1_000) - 7.907_755).abs() < 1e-5); // 1 + 3 ln 10
        assert!("often".parse::<PositionWeight>().is_err());
        assert!(PositionWeight::NAMES.iter().all(|name| name.parse::<PositionWeight>().is_ok()));
    }
}
