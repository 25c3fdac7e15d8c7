//! Randomness by counter: a named generator, seeded from a root seed and a list of counters, so that a stream can be
//! found again from numbers alone (actor, slot, game, ply, simulation) and resume stores counters, not generators.

use rand::SeedableRng;

/// The generator of all play and search: xoshiro256++.
pub type Rng = rand_xoshiro::Xoshiro256PlusPlus;

/// Mixes one counter into a seed. SplitMix64's finalizer over the sum with an odd multiple of the counter: different
/// counters give unrelated seeds.
#[inline]
pub fn mix(seed: u64, counter: u64) -> u64 {
    let mut z = seed.wrapping_add(counter.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The stream at these counters below a root seed.
#[inline]
pub fn stream(seed: u64, counters: &[u64]) -> Rng {
    Rng::seed_from_u64(counters.iter().fold(seed, |seed, &counter| mix(seed, counter)))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn streams_are_reproducible_and_differ_by_every_counter() {
        let draw = |counters: &[u64]| stream(7, counters).random::<u64>();
        assert_eq!(draw(&[1, 2]), draw(&[1, 2]));
        assert_ne!(draw(&[1, 2]), draw(&[2, 1]));
        assert_ne!(draw(&[0]), draw(&[0, 0]));
        assert_ne!(draw(&[]), stream(8, &[]).random::<u64>());
    }
}
