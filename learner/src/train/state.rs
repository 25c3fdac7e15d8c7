//! What a trainer must remember to go on as if never stopped: a few numbers, and tensors as a safetensors file.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use fogfall_net::Shape;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::{device::Device, model::numbers};

/// The numbers of a trainer's state. Its tensors are stored beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainerState {
    /// The network.
    pub shape: Shape,
    /// Steps taken: the schedule and the average go on from here.
    pub step: u64,
    /// Batches left out because their loss or gradient was not finite.
    pub skipped: u64,
    /// Steps that the optimizer's moments stand for.
    pub optimizer_steps: u64,
}

/// Writes flat tensors by name. The same numbers always give the same bytes.
pub(super) fn write(tensors: &[(String, &Tensor)]) -> Vec<u8> {
    let bytes: Vec<(&str, Vec<u8>)> = tensors
        .iter()
        .map(|(name, tensor)| (name.as_str(), numbers(tensor).iter().flat_map(|x| x.to_le_bytes()).collect()))
        .collect();
    let view = |(name, bytes)| {
        let len = <[u8]>::len(bytes) / size_of::<f32>();
        (name, TensorView::new(Dtype::F32, vec![len], bytes).expect("a number has four bytes"))
    };
    let views: BTreeMap<_, _> = bytes.iter().map(|(name, bytes)| view((*name, bytes))).collect();
    safetensors::serialize(views, None).expect("views have the lengths of their bytes")
}

/// Reads all flat tensors of a file.
///
/// # Errors
/// If it is no such file, or one of its tensors does not hold `len` finite numbers.
pub(super) fn read(bytes: &[u8], len: usize, device: Device) -> anyhow::Result<BTreeMap<String, Tensor>> {
    let file = SafeTensors::deserialize(bytes).context("the training state is cut off or damaged")?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        ensure!(view.dtype() == Dtype::F32, "'{name}' of the training state is of type {}", view.dtype());
        let numbers: Vec<f32> = view.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        ensure!(numbers.len() == len, "'{name}' of the training state has {} numbers, not {len}", numbers.len());
        ensure!(
            numbers.iter().all(|x| x.is_finite()),
            "'{name}' of the training state holds a number that is not finite"
        );
        tensors.insert(name, Tensor::from_slice(&numbers).to_device(device.torch()));
    }
    Ok(tensors)
}
