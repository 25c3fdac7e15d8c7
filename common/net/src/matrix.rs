//! [`Matrix`]: a weight matrix laid out for the product with a batch of rows, and that product.
//!
//! The only module with `unsafe`: `gemm` takes raw pointers. [`Matrix::product`] checks all lengths before it.
//!
//! **Invariant:** a row's product has the same bits alone as in any batch. `gemm`'s kernels sum each element of the
//! product over the inputs in their order, in one accumulator, whatever tile it lies in. What could depend on the
//! number of rows is kept out: a single row is multiplied as two (for one, `gemm` goes other ways), and at most
//! [`DEPTH`] inputs are multiplied at once (beyond, it cuts the sum by sizes of caches).
#![allow(unsafe_code)]

use gemm::Parallelism;

/// Numbers in a cache line and in the widest register. Rows are padded to it.
pub(crate) const LANES: usize = 16;
/// Outputs in a panel: what `gemm`'s largest kernel takes at once, so that a panel stays in the nearest cache while
/// the rows of the batch pass by.
const PANEL: usize = 64;
/// Inputs in a panel: up to here `gemm` does not cut the sum itself.
const DEPTH: usize = 512;

/// Numbers whose first lies at the start of a cache line.
struct Aligned {
    numbers: Vec<f32>,
    start: usize,
}

impl Aligned {
    fn zeros(len: usize) -> Self {
        let numbers = vec![0.0; len + LANES];
        let start = numbers.as_ptr().align_offset(LANES * size_of::<f32>()).min(LANES);
        Self { numbers, start }
    }

    fn numbers(&self) -> &[f32] {
        &self.numbers[self.start..]
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.start..]
    }
}

/// A block of the matrix, stored one input after the other.
struct Panel {
    inputs: std::ops::Range<usize>,
    /// First output and number of outputs, padded.
    first: usize,
    outputs: usize,
    /// Where its numbers start.
    at: usize,
}

/// A weight matrix.
pub(crate) struct Matrix {
    inputs: usize,
    stride: usize,
    panels: Vec<Panel>,
    /// Every panel `[inputs, outputs]`, panel after panel. Padded outputs are 0.
    numbers: Aligned,
}

impl Matrix {
    /// The matrix with `weight(output, input)`.
    pub(crate) fn new(outputs: usize, inputs: usize, weight: impl Fn(usize, usize) -> f32) -> Self {
        let stride = padded(outputs);
        let mut numbers = Aligned::zeros(stride * inputs);
        let mut panels = Vec::new();
        let mut at = 0;
        for first_input in (0..inputs).step_by(DEPTH) {
            let depth = DEPTH.min(inputs - first_input);
            for first in (0..stride).step_by(PANEL) {
                let height = PANEL.min(stride - first);
                for (i, line) in numbers.numbers_mut()[at..at + depth * height].chunks_exact_mut(height).enumerate() {
                    for (o, number) in line.iter_mut().enumerate().take_while(|(o, _)| first + o < outputs) {
                        *number = weight(first + o, first_input + i);
                    }
                }
                panels.push(Panel { inputs: first_input..first_input + depth, first, outputs: height, at });
                at += depth * height;
            }
        }
        Self { inputs, stride, panels, numbers }
    }

    /// How many numbers a row has before the product.
    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// From row to row of a product: the number of outputs, padded to full lines.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// `to[row] = matrix * from[row]`, or `to[row] += ...` if `accumulate`, for `rows` rows. The rows of `from` lie
    /// `from_stride` apart, those of `to` [`Matrix::stride`]; padding becomes 0 or stays. `to` has room for two rows
    /// even if there is one; the second is overwritten.
    ///
    /// # Panics
    /// If `from` or `to` is too short, or `from_stride` smaller than the number of inputs.
    pub(crate) fn product(&self, rows: usize, from: &[f32], from_stride: usize, to: &mut [f32], accumulate: bool) {
        if rows == 0 {
            return;
        }
        assert!(from_stride >= self.inputs && from.len() >= (rows - 1) * from_stride + self.inputs);
        assert!(to.len() >= rows.max(2) * self.stride);
        // A single row is multiplied twice, into two rows.
        let (columns, from_stride) = if rows == 1 { (2, 0) } else { (rows, from_stride) };
        for panel in &self.panels {
            let accumulate = accumulate || panel.inputs.start > 0;
            let weight = &self.numbers.numbers()[panel.at..panel.at + panel.inputs.len() * panel.outputs];
            // SAFETY: all strides are positive or 0, so the farthest elements are the last ones.
            // lhs: `inputs.len()` columns of `outputs` numbers without gaps, exactly `weight`.
            // rhs: the last is `(rows - 1) * from_stride + inputs.end - 1`, below `from.len()` as asserted, since
            //   `inputs.end <= self.inputs`; with stride 0 it is `inputs.end - 1`.
            // dst: the last is `(columns - 1) * stride + first + outputs - 1 < columns * stride <= to.len()`, since
            //   `first + outputs <= stride`. It is borrowed mutably, hence overlaps neither operand, and holds
            //   initialised numbers.
            unsafe {
                gemm::gemm(
                    panel.outputs,
                    columns,
                    panel.inputs.len(),
                    to.as_mut_ptr().add(panel.first),
                    self.stride as isize,
                    1,
                    accumulate,
                    weight.as_ptr(),
                    panel.outputs as isize,
                    1,
                    from.as_ptr().add(panel.inputs.start),
                    from_stride as isize,
                    1,
                    1.0,
                    1.0,
                    false,
                    false,
                    false,
                    Parallelism::None,
                );
            }
        }
    }
}

/// A length rounded up to full lines.
pub(crate) fn padded(len: usize) -> usize {
    len.next_multiple_of(LANES)
}
