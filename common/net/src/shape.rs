//! [`Shape`]: what a network takes and gives, and how large it is between. It fixes the names and sizes of all
//! tensors; it holds no numbers.

use std::collections::HashSet;

use fogfall_game::{Field, GameInfo, Layout, Planes};
use serde::{Deserialize, Serialize};

use crate::NetError;

/// Size of a residual network with one input layer, `blocks` residual blocks and two heads.
///
/// `x = input(features)`; each block `x += fc2(relu(fc1(norm(x))))`; `h = norm(x)`; `logits = policy(h)`;
/// `value = value(h)` in units of the game's scale. All layers are affine, all norms are LayerNorm with an epsilon of
/// [`Shape::NORM_EPSILON`]. The features are the observation itself, or what a [`Tower`] makes of its planes and then the
/// numbers behind them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Named fields of the input.
    pub observation: Layout,
    /// Names of the outputs of the policy head.
    pub actions: Vec<String>,
    /// Numbers between the layers.
    pub width: usize,
    /// Residual blocks. May be 0.
    pub blocks: usize,
    /// Convolutions over the observation's planes, before all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tower: Option<Tower>,
}

/// Size of a residual tower of convolutions over the planes of an observation (He et al. 2016, "Identity mappings", figure 1b,
/// with LayerNorm over the channels of each cell).
///
/// `t = input(planes)`; each block `t += conv2(relu(conv1(norm(t))))`; `features = relu(squeeze(norm(t)))`, channel by
/// channel. `input`, `conv1` and `conv2` look at a cell and its eight neighbours, 0 beyond the border; `squeeze` at the cell
/// alone, and gives [`Tower::SQUEEZED`] channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tower {
    /// What it takes.
    pub planes: Planes,
    /// Numbers a cell between the convolutions, a multiple of [`Tower::CHANNELS_STEP`].
    pub channels: usize,
    /// Residual blocks. May be 0.
    pub blocks: usize,
}

impl Tower {
    /// Numbers a cell that it gives.
    pub const SQUEEZED: usize = 16;
    /// Channels come in steps of this, so that a cell's numbers fill whole registers.
    pub const CHANNELS_STEP: usize = 16;
    /// No tower has more channels.
    pub const MAX_CHANNELS: usize = 1024;
    /// No board has more cells a side.
    const MAX_SIDE: usize = 1024;

    /// How many numbers it gives.
    pub fn outputs(&self) -> usize {
        Self::SQUEEZED * self.planes.height * self.planes.width
    }
}

/// One tensor of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the weights file.
    pub name: String,
    /// `[out, in]` of a weight matrix, `[out, in, height, width]` of a convolution, `[len]` of a bias or norm.
    pub dims: Vec<usize>,
    /// How an untrained network starts.
    pub init: Init,
}

/// How a tensor starts; `in` is how many numbers each output is a sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// All 0: biases.
    Zero,
    /// All 1: scales of norms.
    One,
    /// Variance `1 / in`: keeps the scale of the input.
    Linear,
    /// Variance `2 / in`: as `Linear` for a layer before a ReLU (He et al. 2015, equation 10).
    BeforeRelu,
    /// Variance `1 / (in * blocks)`: the blocks together add as much as the input layer gave.
    Residual {
        /// How many blocks add.
        blocks: usize,
    },
    /// Variance `0.0001 / in`: the untrained policy is nearly uniform and the value nearly 0.
    Head,
}

impl Shape {
    /// Added to the variance in every norm.
    pub const NORM_EPSILON: f32 = 1e-5;
    /// No network is wider.
    pub const MAX_WIDTH: usize = 16_384;
    /// No network is deeper.
    pub const MAX_BLOCKS: usize = 256;
    /// No network takes more numbers or gives more logits.
    pub const MAX_INPUT: usize = 1 << 20;

    /// The shape of a network for a game, without a tower.
    pub fn new(info: &GameInfo, width: usize, blocks: usize) -> Self {
        Self { observation: info.observation.clone(), actions: info.actions.clone(), width, blocks, tower: None }
    }

    /// The shape with a tower of so many channels and blocks; as it is if there are no planes or no channels.
    pub fn with_tower(mut self, planes: Option<Planes>, channels: usize, blocks: usize) -> Self {
        self.tower = planes.filter(|_| channels > 0).map(|planes| Tower { planes, channels, blocks });
        self
    }

    /// Length of an observation.
    pub fn observation_len(&self) -> usize {
        self.observation.len()
    }

    /// How many numbers the input layer takes.
    pub fn features_len(&self) -> usize {
        let observation = self.observation_len();
        self.tower.map_or(observation, |tower| tower.outputs() + observation - tower.planes.numbers())
    }

