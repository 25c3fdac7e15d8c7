//! A row: one decision as a fixed-size record of little-endian numbers, its size known from the manifest.
//!
//! | offset | numbers | what |
//! |---|---|---|
//! | 0 | 1 u32 + 1 u64 | weights version at search start: epoch, step |
//! | 12 | 1 u32 | simulations of this search |
//! | 16 | 1 u16 | action played |
//! | 18 | 1 u8 | seat to move |
//! | 19 | 1 u8 | unused, 0 |
//! | 20 | 5 f32 | value label, root value, network value, policy weight, value weight |
//! | 40 | observation f32 | observation of the mover |
//! | .. | actions f32 | policy label, sums to 1 over legal actions |
//! | .. | actions f32 | network prior without noise, 0 for illegal actions |
//! | .. | actions u32 | visits |
//! | .. | hidden f32 | hidden label |
//! | .. | actions bits | legal actions, then zeros up to a multiple of 4 bytes |
//!
//! Values are the mover's, in units of the game's scale.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::Version;

const FIXED_BYTES: usize = 40;

/// Where each part of a row lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowLayout {
    /// Numbers in an observation.
    pub observation: usize,
    /// Player actions of the game.
    pub actions: usize,
    /// Numbers in a hidden label.
    pub hidden: usize,
}

/// One decision, owned: what a slot fills in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Weights version when the search began.
    pub version: Version,
    /// Simulations of the search.
    pub simulations: u32,
    /// The action played.
    pub action: u16,
    /// The seat that moved.
    pub seat: u8,
    /// The game's result for the mover, or the last root value of a truncated game.
    pub value: f32,
    /// The search's value of the position.
    pub root_value: f32,
    /// The network's value of the position.
    pub network_value: f32,
    /// Weight of the policy label in the loss.
    pub policy_weight: f32,
    /// Weight of the value label in the loss.
    pub value_weight: f32,
    /// `[observation]`.
    pub observation: Vec<f32>,
    /// `[legal]` legal actions, ascending.
    pub legal: Vec<u16>,
    /// `[legal]` policy label.
    pub policy: Vec<f32>,
    /// `[legal]` prior.
    pub prior: Vec<f32>,
    /// `[legal]` visits.
    pub visits: Vec<u32>,
    /// `[hidden]`.
    pub hidden: Vec<f32>,
}

/// One encoded row.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a> {
    layout: RowLayout,
    bytes: &'a [u8],
}

impl RowLayout {
    /// A layout from its three sizes.
    pub fn new(observation: usize, actions: usize, hidden: usize) -> Self {
        Self { observation, actions, hidden }
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.legal_at() + self.actions.div_ceil(32) * 4
    }

    fn policy_at(&self) -> usize {
        FIXED_BYTES + self.observation * 4
    }

    fn prior_at(&self) -> usize {
        self.policy_at() + self.actions * 4
    }

    fn visits_at(&self) -> usize {
        self.prior_at() + self.actions * 4
    }

    fn hidden_at(&self) -> usize {
        self.visits_at() + self.actions * 4
    }

