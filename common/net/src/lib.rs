//! The policy and value network: shape, weights file and pure-Rust inference.