    /// Length of the policy head.
    pub fn num_actions(&self) -> usize {
        self.actions.len()
    }

    /// How many numbers the network has to learn.
    pub fn num_parameters(&self) -> usize {
        self.parameters().iter().map(|p| p.dims.iter().product::<usize>()).sum()
    }

    /// All tensors, from input to heads.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut list = Vec::new();
        let mut add = |name: String, dims: &[usize], init| list.push(Parameter { name, dims: dims.to_vec(), init });
        let mut layer = |name: &str, dims: &[usize], weight, bias| {
            add(format!("{name}.weight"), dims, weight);
            add(format!("{name}.bias"), &dims[..1], bias);
        };
        if let Some(Tower { planes, channels, blocks }) = self.tower {
            layer("tower.input", &[channels, planes.channels, 3, 3], Init::Linear, Init::Zero);
            for block in 0..blocks {
                layer(&format!("tower.{block}.norm"), &[channels], Init::One, Init::Zero);
                layer(&format!("tower.{block}.conv1"), &[channels, channels, 3, 3], Init::BeforeRelu, Init::Zero);
                layer(
                    &format!("tower.{block}.conv2"),
                    &[channels, channels, 3, 3],
                    Init::Residual { blocks },
                    Init::Zero,
                );
            }
            layer("tower.norm", &[channels], Init::One, Init::Zero);
            layer("tower.squeeze", &[Tower::SQUEEZED, channels, 1, 1], Init::BeforeRelu, Init::Zero);
        }
        let Self { width, blocks, .. } = *self;
        layer("input", &[width, self.features_len()], Init::Linear, Init::Zero);
        for block in 0..blocks {
            layer(&format!("block.{block}.norm"), &[width], Init::One, Init::Zero);
            layer(&format!("block.{block}.fc1"), &[width, width], Init::BeforeRelu, Init::Zero);
            layer(&format!("block.{block}.fc2"), &[width, width], Init::Residual { blocks }, Init::Zero);
        }
        layer("norm", &[width], Init::One, Init::Zero);
        layer("policy", &[self.num_actions(), width], Init::Head, Init::Zero);
        layer("value", &[1, width], Init::Head, Init::Zero);
        list
    }

    /// Checks that a network can have this shape.
    ///
    /// # Errors
    /// [`NetError::Shape`] with every mistake: a size of 0 or above its limit, planes that are not there, a name that occurs
    /// twice.
    pub fn check(&self) -> Result<(), NetError> {
        let mut faults = Vec::new();
        let mut within = |what: &str, value: Option<usize>, least: usize, most: usize| {
            if value.is_none_or(|value| value < least || value > most) {
                let value = value.map_or_else(|| "too large".to_owned(), |value| value.to_string());
                faults.push(format!("{what} is {value}, allowed is {least} to {most}"));
            }
        };
        // Not `Layout::len`: lengths read from a file may not fit.
        let observation = self.observation.fields().iter().try_fold(0usize, |sum, field| sum.checked_add(field.len));
        within("length of the observation", observation, 1, Self::MAX_INPUT);
        within("number of actions", Some(self.num_actions()), 1, Self::MAX_INPUT);
        within("width", Some(self.width), 1, Self::MAX_WIDTH);
        within("number of blocks", Some(self.blocks), 0, Self::MAX_BLOCKS);
        if let Some(Tower { planes, channels, blocks }) = self.tower {
            within("number of planes", Some(planes.channels), 1, Self::MAX_INPUT);
            within("height of the planes", Some(planes.height), 1, Tower::MAX_SIDE);
            within("width of the planes", Some(planes.width), 1, Tower::MAX_SIDE);
            within("number of channels", Some(channels), 1, Tower::MAX_CHANNELS);
            within("number of the tower's blocks", Some(blocks), 0, Self::MAX_BLOCKS);
            let numbers = planes.channels.checked_mul(planes.height).and_then(|n| n.checked_mul(planes.width));
            within("length of the planes", numbers, 1, observation.unwrap_or(Self::MAX_INPUT));
            if !channels.is_multiple_of(Tower::CHANNELS_STEP) {
                faults.push(format!(
                    "number of channels is {channels}, allowed are multiples of {}",
                    Tower::CHANNELS_STEP
                ));
            }
        }
        let fields = self.observation.fields().iter().map(|field| field.name.as_str());
        faults.extend(twice(fields).map(|name| format!("field '{name}' occurs twice")));
        let actions = self.actions.iter().map(String::as_str);
        faults.extend(twice(actions).map(|name| format!("action '{name}' occurs twice")));
        if faults.is_empty() { Ok(()) } else { Err(NetError::Shape { faults }) }
    }

    /// Every difference to the shape that is wanted, one text each; empty if none.
    pub fn differences(&self, wanted: &Shape) -> Vec<String> {
        let mut list = Vec::new();
        compare("field", &places(&self.observation), &places(&wanted.observation), &mut list);
        compare("action", &indices(&self.actions), &indices(&wanted.actions), &mut list);
        if self.width != wanted.width {
            list.push(format!("width is {}, wanted is {}", self.width, wanted.width));
        }
        if self.blocks != wanted.blocks {
            list.push(format!("number of blocks is {}, wanted is {}", self.blocks, wanted.blocks));
        }
        if self.tower != wanted.tower {
            list.push(format!("convolutions are {}, wanted are {}", describe(self.tower), describe(wanted.tower)));
        }
        list
    }
}

