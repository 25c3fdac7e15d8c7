//! What every decoder must live through: any bytes at all. The tests call it with fixtures and what is made of them, the
//! fuzz target (`proto/fuzz`) with whatever the fuzzer thinks of.

use fogfall_proto::{
    GameResult, Heartbeat, LeadRecord, MAX_MESSAGE_BYTES, MAX_PART_ROW_BYTES, Manifest, ManifestRecord, PartId,
    PartOfGame, ProtoError, RowLayout, Trajectory, WIRE_VERSION,
};
use serde::Serialize;

/// Gives the bytes to every decoder. What is taken must be written and read again as the same.
///
/// # Panics
/// If a decoder panics or breaks a promise.
pub fn survive(bytes: &[u8]) {
    settles(bytes, Manifest::decode, Manifest::encode);
    settles(bytes, Trajectory::decode, Trajectory::encode);
    settles(bytes, Heartbeat::decode, Heartbeat::encode);
    settles(bytes, LeadRecord::decode, LeadRecord::encode);
    settles(bytes, ManifestRecord::decode, ManifestRecord::encode);
    let held = ManifestRecord::decode(bytes).and_then(|record| record.manifest());
    for manifest in [Manifest::decode(bytes), held].into_iter().flatten() {
        assert!(manifest.row_layout().row_bytes() <= MAX_PART_ROW_BYTES);
        let _ = trajectory(bytes).check(&manifest);
    }
    rows_are_read(bytes);
    rows_come_back(bytes);
    packed_rows(bytes);
}

/// Once read and written, a message stays as it is.
fn settles<T>(bytes: &[u8], decode: fn(&[u8]) -> Result<T, ProtoError>, encode: fn(&T) -> Vec<u8>) {
    let Ok(message) = decode(bytes) else { return };
    let written = encode(&message);
    match decode(&written) {
        Ok(again) => assert_eq!(encode(&again), written),
        // Names of fields make it longer than it was.
        Err(error) => assert!(matches!(error, ProtoError::TooLong { .. }), "{error}"),
    }
}

fn rows_are_read(bytes: &[u8]) {
    let layout = RowLayout::new(3, 5, 2);
    let mut written = Vec::new();
    for row in layout.rows(bytes) {
        let _ = row.state_key();
        written.clear();
        layout.write(&row.to_row(), &mut written);
        assert_eq!(written.len(), layout.row_bytes());
    }
}

fn trajectory(rows: &[u8]) -> Trajectory {
    Trajectory {
        wire: WIRE_VERSION,
        run: "r".into(),
        rules_hash: 1,
        settings_hash: 2,
        part: PartId { publisher: 3, sequence: 4 },
        part_of_game: PartOfGame::WHOLE,
        slot: 5,
        seed: 6,
        result: GameResult::Truncated,
        decisions: 7,
        evaluations: 8,
        row_count: 9,
        rows: rows.to_vec(),
    }
}

fn rows_come_back(rows: &[u8]) {
    for wire in [WIRE_VERSION - 1, WIRE_VERSION] {
        let sent = Trajectory { wire, ..trajectory(rows) };
        let bytes = sent.encode();
        if bytes.len() <= MAX_MESSAGE_BYTES {
            assert_eq!(Trajectory::decode(&bytes).expect("it was just encoded"), sent);
        }
    }
}

/// A trajectory whose packed rows are anything.
#[derive(Serialize)]
struct Packed<'a> {
    wire: u16,
    run: &'a str,
    rules_hash: u64,
    settings_hash: u64,
    part: PartId,
    slot: u32,
    seed: u64,
    result: GameResult,
    decisions: u32,
    evaluations: u64,
    row_count: u32,
    unpacked_bytes: u32,
    #[serde(with = "serde_bytes")]
    rows: &'a [u8],
}

/// Takes the first four bytes for the length of the rows, and the others for the packed rows: as they are, and as what
/// zstd shall find in them.
fn packed_rows(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk() else { return };
    let unpacked_bytes = u32::from_le_bytes(*length);
    let zstd = zstd::bulk::compress(rest, 1).expect("anything can be compressed");
    for (unpacked_bytes, rows) in [(unpacked_bytes, rest), (unpacked_bytes, &zstd), (unpacked_bytes % 4096, &zstd)] {
        let message = Packed {
            wire: WIRE_VERSION,
            run: "r",
            rules_hash: 1,
            settings_hash: 2,
            part: PartId { publisher: 3, sequence: 4 },
            slot: 5,
            seed: 6,
            result: GameResult::Truncated,
            decisions: 7,
            evaluations: 8,
            row_count: 9,
            unpacked_bytes,
            rows,
        };
        let message = rmp_serde::to_vec_named(&message).expect("plain data");
        if let Ok(read) = Trajectory::decode(&message) {
            assert!(read.rows.len() == unpacked_bytes as usize && read.rows.len() <= MAX_PART_ROW_BYTES);
        }
        settles(&message, Trajectory::decode, Trajectory::encode);
    }
}
