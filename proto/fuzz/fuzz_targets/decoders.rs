//! Fuzzes every decoder of the wire; what it does with the bytes is in `proto/tests/survive`, which plain tests run, too.
#![no_main]

#[path = "../../tests/survive/mod.rs"]
mod survive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| survive::survive(bytes));
