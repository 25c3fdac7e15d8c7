//! The stages joined: self-play threads, bus, replay log, window, and weights back.
