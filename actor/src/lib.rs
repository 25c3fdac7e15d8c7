//! Self-play, matches and replays of recorded games; free of torch.
