//! A replay log in a directory of segment files, for one process.
//!
//! Appends go to the newest segment; eviction drops the oldest one whole, so the log holds between seven eighths of its
//! capacity and all of it once it is full. Opening cuts a torn tail off. Segments are synced when they are full and at
//! [`ReplayLog::sync`]; a crash of the process loses nothing, a loss of power what was appended since.
//!
//! | file | what |
//! |---|---|
//! | `log.json` | format, run and row size |
//! | `lock` | held by the process that has the log open |
//! | `<first position>.rows` | a segment |

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use fogfall_proto::PartId;
use serde::{Deserialize, Serialize};

use crate::ReplayError;
use crate::frame::HEADER_BYTES;
use crate::log::{Appended, Bounds, BoxFuture, LogCounts, ReplayLog};
use crate::segment::{Segment, Slice};
use crate::sequences::{Known, Sequences};

const FORMAT: u32 = 1;

/// Capacity is kept by dropping whole segments of this fraction.
const SEGMENTS: u64 = 8;

/// No segment is larger: it is read in one piece at the start.
const MAX_SEGMENT_BYTES: u64 = 64 << 20;

/// What a log in files is opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLogSettings {
    /// Its directory; made if missing.
    pub dir: PathBuf,
    /// The run it belongs to.
    pub run: String,
    /// Bytes of one row.
    pub row_bytes: usize,
    /// Most rows held.
    pub capacity_rows: u64,
    /// Most bytes of segment files.
    pub capacity_bytes: u64,
}

impl FileLogSettings {
    /// Rows and bytes that one part may have: a part lies in one segment.
    fn largest_part(&self) -> (u64, u64) {
        (self.capacity_rows / SEGMENTS, (self.capacity_bytes / SEGMENTS).min(MAX_SEGMENT_BYTES))
    }

    /// True if parts of so many rows can be stored.
    pub fn takes(&self, rows: u64) -> bool {
        let (most_rows, most_bytes) = self.largest_part();
        rows <= most_rows && HEADER_BYTES as u64 + rows * self.row_bytes as u64 <= most_bytes
    }

    /// Checks that a log can be had with these settings. Looks at no file.
    ///
    /// # Errors
    /// [`ReplayError::Settings`].
    pub fn check(&self) -> Result<(), ReplayError> {
        let (rows, bytes) = self.largest_part();
        let row = self.row_bytes as u64;
        if row == 0 || rows == 0 || bytes < row + HEADER_BYTES as u64 {
            return Err(ReplayError::Settings {
                what: format!(
                    "a replay log of {} rows and {} bytes is too small for rows of {row} bytes: it takes at least \
                     {SEGMENTS} rows and {} bytes",
                    self.capacity_rows,
                    self.capacity_bytes,
                    SEGMENTS * (row + HEADER_BYTES as u64)
                ),
            });
        }
        Ok(())
    }
}

/// What opening found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// What the log holds.
    pub bounds: Bounds,
    /// Bytes of a part that was not written to its end, cut off.
    pub torn_bytes: u64,
    /// Rows in or before a damaged segment in the midst of the log, given up so that the rest is contiguous.
    pub damaged_rows: u64,
}

/// A replay log in files.
#[derive(Clone, Debug)]
pub struct FileLog {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    settings: FileLogSettings,
    /// Oldest first; the last one is written to. Never empty.
    segments: VecDeque<Segment>,
    sequences: Sequences,
    counts: LogCounts,
    broken: Option<String>,
    /// Keeps other processes out while it lives.
    _lock: File,
}

/// `log.json`.
#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    run: String,
    row_bytes: usize,
}

