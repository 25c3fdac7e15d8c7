//! Sets of small numbers as the bits of a word: a random member, without a loop over the members.
//!
//! **Invariant:** no branch depends on the set, so a search that plays games at random does not wait for the processor to
//! guess one.

use fogfall_game::Rng;
use rand::RngExt;

/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of each byte.
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// `[byte][k]` the place of the k-th set bit of a byte, from the lowest; 0 if there are fewer.
const PLACES: [[u8; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut place, mut k) = (0, 0);
        while place < 8 {
            if byte >> place & 1 == 1 {
                places[byte][k] = place as u8;
                k += 1;
            }
            place += 1;
        }
        byte += 1;
    }
    places
};

/// A member of a set that is not empty, each as likely as any other (but for a share of 2^-26).
#[inline]
pub(crate) fn draw(set: u64, rng: &mut Rng) -> u32 {
    let counts = counts(set);
    nth(set, counts, below((counts >> 56) as u32, rng))
}

/// A number below `count`, each as likely as any other (but for a share of `count` in 2^32).
#[inline]
pub(crate) fn below(count: u32, rng: &mut Rng) -> u32 {
    (((rng.random::<u64>() >> 32) * u64::from(count)) >> 32) as u32
}

/// In each byte, how many members lie in it or below it.
#[inline]
fn counts(set: u64) -> u64 {
    let pairs = set - (set >> 1 & 0x5555_5555_5555_5555);
    let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
    ((nibbles + (nibbles >> 4)) & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(ONES)
}

/// The member with `k` members below it, where there is one.
#[inline]
fn nth(set: u64, counts: u64, k: u32) -> u32 {
    // The first byte in which or below which more than k members lie; counts are below 128, so that no byte borrows.
    let more = ((counts | HIGHS) - u64::from(k + 1) * ONES) & HIGHS;
    let at = more.trailing_zeros() & 56;
    let below = (counts << 8) >> at & 0xff;
    at + u32::from(PLACES[(set >> at & 0xff) as usize][(u64::from(k) - below) as usize & 7])
}

#[cfg(test)]
mod tests {
    use fogfall_game::stream;

    use super::*;

    #[test]
    fn every_member_is_found_by_its_number() {
        let rng = &mut stream(1, &[]);
        let sparse = |rng: &mut Rng| rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>();
        let sets = (0..1_000).map(|_| sparse(rng)).chain([1, 1 << 63, u64::MAX, 0xff00, 0x8000_0000_0000_0001]);
        for set in sets.filter(|&set| set != 0) {
            let members: Vec<u32> = (0..64).filter(|&place| set >> place & 1 == 1).collect();
            assert_eq!(counts(set) >> 56, members.len() as u64);
            let found: Vec<u32> = (0..members.len() as u32).map(|k| nth(set, counts(set), k)).collect();
            assert_eq!(found, members);
        }
    }

    #[test]
    fn members_are_drawn_equally_often() {
        let (set, mut seen) = (1 | 1 << 9 | 1 << 63, [0; 64]);
        let rng = &mut stream(2, &[]);
        (0..30_000).for_each(|_| seen[draw(set, rng) as usize] += 1);
        // 10,000 each, standard deviation 82.
        assert!([0, 9, 63].iter().all(|&place: &usize| (9_600..10_400).contains(&seen[place])), "{seen:?}");
        assert_eq!(seen.iter().sum::<i32>(), 30_000);
    }
}
