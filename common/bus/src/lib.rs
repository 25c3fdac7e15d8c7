//! How trajectories, weights and manifests travel between processes.
