//! [`Net`]: weights prepared for inference. Immutable, shared by all threads that evaluate.
//!
//! The prepared network computes the same function with less work. LayerNorm is `(x - mean(x)) * s * scale + shift`
//! with `s = 1 / sqrt(variance(x) + epsilon)`, and `x` is used through norms only. So
//! - the mean is taken out of everything that is added to `x`, the columns of `input` and `fc2` and their biases:
//!   then `x` has mean 0 and its variance is the mean of its squares;
//! - `scale` and `shift` are multiplied into the layer behind the norm;
//! - `s` is a number per row, applied to that layer's product.
//!
//! The convolutions before all this are in [`crate::convolution`].
//!
//! **Invariant:** each row is computed on its own and in a fixed order: the same bits alone as in any batch.

use crate::{
    Shape, Weights,
    convolution::{self, Convolutions},
    matrix::{LANES, Matrix, padded},
};

/// `matrix * x + bias`. The bias is added by whoever uses the product next.
pub(crate) struct Layer {
    matrix: Matrix,
    /// Padded with 0.
    bias: Vec<f32>,
}

struct Block {
    fc1: Layer,
    fc2: Layer,
}

/// A network ready to evaluate.
pub struct Net {
    shape: Shape,
    observation_len: usize,
    tower: Option<Convolutions>,
    input: Layer,
    blocks: Vec<Block>,
    /// The policy's outputs, then the value.
    heads: Layer,
}

/// Memory for the numbers between the layers, reused from batch to batch.
#[derive(Default)]
pub(crate) struct Scratch {
    tower: convolution::Scratch,
    /// `[rows, width]` what the blocks add to.
    x: Vec<f32>,
    /// `[rows, width]` within a block.
    hidden: Vec<f32>,
    /// `[rows]` one over the standard deviation of `x`.
    scale: Vec<f32>,
    /// `[rows, actions + 1]` product of the heads, without scale and bias.
    out: Vec<f32>,
}

impl Net {
    /// Prepares weights.
    pub fn new(weights: &Weights) -> Self {
        let shape = weights.shape().clone();
        let width = shape.width;
        let block = |block: usize| {
            let name = |layer: &str| format!("block.{block}.{layer}");
            let fc1 = Affine::read(weights, &name("fc1"), width).behind_norm(weights, &name("norm"));
            Block { fc1: fc1.prepare(), fc2: Affine::read(weights, &name("fc2"), width).without_mean().prepare() }
        };
        let mut heads = Affine::read(weights, "policy", width);
        heads.append(Affine::read(weights, "value", width));
        Self {
            observation_len: shape.observation_len(),
            tower: shape.tower.as_ref().map(|tower| Convolutions::new(weights, tower)),
            input: Affine::read(weights, "input", shape.features_len()).without_mean().prepare(),
            blocks: (0..shape.blocks).map(block).collect(),
            heads: heads.behind_norm(weights, "norm").prepare(),
            shape,
        }
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Computes rows of observations; what comes out is read with [`Net::row`].
    ///
    /// # Panics
    /// If `observations` is not whole rows.
    pub(crate) fn forward(&self, observations: &[f32], scratch: &mut Scratch) {
        assert!(observations.len().is_multiple_of(self.observation_len), "observations are not whole rows");
        let rows = observations.len() / self.observation_len;
        let Scratch { tower, x, hidden, scale, out } = scratch;
        let features = match &self.tower {
            Some(convolutions) => convolutions.features(observations, self.observation_len, tower),
            None => observations,
        };
        let stride = self.input.matrix.stride();
        grow(x, rows.max(2) * stride);
        grow(hidden, rows.max(2) * stride);
        grow(scale, rows);
        grow(out, rows.max(2) * self.heads.matrix.stride());
        let mean = 1.0 / self.shape.width as f32;

        self.input.matrix.product(rows, features, self.input.matrix.inputs(), x, false);
        settle(rows, x, &self.input.bias, mean, scale);
        for Block { fc1, fc2 } in &self.blocks {
            fc1.matrix.product(rows, x, stride, hidden, false);
            activate(rows, hidden, &fc1.bias, scale);
            fc2.matrix.product(rows, hidden, stride, x, true);
            settle(rows, x, &fc2.bias, mean, scale);
        }
        self.heads.matrix.product(rows, x, stride, out, false);
    }

    /// The outputs of a row computed last.
    pub(crate) fn row<'a>(&'a self, row: usize, scratch: &'a Scratch) -> Outputs<'a> {
        let stride = self.heads.matrix.stride();
        let product = &scratch.out[row * stride..(row + 1) * stride];
        Outputs { product, bias: &self.heads.bias, scale: scratch.scale[row], actions: self.shape.num_actions() }
    }
}

/// What the heads say of a row.
pub(crate) struct Outputs<'a> {
    product: &'a [f32],
    bias: &'a [f32],
    scale: f32,
    actions: usize,
}

