//! Servers that die, stop, run out of memory, or lose what they held.

use std::net::TcpListener;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fogfall_replay::{Appended, RedisLog, RedisLogSettings, ReplayError, ReplayLog};
use fogfall_testkit::redis_server::RedisServer as TestServer;
use fogfall_testkit::replay_log::ROW_BYTES;

use crate::{marks, open, part, rows, settings};

/// Between the marks of two publishers.
const FAR: u64 = 1 << 32;

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

#[tokio::test(flavor = "multi_thread")]
async fn what_two_ingesters_append_while_the_server_is_killed_again_and_again_is_stored_exactly_once() {
    let mut server = TestServer::start();
    let settings = RedisLogSettings { capacity_rows: 1 << 20, capacity_bytes: 1 << 28, ..settings(&server, "r") };
    let (done, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut ingesters = Vec::new();
    for publisher in 0..2 {
        let log = RedisLog::open(settings.clone()).await.unwrap();
        let (done, over) = (Arc::clone(&done), Arc::clone(&over));
        ingesters.push(tokio::spawn(async move {
            let (mut failures, mut sequence) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                let bytes = rows(publisher * FAR + sequence, 1).repeat(3);
                while log.append(part(publisher, sequence), &bytes).await.is_err() {
                    failures += 1;
                    tokio::task::yield_now().await;
                }
                sequence += 1;
                done.fetch_add(1, Ordering::Relaxed);
            }
            (failures, sequence)
        }));
    }
    for kill in 1..=5 {
        while done.load(Ordering::Relaxed) < kill * 200 {
            tokio::task::yield_now().await;
        }
        tokio::task::block_in_place(|| server.restart());
    }
    over.store(true, Ordering::Relaxed);
    let (mut failures, mut sent) = (0, Vec::new());
    for (publisher, ingester) in (0..).zip(ingesters) {
        let (failed, parts) = ingester.await.unwrap();
        failures += failed;
        sent.extend((0..parts).flat_map(|sequence| [publisher * FAR + sequence; 3]));
    }
    assert!(failures > 0, "no append met a dead server");
    let log = RedisLog::open(settings).await.unwrap();
    let (mut stored, end) = (Vec::new(), log.bounds().await.unwrap().end);
    while (stored.len() as u64) < end {
        stored.extend(marks(&log.read(stored.len() as u64, 1 << 20).await.unwrap()));
    }
    assert!(stored.chunks(3).all(|part| part.iter().all(|mark| *mark == part[0])), "a part is torn");
    stored.sort_unstable();
    assert!(stored == sent, "{} rows of {}", stored.len(), sent.len());
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
async fn a_server_whose_disk_is_full_says_so_counts_nothing_as_stored_and_goes_on_when_there_is_room() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    server.limit_files(Some(64 << 10));
    let mut stored = 1;
    let full = loop {
        match log.append(part(1, stored), &rows(3 * stored, 3)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "the disk is full after 64 KiB");
    };
    let reason = |error: ReplayError| match error {
        ReplayError::Server { action: "append to", reason, .. } => reason,
        other => panic!("{other:?}"),
    };
    // The server takes the part before it finds that there is no room for it, and the next it does not take.
    assert!(reason(full).contains("the append-only file cannot be written"));
    assert!(reason(log.append(part(1, stored), &rows(3 * stored, 3)).await.unwrap_err()).contains("MISCONF"));
    assert_eq!(log.bounds().await.unwrap().end, 3 * (stored + 1)); // readers go on
    server.limit_files(None);
    let again = async {
        // It tries to write once a second.
        while log.append(part(1, stored), &rows(3 * stored, 3)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.expect("it goes on");
    assert_eq!(log.bounds().await.unwrap().end, 3 * (stored + 1));
}

#[tokio::test]
async fn a_log_that_memory_cannot_hold_fails_when_it_is_begun_and_can_be_begun_later() {
    let server = TestServer::start_with(&["--maxmemory", "12mb"]);
    let large = RedisLogSettings { capacity_rows: 1 << 20, capacity_bytes: 32 << 20, ..settings(&server, "r") };
    let Err(ReplayError::Unfit { what, .. }) = RedisLog::open(large.clone()).await else { panic!() };
    assert!(what.contains("maxmemory is 12582912 bytes, and the log may take 33554432"), "{what}");
    assert_eq!(server.command("CONFIG SET maxmemory 0"), "+OK");
    let log = RedisLog::open(large).await.unwrap();
    assert_eq!(log.append(part(1, 0), &rows(0, 3)).await.unwrap(), Appended::Stored);
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
    let writer = open(&server, "r").await;
    writer.append(part(1, 0), &rows(0, 10)).await.unwrap();
    // Both know of ten rows, and ask for one without looking again.
    let (early, late) = (open(&server, "r").await, open(&server, "r").await);
    assert_eq!(server.command("FLUSHALL"), "+OK");
    let gone = early.read(1, ROW_BYTES).await;
    assert!(matches!(gone, Err(ReplayError::Ahead { from: 1, end: 0 })), "{gone:?}");
    assert!(early.read(0, ROW_BYTES).await.unwrap().is_empty()); // there is no row before it that could be missed
    writer.append(part(1, 0), &rows(500, 12)).await.unwrap();
    for reader in [early, late] {
        let replaced = reader.read(1, ROW_BYTES).await;
        assert!(matches!(replaced, Err(ReplayError::Replaced { end: 12, .. })), "{replaced:?}");
        assert_eq!(reader.read(1, ROW_BYTES).await.unwrap(), rows(501, 1)); // told once
    }
}

#[tokio::test]
async fn a_part_that_is_gone_is_never_taken_for_rows() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    log.append(part(1, 0), &rows(0, 10)).await.unwrap();
    log.append(part(1, 1), &rows(10, 5)).await.unwrap();
    assert_eq!(server.command("DEL fogfall:{r}:part:0"), ":1");
    let read = log.read(0, 1024).await;
    assert!(matches!(read, Err(ReplayError::Broken { .. })), "{read:?}");
    assert_eq!(log.read(10, 1024).await.unwrap(), rows(10, 5));
}

#[tokio::test]
async fn rows_that_were_set_and_never_stored_are_gone_in_a_while() {
    let server = TestServer::start();
    let log = open(&server, "r").await;
    let redis = redis::Client::open(server.url()).unwrap();
    let mut redis = redis.get_multiplexed_async_connection().await.unwrap();
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    log.append(part(1, 0), &rows(0, 3)).await.unwrap();
    let keys: Vec<String> = redis::cmd("KEYS").arg("*staged*").query_async(&mut redis).await.unwrap();
    assert!(keys.is_empty(), "{keys:?}");
    let left: i64 = redis::cmd("PTTL").arg("fogfall:{r}:part:0").query_async(&mut redis).await.unwrap();
    assert_eq!(left, -1); // what is stored stays
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_has_answered_survives_its_end_also_while_its_disk_is_busy() {
    // As advised, with `appendfsync everysec`.
    let mut server = TestServer::start();
    let settings = RedisLogSettings { capacity_rows: 1 << 14, ..settings(&server, "r") };
    let over = Arc::new(AtomicBool::new(false));
    let busy = {
        let (over, file) = (Arc::clone(&over), tempfile::tempfile().unwrap());
        std::thread::spawn(move || {
            // Its syncs hold up those of the server, which then answers before it writes.
            while !over.load(Ordering::Relaxed) {
                file.write_all_at(&vec![1; 64 << 20], 0).and_then(|()| file.sync_all()).unwrap();
            }
        })
    };
    let mut answered = Vec::new();
    for kill in 1..=10 {
        let log = RedisLog::open(settings.clone()).await.unwrap();
        let began = Instant::now();
        // A sync begins each second.
        while began.elapsed() < Duration::from_millis(400 + 37 * kill) {
            let next = answered.len() as u64;
            assert_eq!(log.append(part(kill, next), &rows(next, 1)).await.unwrap(), Appended::Stored);
            answered.push(part(kill, next));
        }
        tokio::task::block_in_place(|| server.restart());
    }
    over.store(true, Ordering::Relaxed);
    busy.join().unwrap();
    let log = RedisLog::open(settings).await.unwrap();
    let stored = log.stored(&answered).await.unwrap();
    let lost: Vec<_> = answered.iter().zip(stored).filter(|(_, stored)| !stored).map(|(part, _)| part).collect();
    assert!(lost.is_empty(), "{} of {} parts are lost: {lost:?}", lost.len(), answered.len());
}
