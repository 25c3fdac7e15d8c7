//! [`Convolutions`]: a [`Tower`] prepared for inference. Each convolution is a product of matrices: a cell's channels lie side
//! by side, those of its neighbours are copied next to them, and the kernel is multiplied with that.
//!
//! **Invariant:** each board is computed on its own and in a fixed order: the same bits alone as in any batch.

use fogfall_game::Planes;

use crate::{
    Shape, Tower, Weights,
    matrix::{LANES, Matrix},
};

/// Boards that go through the tower together: few enough that their numbers stay in a near cache.
const TOGETHER: usize = 4;
/// Cells that a kernel of 3 x 3 looks at.
const TAPS: usize = 9;

/// A convolution whose outputs fill whole registers.
struct Convolution {
    /// `[outputs, taps * inputs]`, the inputs of a tap side by side.
    matrix: Matrix,
    bias: Vec<f32>,
}

/// LayerNorm over the channels of a cell.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

struct Block {
    norm: Norm,
    conv1: Convolution,
    conv2: Convolution,
}

/// The tower of a network.
pub(crate) struct Convolutions {
    planes: Planes,
    channels: usize,
    input: Convolution,
    blocks: Vec<Block>,
    norm: Norm,
    squeeze: Convolution,
}

/// Memory for the numbers of [`TOGETHER`] boards and the features of a batch, reused from batch to batch.
#[derive(Default)]
pub(crate) struct Scratch {
    /// `[cells, inputs]` what goes into a convolution.
    from: Vec<f32>,
    /// `[cells, taps * planes]` each cell of the planes with its neighbours; 0 beyond the border, always.
    plane_taps: Vec<f32>,
    /// `[cells, taps * channels]` the same between convolutions.
    taps: Vec<f32>,
    /// `[cells, channels]` what the blocks add to.
    x: Vec<f32>,
    /// `[cells, channels]` within a block.
    hidden: Vec<f32>,
    /// `[rows, features]`
    features: Vec<f32>,
}

impl Convolutions {
    /// Prepares the tower of weights that have one.
    pub(crate) fn new(weights: &Weights, tower: &Tower) -> Self {
        let Tower { planes, channels, blocks } = *tower;
        let block = |block: usize| Block {
            norm: Norm::read(weights, &format!("tower.{block}.norm")),
            conv1: Convolution::read(weights, &format!("tower.{block}.conv1"), channels, TAPS),
            conv2: Convolution::read(weights, &format!("tower.{block}.conv2"), channels, TAPS),
        };
        Self {
            planes,
            channels,
            input: Convolution::read(weights, "tower.input", planes.channels, TAPS),
            blocks: (0..blocks).map(block).collect(),
            norm: Norm::read(weights, "tower.norm"),
            squeeze: Convolution::read(weights, "tower.squeeze", channels, 1),
        }
    }

    /// `[rows, features]` of `[rows, len]` observations: what the tower makes of their planes, then the numbers behind them.
    pub(crate) fn features<'a>(&self, observations: &[f32], len: usize, scratch: &'a mut Scratch) -> &'a [f32] {
        scratch.features.clear();
        for boards in observations.chunks(TOGETHER * len) {
            self.climb(boards, len, scratch);
        }
        &scratch.features
    }

    /// Appends the features of some boards.
    fn climb(&self, boards: &[f32], len: usize, scratch: &mut Scratch) {
        let Scratch { from, plane_taps, taps, x, hidden, features } = scratch;
        let cells = self.planes.height * self.planes.width;
        from.clear();
        for board in boards.chunks_exact(len) {
            for cell in 0..cells {
                from.extend(board[..self.planes.numbers()].iter().skip(cell).step_by(cells));
            }
        }
        self.input.apply(gather(self.planes, from, self.planes.channels, plane_taps), x, false);
        for Block { norm, conv1, conv2 } in &self.blocks {
            norm.apply(x, from);
            conv1.apply(gather(self.planes, from, self.channels, taps), hidden, false);
            hidden.iter_mut().for_each(|x| *x = x.max(0.0));
            conv2.apply(gather(self.planes, hidden, self.channels, taps), x, true);
        }
        self.norm.apply(x, from);
        self.squeeze.apply(from, hidden, false);
        for (board, squeezed) in boards.chunks_exact(len).zip(hidden.chunks_exact(cells * Tower::SQUEEZED)) {
            for channel in 0..Tower::SQUEEZED {
                features.extend(squeezed[channel..].iter().step_by(Tower::SQUEEZED).map(|x| x.max(0.0)));
            }
            features.extend_from_slice(&board[self.planes.numbers()..]);
        }
    }
}

