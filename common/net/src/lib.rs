//! The policy and value network: shape, weights file and pure-Rust inference.
//!
//! Not here: training, files and sockets. Weights come and go as bytes.

mod convolution;
mod error;
mod evaluator;
mod file;
mod matrix;
mod net;
mod shape;
mod softmax;
mod transfer;
mod weights;

pub use error::NetError;
pub use evaluator::NetEvaluator;
pub use net::Net;
pub use shape::{Init, Parameter, Shape, Tower};
pub use transfer::Transfer;
pub use weights::{Tensor, Weights};

#[cfg(test)]
mod tests {
    //! What the tests of several modules need.

    use fogfall_game::Layout;

    use crate::Shape;

    /// A shape with one field and numbered actions.
    pub(crate) fn shape(observation: usize, actions: usize, width: usize, blocks: usize) -> Shape {
        let observation = Layout::new([("all", observation)]);
        Shape { observation, actions: (0..actions).map(|a| format!("a{a}")).collect(), width, blocks, tower: None }
    }
}
