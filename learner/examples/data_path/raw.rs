//! Redis with nothing around it: requests written to a socket by hand, answers read from it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, bail};
use fogfall_proto::RowLayout;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// How often the rewriting of the file is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A connection to the server of the log `bench`.
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

    /// `rows` rows in strips of `strip` neighbours, each from a random place among the log's first `end`: one round trip.
    pub fn strips(&mut self, rows: usize, strip: usize, end: u64, seed: u64) -> anyhow::Result<&[u8]> {
        let segment_rows = ((2_usize << 20) - 64) / self.row_bytes; // as the log lays them out
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.request.clear();
        for _ in 0..rows / strip {
            let position = rng.random_range(0..end as usize - strip);
            let within = (position % segment_rows).min(segment_rows - strip);
            let key = format!("fogfall:{{bench}}:segment:{}", position / segment_rows);
            let (from, to) = (within * self.row_bytes, (within + strip) * self.row_bytes - 1);
            push(&mut self.request, &["GETRANGE", &key, &from.to_string(), &to.to_string()]);
        }
        self.answers.get_mut().write_all(&self.request)?;
        self.bytes.clear();
        for _ in 0..rows / strip {
            self.bulk()?;
        }
        anyhow::ensure!(self.bytes.len() == rows * self.row_bytes, "rows are missing");
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
