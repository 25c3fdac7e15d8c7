//! [`NetError`]: what can be wrong with weights.

use thiserror::Error;

/// Why weights could not be read, built or used.
#[derive(Debug, Error)]
pub enum NetError {
    /// The file ends before its header says, or goes on after it.
    #[error("weights file of {bytes} bytes is cut off or damaged: {reason}")]
    CutOff {
        /// Length of what was given.
        bytes: usize,
        /// What the reader says.
        reason: String,
    },
    /// Not a safetensors file.
    #[error("not a weights file: {reason}")]
    NotSafetensors {
        /// What the reader says.
        reason: String,
    },
    /// A safetensors file that is not ours or whose description is damaged.
    #[error("weights file does not describe its network: {reason}")]
    Metadata {
        /// What is wrong with the metadata.
        reason: String,
    },
    /// Written by a program that knows another format.
    #[error("weights file has format {found}; this program reads format {known}")]
    Format {
        /// Format of the file.
        found: u32,
        /// The format read here.
        known: u32,
    },
    /// A shape that no network can have; all mistakes are listed.
    #[error("impossible network shape:\n  {}", faults.join("\n  "))]
    Shape {
        /// One text a mistake.
        faults: Vec<String>,
    },
    /// The tensors are not those of the shape; all mistakes are listed.
    #[error("tensors do not make up the network:\n  {}", faults.join("\n  "))]
    Tensors {
        /// One text a mistake.
        faults: Vec<String>,
    },
    /// The weights are those of another network; all differences are listed.
    #[error("weights do not fit:\n  {}", differences.join("\n  "))]
    Mismatch {
        /// One text a difference.
        differences: Vec<String>,
    },
}
