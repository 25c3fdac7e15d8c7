//! The games that ship with Fogfall.