    fn legal_at(&self) -> usize {
        self.hidden_at() + self.hidden * 4
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If the row's parts do not have the layout's lengths or an action is out of range.
    pub fn write(&self, row: &Row, out: &mut Vec<u8>) {
        assert_eq!(row.observation.len(), self.observation, "observation length");
        assert_eq!(row.hidden.len(), self.hidden, "hidden label length");
        let n = row.legal.len();
        assert!(row.policy.len() == n && row.prior.len() == n && row.visits.len() == n, "one number a legal action");
        let start = out.len();
        out.extend_from_slice(&row.version.epoch.to_le_bytes());
        out.extend_from_slice(&row.version.step.to_le_bytes());
        out.extend_from_slice(&row.simulations.to_le_bytes());
        out.extend_from_slice(&row.action.to_le_bytes());
        out.extend_from_slice(&[row.seat, 0]);
        for x in [row.value, row.root_value, row.network_value, row.policy_weight, row.value_weight] {
            out.extend_from_slice(&x.to_le_bytes());
        }
        for x in &row.observation {
            out.extend_from_slice(&x.to_le_bytes());
        }
        out.resize(start + self.row_bytes(), 0);
        let bytes = &mut out[start..];
        for (i, &a) in row.legal.iter().enumerate() {
            let a = a as usize;
            assert!(a < self.actions, "action {a} of {}", self.actions);
            let mut put = |at: usize, value: [u8; 4]| bytes[at + a * 4..at + a * 4 + 4].copy_from_slice(&value);
            put(self.policy_at(), row.policy[i].to_le_bytes());
            put(self.prior_at(), row.prior[i].to_le_bytes());
            put(self.visits_at(), row.visits[i].to_le_bytes());
            bytes[self.legal_at() + a / 8] |= 1 << (a % 8);
        }
        for (i, x) in row.hidden.iter().enumerate() {
            let at = self.hidden_at() + i * 4;
            bytes[at..at + 4].copy_from_slice(&x.to_le_bytes());
        }
    }

    /// The encoded rows in `bytes`; a rest shorter than a row is left out.
    pub fn rows<'a>(&self, bytes: &'a [u8]) -> impl ExactSizeIterator<Item = RowRef<'a>> + use<'a> {
        let layout = *self;
        bytes.chunks_exact(self.row_bytes()).map(move |bytes| RowRef { layout, bytes })
    }

    /// Writes the value label into an encoded row: a game's result is known only at its end.
    pub fn set_value(row: &mut [u8], value: f32) {
        row[20..24].copy_from_slice(&value.to_le_bytes());
    }
}

impl<'a> RowRef<'a> {
    fn f32_at(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn floats(&self, at: usize, len: usize) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        let bytes: &'a [u8] = &self.bytes[at..at + len * 4];
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
    }

    /// Weights version when the search began.
    pub fn version(&self) -> Version {
        let step = u64::from_le_bytes(self.bytes[4..12].try_into().expect("eight bytes"));
        Version { epoch: self.u32_at(0), step }
    }

    /// Simulations of the search.
    pub fn simulations(&self) -> u32 {
        self.u32_at(12)
    }

    /// The action played.
    pub fn action(&self) -> u16 {
        u16::from_le_bytes(self.bytes[16..18].try_into().expect("two bytes"))
    }

    /// The seat that moved.
    pub fn seat(&self) -> u8 {
        self.bytes[18]
    }

    /// The value label.
    pub fn value(&self) -> f32 {
        self.f32_at(20)
    }

    /// The search's value.
    pub fn root_value(&self) -> f32 {
        self.f32_at(24)
    }

    /// The network's value.
    pub fn network_value(&self) -> f32 {
        self.f32_at(28)
    }

    /// Weight of the policy label.
    pub fn policy_weight(&self) -> f32 {
        self.f32_at(32)
    }

    /// Weight of the value label.
    pub fn value_weight(&self) -> f32 {
        self.f32_at(36)
    }

    /// `[observation]`.
    pub fn observation(&self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        self.floats(FIXED_BYTES, self.layout.observation)
    }

    /// `[actions]` policy label, 0 for illegal actions.
    pub fn policy(&self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        self.floats(self.layout.policy_at(), self.layout.actions)
    }

    /// `[actions]` prior, 0 for illegal actions.
    pub fn prior(&self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        self.floats(self.layout.prior_at(), self.layout.actions)
    }

    /// Visits of one action.
    pub fn visits(&self, action: u16) -> u32 {
        self.u32_at(self.layout.visits_at() + action as usize * 4)
    }

    /// A key of the information state: equal for rows with the same observation and legal actions, bit for bit, and
    /// different for others but for chance (XXH3-64).
    pub fn state_key(&self) -> u64 {
        let legal = xxh3_64(&self.bytes[self.layout.legal_at()..]);
        xxh3_64_with_seed(&self.bytes[FIXED_BYTES..self.layout.policy_at()], legal)
    }