impl FileLog {
    /// Opens the log in `settings.dir`, or begins one. Blocks on the disk.
    ///
    /// # Errors
    /// [`ReplayError::Settings`], [`ReplayError::OtherLog`] if another run's or another row size's log lies there,
    /// [`ReplayError::InUse`], and what the file system says.
    pub fn open(settings: FileLogSettings) -> Result<(Self, Recovery), ReplayError> {
        settings.check()?;
        let dir = &settings.dir;
        fs::create_dir_all(dir).map_err(ReplayError::io("create", dir))?;
        let lock = lock(dir)?;
        check_header(&settings)?;
        let (segments, sequences, mut recovery) = load(&settings)?;
        let counts = LogCounts::default();
        let mut inner = Inner { settings, segments, sequences, counts, broken: None, _lock: lock };
        inner.evict(0, 0)?;
        recovery.bounds = inner.bounds();
        if recovery.torn_bytes > 0 || recovery.damaged_rows > 0 {
            let Recovery { torn_bytes, damaged_rows, .. } = recovery;
            tracing::warn!(torn_bytes, damaged_rows, "replay log was damaged; the rest is kept");
        }
        Ok((Self { inner: Arc::new(Mutex::new(inner)) }, recovery))
    }

    /// Drops the parts that begin at or after `position` as if they had never been stored, and returns how many rows
    /// that are. For a writer that goes on from an earlier state and will store them anew. Blocks on the disk.
    ///
    /// # Errors
    /// [`ReplayError`]; some of them may be gone, the newest first.
    pub fn rewind(&self, position: u64) -> Result<u64, ReplayError> {
        self.lock().rewind(position)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("no holder of the log panics")
    }

    /// Runs `f` on the log off the runtime's threads. It runs to its end even if nobody waits for it.
    fn blocking<T: Send + 'static>(
        &self,
        f: impl FnOnce(&Self) -> Result<T, ReplayError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, ReplayError>> {
        let log = self.clone();
        Box::pin(async move {
            tokio::task::spawn_blocking(move || f(&log))
                .await
                .unwrap_or_else(|e| Err(ReplayError::Broken { reason: e.to_string() }))
        })
    }
}

impl ReplayLog for FileLog {
    fn append<'a>(&'a self, part: PartId, rows: &'a [u8]) -> BoxFuture<'a, Result<Appended, ReplayError>> {
        let rows = rows.to_vec();
        self.blocking(move |log| log.lock().append(part, &rows))
    }

    fn note(&self, part: PartId) -> BoxFuture<'_, Result<Appended, ReplayError>> {
        self.blocking(move |log| log.lock().note(part))
    }

    fn bounds(&self) -> BoxFuture<'_, Result<Bounds, ReplayError>> {
        Box::pin(std::future::ready(Ok(self.lock().bounds())))
    }

    fn read(&self, from: u64, max_bytes: usize) -> BoxFuture<'_, Result<Vec<u8>, ReplayError>> {
        self.blocking(move |log| {
            let slices = log.lock().slices(from, max_bytes)?;
            let mut rows = Vec::new();
            slices.iter().try_for_each(|slice| slice.read(&mut rows))?;
            Ok(rows)
        })
    }

    fn sync(&self) -> BoxFuture<'_, Result<(), ReplayError>> {
        self.blocking(|log| log.lock().sync())
    }

    fn counts(&self) -> LogCounts {
        self.lock().counts
    }
}

impl Inner {
    fn active(&mut self) -> &mut Segment {
        self.segments.back_mut().expect("there is always a segment to write to")
    }

    fn bounds(&self) -> Bounds {
        let ends = self.segments.front().zip(self.segments.back());
        let (first, last) = ends.expect("there is always a segment to write to");
        Bounds { first: first.first(), end: last.end(), bytes: self.segments.iter().map(Segment::bytes).sum() }
    }

    fn append(&mut self, part: PartId, payload: &[u8]) -> Result<Appended, ReplayError> {
        if let Some(reason) = &self.broken {
            return Err(ReplayError::Broken { reason: reason.clone() });
        }
        let row_bytes = self.settings.row_bytes;
        if payload.is_empty() || !payload.len().is_multiple_of(row_bytes) {
            return Err(ReplayError::RowBytes { part, bytes: payload.len(), row_bytes });
        }
        let rows = (payload.len() / row_bytes) as u64;
        let bytes = (HEADER_BYTES + payload.len()) as u64;
        let (limit_rows, limit_bytes) = self.settings.largest_part();
        if rows > limit_rows || bytes > limit_bytes {
            return Err(ReplayError::PartTooLarge { part, rows, bytes, limit_rows, limit_bytes });
        }
        if let Some(known) = self.known(part, rows) {
            return Ok(known);
        }
        self.write(part, rows, payload)?;
        self.counts.appended_parts += 1;
        self.counts.appended_rows += rows;
        Ok(Appended::Stored)
    }

