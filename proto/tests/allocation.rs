//! What a decoder allocates is bounded by the length of what it was given, never by a length that is written in it.
#![allow(clippy::unwrap_used)]
// Counting what is allocated takes an allocator, and an allocator is unsafe to write. This one passes every call on as it
// is to the system's, which keeps the promises of `GlobalAlloc`, and does nothing else but add and subtract.
#![allow(unsafe_code)]

mod fixtures;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fogfall_proto::{Heartbeat, LeadRecord, MAX_PART_ROW_BYTES, Manifest, ManifestRecord, Trajectory, WIRE_VERSION};

/// What a decoder may hold besides what is as long as its message: serde trusts an announced length for up to 1 MiB, and a
/// thread that unpacks keeps the tools and room for the rows of a part.
const FIXED_BYTES: usize = (1 << 20) + 4 * MAX_PART_ROW_BYTES;
/// What a decoder may hold for each byte of its message: at worst an entry of a map for each three of them.
const BYTES_A_BYTE: usize = 64;

#[global_allocator]
static COUNTED: Counted = Counted;

struct Counted;

thread_local! {
    /// Bytes that this thread holds, and the most it held.
    static HELD: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

fn count(more: usize, less: usize) {
    let (held, most) = HELD.get();
    let held = (held + more).saturating_sub(less);
    HELD.set((held, most.max(held)));
}

unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, 0); // old and new may both be there
        count(0, layout.size());
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        unsafe { System.dealloc(at, layout) }
    }
}

/// Most bytes that were held besides what was held before.
fn most_held(work: impl FnOnce()) -> usize {
    let (before, _) = HELD.get();
    HELD.set((before, before));
    work();
    HELD.get().1 - before
}

fn decode_all(bytes: &[u8]) {
    let _ = Manifest::decode(bytes);
    let _ = Trajectory::decode(bytes);
    let _ = Heartbeat::decode(bytes);
    let _ = LeadRecord::decode(bytes);
    let _ = ManifestRecord::decode(bytes).and_then(|record| record.manifest());
}

fn assert_bounded(bytes: &[u8]) {
    let held = most_held(|| decode_all(bytes));
    assert!(held <= FIXED_BYTES + BYTES_A_BYTE * bytes.len(), "{held} bytes held for a message of {}", bytes.len());
}

#[test]
fn the_count_sees_what_is_held_at_once() {
    let held = most_held(|| {
        drop(std::hint::black_box(vec![1_u8; 3 << 20]));
        drop(std::hint::black_box(vec![0_u8; 5 << 20]));
    });
    assert_eq!(held, 5 << 20);
}

#[test]
fn announced_lengths_are_not_believed() {
    let headers = [0xc6, 0xdb, 0xdd, 0xdf].map(|marker| [marker, 0xff, 0xff, 0xff, 0xff]);
    for (_, message) in [WIRE_VERSION - 1, WIRE_VERSION].into_iter().flat_map(fixtures::all) {
        for (at, header) in (0..message.len().min(600)).flat_map(|at| headers.iter().map(move |header| (at, header))) {
            assert_bounded(&[&message[..at], header, &message[at..]].concat());
            assert_bounded(&[&message[..at], header, message.get(at + 5..).unwrap_or(&[])].concat());
        }
    }
}

#[test]
fn a_map_of_many_small_entries_takes_no_more_than_its_share() {
    // The settings of a manifest: 100,000 keys of three bytes, each with an empty text.
    let mut manifest = Manifest::decode(&fixture("manifest")).unwrap();
    manifest.settings = (0..100_000).map(|i| (format!("{i:x}"), String::new())).collect();
    assert_bounded(&manifest.encode());
}

#[test]
fn a_part_that_says_it_unpacks_to_four_gigabytes_or_does_so_takes_no_room() {
    let bytes = fixture("trajectory-truncated");
    let name = b"unpacked_bytes";
    let at = bytes.windows(name.len()).position(|window| window == name).expect("its rows are packed") + name.len();
    assert_eq!(bytes[at], 0xcd, "64 rows of 100 bytes are a number of two bytes");
    let says = [&bytes[..at], &[0xce, 0xff, 0xff, 0xff, 0xff], &bytes[at + 3..]].concat();
    assert_bounded(&says);
    let reason = Trajectory::decode(&says).unwrap_err().to_string();
    assert_eq!(reason, "rows of 4294967295 bytes are over the limit of 524288");

    // The rows are the last field: a byte string of less than 256 bytes.
    let rows = bytes.windows(5).rposition(|window| window == b"\xa4rows").unwrap() + 5;
    assert_eq!(bytes[rows], 0xc4);
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    let does = [&bytes[..rows], &[0xc5], &(bomb.len() as u16).to_be_bytes(), &bomb].concat();
    assert_bounded(&does);
    let reason = Trajectory::decode(&does).unwrap_err().to_string();
    assert_eq!(reason, "not a trajectory: packed rows: Destination buffer is too small");
}

fn fixture(name: &str) -> Vec<u8> {
    fixtures::all(WIRE_VERSION).into_iter().find(|(found, _)| found == name).expect("there is one").1
}
