//! The contract every game fulfils, and nothing else: no search, no network, no I/O, no clock.
//!
//! A [`Game`] describes a turn-based, two-seat, zero-sum game with chance and hidden information. The rest of the
//! house is generic over it and meets a concrete game once, through a [`GameSet`].
//!
//! **Invariant:** the search holds a [`World`], never the played state. A world is drawn from a view and carried on to
//! later ones.

#[cfg(feature = "contract")]
pub mod contract;
mod game;
mod info;
mod rng;
mod set;
mod world;

pub use game::{Action, Actions, Game, Seat, Turn};
pub use info::{Field, GameInfo, Layout, Planes, Symmetry};
pub use rng::{Rng, mix, stream};
pub use set::{GameError, GameSet, GameVisitor, without_rules};
pub use world::World;
