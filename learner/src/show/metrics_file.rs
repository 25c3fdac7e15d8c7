//! `metrics.jsonl`: one [`Status`] a line as JSON, oldest first, appended over all starts of a run. Not a log to recover
//! a run from: a line that was cut off by a crash or a full disk is left out, never an error.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::line::json_line;
use crate::status::Status;

/// Bytes read at a time to find the last line's end.
const CHUNK: u64 = 4_096;

/// The metrics file of a run, open for appending. Every line is handed to the system at once, so a crash of the process
/// loses none.
#[derive(Debug)]
pub struct MetricsFile {
    file: File,
    path: PathBuf,
}

impl MetricsFile {
    /// Opens the file at `path`, creating it if it is not there. A last line that was cut off is removed.
    ///
    /// # Errors
    /// If the file cannot be opened, read or cut.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let open = || -> std::io::Result<File> {
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
            let end = end_of_last_line(&mut file)?;
            file.set_len(end)?;
            Ok(file)
        };
        let file = open().with_context(|| format!("cannot open the metrics file {}", path.display()))?;
        Ok(Self { file, path })
    }

    /// Appends `status` as one line.
    ///
    /// # Errors
    /// If the line cannot be written, like on a full disk. What was written of it is taken back if possible, so that
    /// later lines stay whole.
    pub fn append(&mut self, status: &Status) -> Result<()> {
        self.append_line(json_line(status))
    }

    /// Appends a line of another kind, to a file of its own.
    ///
    /// # Errors
    /// As [`MetricsFile::append`].
    pub fn append_line(&mut self, mut line: String) -> Result<()> {
        line.push('\n');
        let mut write = || -> std::io::Result<()> {
            let end = self.file.metadata()?.len();
            self.file.write_all(line.as_bytes()).inspect_err(|_| {
                let _ = self.file.set_len(end);
            })
        };
        write().with_context(|| format!("cannot append to the metrics file {}", self.path.display()))
    }
}

/// Position after the last line break, 0 if there is none.
fn end_of_last_line(file: &mut File) -> std::io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        file.seek(SeekFrom::Start(start))?;
        chunk.clear();
        (&mut *file).take(end - start).read_to_end(&mut chunk)?;
        if let Some(at) = chunk.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// What a metrics file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// The statuses, oldest first.
    pub statuses: Vec<Status>,
    /// Lines that are no status, like one that was cut off.
    pub unreadable_lines: usize,
}

/// Reads the metrics file at `path`; a file that is not there holds nothing. A number that was not finite when it was
/// written comes back as NaN.
///
/// # Errors
/// If the file is there and cannot be read.
pub fn read_metrics(path: &Path) -> Result<ReadBack> {
    let context = || format!("cannot read the metrics file {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ReadBack::default()),
        Err(error) => return Err(error).with_context(context),
    };
    let mut back = ReadBack::default();
    for line in BufReader::new(file).split(b'\n') {
        match serde_json::from_slice(&line.with_context(context)?) {
            Ok(status) => back.statuses.push(status),
            Err(_) => back.unreadable_lines += 1,
        }
    }
    Ok(back)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::samples;

    #[test]
    fn statuses_come_back_over_two_starts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        let statuses = samples::run(5);
        for start in statuses.chunks(3) {
            let mut file = MetricsFile::open(&path).unwrap();
            for status in start {
                file.append(status).unwrap();
            }
        }
        assert_eq!(read_metrics(&path).unwrap(), ReadBack { statuses, unreadable_lines: 0 });
    }

    #[test]
    fn a_cut_off_last_line_is_left_out_and_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        let statuses = samples::run(3);
        let mut file = MetricsFile::open(&path).unwrap();
        file.append(&statuses[0]).unwrap();
        file.append(&statuses[1]).unwrap();
        drop(file);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 20]).unwrap();
        let torn = read_metrics(&path).unwrap();
        assert_eq!((torn.statuses.len(), torn.unreadable_lines), (1, 1));

        MetricsFile::open(&path).unwrap().append(&statuses[2]).unwrap();
        let statuses = vec![statuses[0].clone(), statuses[2].clone()];
        assert_eq!(read_metrics(&path).unwrap(), ReadBack { statuses, unreadable_lines: 0 });
    }

    #[test]
    fn a_file_that_is_one_long_torn_line_is_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        std::fs::write(&path, "x".repeat(2 * CHUNK as usize + 7)).unwrap();
        MetricsFile::open(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn numbers_that_are_not_finite_come_back_as_nan() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("metrics.jsonl");
        let mut status = samples::run(3).remove(2);
        status.gradient_norm = f64::INFINITY;
        if let Some(loss) = &mut status.loss {
            loss.total = f64::NAN;
        }
        MetricsFile::open(&path).unwrap().append(&status).unwrap();
        let back = read_metrics(&path).unwrap();
        assert_eq!(back.unreadable_lines, 0);
        assert!(back.statuses[0].gradient_norm.is_nan());
        let loss = back.statuses[0].loss.unwrap();
        assert!(loss.total.is_nan() && loss.policy == status.loss.unwrap().policy);
    }

    #[test]
    fn a_file_that_is_not_there_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_metrics(&dir.path().join("none.jsonl")).unwrap(), ReadBack::default());
    }
}
