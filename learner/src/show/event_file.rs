//! TensorBoard's event files: the run's figures by train step, to be compared with other runs there. A file a start of the
//! learner, in one folder a run; not read back by anything here.
//!
//! A file is a sequence of records, `length: u64, masked CRC-32C of it, data, masked CRC-32C of it`, little endian, whose
//! data is an `Event` in protobuf (TensorFlow's `core/lib/io/record_writer.cc`, `core/util/event.proto` and
//! `core/framework/summary.proto`). Of it only the five fields that scalars need are written, so they are encoded here.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, create_dir_all},
    io::Write,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result};

use super::scalars::scalars;
use crate::status::Status;

/// An event file, open for writing. Every event is handed to the system at once, so a crash of the process loses none.
#[derive(Debug)]
pub struct EventFile {
    file: File,
    /// The step of the newest point of each series: a figure is a point once, however long it stays the newest.
    newest: HashMap<String, u64>,
    begun: bool,
}

impl EventFile {
    /// Creates the file of this start in the folder `dir`.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(dir: &Path) -> Result<Self> {
        let now = seconds_now();
        // TensorBoard reads the files of a folder in the order of their names.
        let path = dir.join(format!("events.out.tfevents.{:010}.fogfall.{}", now as u64, std::process::id()));
        let create = || -> std::io::Result<Self> {
            create_dir_all(dir)?;
            let file = OpenOptions::new().create_new(true).append(true).open(&path)?;
            let mut events = Self { file, newest: HashMap::new(), begun: false };
            events.write(&event(now, 0, &Content::Version("brain.Event:2")))?;
            Ok(events)
        };
        create().with_context(|| format!("cannot create the event file {}", path.display()))
    }

    /// Adds what is new in `status`.
    ///
    /// # Errors
    /// If it cannot be written, like on a full disk.
    pub fn append(&mut self, status: &Status) -> Result<()> {
        let now = seconds_now();
        if !self.begun {
            // What an earlier start did after the checkpoint that this one goes on from is no part of the run.
            self.write(&event(now, status.step, &Content::Start)).context("cannot write to the event file")?;
            self.begun = true;
        }
        for scalar in scalars(status) {
            if !scalar.value.is_finite() || self.newest.get(&scalar.tag) == Some(&scalar.step) {
                continue;
            }
            let content = Content::Scalar(&scalar.tag, scalar.value as f32);
            self.write(&event(now, scalar.step, &content)).context("cannot write to the event file")?;
            self.newest.insert(scalar.tag, scalar.step);
        }
        Ok(())
    }

    fn write(&mut self, event: &[u8]) -> std::io::Result<()> {
        // One call a record: a record is whole or the last of its file.
        self.file.write_all(&record(event))
    }
}

/// What an event says.
enum Content<'a> {
    /// The version of the format, first in a file.
    Version(&'static str),
    /// A start of the run: later steps that earlier files have are of no account.
    Start,
    /// A tag's value.
    Scalar(&'a str, f32),
}

/// `Event { wall_time: 1, step: 2, file_version: 3 | summary: 5 | session_log: 7 }`.
fn event(wall_time: f64, step: u64, content: &Content<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    key(&mut out, 1, FIXED_64);
    out.extend(wall_time.to_le_bytes());
    key(&mut out, 2, VARINT);
    varint(&mut out, step);
    match content {
        Content::Version(version) => bytes(&mut out, 3, version.as_bytes()),
        // SessionLog { status: 1 = START }
        Content::Start => bytes(&mut out, 7, &[0x08, 1]),
        Content::Scalar(tag, value) => {
            // Summary { value: 1 = Value { tag: 1, simple_value: 2 } }
            let mut of_tag = Vec::new();
            bytes(&mut of_tag, 1, tag.as_bytes());
            key(&mut of_tag, 2, FIXED_32);
            of_tag.extend(value.to_le_bytes());
            let mut summary = Vec::new();
            bytes(&mut summary, 1, &of_tag);
            bytes(&mut out, 5, &summary);
        }
    }
    out
}

// Wire types of protobuf.
const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const BYTES: u8 = 2;
const FIXED_32: u8 = 5;

fn key(out: &mut Vec<u8>, field: u8, wire_type: u8) {
    out.push(field << 3 | wire_type);
}

fn bytes(out: &mut Vec<u8>, field: u8, content: &[u8]) {
    key(out, field, BYTES);
    varint(out, content.len() as u64);
    out.extend(content);
}

/// Seven bits a byte, lowest first; the eighth says that more follow.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = Vec::with_capacity(data.len() + 16);
    out.extend(length);
    out.extend(masked_crc(&length).to_le_bytes());
    out.extend(data);
    out.extend(masked_crc(data).to_le_bytes());
    out
}

/// A checksum of what holds checksums itself is a bad one, so it is masked (`core/lib/hash/crc32c.h`).
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8)
}

fn seconds_now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{show::samples, status::WinRate};

    #[test]
    fn an_event_is_encoded_as_the_format_says() {
        let scalar = event(1.0, 300, &Content::Scalar("a", 0.5));
        let mut expected = vec![0x09]; // field 1, 64 bits
        expected.extend([0, 0, 0, 0, 0, 0, 0xf0, 0x3f]); // 1.0
        expected.extend([0x10, 0xac, 0x02]); // field 2: 300 = 2 * 128 + 44
        expected.extend([0x2a, 10, 0x0a, 8]); // field 5 of 10 bytes: field 1 of 8 bytes
        expected.extend([0x0a, 1, b'a', 0x15, 0, 0, 0, 0x3f]); // field 1: "a"; field 2, 32 bits: 0.5
        assert_eq!(scalar, expected);
    }

    #[test]
    fn checksums_are_masked_castagnoli() {
        // CRC-32C of 32 bytes 0 is 8a9136aa (RFC 3720, B.4); its low 15 bits 36aa go first: 6d55 1522 + a282ead8.
        assert_eq!(masked_crc(&[0; 32]), 0x6d55_1522_u32.wrapping_add(0xa282_ead8));
        assert_eq!(record(&[7]).len(), 8 + 4 + 1 + 4);
    }

    #[test]
    fn a_result_is_a_point_once_and_what_is_not_finite_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let mut events = EventFile::create(dir.path()).unwrap();
        let mut status = samples::run(3).remove(2);
        status.win_rates = vec![WinRate { opponent: "random".into(), score: 0.75, step: 7, ..WinRate::default() }];
        status.gradient_norm = f64::NAN;
        let path = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let written = |events: &mut EventFile, status: &Status| {
            let before = std::fs::read(&path).unwrap().len();
            events.append(status).unwrap();
            String::from_utf8_lossy(&std::fs::read(&path).unwrap()[before..]).into_owned()
        };
        let first = written(&mut events, &status);
        assert!(first.contains("match/random") && first.contains("loss/total"), "{first}");
        assert!(!first.contains("train/gradient_norm"), "{first}");
        status.step += 1;
        let second = written(&mut events, &status);
        assert!(!second.contains("match/random") && second.contains("loss/total"), "{second}");
        status.win_rates[0].step = 8;
        assert!(written(&mut events, &status).contains("match/random"));
    }
}
