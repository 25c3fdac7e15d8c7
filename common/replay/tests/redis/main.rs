//! The log in Redis: what it promises, what a server's failures do to it, whom it lets in. Needs a redis-server
//! (`scripts/setup`).
#![allow(clippy::unwrap_used)]

mod access;
mod faults;
mod tls;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use fogfall_proto::PartId;
use fogfall_replay::{Appended, RedisLog, RedisLogSettings, RedisServer, ReplayError, ReplayLog};
use fogfall_testkit::redis_server::RedisServer as TestServer;
use fogfall_testkit::replay_log::{CAPACITY_BYTES, CAPACITY_ROWS, LogUnderTest, ROW_BYTES, conformance};

pub(crate) fn settings(server: &TestServer, run: &str) -> RedisLogSettings {
    RedisLogSettings {
        server: RedisServer::at(&server.url()),
        run: run.into(),
        row_bytes: ROW_BYTES,
        capacity_rows: CAPACITY_ROWS,
        capacity_bytes: CAPACITY_BYTES,
        require_aof: true,
    }
}

pub(crate) async fn open(server: &TestServer, run: &str) -> RedisLog {
    RedisLog::open(settings(server, run)).await.unwrap()
}

pub(crate) fn part(publisher: u64, sequence: u64) -> PartId {
    PartId { publisher, sequence }
}

/// `count` rows, each filled with its position's digits.
pub(crate) fn rows(from: u64, count: u64) -> Vec<u8> {
    (from..from + count).flat_map(|position| position.to_le_bytes().repeat(ROW_BYTES / 8)).collect()
}

/// The first eight bytes of each row.
pub(crate) fn marks(rows: &[u8]) -> Vec<u64> {
    rows.chunks_exact(ROW_BYTES).map(|row| u64::from_le_bytes(row[..8].try_into().unwrap())).collect()
}

/// A log whose server is killed and started again whenever it is opened once more.
struct Restarted {
    server: TestServer,
    opened: bool,
}

impl LogUnderTest for Restarted {
    fn open(&mut self) -> Arc<dyn ReplayLog> {
        if self.opened {
            self.server.restart();
        }
        self.opened = true;
        let open = RedisLog::open(settings(&self.server, "r"));
        Arc::new(tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(open)).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_in_redis_keeps_every_promise_also_when_its_server_is_killed() {
    conformance(|| Restarted { server: TestServer::start(), opened: false }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_that_several_append_at_once_is_stored_once() {
    let server = TestServer::start();
    let logs: Vec<_> = [open(&server, "r").await, open(&server, "r").await].into_iter().map(Arc::new).collect();
    let mut stored = 0;
    for sequence in 0..50 {
        let tasks: Vec<_> = (0..4)
            .map(|task| {
                let log = Arc::clone(&logs[task % 2]);
                tokio::spawn(async move { log.append(part(7, sequence), &rows(sequence, 1)).await.unwrap() })
            })
            .collect();
        for task in tasks {
            stored += u64::from(task.await.unwrap() == Appended::Stored);
        }
    }
    assert_eq!(stored, 50);
    assert_eq!(logs[0].read(0, 1 << 20).await.unwrap(), rows(0, 50));
    let counts = logs[0].counts();
    assert_eq!(counts.appended_parts + counts.duplicate_parts, 100); // half of 50 * 4
}

#[tokio::test]
async fn a_future_that_is_dropped_has_stored_its_part_wholly_or_not_at_all() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    let mut expected = 0;
    for sequence in 0..60 {
        let bytes = rows(expected, 3);
        let mut left = sequence % 6;
        let mut append = pin!(log.append(part(1, sequence), &bytes));
        // Polled up to five times, then dropped in the midst.
        std::future::poll_fn(|context| match append.as_mut().poll(context) {
            Poll::Pending if left > 0 => {
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Ready(()),
        })
        .await;
        log.append(part(1, sequence), &bytes).await.unwrap();
        expected += 3;
    }
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows(0, 180)); // 60 * 3
}

#[tokio::test]
async fn rows_overwritten_since_the_reader_looked_are_noticed_after_they_were_read() {
    let server = TestServer::start();
    let writer = open(&server, "r").await;
    for sequence in 0..8 {
        writer.append(part(1, sequence), &rows(sequence * 32, 32)).await.unwrap();
    }
    let reader = open(&server, "r").await; // it knows of 256 rows, and asks for five of them without looking again
    writer.append(part(1, 8), &rows(256, 1)).await.unwrap(); // the first segment of 32 rows goes
    let evicted = reader.read(0, 5 * ROW_BYTES).await;
    assert!(matches!(evicted, Err(ReplayError::Evicted { first: 32 })), "{evicted:?}");
    assert_eq!(reader.read(32, 5 * ROW_BYTES).await.unwrap(), rows(32, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_overwritten_while_they_are_read_are_never_given_out() {
    let server = TestServer::start();
    let writer = open(&server, "r").await;
    let reader = open(&server, "r").await;
    let writing = tokio::spawn(async move {
        for sequence in 0..1500 {
            writer.append(part(1, sequence), &rows(sequence * 20, 20)).await.unwrap();
        }
    });
    let (mut next, mut read, mut skipped) = (0, 0, 0);
    while next < 30_000 {
        match reader.read(next, 200 * ROW_BYTES).await {
            Ok(bytes) => {
                let count = (bytes.len() / ROW_BYTES) as u64;
                assert_eq!(marks(&bytes), (next..next + count).collect::<Vec<_>>());
                (next, read) = (next + count, read + count);
            }
            Err(ReplayError::Evicted { first }) => {
                assert!(first > next);
                skipped += first - next;
                next = first;
            }
            Err(other) => panic!("{other}"),
        }
    }
    writing.await.unwrap();
    assert_eq!(read + skipped, 30_000); // 1500 * 20
}

#[tokio::test]
async fn a_number_that_no_publisher_reaches_is_refused_for_good() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    let refused = log.append(part(u64::MAX, 1 << 53), &rows(0, 1)).await.unwrap_err();
    assert!(refused.refuses_part() && matches!(refused, ReplayError::Sequence { .. }), "{refused}");
    let largest = part(u64::MAX, (1 << 53) - 1);
    assert_eq!(log.append(largest, &rows(0, 1)).await.unwrap(), Appended::Stored);
    assert_eq!(log.append(largest, &rows(0, 1)).await.unwrap(), Appended::Duplicate);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_looked_at_from_outside_without_being_begun() {
    let server = TestServer::start();
    let at = RedisServer::at(&server.url());
    let look = async || RedisLog::inspect(&at, "r").await.unwrap();
    assert_eq!(look().await, None);
    assert_eq!(look().await, None, "looking begins none");
    let log = open(&server, "r").await;
    for sequence in 0..3 {
        log.append(part(7, sequence), &rows(2 * sequence, 2)).await.unwrap();
    }
    let state = look().await.unwrap();
    assert_eq!((state.bounds, state.parts), (log.bounds().await.unwrap(), 3));
    assert_eq!((state.bounds.end, state.capacity_rows <= CAPACITY_ROWS), (6, true));
    assert!(state.memory_bytes > 0);
    assert_eq!(RedisLog::inspect(&at, "another").await.unwrap(), None);
}
