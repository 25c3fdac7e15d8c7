//! Packed rows: words of 32 bits that are 0 are left out, and the rest goes through zstd. Rows are mostly zeros, and without
//! them zstd has a third of the work; what both save and cost is in `docs/methods.md`.
//!
//! Packed, `n` words are `ceil(n / 64)` masks (u64, little-endian; bit `i` of mask `m` says that word `64 m + i` is there),
//! then the words that are there, in order: all of it one zstd frame.
//!
//! **Invariant:** packed bytes come back as they were, or are refused before more than [`MAX_PART_ROW_BYTES`] are
//! allocated for them.

use std::cell::RefCell;
use std::io;

use zstd::bulk::{Compressor, Decompressor};

use crate::{MAX_PART_ROW_BYTES, ProtoError};

/// Fewer bytes than this are not worth it: a message's other fields take 300.
const MIN_PACKED_ROW_BYTES: usize = 1 << 10;

/// Below it bytes cost less time than they take on their way; above it more.
const LEVEL: i32 = -1;

const WORD: usize = 4;
const MASK: usize = 8;
/// Words that a mask tells of.
const BLOCK: usize = 64;

/// What a thread keeps to pack with, instead of making it for each part.
struct Tools {
    compressor: Compressor<'static>,
    decompressor: Decompressor<'static>,
    /// Words without zeros.
    dense: Vec<u8>,
}

thread_local! {
    static TOOLS: RefCell<Option<Tools>> = const { RefCell::new(None) };
}

fn with_tools<T>(work: impl FnOnce(&mut Tools) -> io::Result<T>) -> io::Result<T> {
    TOOLS.with_borrow_mut(|tools| match tools {
        Some(tools) => work(tools),
        None => {
            let (compressor, decompressor) = (Compressor::new(LEVEL)?, Decompressor::new()?);
            work(tools.insert(Tools { compressor, decompressor, dense: Vec::new() }))
        }
    })
}

/// Packs rows; none if they are better left as they are.
pub(crate) fn pack(rows: &[u8]) -> Option<Vec<u8>> {
    if !(MIN_PACKED_ROW_BYTES..=MAX_PART_ROW_BYTES).contains(&rows.len()) || !rows.len().is_multiple_of(WORD) {
        return None;
    }
    let packed = with_tools(|tools| {
        leave_zeros_out(rows, &mut tools.dense);
        tools.compressor.compress(&tools.dense)
    });
    packed.ok().filter(|packed| packed.len() < rows.len())
}

/// The rows of `bytes` bytes that were packed.
pub(crate) fn unpack(packed: &[u8], bytes: usize) -> Result<Vec<u8>, ProtoError> {
    if bytes > MAX_PART_ROW_BYTES {
        return Err(ProtoError::RowsTooLong { bytes, limit: MAX_PART_ROW_BYTES });
    }
    let malformed = |reason: String| ProtoError::Malformed { what: "trajectory", reason };
    if !bytes.is_multiple_of(WORD) {
        return Err(malformed(format!("{bytes} bytes of packed rows are no whole words")));
    }
    let rows = with_tools(|tools| {
        // Nothing that unpacks to more fits.
        tools.dense.clear();
        tools.dense.reserve(mask_bytes(bytes) + bytes);
        tools.decompressor.decompress_to_buffer(packed, &mut tools.dense)?;
        Ok(put_zeros_in(&tools.dense, bytes))
    });
    rows.map_err(|e| malformed(format!("packed rows: {e}")))?
        .ok_or_else(|| malformed(format!("packed rows are not {bytes} bytes")))
}

fn mask_bytes(row_bytes: usize) -> usize {
    (row_bytes / WORD).div_ceil(BLOCK) * MASK
}

fn leave_zeros_out(rows: &[u8], dense: &mut Vec<u8>) {
    let masks = mask_bytes(rows.len());
    dense.clear();
    dense.resize(masks + rows.len(), 0);
    let (masks, words) = dense.split_at_mut(masks);
    let mut end = 0;
    for (block, mask) in rows.chunks(BLOCK * WORD).zip(masks.chunks_exact_mut(MASK)) {
        let there = block.chunks_exact(WORD).enumerate().fold(0, |there, (i, word)| {
            let word = u32::from_le_bytes(word.try_into().expect("a word has four bytes"));
            there | u64::from(word != 0) << i
        });
        mask.copy_from_slice(&there.to_le_bytes());
        for i in bits(there) {
            words[end..end + WORD].copy_from_slice(&block[i * WORD..(i + 1) * WORD]);
            end += WORD;
        }
    }
    let len = masks.len() + end;
    dense.truncate(len);
}

