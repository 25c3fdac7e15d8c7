//! Weights as bytes: safetensors with the network's shape in the metadata. A file that is not whole, or not of this
//! network, is an error that says why; none is repaired.
//!
//! Metadata key `fogfall` holds JSON: `format`, and `shape` with observation fields, action names, width and blocks.
//! All tensors are little-endian `F32`. The same weights always give the same bytes.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use safetensors::{
    Dtype, SafeTensorError, SafeTensors,
    tensor::{TensorView, View},
};
use serde::{Deserialize, Serialize};

use crate::{NetError, Shape, Tensor, Weights};

/// The format written, and the only one read.
const FORMAT: u32 = 1;
/// Where in the metadata of the file our description stands.
const KEY: &str = "fogfall";

#[derive(Serialize, Deserialize)]
struct Description {
    format: u32,
    shape: Shape,
}

/// Read first: a later format may describe shapes in another way.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.dims
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.data.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>().into()
    }

    fn data_len(&self) -> usize {
        self.data.len() * size_of::<f32>()
    }
}

impl Weights {
    /// The weights file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let description = Description { format: FORMAT, shape: self.shape().clone() };
        let description = serde_json::to_string(&description).expect("a shape is plain data");
        let metadata = HashMap::from([(KEY.to_owned(), description)]);
        safetensors::serialize(self.tensors(), Some(metadata)).expect("tensors of checked weights have their lengths")
    }

    /// Reads a weights file.
    ///
    /// # Errors
    /// [`NetError`] if the file is cut off, of another kind or format, or does not hold exactly the tensors of the
    /// shape it describes, all `F32` and finite.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, NetError> {
        let unreadable = |error| unreadable(error, bytes.len());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let shape = describe(header.metadata().as_ref())?;
        shape.check()?;
        let file = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let mut tensors = BTreeMap::new();
        let mut faults = Vec::new();
        for (name, view) in file.tensors() {
            match view.dtype() {
                Dtype::F32 => drop(tensors.insert(name, tensor(&view))),
                other => faults.push(format!("tensor '{name}' is of type {other}, wanted is F32")),
            }
        }
        if !faults.is_empty() {
            faults.sort();
            return Err(NetError::Tensors { faults });
        }
        Self::new(shape, tensors)
    }
}

fn tensor(view: &TensorView<'_>) -> Tensor {
    let (numbers, _) = view.data().as_chunks();
    Tensor { dims: view.shape().to_vec(), data: numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect() }
}

fn describe(metadata: Option<&HashMap<String, String>>) -> Result<Shape, NetError> {
    let text = metadata
        .and_then(|map| map.get(KEY))
        .ok_or_else(|| NetError::Metadata { reason: format!("no metadata '{KEY}'") })?;
    let broken = |error: serde_json::Error| NetError::Metadata { reason: error.to_string() };
    let Format { format } = serde_json::from_str(text).map_err(broken)?;
    if format != FORMAT {
        return Err(NetError::Format { found: format, known: FORMAT });
    }
    Ok(serde_json::from_str::<Description>(text).map_err(broken)?.shape)
}

fn unreadable(error: SafeTensorError, bytes: usize) -> NetError {
    let reason = error.to_string();
    match error {
        SafeTensorError::HeaderTooSmall
        | SafeTensorError::InvalidHeaderLength
        | SafeTensorError::MetadataIncompleteBuffer => NetError::CutOff { bytes, reason },
        _ => NetError::NotSafetensors { reason },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::tests::shape;

    fn weights() -> Weights {
        Weights::random(shape(5, 3, 4, 1), 1).unwrap()
    }

    /// The file of `weights()` with other metadata or tensors.
    fn file(metadata: Option<&str>, change: impl FnOnce(&mut BTreeMap<String, Tensor>)) -> Vec<u8> {
        let mut tensors = weights().tensors().clone();
        change(&mut tensors);
        let metadata = metadata.map(|text| HashMap::from([(KEY.to_owned(), text.to_owned())]));
        safetensors::serialize(&tensors, metadata).unwrap()
    }

    fn description(format: u32) -> String {
        serde_json::to_string(&Description { format, shape: weights().shape().clone() }).unwrap()
    }

    fn error(bytes: &[u8]) -> String {
        Weights::from_bytes(bytes).unwrap_err().to_string()
    }

    #[test]
    fn weights_come_back_bit_for_bit() {
        let bytes = weights().to_bytes();
        let back = Weights::from_bytes(&bytes).unwrap();
        assert_eq!(back, weights());
        assert_eq!(back.to_bytes(), bytes);
    }

    #[test]
    fn a_file_cut_off_anywhere_is_refused() {
        let bytes = weights().to_bytes();
        for len in 0..bytes.len() {
            assert!(matches!(Weights::from_bytes(&bytes[..len]), Err(NetError::CutOff { .. })), "{len} bytes");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(matches!(Weights::from_bytes(&longer), Err(NetError::CutOff { .. })));
    }

    #[test]
    fn other_files_are_refused() {
        let text = b"{ this is a settings file, not a weights file }";
        assert!(matches!(Weights::from_bytes(text), Err(NetError::NotSafetensors { .. })));
        let foreign = file(None, |_| ());
        assert_eq!(error(&foreign), "weights file does not describe its network: no metadata 'fogfall'");
        assert!(matches!(Weights::from_bytes(&file(Some("{}"), |_| ())), Err(NetError::Metadata { .. })));
        let later = file(Some(&description(2)), |_| ());
        assert_eq!(error(&later), "weights file has format 2; this program reads format 1");
    }

    #[test]
    fn an_impossible_shape_in_a_file_is_refused() {
        let huge = description(FORMAT).replace(r#""blocks":1"#, r#""blocks":18446744073709551615"#);
        assert!(matches!(Weights::from_bytes(&file(Some(&huge), |_| ())), Err(NetError::Shape { .. })));
    }

    #[test]
    fn tensors_that_are_not_those_of_the_shape_are_refused() {
        let refused = |change: fn(&mut BTreeMap<String, Tensor>), fault: &str| {
            let bytes = file(Some(&description(FORMAT)), change);
            assert_eq!(error(&bytes), format!("tensors do not make up the network:\n  {fault}"));
        };
        refused(|t| drop(t.remove("value.bias")), "tensor 'value.bias' is missing");
        refused(
            |t| drop(t.insert("extra".to_owned(), Tensor { dims: vec![1], data: vec![0.0] })),
            "tensor 'extra' is not wanted",
        );
        refused(
            |t| t.get_mut("input.weight").unwrap().dims = vec![20],
            "tensor 'input.weight' has sizes [20], wanted are [4, 5]",
        );
        refused(|t| t.get_mut("norm.bias").unwrap().data[3] = f32::NAN, "tensor 'norm.bias' holds NaN at 3");
    }

    #[test]
    fn tensors_of_another_type_are_refused() {
        let bytes = file(Some(&description(FORMAT)), |_| ());
        let mut text = bytes;
        let at = text.windows(5).position(|window| window == b"\"F32\"").unwrap();
        text[at + 1] = b'I'; // I32 has the same length
        assert!(error(&text).contains("is of type I32, wanted is F32"), "{}", error(&text));
    }
}
