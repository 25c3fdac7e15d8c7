//! What the machine or container says of itself.

/// The name of the machine, or of the pod in it; empty if it has none that can be read.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
