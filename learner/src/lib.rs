//! Samples batches, trains the network, writes checkpoints, publishes weights.
