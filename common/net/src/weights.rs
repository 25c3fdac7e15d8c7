//! [`Weights`]: the numbers of a network by name, as they are trained, sent and stored. Not prepared for inference.
//!
//! **Invariant:** weights hold exactly the tensors of their shape, and every number is finite.

use std::collections::BTreeMap;

use fogfall_game::stream;
use rand::RngExt;

use crate::{Init, NetError, Parameter, Shape};

/// Numbers in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Sizes, outermost first: see [`Parameter::dims`].
    pub dims: Vec<usize>,
    /// The product of `dims` numbers.
    pub data: Vec<f32>,
}

/// All numbers of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    shape: Shape,
    tensors: BTreeMap<String, Tensor>,
}

impl Weights {
    /// Weights of these tensors.
    ///
    /// # Errors
    /// [`NetError::Shape`] if no network has the shape; [`NetError::Tensors`] with every tensor that is missing, too
    /// many, of other sizes, or holds a number that is not finite.
    pub fn new(shape: Shape, tensors: BTreeMap<String, Tensor>) -> Result<Self, NetError> {
        shape.check()?;
        let parameters = shape.parameters();
        let mut faults: Vec<String> = parameters.iter().filter_map(|p| fault(p, tensors.get(&p.name))).collect();
        let known = |name: &String| parameters.iter().any(|p| p.name == *name);
        faults.extend(tensors.keys().filter(|name| !known(name)).map(|name| format!("tensor '{name}' is not wanted")));
        if faults.is_empty() { Ok(Self { shape, tensors }) } else { Err(NetError::Tensors { faults }) }
    }

