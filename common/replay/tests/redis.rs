//! The log in Redis under everything that a server can do to it. Needs a redis-server (`scripts/setup`).
#![allow(clippy::unwrap_used)]

use std::future::Future;
use std::net::TcpListener;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use fogfall_proto::PartId;
use fogfall_replay::{Appended, RedisLog, RedisLogSettings, RedisServer, ReplayError, ReplayLog};
use fogfall_testkit::redis_server::RedisServer as TestServer;
use fogfall_testkit::replay_log::{CAPACITY_BYTES, CAPACITY_ROWS, LogUnderTest, ROW_BYTES, conformance};

fn settings(server: &TestServer, run: &str) -> RedisLogSettings {
    RedisLogSettings {
        server: RedisServer::at(&server.url()),
        run: run.into(),
        row_bytes: ROW_BYTES,
        capacity_rows: CAPACITY_ROWS,
        capacity_bytes: CAPACITY_BYTES,
        require_aof: true,
    }
}

async fn open(server: &TestServer, run: &str) -> RedisLog {
    RedisLog::open(settings(server, run)).await.unwrap()
}

fn part(publisher: u64, sequence: u64) -> PartId {
    PartId { publisher, sequence }
}

/// `count` rows, each filled with its position's digits.
fn rows(from: u64, count: u64) -> Vec<u8> {
    (from..from + count).flat_map(|position| position.to_le_bytes().repeat(ROW_BYTES / 8)).collect()
}

/// The first eight bytes of each row.
fn marks(rows: &[u8]) -> Vec<u64> {
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

#[tokio::test]
async fn an_open_log_goes_on_when_its_server_comes_back() {
    let mut server = TestServer::start();
    let log = open(&server, "r").await;
    assert_eq!(log.append(part(1, 0), &rows(0, 3)).await.unwrap(), Appended::Stored);
    server.kill();
    for _ in 0..2 {
        let failed = log.append(part(1, 1), &rows(3, 3)).await;
        assert!(matches!(failed, Err(ReplayError::Server { .. })), "{failed:?}");
    }
    server.restart();
    // A connection that broke may be noticed by the first to use it.
    let mut appended = log.append(part(1, 1), &rows(3, 3)).await;
    if appended.is_err() {
        appended = log.append(part(1, 1), &rows(3, 3)).await;
    }
    assert_eq!(appended.unwrap(), Appended::Stored);
    assert_eq!(log.append(part(1, 0), &rows(0, 3)).await.unwrap(), Appended::Duplicate);
    let mut read = log.read(0, 1 << 20).await;
    if read.is_err() {
        read = log.read(0, 1 << 20).await;
    }
    assert_eq!(read.unwrap(), rows(0, 6));
}

#[tokio::test]
async fn a_server_without_memory_says_so_stores_nothing_and_may_be_asked_again() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    assert_eq!(server.command("CONFIG SET maxmemory 1kb"), "+OK");
    for _ in 0..2 {
        let full = log.append(part(1, 1), &rows(3, 3)).await;
        assert!(matches!(full, Err(ReplayError::OutOfMemory { .. })), "{full:?}");
    }
    assert_eq!(log.bounds().await.unwrap().end, 3);
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows(0, 3)); // readers go on
    assert_eq!(server.command("CONFIG SET maxmemory 0"), "+OK");
    assert_eq!(log.append(part(1, 1), &rows(3, 3)).await.unwrap(), Appended::Stored);
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows(0, 6));
}

#[tokio::test]
async fn a_log_that_memory_cannot_hold_fails_when_it_is_begun_and_can_be_begun_later() {
    let server = TestServer::start_with(&["--maxmemory", "12mb"]);
    let large = RedisLogSettings { capacity_rows: 1 << 20, capacity_bytes: 32 << 20, ..settings(&server, "r") };
    let full = RedisLog::open(large.clone()).await;
    assert!(matches!(full, Err(ReplayError::OutOfMemory { .. })), "{full:?}");
    assert_eq!(server.command("CONFIG SET maxmemory 0"), "+OK");
    let log = RedisLog::open(large).await.unwrap();
    assert_eq!(log.append(part(1, 0), &rows(0, 3)).await.unwrap(), Appended::Stored);
}

