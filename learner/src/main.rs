//! Entry point of the learner with the games that ship.

fn main() {}