    fn note(&mut self, part: PartId) -> Result<Appended, ReplayError> {
        if let Some(reason) = &self.broken {
            return Err(ReplayError::Broken { reason: reason.clone() });
        }
        match self.known(part, 0) {
            Some(known) => Ok(known),
            None => self.write(part, 0, &[]).map(|()| Appended::Stored),
        }
    }

    /// What a part with so many rows is, if it is not new; it is counted.
    fn known(&mut self, part: PartId, rows: u64) -> Option<Appended> {
        match self.sequences.state(part) {
            Known::New => None,
            Known::Noted => {
                self.counts.duplicate_parts += 1;
                self.counts.duplicate_rows += rows;
                Some(Appended::Duplicate)
            }
            Known::Forgotten => {
                self.counts.too_old_parts += 1;
                Some(Appended::TooOld)
            }
        }
    }

    /// Makes room for a part and writes it.
    fn write(&mut self, part: PartId, rows: u64, payload: &[u8]) -> Result<(), ReplayError> {
        let ((limit_rows, limit_bytes), bytes) = (self.settings.largest_part(), (HEADER_BYTES + payload.len()) as u64);
        let active = self.active();
        if active.rows() > 0 && (active.rows() + rows > limit_rows || active.bytes() + bytes > limit_bytes) {
            self.roll()?;
        }
        self.evict(rows, bytes)?;
        if let Err(e) = self.active().append(part, rows, payload) {
            if let ReplayError::Broken { reason } = &e {
                self.broken = Some(reason.clone());
            }
            return Err(e);
        }
        self.sequences.insert(part);
        Ok(())
    }

    /// Begins a new segment.
    fn roll(&mut self) -> Result<(), ReplayError> {
        self.active().sync()?;
        let first = self.active().end();
        self.segments.push_back(Segment::create(&self.settings.dir, first, &self.sequences)?);
        sync_dir(&self.settings.dir)
    }

    /// Drops the oldest segments until so many rows and bytes more fit.
    fn evict(&mut self, rows: u64, bytes: u64) -> Result<(), ReplayError> {
        let FileLogSettings { capacity_rows, capacity_bytes, .. } = self.settings;
        loop {
            let bounds = self.bounds();
            let fits = bounds.rows() + rows <= capacity_rows && bounds.bytes + bytes <= capacity_bytes;
            if fits || self.segments.len() == 1 {
                return Ok(());
            }
            self.segments[0].remove()?;
            self.segments.pop_front();
        }
    }

    fn rewind(&mut self, position: u64) -> Result<u64, ReplayError> {
        let end = self.bounds().end;
        while self.segments.len() > 1 && self.active().first() >= position {
            self.active().remove()?;
            self.segments.pop_back();
        }
        self.active().cut(position)?;
        // Read back, so that the dropped parts are not known any more either.
        let (path, row_bytes) = (self.active().path().to_owned(), self.settings.row_bytes);
        let Some((segment, _)) = Segment::load(&path, row_bytes, &mut self.sequences)? else {
            let reason = format!("{} cannot be read back", path.display());
            self.broken = Some(reason.clone());
            return Err(ReplayError::Broken { reason });
        };
        *self.active() = segment;
        self.sync()?;
        Ok(end - self.bounds().end)
    }

    fn slices(&self, from: u64, max_bytes: usize) -> Result<Vec<Slice>, ReplayError> {
        let Bounds { first, end, .. } = self.bounds();
        if from < first {
            return Err(ReplayError::Evicted { first });
        }
        if from > end {
            return Err(ReplayError::Ahead { from, end });
        }
        let row_bytes = self.settings.row_bytes;
        let mut left = (max_bytes / row_bytes).max(1) as u64;
        let mut at = from;
        let mut slices = Vec::new();
        for segment in self.segments.iter().filter(|segment| segment.end() > from) {
            let rows = segment.slices(at, left, row_bytes, &mut slices);
            at += rows;
            left -= rows;
            if left == 0 {
                break;
            }
        }
        Ok(slices)
    }

    fn sync(&self) -> Result<(), ReplayError> {
        self.segments.back().map_or(Ok(()), Segment::sync)?;
        sync_dir(&self.settings.dir)
    }
}

