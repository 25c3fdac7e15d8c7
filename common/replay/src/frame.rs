//! One record of a segment file: a fixed header and a payload, guarded by a checksum.
//!
//! | offset | what |
//! |---|---|
//! | 0 | magic `FGRF` |
//! | 4 | u32 CRC-32 of all that follows, payload included |
//! | 8 | u32 payload bytes |
//! | 12 | u32 rows; without any, the first frame of a segment is a snapshot of what is known of numbers, as JSON, and others note a part |
//! | 16 | u64 log position of the first row |
//! | 24 | u64 publisher |
//! | 32 | u64 sequence |
//!
//! Numbers are little-endian. Each segment begins with a snapshot, so that numbers outlive evicted rows.

use fogfall_proto::PartId;

/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 40;

const MAGIC: [u8; 4] = *b"FGRF";

/// What a frame says of its payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) payload_bytes: u32,
    pub(crate) rows: u32,
    pub(crate) position: u64,
    pub(crate) part: PartId,
}

/// A whole frame in one buffer, so that it is written by one call.
pub(crate) fn encode(rows: u32, position: u64, part: PartId, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER_BYTES + payload.len());
    frame.extend_from_slice(&MAGIC);
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(&rows.to_le_bytes());
    for number in [position, part.publisher, part.sequence] {
        frame.extend_from_slice(&number.to_le_bytes());
    }
    frame.extend_from_slice(payload);
    let crc = crc32fast::hash(&frame[8..]);
    frame[4..8].copy_from_slice(&crc.to_le_bytes());
    frame
}

/// The frame at the start of `bytes` and its payload, or `None` if it is cut off or damaged.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let header = bytes.get(..HEADER_BYTES)?;
    let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    if header[..4] != MAGIC {
        return None;
    }
    let payload_bytes = u32_at(8);
    let payload = bytes.get(HEADER_BYTES..)?.get(..payload_bytes as usize)?;
    if crc32fast::hash(&bytes[8..HEADER_BYTES + payload_bytes as usize]) != u32_at(4) {
        return None;
    }
    let part = PartId { publisher: u64_at(24), sequence: u64_at(32) };
    Some((Header { payload_bytes, rows: u32_at(12), position: u64_at(16), part }, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_and_any_flipped_bit_or_cut_is_noticed() {
        let part = PartId { publisher: 7, sequence: 9 };
        let frame = encode(2, 11, part, b"rows");
        let header = Header { payload_bytes: 4, rows: 2, position: 11, part };
        assert_eq!(decode(&frame), Some((header, &b"rows"[..])));
        assert_eq!(decode(&[&frame[..], b"more"].concat()), Some((header, &b"rows"[..])));
        for bit in 0..frame.len() * 8 {
            let mut damaged = frame.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&damaged), None, "bit {bit}");
        }
        for len in 0..frame.len() {
            assert_eq!(decode(&frame[..len]), None, "cut to {len}");
        }
    }
}
