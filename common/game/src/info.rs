//! What a game says of itself: sizes, names and scales. Plain data, the same for every instance with the same rules.

use serde::{Deserialize, Serialize};

use crate::Action;

/// A named run of numbers in an observation or a hidden label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Unique within its layout.
    pub name: String,
    /// How many numbers it takes.
    pub len: usize,
}

/// Named fields, one after the other. A network's input is mapped by these names when rules change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    fields: Vec<Field>,
}

impl Layout {
    /// A layout of `(name, length)` fields.
    ///
    /// # Panics
    /// If a name occurs twice.
    pub fn new<N: Into<String>>(fields: impl IntoIterator<Item = (N, usize)>) -> Self {
        let mut layout = Self::default();
        for (name, len) in fields {
            layout.push(name, len);
        }
        layout
    }

    /// Appends a field.
    ///
    /// # Panics
    /// If the name is taken.
    pub fn push(&mut self, name: impl Into<String>, len: usize) {
        let name = name.into();
        assert!(self.fields.iter().all(|f| f.name != name), "field {name} occurs twice in a layout");
        self.fields.push(Field { name, len });
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many numbers the layout takes in all.
    pub fn len(&self) -> usize {
        self.fields.iter().map(|f| f.len).sum()
    }

    /// True if it takes no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `numbers` that follow this layout as text: a line for each field in which one is not 0. A field of several numbers
    /// shows those with their places.
    ///
    /// # Panics
    /// If there are fewer numbers than the layout takes.
    pub fn describe(&self, numbers: &[f32]) -> String {
        let mut lines = Vec::new();
        let mut start = 0;
        for Field { name, len } in &self.fields {
            let field = &numbers[start..start + len];
            start += len;
            let text = |(place, number): (usize, &f32)| {
                // To three decimals, without those that are 0.
                let number = (f64::from(*number) * 1000.0).round() / 1000.0;
                if *len == 1 { number.to_string() } else { format!("[{place}] {number}") }
            };
            let shown: Vec<_> = field.iter().enumerate().filter(|(_, number)| **number != 0.0).map(text).collect();
            if !shown.is_empty() {
                lines.push(format!("{name}: {}", shown.join(", ")));
            }
        }
        lines.join("\n")
    }

    /// Where a field lies.
    pub fn range(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let mut start = 0;
        for f in &self.fields {
            if f.name == name {
                return Some(start..start + f.len);
            }
            start += f.len;
        }
        None
    }
}

/// The shape of an observation's planes: fields over the cells of a board, for networks that look at neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planes {
    /// How many planes.
    pub channels: usize,
    /// Rows of the board.
    pub height: usize,
    /// Columns of the board.
    pub width: usize,
}

impl Planes {
    /// How many numbers the planes take.
    pub fn numbers(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// A symmetry of the game as two permutations. The image of an observation `x` is `y[i] = x[observation[i]]`; the
/// image of action `a` is `actions[a]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symmetry {
    /// `[observation_len]` source index of each number of the image.
    pub observation: Vec<u32>,
    /// `[num_actions]` image of each action.
    pub actions: Vec<Action>,
}

/// What a game says of itself.
#[derive(Clone, Debug)]
pub struct GameInfo {
    /// The name it is registered under.
    pub name: String,
    /// The full text of its rules, for games whose rules are data.
    pub rules: Option<String>,
    /// Fields of an observation.
    pub observation: Layout,
    /// The first numbers of an observation are planes, one after the other, each row by row; none where cells have no
    /// neighbours. What follows them is flat.
    pub planes: Option<Planes>,
    /// Names of the players' actions; the index is the [`Action`].
    pub actions: Vec<String>,
    /// Fields of the hidden label; may be empty.
    pub hidden: Layout,
    /// No game takes more decisions of both seats together than this.
    pub max_decisions: usize,
    /// A typical payoff: values are payoffs divided by it. Not the largest possible payoff.
    pub value_scale: f32,
    /// No payoff is larger than this, in the game's own units.
    pub value_bound: f32,
    /// Both seats see everything.
    pub perfect_information: bool,
    /// Good play must be mixed: what a seat does betrays what it holds, and the other acts on it, as in poker. Training then
    /// looks for an equilibrium by default. False for games in which a best move can be seen.
    pub mixed_play: bool,
    /// The game has chance outcomes after its start.
    pub has_chance: bool,
    /// Symmetries besides the identity; only for games where each legal action has a legal image.
    pub symmetries: Vec<Symmetry>,
}

impl GameInfo {
    /// Length of an observation.
    pub fn observation_len(&self) -> usize {
        self.observation.len()
    }

    /// How many player actions the game names.
    pub fn num_actions(&self) -> usize {
        self.actions.len()
    }

    /// Perfect information and no chance: values can be compared by their ranks alone.
    pub fn is_deterministic(&self) -> bool {
        self.perfect_information && !self.has_chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_described_by_field_and_zeros_are_left_out() {
        let layout = Layout::new([("turns", 1), ("card", 3), ("nothing", 2), ("chips", 2)]);
        let text = layout.describe(&[0.25, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0 / 3.0, -2.0]);
        assert_eq!(text, "turns: 0.25\ncard: [1] 1\nchips: [0] 0.333, [1] -2");
        assert_eq!(layout.describe(&[0.0; 8]), "");
    }
}