/// None if `dense` are not the words of `bytes` bytes.
fn put_zeros_in(dense: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let (masks, mut words) = dense.split_at_checked(mask_bytes(bytes))?;
    let mut rows = vec![0; bytes];
    for (block, mask) in rows.chunks_mut(BLOCK * WORD).zip(masks.chunks_exact(MASK)) {
        for i in bits(u64::from_le_bytes(mask.try_into().expect("a mask has eight bytes"))) {
            let (word, rest) = words.split_at_checked(WORD)?;
            block.get_mut(i * WORD..(i + 1) * WORD)?.copy_from_slice(word);
            words = rest;
        }
    }
    words.is_empty().then_some(rows)
}

/// The bits that are set, lowest first.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        lowest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `words` words of which every third is not 0.
    fn rows(words: u32) -> Vec<u8> {
        (0..words).flat_map(|i| if i % 3 == 0 { (i + 1).to_le_bytes() } else { [0; 4] }).collect()
    }

    #[test]
    fn zeros_are_left_out_word_by_word() {
        let mut dense = Vec::new();
        leave_zeros_out(&rows(66), &mut dense);
        // Words 0, 3, .. 63 and none of 64 and 65: 22 of them after two masks.
        assert_eq!(dense.len(), 2 * 8 + 22 * 4);
        assert_eq!(dense[..8], 0x9249_2492_4924_9249_u64.to_le_bytes()); // bits 0, 3, .. 63
        assert_eq!(dense[8..16], [0; 8]);
        assert_eq!(dense[16..24], [1, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(put_zeros_in(&dense, 66 * 4).as_deref(), Some(&rows(66)[..]));
    }

    #[test]
    fn words_that_do_not_fit_their_masks_are_no_rows() {
        let dense = [&[0b101, 0, 0, 0, 0, 0, 0, 0][..], &[1, 0, 0, 0, 2, 0, 0, 0]].concat();
        assert_eq!(put_zeros_in(&dense, 12), Some(vec![1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]));
        assert_eq!(put_zeros_in(&dense, 8), None); // word 2 of two
        assert_eq!(put_zeros_in(&dense[..12], 12), None); // a word is missing
        assert_eq!(put_zeros_in(&[&dense[..], &[0; 4]].concat(), 12), None); // one too many
        assert_eq!(put_zeros_in(&dense[..7], 12), None); // no whole mask
        assert_eq!(put_zeros_in(&[], 0), Some(vec![]));
    }

    #[test]
    fn rows_are_packed_where_it_pays() {
        let zeros = vec![0; 4096];
        let packed = pack(&zeros).expect("zeros pay");
        assert!(packed.len() < 40, "{}", packed.len());
        assert_eq!(unpack(&packed, 4096).unwrap(), zeros);
        assert_eq!(pack(&zeros[..1020]), None, "too few");
        assert_eq!(pack(&zeros[..4095]), None, "no whole words");
        assert_eq!(pack(&vec![0; MAX_PART_ROW_BYTES + 4]), None, "too many");
        // Multiples of an odd number look random to zstd.
        let noise: Vec<u8> = (1..2000_u32).flat_map(|i| i.wrapping_mul(0x9e37_79b1).to_le_bytes()).collect();
        assert_eq!(pack(&noise), None, "nothing to gain");
    }

    #[test]
    fn what_unpacks_to_more_or_less_than_it_says_is_refused() {
        let refusal = |packed: &[u8], bytes| unpack(packed, bytes).unwrap_err().to_string();
        let packed = pack(&rows(1024)).unwrap();
        assert_eq!(unpack(&packed, 4096).unwrap(), rows(1024));
        assert_eq!(refusal(&packed, 8192), "not a trajectory: packed rows are not 8192 bytes");
        assert_eq!(refusal(&packed, 4094), "not a trajectory: 4094 bytes of packed rows are no whole words");
        assert_eq!(refusal(&packed, 524_292), "rows of 524292 bytes are over the limit of 524288");
        assert!(refusal(&packed[..packed.len() - 1], 4096).starts_with("not a trajectory: packed rows: "));
        assert!(refusal(b"", 4096).starts_with("not a trajectory: packed rows"));
        // A bomb: 64 MiB of zeros in 6 KB.
        let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
        assert!(bomb.len() < 8192);
        assert_eq!(refusal(&bomb, 4096), "not a trajectory: packed rows: Destination buffer is too small");
    }
}
