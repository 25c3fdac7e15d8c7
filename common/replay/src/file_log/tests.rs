//! Recovery and failures of a log in files; what any log must do is in the conformance suite.

use std::io::Write;

use super::*;

const ROW: usize = 64;

fn settings(dir: &Path) -> FileLogSettings {
    FileLogSettings {
        dir: dir.to_owned(),
        run: "r".into(),
        row_bytes: ROW,
        capacity_rows: 64,
        capacity_bytes: 64 << 10,
    }
}

fn part(sequence: u64) -> PartId {
    PartId { publisher: 1, sequence }
}

/// Two rows that carry their part's number.
fn rows(sequence: u64) -> Vec<u8> {
    vec![sequence as u8; 2 * ROW]
}

fn fill(log: &FileLog, sequences: std::ops::Range<u64>) {
    for sequence in sequences {
        assert_eq!(log.lock().append(part(sequence), &rows(sequence)).unwrap(), Appended::Stored);
    }
}

fn held(log: &FileLog) -> Vec<u8> {
    let first = log.lock().bounds().first;
    let mut bytes = Vec::new();
    for slice in log.lock().slices(first, usize::MAX).unwrap() {
        slice.read(&mut bytes).unwrap();
    }
    bytes.iter().step_by(ROW).copied().collect()
}

fn segments(dir: &Path) -> Vec<PathBuf> {
    segment_files(dir).unwrap().into_iter().map(|(_, path)| path).collect()
}

#[test]
fn a_torn_tail_is_cut_off_wherever_it_tears_and_the_part_can_be_stored_again() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..3);
    drop(log);
    let path = segments(dir.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let frame = HEADER_BYTES + 2 * ROW;
    for cut in 1..frame {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let (log, recovery) = FileLog::open(settings(dir.path())).unwrap();
        assert_eq!(recovery.torn_bytes, (frame - cut) as u64);
        assert_eq!((recovery.bounds.first, recovery.bounds.end), (0, 4));
        assert_eq!(held(&log), [0, 0, 1, 1]);
        fill(&log, 2..3);
        assert_eq!(log.lock().append(part(1), &rows(1)).unwrap(), Appended::Duplicate);
        drop(log);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_segment_torn_at_its_birth_is_thrown_away() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..3);
    drop(log);
    fs::write(dir.path().join(format!("{:020}.rows", 6)), b"FGRF half").unwrap();
    let (log, recovery) = FileLog::open(settings(dir.path())).unwrap();
    assert_eq!((recovery.torn_bytes, recovery.bounds.end), (9, 6));
    assert_eq!(log.lock().append(part(2), &rows(2)).unwrap(), Appended::Duplicate);
    fill(&log, 3..5);
    assert_eq!(held(&log), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
}

#[test]
fn damage_in_the_midst_gives_up_what_lies_before_it_and_keeps_the_newest_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..12); // segments of 64 / 8 = 8 rows, 4 parts each
    drop(log);
    let files = segments(dir.path());
    assert_eq!(files.len(), 3);
    let mut bytes = fs::read(&files[1]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1; // in part 7, the last of the second segment
    fs::write(&files[1], bytes).unwrap();
    let (log, recovery) = FileLog::open(settings(dir.path())).unwrap();
    assert_eq!(recovery.damaged_rows, 14); // parts 0 to 6; part 7 was unreadable
    assert_eq!((recovery.bounds.first, recovery.bounds.end), (16, 24));
    assert_eq!(held(&log), [8, 8, 9, 9, 10, 10, 11, 11]);
    for sequence in 0..12 {
        assert_eq!(log.lock().append(part(sequence), &rows(sequence)).unwrap(), Appended::Duplicate);
    }
}

#[test]
fn positions_do_not_go_back_even_if_all_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..12);
    drop(log);
    for path in segments(dir.path()) {
        fs::write(path, b"nothing").unwrap();
    }
    let (log, recovery) = FileLog::open(settings(dir.path())).unwrap();
    assert_eq!((recovery.bounds.first, recovery.bounds.end), (16, 16));
    fill(&log, 12..13);
    assert_eq!(held(&log), [12, 12]);
}

