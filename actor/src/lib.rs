//! Self-play, matches and replays of recorded games; free of torch.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod replay;