#[tokio::test]
async fn a_wrong_password_is_told_from_a_server_that_is_away() {
    let server = TestServer::start_with(&["--requirepass", "right"]);
    let with = |password: Option<&str>| {
        let mut settings = settings(&server, "r");
        settings.server.password = password.map(str::to_owned);
        RedisLog::open(settings)
    };
    for password in [None, Some("wrong")] {
        let denied = with(password).await;
        assert!(matches!(denied, Err(ReplayError::Denied { .. })), "{denied:?}");
    }
    with(Some("right")).await.unwrap();
}

#[tokio::test]
async fn a_user_with_the_documented_rights_can_do_all_and_one_without_is_denied() {
    let server = TestServer::start();
    let rights = "resetkeys ~fogfall:{r}:* -@all +@read +@write +@scripting +@connection +info +waitaof";
    // Servers before 7.2 do not know the last one.
    let rights = if server.command(&format!("ACL SETUSER log on >pw {rights}")) == "+OK" {
        rights.to_owned()
    } else {
        rights.replace(" +waitaof", "")
    };
    assert_eq!(server.command(&format!("ACL SETUSER log on >pw {rights}")), "+OK");
    let as_user = |run: &str| {
        let mut settings = settings(&server, run);
        settings.server.user = Some("log".into());
        settings.server.password = Some("pw".into());
        RedisLog::open(settings)
    };
    let log = as_user("r").await.unwrap();
    assert_eq!(log.append(part(1, 0), &rows(0, 3)).await.unwrap(), Appended::Stored);
    assert_eq!(log.append(part(1, 2), &rows(3, 3)).await.unwrap(), Appended::Stored);
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows(0, 6));
    log.sync().await.unwrap();
    let denied = as_user("other").await;
    assert!(matches!(denied, Err(ReplayError::Denied { .. })), "{denied:?}");
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_an_error_at_the_deadline() {
    let mute = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let server = TestServer::start();
    let mut settings = settings(&server, "r");
    settings.server.url = format!("redis://{}", mute.local_addr().unwrap());
    settings.server.connect_timeout = Duration::from_millis(100);
    let silent = tokio::time::timeout(Duration::from_secs(60), RedisLog::open(settings)).await.unwrap();
    let Err(ReplayError::Server { reason, .. }) = silent else { panic!("{silent:?}") };
    assert!(reason.contains("no connection within 0.1 s"), "{reason}");
}

#[tokio::test]
async fn a_server_that_stops_in_the_midst_is_an_error_and_its_part_is_stored_once() {
    let server = TestServer::start();
    let mut settings = settings(&server, "r");
    settings.server.answer_timeout = Duration::from_millis(300);
    settings.server.connect_timeout = Duration::from_millis(300);
    let log = RedisLog::open(settings).await.unwrap();
    let signal = |name: &str| {
        assert!(Command::new("kill").args([name, &server.pid().to_string()]).status().unwrap().success());
    };
    signal("-STOP");
    let late = log.append(part(1, 0), &rows(0, 3)).await;
    let Err(ReplayError::Server { reason, .. }) = late else { panic!("{late:?}") };
    assert!(reason.contains("no answer within 0.3 s"), "{reason}");
    signal("-CONT");
    let log = open(&server, "r").await; // with the usual patience
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    assert_eq!(log.read(0, 1 << 20).await.unwrap(), rows(0, 3));
}

#[tokio::test]
async fn a_server_that_may_drop_rows_on_its_own_is_refused() {
    let server = TestServer::start_with(&["--maxmemory-policy", "allkeys-lru"]);
    let Err(ReplayError::Unfit { what, .. }) = RedisLog::open(settings(&server, "r")).await else { panic!() };
    assert!(what.contains("'allkeys-lru'") && what.contains("'noeviction'"), "{what}");
}

