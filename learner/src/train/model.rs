//! [`Model`]: the network of `fogfall-net` in libtorch, with gradients. The two forward passes are held together by a
//! test.
//!
//! **Invariant:** all parameters are views of one flat tensor, in the order of `Shape::parameters`. Optimizers, norms,
//! averages and checkpoints see that one tensor; a step over it costs a handful of calls, not a handful a parameter.

use std::collections::BTreeMap;

use fogfall_game::Planes;
use fogfall_net::{NetError, Shape, Tower, Weights};
use tch::{Kind, Tensor};

use super::device::Device;

/// What the network says of a batch.
pub(super) struct Heads {
    /// `[rows, actions]`, legal or not.
    pub(super) logits: Tensor,
    /// `[rows]` in units of the game's scale.
    pub(super) value: Tensor,
}

/// A network that can be trained.
#[derive(Debug)]
pub(super) struct Model {
    shape: Shape,
    /// `[parameters]` every number of the network.
    flat: Tensor,
    /// Views of `flat`; the leaves of the gradient.
    parameters: Vec<Tensor>,
}

impl Model {
    pub(super) fn new(weights: &Weights, device: Device) -> Self {
        let shape = weights.shape().clone();
        let flat = Tensor::from_slice(&flatten(weights)).to_device(device.torch());
        let mut start = 0;
        let view = |parameter: fogfall_net::Parameter| {
            let dims: Vec<i64> = parameter.dims.iter().map(|&len| len as i64).collect();
            let len = dims.iter().product();
            let view = flat.narrow(0, start, len).view(dims.as_slice()).detach().set_requires_grad(true);
            start += len;
            view
        };
        let parameters = shape.parameters().into_iter().map(view).collect();
        Self { shape, flat, parameters }
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// `[parameters]` the numbers themselves.
    pub(super) fn flat(&self) -> &Tensor {
        &self.flat
    }

    pub(super) fn flat_mut(&mut self) -> &mut Tensor {
        &mut self.flat
    }

    /// The forward pass of `[rows, observation]`; see [`Shape`] for the formula.
    pub(super) fn forward(&self, observation: &Tensor) -> Heads {
        // Every layer and every norm is a pair of tensors.
        let mut pairs = self.parameters.chunks_exact(2).map(|pair| [&pair[0], &pair[1]]);
        let features = self.shape.tower.map(|tower| climb(&tower, observation, &mut pairs));
        let mut next = || pairs.next().expect("a shape lists two tensors a layer");

        let mut x = linear(features.as_ref().unwrap_or(observation), next());
        for _ in 0..self.shape.blocks {
            let inner = norm(&x, next());
            let inner = linear(&inner, next()).relu();
            // Not `+=`: that adds in place, and the norm's gradient needs `x` as it was.
            x = &x + linear(&inner, next());
        }
        let x = norm(&x, next());
        let logits = linear(&x, next());
        let value = linear(&x, next()).squeeze_dim(-1);
        Heads { logits, value }
    }

    /// `[parameters]` the gradient of a loss.
    pub(super) fn gradient(&self, loss: &Tensor) -> Tensor {
        let gradients = Tensor::run_backward(&[loss], &self.parameters, false, false);
        let flat: Vec<Tensor> = gradients.iter().map(|gradient| gradient.reshape(-1)).collect();
        Tensor::cat(&flat, 0)
    }

    /// `[parameters]` 1 for the numbers of weight matrices, 0 for those of biases and norms.
    pub(super) fn decays(&self) -> Tensor {
        let decay = |parameter: fogfall_net::Parameter| {
            let len: usize = parameter.dims.iter().product();
            std::iter::repeat_n(if parameter.dims.len() > 1 { 1.0 } else { 0.0 }, len)
        };
        let decays: Vec<f32> = self.shape.parameters().into_iter().flat_map(decay).collect();
        Tensor::from_slice(&decays).to_device(self.flat.device())
    }

    /// Weights with the numbers of a flat tensor, such as [`Model::flat`].
    ///
    /// # Errors
    /// [`NetError`] if a number is not finite.
    pub(super) fn weights(&self, flat: &Tensor) -> Result<Weights, NetError> {
        let mut numbers = numbers(flat).into_iter();
        let mut tensor = |parameter: fogfall_net::Parameter| {
            let data = numbers.by_ref().take(parameter.dims.iter().product()).collect();
            (parameter.name, fogfall_net::Tensor { dims: parameter.dims, data })
        };
        let tensors: BTreeMap<_, _> = self.shape.parameters().into_iter().map(&mut tensor).collect();
        Weights::new(self.shape.clone(), tensors)
    }
}

/// `[rows, features]` of `[rows, observation]`: what a tower makes of the planes, then the numbers behind them. See [`Tower`]
/// for the formula.
fn climb<'a>(tower: &Tower, observation: &Tensor, pairs: &mut impl Iterator<Item = [&'a Tensor; 2]>) -> Tensor {
    let mut next = || pairs.next().expect("a shape lists two tensors a layer");
    let Planes { channels, height, width } = tower.planes;
    let [channels, height, width, numbers] = [channels, height, width, tower.planes.numbers()].map(|len| len as i64);
    let convolve = |x: &Tensor, [weight, bias]: [&Tensor; 2]| {
        let border = weight.size()[2] / 2;
        x.conv2d(weight, Some(bias), [1, 1], [border, border], [1, 1], 1)
    };
    // Channels are the last dimension of a norm, and the second of a convolution.
    let cell_norm = |x: &Tensor, pair| norm(&x.permute([0, 2, 3, 1]), pair).permute([0, 3, 1, 2]);

    let planes = observation.narrow(1, 0, numbers).view([-1, channels, height, width]);
    let mut x = convolve(&planes, next());
    for _ in 0..tower.blocks {
        let inner = cell_norm(&x, next());
        let inner = convolve(&inner, next()).relu();
        x = &x + convolve(&inner, next());
    }
    let x = cell_norm(&x, next());
    let squeezed = convolve(&x, next()).relu().flatten(1, -1);
    Tensor::cat(&[squeezed, observation.narrow(1, numbers, observation.size()[1] - numbers)], 1)
}

fn linear(x: &Tensor, [weight, bias]: [&Tensor; 2]) -> Tensor {
    x.linear(weight, Some(bias))
}

/// LayerNorm over the last dimension.
fn norm(x: &Tensor, [scale, shift]: [&Tensor; 2]) -> Tensor {
    x.layer_norm(scale.size(), Some(scale), Some(shift), f64::from(Shape::NORM_EPSILON), true)
}

/// All numbers of weights, in the order of the shape.
fn flatten(weights: &Weights) -> Vec<f32> {
    weights.shape().parameters().iter().flat_map(|parameter| weights.data(&parameter.name)).copied().collect()
}

/// The numbers of a tensor.
pub(super) fn numbers(tensor: &Tensor) -> Vec<f32> {
    let mut numbers = vec![0.0; tensor.numel()];
    tensor.to_kind(Kind::Float).to_device(tch::Device::Cpu).contiguous().copy_data(&mut numbers, tensor.numel());
    numbers
}