#[test]
fn a_full_disk_is_a_clear_error_and_leaves_the_log_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..2);
    let before = fs::read(&segments(dir.path())[0]).unwrap();
    log.lock().active().full_after = Some(50);
    let refused = log.lock().append(part(2), &rows(2)).expect_err("refused");
    assert!(matches!(refused, ReplayError::DiskFull { .. }), "{refused}");
    assert_eq!(fs::read(&segments(dir.path())[0]).unwrap(), before);
    assert_eq!(log.lock().bounds().end, 4);
    log.lock().active().full_after = None;
    fill(&log, 2..3); // not taken for stored before
    assert_eq!(held(&log), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn a_log_of_another_run_or_row_size_or_in_use_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let good = settings(dir.path());
    let (log, _) = FileLog::open(good.clone()).unwrap();
    let reason = |settings| FileLog::open(settings).expect_err("refused").to_string();
    assert!(reason(good.clone()).ends_with(" is in use by another process"));
    drop(log);
    let other = FileLogSettings { run: "s".into(), ..good.clone() };
    assert!(reason(other).ends_with(" holds a log with run r, not s"));
    let other = FileLogSettings { row_bytes: 32, ..good.clone() };
    assert!(reason(other).ends_with(" holds a log with row size 64, not 32"));
    let small = FileLogSettings { capacity_rows: 7, ..good.clone() };
    assert!(reason(small).starts_with("a replay log of 7 rows and 65536 bytes is too small for rows of 64 bytes"));
    let mut file = fs::File::create(dir.path().join("log.json")).unwrap();
    file.write_all(b"{").unwrap();
    assert!(reason(good).starts_with("cannot understand "));
}

#[test]
fn a_smaller_capacity_takes_effect_at_the_next_opening() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..32);
    drop(log);
    let (log, recovery) = FileLog::open(FileLogSettings { capacity_rows: 24, ..settings(dir.path()) }).unwrap();
    assert_eq!((recovery.bounds.first, recovery.bounds.end), (40, 64)); // three segments of 8 rows
    fill(&log, 32..33);
    assert_eq!(log.lock().bounds().end, 66);
    assert!(log.lock().bounds().rows() <= 24);
}

#[test]
fn bytes_are_bounded_like_rows() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = 16 << 10;
    let settings = FileLogSettings { capacity_rows: 1 << 30, capacity_bytes: bytes, ..settings(dir.path()) };
    let (log, _) = FileLog::open(settings).unwrap();
    for sequence in 0..500 {
        fill(&log, sequence..sequence + 1);
        let bounds = log.lock().bounds();
        let on_disk: u64 = segments(dir.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
        assert_eq!(bounds.bytes, on_disk);
        assert!(on_disk <= bytes);
    }
    assert!(log.lock().bounds().bytes > bytes * 3 / 4);
}

#[test]
fn a_log_that_is_rewound_is_as_if_the_dropped_parts_had_never_been_stored() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = FileLog::open(settings(dir.path())).unwrap();
    fill(&log, 0..20); // 40 rows in segments of 8
    assert_eq!(log.rewind(100).unwrap(), 0);
    assert_eq!(log.rewind(21).unwrap(), 18); // part 10 has rows 20 and 21 and stays: 40 - 22
    let kept: Vec<u8> = (0..11).flat_map(|part| [part; 2]).collect();
    assert_eq!(held(&log), kept);
    assert_eq!(log.lock().append(part(10), &rows(10)).unwrap(), Appended::Duplicate);
    fill(&log, 11..14);
    assert_eq!(log.lock().bounds().end, 28);

    assert_eq!(log.rewind(16).unwrap(), 12); // where a segment begins: it goes wholly
    drop(log);
    let (log, recovery) = FileLog::open(settings(dir.path())).unwrap();
    assert_eq!((recovery.bounds.first, recovery.bounds.end), (0, 16));
    assert_eq!((recovery.torn_bytes, recovery.damaged_rows), (0, 0));
    assert_eq!(log.rewind(0).unwrap(), 16);
    fill(&log, 0..1);
    assert_eq!(held(&log), [0, 0]);
}