#[tokio::test]
async fn a_server_that_forgets_when_it_restarts_is_refused_unless_that_is_wanted() {
    let server = TestServer::start_with(&["--appendonly", "no"]);
    let refused = RedisLog::open(settings(&server, "r")).await;
    assert!(matches!(&refused, Err(ReplayError::Unfit { what, .. }) if what.contains("appendonly")), "{refused:?}");
    let log = RedisLog::open(RedisLogSettings { require_aof: false, ..settings(&server, "r") }).await.unwrap();
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    let unsynced = log.sync().await;
    assert!(matches!(unsynced, Err(ReplayError::Server { action: "sync", .. })), "{unsynced:?}");
}

#[tokio::test]
async fn two_runs_lie_side_by_side() {
    let server = TestServer::start();
    let (a, b) = (open(&server, "a").await, open(&server, "b").await);
    a.append(part(1, 0), &rows(0, 3)).await.unwrap();
    assert_eq!(b.append(part(1, 0), &rows(100, 5)).await.unwrap(), Appended::Stored);
    assert_eq!(a.read(0, 1 << 20).await.unwrap(), rows(0, 3));
    assert_eq!(b.read(0, 1 << 20).await.unwrap(), rows(100, 5));
}

#[tokio::test]
async fn a_log_of_another_layout_is_refused_with_both_named() {
    let server = TestServer::start();
    open(&server, "r").await;
    let other = RedisLog::open(RedisLogSettings { row_bytes: 32, ..settings(&server, "r") }).await;
    let text = other.unwrap_err().to_string();
    assert!(text.contains("rows of 64 bytes") && text.contains("rows of 32 bytes"), "{text}");
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
async fn a_server_that_lost_its_data_is_noticed_by_readers_and_gets_a_new_log() {
    let server = TestServer::start();
    let (writer, reader) = (open(&server, "r").await, open(&server, "r").await);
    writer.append(part(1, 0), &rows(0, 10)).await.unwrap();
    assert_eq!(reader.read(0, 1 << 20).await.unwrap(), rows(0, 10));
    assert_eq!(server.command("FLUSHALL"), "+OK");
    let ahead = reader.read(10, 1024).await;
    assert!(matches!(ahead, Err(ReplayError::Ahead { from: 10, end: 0 })), "{ahead:?}");
    let ahead = open(&server, "r").await.read(10, 1024).await; // as one finds it that was started anew
    assert!(matches!(ahead, Err(ReplayError::Ahead { from: 10, end: 0 })), "{ahead:?}");
    assert_eq!(server.command("FLUSHALL"), "+OK");

    assert_eq!(writer.append(part(1, 0), &rows(500, 12)).await.unwrap(), Appended::Stored);
    let replaced = reader.read(10, 1024).await;
    assert!(matches!(replaced, Err(ReplayError::Replaced { end: 12, .. })), "{replaced:?}");
    assert_eq!(reader.read(10, 1024).await.unwrap(), rows(510, 2)); // told once
}

#[tokio::test]
async fn a_log_replaced_while_its_rows_are_asked_for_gives_none() {
    let server = TestServer::start();
    let (writer, reader) = (open(&server, "r").await, open(&server, "r").await);
    writer.append(part(1, 0), &rows(0, 10)).await.unwrap();
    assert_eq!(reader.read(0, 1).await.unwrap(), rows(0, 1)); // it knows of ten rows now
    assert_eq!(server.command("FLUSHALL"), "+OK");
    let gone = reader.read(1, 1024).await;
    assert!(matches!(gone, Err(ReplayError::Ahead { from: 1, end: 0 })), "{gone:?}");
    writer.append(part(1, 0), &rows(500, 12)).await.unwrap();
    let replaced = reader.read(1, 1024).await;
    assert!(matches!(replaced, Err(ReplayError::Replaced { end: 12, .. })), "{replaced:?}");
}

#[tokio::test]
async fn a_segment_that_is_gone_is_never_taken_for_rows() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    log.append(part(1, 0), &rows(0, 10)).await.unwrap();
    assert_eq!(server.command("DEL fogfall:{r}:segment:0"), ":1");
    let read = log.read(0, 1024).await;
    assert!(matches!(read, Err(ReplayError::Broken { .. })), "{read:?}");
    let appended = log.append(part(1, 1), &rows(10, 1)).await;
    assert!(matches!(appended, Err(ReplayError::Broken { .. })), "{appended:?}");
    assert_eq!(log.bounds().await.unwrap().end, 10);
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