/// A tower for a person to read.
fn describe(tower: Option<Tower>) -> String {
    let Some(Tower { planes, channels, blocks }) = tower else { return "none".to_owned() };
    let Planes { channels: seen, height, width } = planes;
    format!("{blocks} blocks of {channels} channels over {seen} planes of {height} x {width}")
}

/// The names that occur a second time.
fn twice<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let mut seen = HashSet::new();
    names.filter(move |name| !seen.insert(*name))
}

/// A named place: where it starts and how long it is.
#[derive(PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// Where each field lies.
pub(crate) fn places(layout: &Layout) -> Vec<Place<'_>> {
    let mut places: Vec<Place<'_>> = Vec::with_capacity(layout.fields().len());
    for Field { name, len } in layout.fields() {
        let start = places.last().map_or(0, |last| last.start + last.len);
        places.push(Place { name, start, len: *len });
    }
    places
}

/// Each action is a place of length 1.
pub(crate) fn indices(actions: &[String]) -> Vec<Place<'_>> {
    actions.iter().enumerate().map(|(start, name)| Place { name, start, len: 1 }).collect()
}

fn compare(what: &str, here: &[Place<'_>], wanted: &[Place<'_>], list: &mut Vec<String>) {
    for want in wanted {
        let name = want.name;
        match here.iter().find(|place| place.name == name) {
            None => list.push(format!("{what} '{name}' is missing")),
            Some(have) => {
                if have.len != want.len {
                    list.push(format!("{what} '{name}' has length {}, wanted is {}", have.len, want.len));
                }
                if have.start != want.start {
                    list.push(format!("{what} '{name}' is at {}, wanted is {}", have.start, want.start));
                }
            }
        }
    }
    for have in here.iter().filter(|have| wanted.iter().all(|want| want.name != have.name)) {
        list.push(format!("{what} '{}' is not wanted", have.name));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shape(fields: &[(&str, usize)], actions: &[&str], width: usize, blocks: usize) -> Shape {
        let observation = Layout::new(fields.iter().copied());
        Shape { observation, actions: actions.iter().map(|&a| a.to_owned()).collect(), width, blocks, tower: None }
    }

    #[test]
    fn a_shape_fixes_the_names_and_sizes_of_all_tensors() {
        let list = shape(&[("a", 3), ("b", 2)], &["x", "y", "z"], 4, 1).parameters();
        let list: Vec<_> = list.iter().map(|p| (p.name.as_str(), p.dims.as_slice())).collect();
        let wanted: [(&str, &[usize]); 14] = [
            ("input.weight", &[4, 5]), // 5 = 3 + 2
            ("input.bias", &[4]),
            ("block.0.norm.weight", &[4]),
            ("block.0.norm.bias", &[4]),
            ("block.0.fc1.weight", &[4, 4]),
            ("block.0.fc1.bias", &[4]),
            ("block.0.fc2.weight", &[4, 4]),
            ("block.0.fc2.bias", &[4]),
            ("norm.weight", &[4]),
            ("norm.bias", &[4]),
            ("policy.weight", &[3, 4]),
            ("policy.bias", &[3]),
            ("value.weight", &[1, 4]),
            ("value.bias", &[1]),
        ];
        assert_eq!(list, wanted);
    }

    fn with_tower(channels: usize, blocks: usize) -> Shape {
        shape(&[("mine", 6), ("theirs", 6), ("turn", 1)], &["x"], 4, 0).with_tower(
            Some(Planes { channels: 2, height: 2, width: 3 }),
            channels,
            blocks,
        )
    }

    #[test]
    fn a_tower_stands_before_the_input_layer() {
        let list = with_tower(32, 1).parameters();
        let weights = list.iter().filter(|p| p.name.ends_with("weight"));
        let list: Vec<_> = weights.map(|p| (p.name.as_str(), p.dims.as_slice())).collect();
        let wanted: [(&str, &[usize]); 10] = [
            ("tower.input.weight", &[32, 2, 3, 3]),
            ("tower.0.norm.weight", &[32]),
            ("tower.0.conv1.weight", &[32, 32, 3, 3]),
            ("tower.0.conv2.weight", &[32, 32, 3, 3]),
            ("tower.norm.weight", &[32]),
            ("tower.squeeze.weight", &[16, 32, 1, 1]),
            ("input.weight", &[4, 97]), // 16 channels of 2 * 3 cells, and the number behind the planes
            ("norm.weight", &[4]),
            ("policy.weight", &[1, 4]),
            ("value.weight", &[1, 4]),
        ];
        assert_eq!(list, wanted);
    }

    #[test]
    fn without_planes_or_channels_there_is_no_tower() {
        assert_eq!(with_tower(0, 3).tower, None);
        assert_eq!(shape(&[("a", 5)], &["x"], 4, 0).with_tower(None, 32, 3).tower, None);
    }

    #[test]
    fn an_impossible_tower_is_refused() {
        let fault = |shape: &Shape| shape.check().unwrap_err().to_string();
        assert!(fault(&with_tower(24, 1)).contains("number of channels is 24, allowed are multiples of 16"));
        assert!(fault(&with_tower(32, 300)).contains("number of the tower's blocks is 300, allowed is 0 to 256"));
        let planes = Planes { channels: 3, height: 2, width: 3 };
        let few = Shape { tower: Some(Tower { planes, channels: 32, blocks: 1 }), ..with_tower(32, 1) };
        assert!(fault(&few).contains("length of the planes is 18, allowed is 1 to 13"));
        let found = with_tower(32, 1).differences(&with_tower(16, 2));
        let wanted = "convolutions are 1 blocks of 32 channels over 2 planes of 2 x 3, wanted are 2 blocks of 16 channels over 2 planes of 2 x 3";
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn parameters_are_counted() {
        // input 5*4+4 = 24, block 8 + 2*(16+4) = 48, norm 8, policy 3*4+3 = 15, value 4+1 = 5
        assert_eq!(shape(&[("a", 5)], &["x", "y", "z"], 4, 1).num_parameters(), 24 + 48 + 8 + 15 + 5);
    }

    #[test]
    fn every_difference_is_named() {
        let here = shape(&[("a", 3), ("b", 2), ("c", 1), ("old", 1)], &["x", "y", "gone"], 4, 1);
        let wanted = shape(&[("a", 3), ("c", 1), ("b", 5), ("new", 1)], &["y", "x", "fresh"], 8, 2);
        let expected = [
            "field 'c' is at 5, wanted is 3", // after a: 3, b: 2
            "field 'b' has length 2, wanted is 5",
            "field 'b' is at 3, wanted is 4", // after a: 3, c: 1
            "field 'new' is missing",
            "field 'old' is not wanted",
            "action 'y' is at 1, wanted is 0",
            "action 'x' is at 0, wanted is 1",
            "action 'fresh' is missing",
            "action 'gone' is not wanted",
            "width is 4, wanted is 8",
            "number of blocks is 1, wanted is 2",
        ];
        assert_eq!(here.differences(&wanted), expected);
        assert!(here.differences(&here).is_empty());
    }

    #[test]
    fn all_mistakes_of_an_impossible_shape_are_listed() {
        let fault = |shape: Shape| match shape.check() {
            Err(NetError::Shape { faults }) => faults,
            other => panic!("{other:?}"),
        };
        let empty = shape(&[("a", 0)], &[], 0, 300);
        let expected = [
            "length of the observation is 0, allowed is 1 to 1048576",
            "number of actions is 0, allowed is 1 to 1048576",
            "width is 0, allowed is 1 to 16384",
            "number of blocks is 300, allowed is 0 to 256",
        ];
        assert_eq!(fault(empty), expected);
        assert_eq!(fault(shape(&[("a", 1)], &["x", "x"], 4, 0)), ["action 'x' occurs twice"]);
        let huge = shape(&[("a", usize::MAX), ("b", 1)], &["x"], 4, 0);
        assert_eq!(fault(huge), ["length of the observation is too large, allowed is 1 to 1048576"]);
        let doubled = r#"{"fields":[{"name":"a","len":1},{"name":"a","len":1}]}"#;
        let doubled = Shape { observation: serde_json::from_str(doubled).unwrap(), ..shape(&[], &["x"], 4, 0) };
        assert_eq!(fault(doubled), ["field 'a' occurs twice"]);
    }
}