impl Convolution {
    /// Of weights `[outputs, inputs, 3, 3]` with nine taps, or `[outputs, inputs, 1, 1]` with one.
    fn read(weights: &Weights, name: &str, inputs: usize, taps: usize) -> Self {
        let weight = weights.data(&format!("{name}.weight"));
        let bias = weights.data(&format!("{name}.bias")).to_vec();
        let number = |output: usize, at: usize| weight[(output * inputs + at % inputs) * taps + at / inputs];
        Self { matrix: Matrix::new(bias.len(), inputs * taps, number), bias }
    }

    /// Of `[cells, taps * inputs]` to `[cells, outputs]`, in place of what is there or added to it.
    fn apply(&self, taps: &[f32], to: &mut Vec<f32>, add: bool) {
        let (inputs, outputs) = (self.matrix.inputs(), self.matrix.stride());
        let cells = taps.len() / inputs;
        to.resize(cells.max(2) * outputs, 0.0);
        self.matrix.product(cells, taps, inputs, to, add);
        to.truncate(cells * outputs);
        for to in to.chunks_exact_mut(outputs) {
            to.iter_mut().zip(&self.bias).for_each(|(to, bias)| *to += bias);
        }
    }
}

/// Copies each cell's numbers and its neighbours' side by side, in the order of a kernel, into memory that was only ever used
/// for boards of this size: what lies beyond the border is left as it is, 0.
fn gather<'a>(planes: Planes, from: &[f32], inputs: usize, taps: &'a mut Vec<f32>) -> &'a [f32] {
    let Planes { height, width, .. } = planes;
    if taps.len() < from.len() * TAPS {
        taps.resize(from.len() * TAPS, 0.0);
    }
    let taps = &mut taps[..from.len() * TAPS];
    let cells = height * width;
    for (board, taps) in from.chunks_exact(cells * inputs).zip(taps.chunks_exact_mut(cells * TAPS * inputs)) {
        for (cell, taps) in taps.chunks_exact_mut(TAPS * inputs).enumerate() {
            let (row, column) = (cell / width, cell % width);
            // Columns that are on the board, of the kernel's three: they lie side by side in a row.
            let (left, right) = (usize::from(column == 0), 3 - usize::from(column + 1 == width));
            for tap in 0..3 {
                if (1..=height).contains(&(row + tap)) {
                    let at = ((row + tap - 1) * width + column + left - 1) * inputs;
                    let len = (right - left) * inputs;
                    taps[(3 * tap + left) * inputs..][..len].copy_from_slice(&board[at..at + len]);
                }
            }
        }
    }
    taps
}

impl Norm {
    fn read(weights: &Weights, name: &str) -> Self {
        let read = |part: &str| weights.data(&format!("{name}.{part}")).to_vec();
        Self { scale: read("weight"), shift: read("bias") }
    }

    /// Of `[cells, channels]`.
    fn apply(&self, x: &[f32], to: &mut Vec<f32>) {
        let channels = self.scale.len();
        to.resize(x.len(), 0.0);
        for (x, to) in x.chunks_exact(channels).zip(to.chunks_exact_mut(channels)) {
            let mean = sum(x, |x| x) / channels as f32;
            let variance = sum(x, |x| (x - mean) * (x - mean)) / channels as f32;
            let factor = 1.0 / (variance + Shape::NORM_EPSILON).sqrt();
            for (((to, x), scale), shift) in to.iter_mut().zip(x).zip(&self.scale).zip(&self.shift) {
                *to = (x - mean) * factor * scale + shift;
            }
        }
    }
}

/// The sum over numbers that fill whole registers.
fn sum(x: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    for x in x.as_chunks::<LANES>().0 {
        sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum += term(x));
    }
    sums.iter().sum()
}
