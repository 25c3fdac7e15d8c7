//! Versions of the wire: bytes that a version wrote are read for as long as it is known, and refused as that after.
//!
//! `FOGFALL_BLESS=1 cargo test -p fogfall-proto` writes what the fixtures of the current version lack. It never changes
//! one that is there: other bytes are another version.
#![allow(clippy::unwrap_used)]

mod fixtures;

use std::fmt::Debug;
use std::fs;

use fogfall_proto::{
    Failing, GameResult, Heartbeat, LeadRecord, Manifest, ManifestRecord, NamedLen, OLDEST_WIRE_VERSION, PartCounts,
    PartId, PartOfGame, ProtoError, ROWS, Role, Row, Stage, Training, Trajectory, Version, WIRE_VERSION, Wait,
    WeightsHead,
};

const VERSION: Version = Version { epoch: 3, step: 40_000 };

fn named(name: &str, len: usize) -> NamedLen {
    NamedLen { name: name.into(), len }
}

fn manifest(wire: u16) -> Manifest {
    let settings = [("belief", "reach"), ("simulations", "64")];
    Manifest {
        wire,
        run: "dawn-1".into(),
        game: "kuhn_poker".into(),
        rules: Some("stack = 2\n".into()),
        observation: vec![named("card", 3), named("bets", 2)],
        actions: vec!["pass".into(), "bet".into()],
        hidden: vec![named("card", 3)],
        width: 64,
        blocks: 2,
        tower: None,
        settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        log: [("log_rows".to_owned(), "1000".to_owned())].into(),
    }
}

/// Seats take turns; seat 1 has one legal action.
fn row(ply: usize) -> Row {
    let first = ply.is_multiple_of(2);
    let per_action = |both: [f32; 2]| if first { both.to_vec() } else { vec![1.0] };
    Row {
        version: VERSION,
        simulations: 64,
        action: if first { 0 } else { 1 },
        seat: if first { 0 } else { 1 },
        value: if first { 0.5 } else { -0.5 },
        root_value: 0.25,
        network_value: -0.5,
        policy_weight: 1.0,
        value_weight: 0.5,
        observation: vec![0.0, 1.0, 0.0, if first { 0.0 } else { 1.0 }, 0.0],
        legal: if first { vec![0, 1] } else { vec![1] },
        policy: per_action([0.75, 0.25]),
        prior: per_action([0.5, 0.5]),
        visits: if first { vec![48, 16] } else { vec![64] },
        hidden: vec![1.0, 0.0, 0.0],
    }
}

fn trajectory(wire: u16, row_count: u32, result: GameResult, part_of_game: PartOfGame) -> Trajectory {
    let (manifest, mut rows) = (manifest(wire), Vec::new());
    (0..row_count as usize).for_each(|ply| manifest.row_layout().write(&row(ply), &mut rows));
    Trajectory {
        wire,
        run: "dawn-1".into(),
        // As version 1 counted them: a part and its run must agree across versions.
        rules_hash: 0x6fa9_f386_b30f_1aed,
        settings_hash: 0x5fc5_9928_6778_5622,
        part: PartId { publisher: 0xfeed, sequence: 7 },
        part_of_game,
        slot: 5,
        seed: u64::MAX - 1,
        result,
        decisions: row_count,
        evaluations: 130,
        row_count,
        rows,
    }
}

fn short_game(wire: u16) -> Trajectory {
    trajectory(wire, 2, GameResult::Finished(0.5), PartOfGame::WHOLE)
}

/// Its rows are worth packing. Version 1 packs none and knows no parts.
fn long_game(wire: u16) -> Trajectory {
    let part = if wire > 1 { PartOfGame { index: 1, count: 3 } } else { PartOfGame::WHOLE };
    trajectory(wire, 64, GameResult::Truncated, part)
}

/// What is newer than the fixtures has its default.
fn heartbeat(wire: u16) -> Heartbeat {
    Heartbeat {
        wire,
        run: "dawn-1".into(),
        role: Role::Learner,
        life: 0xfeed,
        host: "pod-1".into(),
        stage: Stage::Working,
        up_s: 90.5,
        weights: VERSION,
        games: 12,
        games_per_s: 0.5,
        rows: 480,
        rows_per_s: 20.0,
        parts: PartCounts { stored: 11, duplicates: 1, refused: 2, stale: 3, lost: 4, retries: 5 },
        waits: vec![Wait { what: ROWS.into(), since_s: 1.5 }],
        troubles: vec![Failing { what: "publishing".into(), reason: "no answer".into(), since_s: 9.0 }],
        training: Some(Training {
            step: 40_000,
            steps_per_s: 8.0,
            window_rows: 400,
            window_capacity: 1000,
            window_needed: 100,
            loss: Some(0.25),
            checkpoint: Some(Version { epoch: 3, step: 39_000 }),
            checkpoint_age_s: 30.0,
            ..Training::default()
        }),
        ..Heartbeat::default()
    }
}

