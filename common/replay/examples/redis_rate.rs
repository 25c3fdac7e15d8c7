//! Rates of the replay log in Redis, beside raw pipelined Redis on the same server in the same run.
//!
//! `cargo run --release -p fogfall-replay --example redis_rate` starts a server of its own. A part has 64 rows. Appends run
//! sixteen at a time, as does raw `SETRANGE`; reads fetch 1 MiB at a time, one after the other, as does raw `GETRANGE`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use fogfall_proto::PartId;
use fogfall_replay::{RedisLog, RedisLogSettings, RedisServer, ReplayLog};
use fogfall_testkit::redis_server::RedisServer as TestServer;
use redis::aio::MultiplexedConnection;
use redis::pipe;

const PART_ROWS: u64 = 64;
const AT_ONCE: u64 = 16;
const READ_BYTES: usize = 1 << 20;
/// Times around the ring.
const APPEND_ROUNDS: u64 = 8;
const READ_ROUNDS: u64 = 48;
const SEGMENT_BYTES: u64 = (2 << 20) - 64;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    println!("{:>8} {:<26} {:>10} {:>8} {:>18}", "row", "what", "rows/s", "MB/s", "server us/row");
    for (row_bytes, rows) in [(512, 64 << 10), (2048, 16 << 10)] {
        let server = TestServer::start();
        let log = RedisLog::open(RedisLogSettings {
            server: RedisServer::at(&server.url()),
            run: format!("rate-{row_bytes}"),
            row_bytes,
            capacity_rows: rows,
            capacity_bytes: u64::MAX,
            require_aof: true,
        })
        .await?;
        let client = redis::Client::open(server.url())?;
        let mut raw = client.get_multiplexed_async_connection().await?;
        let meter = Meter { server: server.pid(), row_bytes, rows: rows * APPEND_ROUNDS };
        meter.run("append to the log", append(&log, row_bytes, rows * APPEND_ROUNDS)).await?;
        meter.run("raw SETRANGE", set_ranges(&mut raw, row_bytes, rows * APPEND_ROUNDS)).await?;
        // The log gives up to a segment less than its capacity.
        let held = log.bounds().await?.rows();
        let meter = Meter { rows: held * READ_ROUNDS, ..meter };
        meter.run("read from the log", read(&log, row_bytes)).await?;
        let meter = Meter { rows: rows * READ_ROUNDS, ..meter };
        meter.run("raw GETRANGE", get_ranges(&mut raw, row_bytes, rows)).await?;
    }
    Ok(())
}

struct Meter {
    server: u32,
    row_bytes: usize,
    rows: u64,
}

impl Meter {
    async fn run(&self, what: &str, work: impl Future<Output = Result<()>>) -> Result<()> {
        let (started, cpu) = (Instant::now(), self.server_cpu_s()?);
        work.await?;
        let (seconds, cpu) = (started.elapsed().as_secs_f64(), self.server_cpu_s()? - cpu);
        let rate = self.rows as f64 / seconds;
        let (megabytes, us) = (rate * self.row_bytes as f64 / 1e6, cpu * 1e6 / self.rows as f64);
        println!("{:>8} {what:<26} {rate:>10.0} {megabytes:>8.0} {us:>18.2}", self.row_bytes);
        Ok(())
    }

    /// User and system time, in hundredths of a second as Linux counts it.
    fn server_cpu_s(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.server))?;
        let fields: Vec<&str> = stat.rsplit(')').next().context("no name")?.split_whitespace().collect();
        Ok((fields[11].parse::<f64>()? + fields[12].parse::<f64>()?) / 100.0)
    }
}

async fn append(log: &RedisLog, row_bytes: usize, rows: u64) -> Result<()> {
    let part = vec![7; row_bytes * PART_ROWS as usize];
    for first in (0..rows / PART_ROWS).step_by(AT_ONCE as usize) {
        let ids = (0..AT_ONCE).map(|publisher| PartId { publisher, sequence: first / AT_ONCE });
        futures_util::future::try_join_all(ids.map(|id| log.append(id, &part))).await?;
    }
    Ok(())
}

/// Reads all that is held, again and again.
async fn read(log: &RedisLog, row_bytes: usize) -> Result<()> {
    let bounds = log.bounds().await?;
    let mut read = 0;
    for _ in 0..READ_ROUNDS {
        let mut from = bounds.first;
        while from < bounds.end {
            from += (log.read(from, READ_BYTES).await?.len() / row_bytes) as u64;
        }
        read += from - bounds.first;
    }
    ensure!(read == bounds.rows() * READ_ROUNDS, "{read} rows read");
    Ok(())
}

/// Offsets of parts in raw segments of the same size as the log's.
fn place(part: u64, row_bytes: usize) -> (String, u64) {
    let bytes = row_bytes as u64 * PART_ROWS;
    let each = SEGMENT_BYTES / bytes;
    (format!("raw:{}", part / each), part % each * bytes)
}

async fn set_ranges(raw: &mut MultiplexedConnection, row_bytes: usize, rows: u64) -> Result<()> {
    let bytes = vec![7_u8; row_bytes * PART_ROWS as usize];
    let parts = rows / PART_ROWS;
    for first in (0..parts).step_by(AT_ONCE as usize) {
        let mut request = pipe();
        for part in first..first + AT_ONCE {
            let (key, offset) = place(part % (parts / APPEND_ROUNDS), row_bytes);
            request.cmd("SETRANGE").arg(key).arg(offset).arg(&bytes).ignore();
        }
        request.exec_async(raw).await?;
    }
    Ok(())
}

async fn get_ranges(raw: &mut MultiplexedConnection, row_bytes: usize, rows: u64) -> Result<()> {
    let bytes = row_bytes as u64 * PART_ROWS;
    let together = READ_BYTES as u64 / bytes;
    for _ in 0..READ_ROUNDS {
        for first in (0..rows / PART_ROWS).step_by(together as usize) {
            let mut request = pipe();
            for part in first..first + together {
                let (key, offset) = place(part, row_bytes);
                request.cmd("GETRANGE").arg(key).arg(offset).arg(offset + bytes - 1);
            }
            let pieces: Vec<Vec<u8>> = request.query_async(raw).await?;
            ensure!(pieces.iter().map(|piece| piece.len() as u64).sum::<u64>() == bytes * together, "rows are missing");
        }
    }
    Ok(())
}
