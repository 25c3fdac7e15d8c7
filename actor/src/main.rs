//! Entry point of the actor with the games that ship.

fn main() {}