impl Outputs<'_> {
    /// An action's logit.
    pub(crate) fn logit(&self, action: usize) -> f32 {
        debug_assert!(action < self.actions);
        self.product[action] * self.scale + self.bias[action]
    }

    /// The value in units of the game's scale.
    pub(crate) fn value(&self) -> f32 {
        self.product[self.actions] * self.scale + self.bias[self.actions]
    }
}

/// Memory is only ever taken, and old numbers in it do no harm: products overwrite them.
fn grow(memory: &mut Vec<f32>, len: usize) {
    if memory.len() < len {
        memory.resize(len, 0.0);
    }
}

/// Adds the bias to each row of `x` and finds `1 / sqrt(mean(x^2) + epsilon)`.
fn settle(rows: usize, x: &mut [f32], bias: &[f32], mean: f32, scale: &mut [f32]) {
    for (x, scale) in x.chunks_exact_mut(bias.len()).zip(&mut scale[..rows]) {
        let mut squares = [0.0f32; LANES];
        for (x, bias) in x.as_chunks_mut::<LANES>().0.iter_mut().zip(bias.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                x[lane] += bias[lane];
                squares[lane] += x[lane] * x[lane];
            }
        }
        *scale = 1.0 / (squares.iter().sum::<f32>() * mean + Shape::NORM_EPSILON).sqrt();
    }
}

/// `relu(product * scale + bias)` of each row.
fn activate(rows: usize, hidden: &mut [f32], bias: &[f32], scale: &[f32]) {
    for (hidden, &scale) in hidden.chunks_exact_mut(bias.len()).zip(&scale[..rows]) {
        for (hidden, bias) in hidden.iter_mut().zip(bias) {
            *hidden = (*hidden * scale + bias).max(0.0);
        }
    }
}

/// A layer while it is prepared, in double precision.
struct Affine {
    inputs: usize,
    /// `[outputs, inputs]`
    weight: Vec<f64>,
    bias: Vec<f64>,
}

impl Affine {
    fn read(weights: &Weights, name: &str, inputs: usize) -> Self {
        let read = |part: &str| weights.data(&format!("{name}.{part}")).iter().map(|&x| f64::from(x)).collect();
        Self { inputs, weight: read("weight"), bias: read("bias") }
    }

    /// More outputs behind these.
    fn append(&mut self, other: Self) {
        self.weight.extend(other.weight);
        self.bias.extend(other.bias);
    }

    /// The layer whose output is this one's less its mean.
    fn without_mean(mut self) -> Self {
        let outputs = self.bias.len() as f64;
        let mut mean = vec![0.0; self.inputs];
        for line in self.weight.chunks_exact(self.inputs) {
            mean.iter_mut().zip(line).for_each(|(mean, x)| *mean += x / outputs);
        }
        for line in self.weight.chunks_exact_mut(self.inputs) {
            line.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
        let mean = self.bias.iter().sum::<f64>() / outputs;
        self.bias.iter_mut().for_each(|x| *x -= mean);
        self
    }

    /// The layer that takes the normed input before scale and shift of the norm.
    fn behind_norm(mut self, weights: &Weights, norm: &str) -> Self {
        let scale = weights.data(&format!("{norm}.weight"));
        let shift = weights.data(&format!("{norm}.bias"));
        for (line, bias) in self.weight.chunks_exact_mut(self.inputs).zip(&mut self.bias) {
            for ((x, &scale), &shift) in line.iter_mut().zip(scale).zip(shift) {
                *bias += *x * f64::from(shift);
                *x *= f64::from(scale);
            }
        }
        self
    }

    fn prepare(self) -> Layer {
        let outputs = self.bias.len();
        let weight = |output: usize, input: usize| self.weight[output * self.inputs + input] as f32;
        let matrix = Matrix::new(outputs, self.inputs, weight);
        let mut bias: Vec<f32> = self.bias.iter().map(|&x| x as f32).collect();
        bias.resize(padded(outputs), 0.0);
        Layer { matrix, bias }
    }
}
