//! One file of the log: frames appended one after the other, with an index of them in memory.
//!
//! **Invariant:** the first `bytes` bytes of the file are whole frames; a failed write is cut off again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fogfall_proto::PartId;

use crate::ReplayError;
use crate::frame::{self, HEADER_BYTES};
use crate::sequences::Sequences;

/// Bytes to read from a file for some rows.
#[derive(Debug)]
pub(crate) struct Slice {
    file: Arc<File>,
    path: PathBuf,
    offset: u64,
    bytes: usize,
}

/// Where a part's rows lie.
#[derive(Debug)]
struct Entry {
    position: u64,
    offset: u64,
    rows: u64,
}

#[derive(Debug)]
pub(crate) struct Segment {
    path: PathBuf,
    file: Arc<File>,
    first: u64,
    end: u64,
    bytes: u64,
    /// In order of position.
    index: Vec<Entry>,
    /// Stands in for a full disk: only so many bytes of the next write arrive.
    #[cfg(test)]
    pub(crate) full_after: Option<usize>,
}

impl Segment {
    /// A new file that begins with a snapshot of the numbers seen.
    pub(crate) fn create(dir: &Path, first: u64, sequences: &Sequences) -> Result<Self, ReplayError> {
        let path = dir.join(format!("{first:020}.rows"));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path);
        let mut segment = Self::new(path.clone(), file.map_err(ReplayError::io("create", &path))?, first);
        let snapshot = serde_json::to_vec(sequences).expect("numbers are plain data");
        let frame = frame::encode(0, first, PartId { publisher: 0, sequence: 0 }, &snapshot);
        if let Err(e) = segment.write(&frame) {
            // Half a segment would be found at the next start, and thrown away there.
            let _ = fs::remove_file(&path);
            return Err(ReplayError::io("write", &path)(e));
        }
        Ok(segment)
    }

    /// Reads a file back and notes its parts. `None` if not even its snapshot is whole. Else the segment of all whole
    /// frames, and how many bytes follow them.
    pub(crate) fn load(
        path: &Path,
        row_bytes: usize,
        sequences: &mut Sequences,
    ) -> Result<Option<(Self, u64)>, ReplayError> {
        let bytes = fs::read(path).map_err(ReplayError::io("read", path))?;
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(ReplayError::io("open", path))?;
        let snapshot = frame::decode(&bytes).filter(|(header, _)| header.rows == 0);
        let Some((header, snapshot)) = snapshot else { return Ok(None) };
        let Ok(windows) = serde_json::from_slice(snapshot) else { return Ok(None) };
        *sequences = windows;
        let mut segment = Self::new(path.to_owned(), file, header.position);
        segment.bytes = (HEADER_BYTES + snapshot.len()) as u64;
        while let Some((header, payload)) = frame::decode(&bytes[segment.bytes as usize..]) {
            let whole = payload.len() == header.rows as usize * row_bytes;
            if !whole || header.position != segment.end {
                break;
            }
            sequences.insert(header.part);
            segment.note(u64::from(header.rows), payload.len());
        }
        let rest = bytes.len() as u64 - segment.bytes;
        Ok(Some((segment, rest)))
    }

    fn new(path: PathBuf, file: File, first: u64) -> Self {
        let file = Arc::new(file);
        Self {
            path,
            file,
            first,
            end: first,
            bytes: 0,
            index: Vec::new(),
            #[cfg(test)]
            full_after: None,
        }
    }

    fn note(&mut self, rows: u64, payload_bytes: usize) {
        if rows > 0 {
            self.index.push(Entry { position: self.end, offset: self.bytes + HEADER_BYTES as u64, rows });
        }
        self.end += rows;
        self.bytes += (HEADER_BYTES + payload_bytes) as u64;
    }

    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn rows(&self) -> u64 {
        self.end - self.first
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a part of `rows` rows. On failure the file is as before, or the error is [`ReplayError::Broken`].
    pub(crate) fn append(&mut self, part: PartId, rows: u64, payload: &[u8]) -> Result<(), ReplayError> {
        let frame = frame::encode(rows as u32, self.end, part, payload);
        let before = self.bytes;
        if let Err(failed) = self.write(&frame) {
            return match self.file.set_len(before) {
                Ok(()) => Err(ReplayError::io("write", &self.path)(failed)),
                Err(e) => Err(ReplayError::Broken {
                    reason: format!("{}: {failed}, and cutting the torn part off: {e}", self.path.display()),
                }),
            };
        }
        self.bytes = before;
        self.note(rows, payload.len());
        Ok(())
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if let Some(arriving) = self.full_after {
            self.file.write_all_at(&frame[..arriving.min(frame.len())], self.bytes)?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write_all_at(frame, self.bytes)?;
        self.bytes += frame.len() as u64;
        Ok(())
    }

    /// Cuts off what follows the whole frames.
    pub(crate) fn truncate(&self) -> Result<(), ReplayError> {
        self.file.set_len(self.bytes).map_err(ReplayError::io("truncate", &self.path))
    }

    /// Cuts off all parts that begin at or after `position` from the file; what is noted here of them stays.
    pub(crate) fn cut(&self, position: u64) -> Result<(), ReplayError> {
        let kept = self.index.partition_point(|entry| entry.position < position);
        let end = self.index.get(kept).map_or(self.bytes, |entry| entry.offset - HEADER_BYTES as u64);
        self.file.set_len(end).map_err(ReplayError::io("truncate", &self.path))
    }

    pub(crate) fn sync(&self) -> Result<(), ReplayError> {
        self.file.sync_data().map_err(ReplayError::io("sync", &self.path))
    }

    pub(crate) fn remove(&self) -> Result<(), ReplayError> {
        fs::remove_file(&self.path).map_err(ReplayError::io("remove", &self.path))
    }

    /// Where to read up to `max_rows` rows from position `from`, which this segment holds; returns how many.
    pub(crate) fn slices(&self, from: u64, max_rows: u64, row_bytes: usize, slices: &mut Vec<Slice>) -> u64 {
        let begin = self.index.partition_point(|entry| entry.position + entry.rows <= from);
        let mut at = from;
        for entry in &self.index[begin..] {
            if at - from == max_rows {
                break;
            }
            let skip = at - entry.position;
            let rows = (entry.rows - skip).min(max_rows - (at - from));
            slices.push(Slice {
                file: Arc::clone(&self.file),
                path: self.path.clone(),
                offset: entry.offset + skip * row_bytes as u64,
                bytes: rows as usize * row_bytes,
            });
            at += rows;
        }
        at - from
    }
}

impl Slice {
    /// Appends the bytes. A segment evicted meanwhile is still read: its file lives as long as it is open.
    pub(crate) fn read(&self, out: &mut Vec<u8>) -> Result<(), ReplayError> {
        let at = out.len();
        out.resize(at + self.bytes, 0);
        self.file.read_exact_at(&mut out[at..], self.offset).map_err(ReplayError::io("read", &self.path))
    }
}