    /// `[hidden]`.
    pub fn hidden(&self) -> impl ExactSizeIterator<Item = f32> + use<'a> {
        self.floats(self.layout.hidden_at(), self.layout.hidden)
    }

    /// True if the action was legal.
    pub fn is_legal(&self, action: u16) -> bool {
        let a = action as usize;
        self.bytes[self.layout.legal_at() + a / 8] >> (a % 8) & 1 == 1
    }

    /// The whole row as an owned [`Row`].
    pub fn to_row(&self) -> Row {
        let legal: Vec<u16> = (0..self.layout.actions as u16).filter(|&a| self.is_legal(a)).collect();
        let pick = |all: Vec<f32>| legal.iter().map(|&a| all[a as usize]).collect();
        Row {
            version: self.version(),
            simulations: self.simulations(),
            action: self.action(),
            seat: self.seat(),
            value: self.value(),
            root_value: self.root_value(),
            network_value: self.network_value(),
            policy_weight: self.policy_weight(),
            value_weight: self.value_weight(),
            observation: self.observation().collect(),
            policy: pick(self.policy().collect()),
            prior: pick(self.prior().collect()),
            visits: legal.iter().map(|&a| self.visits(a)).collect(),
            hidden: self.hidden().collect(),
            legal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_written() {
        let layout = RowLayout::new(3, 34, 2);
        assert_eq!(layout.row_bytes(), 40 + 12 + 3 * 136 + 8 + 8); // 34 bits take two words
        let row = Row {
            version: Version { epoch: 2, step: 1 << 40 },
            simulations: 64,
            action: 33,
            seat: 1,
            value: -1.0,
            root_value: 0.25,
            network_value: 0.5,
            policy_weight: 1.0,
            value_weight: 0.5,
            observation: vec![1.0, -2.0, 0.5],
            legal: vec![0, 8, 33],
            policy: vec![0.5, 0.25, 0.25],
            prior: vec![0.1, 0.2, 0.7],
            visits: vec![32, 16, 16],
            hidden: vec![0.0, 1.0],
        };
        let mut bytes = Vec::new();
        layout.write(&row, &mut bytes);
        layout.write(&row, &mut bytes);
        assert_eq!(bytes.len(), 2 * layout.row_bytes());
        RowLayout::set_value(&mut bytes[..layout.row_bytes()], 1.0);
        let rows: Vec<_> = layout.rows(&bytes).collect();
        assert_eq!(rows[0].to_row(), Row { value: 1.0, ..row.clone() });
        assert_eq!(rows[1].to_row(), row);
    }

    #[test]
    fn rows_have_one_key_if_observation_and_legal_actions_are_the_same() {
        let layout = RowLayout::new(2, 3, 1);
        let row = Row {
            observation: vec![1.0, 0.0],
            legal: vec![0, 2],
            policy: vec![0.5, 0.5],
            prior: vec![0.5, 0.5],
            visits: vec![1, 1],
            hidden: vec![0.0],
            ..Row::default()
        };
        let labelled = Row { value: 1.0, policy: vec![1.0, 0.0], visits: vec![9, 0], hidden: vec![1.0], ..row.clone() };
        let seen = Row { observation: vec![0.0, 1.0], ..row.clone() };
        let allowed = Row { legal: vec![0, 1], ..row.clone() };
        let mut bytes = Vec::new();
        [&row, &labelled, &seen, &allowed].into_iter().for_each(|row| layout.write(row, &mut bytes));
        let keys: Vec<u64> = layout.rows(&bytes).map(|row| row.state_key()).collect();
        assert_eq!(keys[0], keys[1]);
        assert!(keys[0] != keys[2] && keys[0] != keys[3] && keys[2] != keys[3], "{keys:?}");
    }
}