fn lock(dir: &Path) -> Result<File, ReplayError> {
    let path = dir.join("lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(ReplayError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ReplayError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(e)) => Err(ReplayError::io("lock", &path)(e)),
    }
}

/// Compares `log.json` with the settings, or writes it for a new log.
fn check_header(settings: &FileLogSettings) -> Result<(), ReplayError> {
    let dir = &settings.dir;
    let path = dir.join("log.json");
    let expected = Header { format: FORMAT, run: settings.run.clone(), row_bytes: settings.row_bytes };
    if !path.exists() {
        let text = serde_json::to_vec(&expected).expect("a header is plain data");
        let new = dir.join("log.json.tmp");
        fs::write(&new, text).map_err(ReplayError::io("write", &new))?;
        File::open(&new).and_then(|file| file.sync_all()).map_err(ReplayError::io("sync", &new))?;
        fs::rename(&new, &path).map_err(ReplayError::io("rename", &new))?;
        return sync_dir(dir);
    }
    let text = fs::read(&path).map_err(ReplayError::io("read", &path))?;
    let found: Header = serde_json::from_slice(&text).map_err(|e| ReplayError::Io {
        action: "understand",
        path: path.clone(),
        source: e.into(),
    })?;
    for (field, found, expected) in [
        ("format", found.format.to_string(), FORMAT.to_string()),
        ("run", found.run, expected.run),
        ("row size", found.row_bytes.to_string(), expected.row_bytes.to_string()),
    ] {
        if found != expected {
            return Err(ReplayError::OtherLog { place: dir.display().to_string(), field, found, expected });
        }
    }
    Ok(())
}

/// Reads all segments, oldest first, and repairs what can be repaired.
fn load(settings: &FileLogSettings) -> Result<(VecDeque<Segment>, Sequences, Recovery), ReplayError> {
    let mut kept: VecDeque<Segment> = VecDeque::new();
    let mut sequences = Sequences::default();
    let mut recovery = Recovery::default();
    let files = segment_files(&settings.dir)?;
    for (i, (first, path)) in files.iter().enumerate() {
        let newest = i + 1 == files.len();
        let before = sequences.clone();
        let loaded = Segment::load(path, settings.row_bytes, &mut sequences)?;
        if kept.back().is_some_and(|last| last.end() != *first) {
            give_up(&mut kept, &mut recovery)?;
        }
        match loaded {
            Some((segment, rest)) if rest == 0 || newest => {
                recovery.torn_bytes += rest;
                if rest > 0 {
                    segment.truncate()?;
                }
                kept.push_back(segment);
            }
            Some((segment, _)) => {
                kept.push_back(segment);
                give_up(&mut kept, &mut recovery)?;
            }
            None => {
                recovery.torn_bytes += fs::metadata(path).map_err(ReplayError::io("read", path))?.len();
                fs::remove_file(path).map_err(ReplayError::io("remove", path))?;
                sequences = before;
                if !newest {
                    give_up(&mut kept, &mut recovery)?;
                }
            }
        }
    }
    if kept.is_empty() {
        let first = files.last().map_or(0, |&(first, _)| first);
        kept.push_back(Segment::create(&settings.dir, first, &sequences)?);
    }
    Ok((kept, sequences, recovery))
}

/// Drops all segments read so far: what follows them would not be contiguous.
fn give_up(kept: &mut VecDeque<Segment>, recovery: &mut Recovery) -> Result<(), ReplayError> {
    for segment in kept.drain(..) {
        tracing::warn!(path = %segment.path().display(), rows = segment.rows(), "giving up rows around damage");
        recovery.damaged_rows += segment.rows();
        segment.remove()?;
    }
    Ok(())
}

/// Segment files with their first position, oldest first.
fn segment_files(dir: &Path) -> Result<Vec<(u64, PathBuf)>, ReplayError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(ReplayError::io("list", dir))? {
        let path = entry.map_err(ReplayError::io("list", dir))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let (Some(first), Some("rows")) = (stem, path.extension().and_then(|e| e.to_str())) {
            files.push((first, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}

fn sync_dir(dir: &Path) -> Result<(), ReplayError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(ReplayError::io("sync", dir))
}

#[cfg(test)]
mod tests;