    /// An untrained network: the same for the same shape and seed. See [`Init`] for how its numbers are scaled.
    ///
    /// # Errors
    /// [`NetError::Shape`] if no network has the shape.
    pub fn random(shape: Shape, seed: u64) -> Result<Self, NetError> {
        shape.check()?;
        let draw = |(index, p): (usize, Parameter)| {
            let tensor = Tensor { data: draw(&p, seed, index as u64), dims: p.dims };
            (p.name, tensor)
        };
        let tensors = shape.parameters().into_iter().enumerate().map(draw).collect();
        Ok(Self { shape, tensors })
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// All tensors by name.
    pub fn tensors(&self) -> &BTreeMap<String, Tensor> {
        &self.tensors
    }

    /// For changes that keep sizes and leave all numbers finite.
    pub(crate) fn tensors_mut(&mut self) -> &mut BTreeMap<String, Tensor> {
        &mut self.tensors
    }

    /// Numbers of one tensor of the shape.
    ///
    /// # Panics
    /// If the shape has no such tensor.
    pub fn data(&self, name: &str) -> &[f32] {
        &self.tensors.get(name).expect("the shape has a tensor of this name").data
    }

    /// Checks that these weights serve where `wanted` is needed.
    ///
    /// # Errors
    /// [`NetError::Mismatch`] with every difference.
    pub fn fits(&self, wanted: &Shape) -> Result<(), NetError> {
        let differences = self.shape.differences(wanted);
        if differences.is_empty() { Ok(()) } else { Err(NetError::Mismatch { differences }) }
    }
}

/// What is wrong with a tensor, if anything.
fn fault(parameter: &Parameter, tensor: Option<&Tensor>) -> Option<String> {
    let Parameter { name, dims, .. } = parameter;
    let Some(tensor) = tensor else { return Some(format!("tensor '{name}' is missing")) };
    if tensor.dims != *dims {
        return Some(format!("tensor '{name}' has sizes {:?}, wanted are {dims:?}", tensor.dims));
    }
    let len: usize = dims.iter().product();
    if tensor.data.len() != len {
        return Some(format!("tensor '{name}' has {} numbers, wanted are {len}", tensor.data.len()));
    }
    let bad = tensor.data.iter().position(|x| !x.is_finite())?;
    Some(format!("tensor '{name}' holds {} at {bad}", tensor.data[bad]))
}

/// Starting numbers of a tensor: uniform with the variance that its [`Init`] asks for.
fn draw(parameter: &Parameter, seed: u64, index: u64) -> Vec<f32> {
    let len = parameter.dims.iter().product();
    let fan_in = parameter.dims[1..].iter().product::<usize>() as f32;
    let variance = match parameter.init {
        Init::Zero => return vec![0.0; len],
        Init::One => return vec![1.0; len],
        Init::Linear => 1.0 / fan_in,
        Init::BeforeRelu => 2.0 / fan_in,
        Init::Residual { blocks } => 1.0 / (fan_in * blocks as f32),
        Init::Head => 1e-4 / fan_in,
    };
    let bound = (3.0 * variance).sqrt(); // the variance of uniform numbers in -b..b is b^2 / 3
    let mut rng = stream(seed, &[index]);
    (0..len).map(|_| rng.random_range(-bound..bound)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::tests::shape;

    fn faults(shape: Shape, change: impl FnOnce(&mut BTreeMap<String, Tensor>)) -> Vec<String> {
        let mut tensors = Weights::random(shape.clone(), 1).unwrap().tensors;
        change(&mut tensors);
        match Weights::new(shape, tensors) {
            Err(NetError::Tensors { faults }) => faults,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_wrong_tensor_is_named() {
        let found = faults(shape(5, 3, 4, 1), |tensors| {
            tensors.remove("block.0.fc1.bias");
            tensors.insert("extra".to_owned(), Tensor { dims: vec![], data: vec![0.0] });
            tensors.get_mut("input.weight").unwrap().dims = vec![5, 4];
            tensors.get_mut("value.bias").unwrap().data.push(0.0);
            tensors.get_mut("policy.bias").unwrap().data[2] = f32::NAN;
            tensors.get_mut("norm.weight").unwrap().data[1] = f32::INFINITY;
        });
        let expected = [
            "tensor 'input.weight' has sizes [5, 4], wanted are [4, 5]",
            "tensor 'block.0.fc1.bias' is missing",
            "tensor 'norm.weight' holds inf at 1",
            "tensor 'policy.bias' holds NaN at 2",
            "tensor 'value.bias' has 2 numbers, wanted are 1",
            "tensor 'extra' is not wanted",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn untrained_weights_follow_from_shape_and_seed() {
        let draw = |seed| Weights::random(shape(5, 3, 4, 1), seed).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_ne!(draw(1).data("block.0.fc1.weight"), draw(1).data("block.0.fc2.weight"));
    }

    #[test]
    fn untrained_numbers_have_the_variance_of_their_layer() {
        let weights = Weights::random(shape(50, 40, 256, 2), 3).unwrap();
        let close = |name: &str, variance: f64| {
            let data = weights.data(name);
            let found = data.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / data.len() as f64;
            assert!((found / variance - 1.0).abs() < 0.05, "{name}: {found}, wanted {variance}");
        };
        close("input.weight", 1.0 / 50.0);
        close("block.0.fc1.weight", 2.0 / 256.0);
        close("block.1.fc2.weight", 1.0 / 512.0); // 256 * 2 blocks
        close("policy.weight", 1e-4 / 256.0);
        assert!(weights.data("norm.weight").iter().all(|&x| x == 1.0));
        assert!(weights.data("policy.bias").iter().all(|&x| x == 0.0));
    }

    #[test]
    fn impossible_shapes_are_refused() {
        assert!(matches!(Weights::random(shape(5, 3, 0, 1), 1), Err(NetError::Shape { .. })));
        assert!(matches!(Weights::new(shape(0, 3, 4, 1), BTreeMap::new()), Err(NetError::Shape { .. })));
    }

    #[test]
    fn weights_fit_their_own_shape_only() {
        let weights = Weights::random(shape(5, 3, 4, 1), 1).unwrap();
        assert!(weights.fits(&shape(5, 3, 4, 1)).is_ok());
        let error = weights.fits(&shape(5, 3, 8, 2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "weights do not fit:\n  width is 4, wanted is 8\n  number of blocks is 1, wanted is 2"
        );
    }
}
