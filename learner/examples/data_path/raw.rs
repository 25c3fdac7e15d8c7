//! Redis with nothing around it: requests written to a socket by hand, answers read from it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use fogfall_proto::RowLayout;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How often the rewriting of the file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Bytes of one string: with its header it fills one size class of the allocator.
const SEGMENT_BYTES: usize = (2 << 20) - 64;

/// A connection.
pub struct Raw {
    answers: BufReader<TcpStream>,
    row_bytes: usize,
    request: Vec<u8>,
    bytes: Vec<u8>,
}

impl Raw {
    pub fn connect(port: u16, layout: RowLayout) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let answers = BufReader::with_capacity(256 << 10, stream);
        Ok(Self { answers, row_bytes: layout.row_bytes(), request: Vec::new(), bytes: Vec::new() })
    }

    /// Has the append-only file written anew, and waits until it is.
    pub fn rewrite_file(&mut self) -> anyhow::Result<()> {
        self.send(&["BGREWRITEAOF"])?;
        self.line()?;
        loop {
            self.send(&["INFO", "persistence"])?;
            self.bytes.clear();
            self.bulk()?;
            let info = String::from_utf8_lossy(&self.bytes);
            if info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0") {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Lays rows down in strings of [`SEGMENT_BYTES`] at most; returns how many, of whole strings alone.
    pub fn lay_down(&mut self, rows: &[u8]) -> anyhow::Result<usize> {
        let segment = SEGMENT_BYTES / self.row_bytes * self.row_bytes;
        for (number, bytes) in rows.chunks_exact(segment).enumerate() {
            let key = format!("raw:{number}");
            self.request.clear();
            let head = format!("*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${}\r\n", key.len(), bytes.len());
            self.request.extend(head.bytes());
            self.request.extend(bytes);
            self.request.extend(b"\r\n");
            self.answers.get_mut().write_all(&self.request)?;
            ensure!(self.line()? == "+OK", "redis does not take rows");
        }
        Ok(rows.len() / segment * (segment / self.row_bytes))
    }

    /// `rows` rows in strips of `strip` neighbours, each from a random place among the `end` laid down: one round trip.
    pub fn strips(&mut self, rows: usize, strip: usize, end: usize, seed: u64) -> anyhow::Result<&[u8]> {
        let segment_rows = SEGMENT_BYTES / self.row_bytes;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.request.clear();
        for _ in 0..rows / strip {
            let position = rng.random_range(0..end - strip);
            let within = (position % segment_rows).min(segment_rows - strip);
            let key = format!("raw:{}", position / segment_rows);
            let (from, to) = (within * self.row_bytes, (within + strip) * self.row_bytes - 1);
            push(&mut self.request, &["GETRANGE", &key, &from.to_string(), &to.to_string()]);
        }
        self.answers.get_mut().write_all(&self.request)?;
        self.bytes.clear();
        for _ in 0..rows / strip {
            self.bulk()?;
        }
        ensure!(self.bytes.len() == rows * self.row_bytes, "rows are missing");
        Ok(&self.bytes)
    }

    fn send(&mut self, words: &[&str]) -> anyhow::Result<()> {
        self.request.clear();
        push(&mut self.request, words);
        Ok(self.answers.get_mut().write_all(&self.request)?)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// Appends one bulk answer to `bytes`.
    fn bulk(&mut self) -> anyhow::Result<()> {
        let line = self.line()?;
        let Some(len) = line.strip_prefix('$') else { bail!("redis says {line}") };
        let at = self.bytes.len();
        self.bytes.resize(at + len.parse::<usize>().context("no such key")? + 2, 0);
        self.answers.read_exact(&mut self.bytes[at..])?;
        self.bytes.truncate(self.bytes.len() - 2); // the line's end
        Ok(())
    }
}

fn push(request: &mut Vec<u8>, words: &[&str]) {
    request.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        request.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
}
