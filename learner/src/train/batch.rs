//! [`Batch`]: what one train step learns from, as plain numbers. Rows lie one after another; nothing here is a tensor.

use fogfall_net::Shape;

/// Rows to learn from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Number of rows.
    pub rows: usize,
    /// `[rows, observation]` what the player to move saw.
    pub observation: Vec<f32>,
    /// `[rows, actions]` true for a legal action; at least one in each row.
    pub legal: Vec<bool>,
    /// `[rows, actions]` policy label: sums to 1, is 0 for illegal actions.
    pub policy: Vec<f32>,
    /// `[rows]` value label for the player to move, in units of the game's scale.
    pub value: Vec<f32>,
    /// `[rows]` weight of the policy label, not negative; 0 leaves it out.
    pub policy_weight: Vec<f32>,
    /// `[rows]` weight of the value label, not negative; 0 leaves it out.
    pub value_weight: Vec<f32>,
}

impl Batch {
    /// Checks that every array has its length.
    ///
    /// # Panics
    /// If one has not, or there are no rows.
    pub(super) fn assert_fits(&self, shape: &Shape) {
        let rows = self.rows;
        assert!(rows > 0, "a batch has rows");
        assert_eq!(self.observation.len(), rows * shape.observation_len(), "observations of {rows} rows");
        assert_eq!(self.legal.len(), rows * shape.num_actions(), "legal actions of {rows} rows");
        assert_eq!(self.policy.len(), rows * shape.num_actions(), "policy labels of {rows} rows");
        assert_eq!(self.value.len(), rows, "value labels of {rows} rows");
        assert_eq!(self.policy_weight.len(), rows, "policy weights of {rows} rows");
        assert_eq!(self.value_weight.len(), rows, "value weights of {rows} rows");
    }
}
