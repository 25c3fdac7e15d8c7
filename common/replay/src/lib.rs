//! The replay log, the learner's window and the samples-per-insert limiter.