fn lead(wire: u16) -> LeadRecord {
    let digest = 0xbdbd_a1eb_6e05_adc4_800d_98e5_524f_efbc; // XXH3-128 of "weights"
    LeadRecord { wire, epoch: 3, newest: Some(WeightsHead { version: VERSION, ordinal: 12, bytes: 1 << 20, digest }) }
}

fn lead_without_weights(wire: u16) -> LeadRecord {
    LeadRecord { wire, epoch: 1, newest: None }
}

fn manifest_record(wire: u16) -> ManifestRecord {
    let mut record = ManifestRecord::new(3, &manifest(wire));
    record.wire = wire;
    record
}

/// A kind of message: how its fixtures are called, written and read.
struct Kind<T> {
    name: &'static str,
    message: fn(u16) -> T,
    encode: fn(&T) -> Vec<u8>,
    decode: fn(&[u8]) -> Result<T, ProtoError>,
}

impl<T: PartialEq + Debug> Kind<T> {
    fn check(&self) {
        self.bless();
        for wire in OLDEST_WIRE_VERSION..=WIRE_VERSION {
            let read = (self.decode)(&self.fixture(wire)).unwrap();
            assert_eq!(read, (self.message)(wire), "{} of version {wire}", self.name);
        }
        for unknown in [OLDEST_WIRE_VERSION - 1, WIRE_VERSION + 1] {
            let error = (self.decode)(&(self.encode)(&(self.message)(unknown))).unwrap_err().to_string();
            let reason =
                format!("has wire version {unknown}; this program reads {OLDEST_WIRE_VERSION} to {WIRE_VERSION}");
            assert!(error.ends_with(&reason), "{}: {error}", self.name);
        }
        for forgotten in (1..WIRE_VERSION).filter(|&wire| wire < OLDEST_WIRE_VERSION) {
            assert!(matches!((self.decode)(&self.fixture(forgotten)), Err(ProtoError::WireVersion { .. })));
        }
    }

    fn fixture(&self, wire: u16) -> Vec<u8> {
        let file = fixtures::folder(wire).join(self.name).with_extension("msgpack");
        fs::read(&file).unwrap_or_else(|e| panic!("{} of version {wire}: {e}; FOGFALL_BLESS=1 writes it", self.name))
    }

    fn bless(&self) {
        let file = fixtures::folder(WIRE_VERSION).join(self.name).with_extension("msgpack");
        if std::env::var_os("FOGFALL_BLESS").is_some_and(|bless| bless == "1") && !file.exists() {
            fs::create_dir_all(fixtures::folder(WIRE_VERSION)).unwrap();
            fs::write(file, (self.encode)(&(self.message)(WIRE_VERSION))).unwrap();
        }
    }
}

#[test]
fn a_manifest_that_this_or_the_last_version_wrote_is_read_and_others_are_not() {
    Kind { name: "manifest", message: manifest, encode: Manifest::encode, decode: Manifest::decode }.check();
}

#[test]
fn a_trajectory_that_this_or_the_last_version_wrote_is_read_and_others_are_not() {
    let (encode, decode) = (Trajectory::encode, Trajectory::decode);
    Kind { name: "trajectory", message: short_game, encode, decode }.check();
    Kind { name: "trajectory-truncated", message: long_game, encode, decode }.check();
}

#[test]
fn a_heartbeat_that_this_or_the_last_version_wrote_is_read_and_others_are_not() {
    Kind { name: "heartbeat", message: heartbeat, encode: Heartbeat::encode, decode: Heartbeat::decode }.check();
}

#[test]
fn records_that_this_or_the_last_version_wrote_are_read_and_others_are_not() {
    let (encode, decode) = (LeadRecord::encode, LeadRecord::decode);
    Kind { name: "lead", message: lead, encode, decode }.check();
    Kind { name: "lead-without-weights", message: lead_without_weights, encode, decode }.check();
    let (encode, decode) = (ManifestRecord::encode, ManifestRecord::decode);
    Kind { name: "manifest-record", message: manifest_record, encode, decode }.check();
    assert_eq!(manifest_record(2).manifest().unwrap(), manifest(2));
}

#[test]
fn rows_of_a_part_of_the_last_version_are_the_rows_of_a_run_of_this_one() {
    let run = Manifest { wire: WIRE_VERSION, ..Manifest::decode(&manifest(WIRE_VERSION).encode()).unwrap() };
    for wire in OLDEST_WIRE_VERSION..=WIRE_VERSION {
        let part = Trajectory::decode(&long_game(wire).encode()).unwrap();
        part.check(&run).unwrap();
        for (ply, found) in run.row_layout().rows(&part.rows).enumerate() {
            assert_eq!(found.to_row(), row(ply));
        }
    }
}

#[test]
fn a_part_for_a_run_of_the_last_version_is_written_as_that_version_wrote_it() {
    let fixtures = fixtures::all(1);
    let written = [("trajectory", short_game(1).encode()), ("trajectory-truncated", long_game(1).encode())];
    for (name, bytes) in written {
        assert!(fixtures.contains(&(name.to_owned(), bytes)), "{name}");
    }
}
