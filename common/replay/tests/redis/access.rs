//! Which servers are taken, who is let in, and what lies beside a run's log.

use std::path::Path;

use fogfall_replay::{Appended, RedisLog, RedisLogSettings, RedisServer, ReplayError, ReplayLog};
use fogfall_testkit::redis_server::RedisServer as TestServer;

use crate::{marks, open, part, rows, settings};

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
async fn the_documented_users_can_do_their_work_and_touch_nothing_else() {
    let conf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/redis.conf");
    let server = TestServer::start_with(&["--include", conf.to_str().unwrap()]);
    let as_user = |password: &str| {
        let mut settings = settings(&server, "r");
        settings.server.user = Some("fogfall".into());
        settings.server.password = Some(password.into());
        RedisLog::open(settings)
    };
    let log = as_user("change-me").await.unwrap();
    for sequence in [0, 2, 1, 5000] {
        assert_eq!(log.append(part(1, sequence), &rows(sequence, 3)).await.unwrap(), Appended::Stored);
    }
    assert_eq!(marks(&log.read(0, 1 << 20).await.unwrap()), [0, 1, 2, 2, 3, 4, 1, 2, 3, 5000, 5001, 5002]);
    log.sync().await.unwrap();
    let operator = RedisServer {
        user: Some("operator".into()),
        password: Some("change-me-too".into()),
        ..RedisServer::at(&server.url())
    };
    assert_eq!(RedisLog::inspect(&operator, "r").await.unwrap().unwrap().bounds, log.bounds().await.unwrap());
    let denied = RedisLog::open(RedisLogSettings { server: operator, ..settings(&server, "r") }).await;
    assert!(matches!(denied, Err(ReplayError::Denied { .. })), "it may only look: {denied:?}");
    assert!(matches!(as_user("wrong").await, Err(ReplayError::Denied { .. })));
    let denied = RedisLog::open(settings(&server, "r")).await; // the default user is off
    assert!(matches!(denied, Err(ReplayError::Denied { .. })), "{denied:?}");
}

#[tokio::test]
async fn a_user_of_another_run_is_denied() {
    let server = TestServer::start();
    let rights = "~fogfall:{other}:* -@all +@read +@write +@scripting +@connection +info";
    assert_eq!(server.command(&format!("ACL SETUSER log on >pw resetkeys {rights}")), "+OK");
    let as_user = |run: &str| {
        let mut settings = settings(&server, run);
        settings.server.user = Some("log".into());
        settings.server.password = Some("pw".into());
        RedisLog::open(settings)
    };
    as_user("other").await.unwrap();
    let denied = as_user("r").await;
    assert!(matches!(denied, Err(ReplayError::Denied { .. })), "{denied:?}");
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
    let Err(ReplayError::Unfit { what, .. }) = refused else { panic!("{refused:?}") };
    assert!(what.contains("set appendonly to 'yes'") && what.contains("redis_require_aof = false"), "{what}");
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
