//! The bus on real NATS servers: it does what any bus must do, survives the server's end, and says clearly what is wrong.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use fogfall_bus::{Bus, BusError, NatsAuth, NatsBus, NatsLimits, NatsSettings, Published, Settle};
use fogfall_proto::{Heartbeat, PartId, Role, Version, WeightsHead, digest};
use fogfall_testkit::bus::{
    CAPACITY_BYTES, GONE_AFTER, KEEP_WEIGHTS, SETTLE_WITHIN, conformance, manifest, nothing_is_lost,
};
use fogfall_testkit::nats::NatsServer;
use tokio::net::TcpListener;

/// Longer than a busy machine needs for what is to happen.
const LONG: Duration = Duration::from_secs(20);

fn settings(server: &NatsServer) -> NatsSettings {
    NatsSettings {
        urls: vec![server.url()],
        set_up: true,
        limits: NatsLimits {
            store_bytes: CAPACITY_BYTES,
            weights_bytes: 16 << 20,
            dead_bytes: 1 << 20,
            settle_within: SETTLE_WITHIN,
            max_unsettled: 1000,
            keep_weights: KEEP_WEIGHTS,
            gone_after: GONE_AFTER,
            ..NatsLimits::default()
        },
        fetch_jitter: Duration::ZERO,
        ..NatsSettings::default()
    }
}

async fn connect(settings: &NatsSettings) -> NatsBus {
    NatsBus::connect(settings, "r").await.unwrap()
}

fn part(sequence: u64) -> PartId {
    PartId { publisher: 7, sequence }
}

fn weights(epoch: u32, step: u64, len: usize) -> (WeightsHead, Arc<[u8]>) {
    let blob: Arc<[u8]> = (0..len).map(|i| (i * 31 + i / 256) as u8).collect();
    let version = Version { epoch, step };
    (WeightsHead { version, ordinal: step, bytes: len as u64, digest: digest(&blob) }, blob)
}

#[tokio::test]
async fn a_bus_on_nats_keeps_every_promise() {
    let mut server = None; // each bus has its own, so that all are run `r`
    conformance(async || {
        let server = server.insert(NatsServer::start());
        Arc::new(connect(&settings(server)).await) as Arc<dyn Bus>
    })
    .await;
}

#[tokio::test]
async fn no_part_is_lost_on_the_way() {
    let server = NatsServer::start();
    let seen = nothing_is_lost(Arc::new(connect(&settings(&server)).await)).await;
    assert!(seen.deliveries >= seen.parts, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_keep_three_copies_hand_out_all_that_is_pulled() {
    const PARTS: u64 = 600; // more than one pull takes
    let servers = NatsServer::three();
    let defaults = NatsLimits::default();
    let limits = NatsLimits { replicas: 3, settle_within: defaults.settle_within, ..settings(&servers[0]).limits };
    let settings = NatsSettings { limits, answer_within: LONG, connect_within: LONG, ..settings(&servers[0]) };
    let bus = connect(&settings).await;
    bus.claim(&manifest(), 0).await.unwrap();
    for sequence in 0..PARTS {
        assert_eq!(bus.publish(part(sequence), b"part".as_slice().into()).await.unwrap(), Published::Stored);
    }
    let mut came = std::collections::BTreeSet::new();
    let all = async {
        while (came.len() as u64) < PARTS {
            for delivery in bus.pull(1 << 20, Duration::from_secs(1)).await.unwrap() {
                assert!(came.insert(delivery.part.sequence), "{} came twice", delivery.part.sequence);
                bus.settle(delivery.receipt, Settle::Done).await.unwrap();
            }
        }
    };
    // One that was handed out and not taken would come again only after this time.
    let all = tokio::time::timeout(defaults.settle_within - Duration::from_secs(1), all).await;
    assert!(all.is_ok(), "{} of {PARTS} parts came", came.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_part_is_lost_while_the_server_is_killed_and_comes_back() {
    let mut server = NatsServer::start();
    let bus = Arc::new(connect(&NatsSettings { answer_within: LONG, ..settings(&server) }).await);
    let traffic = tokio::spawn(nothing_is_lost(bus));
    for _ in 0..3 {
        server.restart();
    }
    let seen = traffic.await.unwrap();
    assert!(seen.deliveries >= seen.parts, "{seen:?}");
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_restart_between_publish_and_pull() {
    let mut server = NatsServer::start();
    let bus = connect(&settings(&server)).await;
    let epoch = bus.claim(&manifest(), 0).await.unwrap();
    let (head, blob) = weights(epoch, 1, 1_000_000); // 4 chunks
    bus.announce(epoch, head.clone(), Arc::clone(&blob)).await.unwrap();
    for sequence in 0..20 {
        assert_eq!(bus.publish(part(sequence), [1; 100].into()).await, Ok(Published::Stored));
    }
    let settled = bus.pull(1, LONG).await.unwrap();
    bus.settle(settled[0].receipt, Settle::Done).await.unwrap();
    let handed_out = bus.pull(1, LONG).await.unwrap();
    assert_eq!((settled[0].part, handed_out[0].part), (part(0), part(1)));
    server.restart();
    // The same bus goes on: part 1 was handed out and not settled, so it comes again.
    let mut arrived = Vec::new();
    while arrived.len() < 19 {
        for delivery in bus.pull(usize::MAX, LONG).await.unwrap() {
            bus.settle(delivery.receipt, Settle::Done).await.unwrap();
            arrived.push(delivery.part.sequence);
        }
    }
    arrived.sort_unstable();
    assert_eq!(arrived, (1..20).collect::<Vec<_>>());
    // What came before the restart may be settled after it.
    assert_eq!(bus.settle(handed_out[0].receipt, Settle::Done).await, Ok(()));
    assert_eq!(bus.newest().await, Ok(Some(head.clone())));
    assert_eq!(bus.fetch(&head).await, Ok(blob));
    assert_eq!(bus.publish(part(20), [1; 100].into()).await, Ok(Published::Stored));
}

#[tokio::test]
async fn a_publisher_waits_for_a_server_that_comes_back() {
    let mut server = NatsServer::start();
    let bus = Arc::new(connect(&NatsSettings { answer_within: LONG, ..settings(&server) }).await);
    bus.publish(part(0), [1; 100].into()).await.unwrap();
    server.kill();
    let publishing = tokio::spawn({
        let bus = Arc::clone(&bus);
        async move { bus.publish(part(1), [2; 100].into()).await }
    });
    tokio::task::yield_now().await; // it publishes to nobody
    server.restart();
    // The first try may have been stored after its time was over.
    let published = publishing.await.unwrap().unwrap();
    assert!(matches!(published, Published::Stored | Published::Duplicate));
}

#[tokio::test]
async fn a_server_that_is_down_is_said_so_in_time() {
    let mut server = NatsServer::start();
    let second = Duration::from_secs(1);
    let bus = connect(&NatsSettings { answer_within: second, fetch_within: second, ..settings(&server) }).await;
    let (head, _) = weights(1, 1, 10);
    server.kill();
    let calls = async {
        assert_eq!(bus.publish(part(0), [1; 10].into()).await, Err(BusError::Unanswered { what: "publish a part" }));
        assert_eq!(bus.pull(1, Duration::ZERO).await.unwrap_err(), BusError::Unanswered { what: "pull parts" });
        assert!(matches!(bus.newer_than(None, LONG).await, Err(BusError::Unanswered { .. })));
        assert!(matches!(bus.fetch(&head).await, Err(BusError::Unanswered { .. })));
        assert!(matches!(bus.claim(&manifest(), 0).await, Err(BusError::Unanswered { .. })));
        assert!(matches!(bus.fill().await, Err(BusError::Unanswered { .. })));
        assert!(matches!(bus.dead_letters().await, Err(BusError::Unanswered { .. })));
    };
    tokio::time::timeout(LONG * 2, calls).await.expect("every wait has a deadline");
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_in_time_and_taken_up_again() {
    let server = NatsServer::start();
    let bus = connect(&NatsSettings { answer_within: Duration::from_secs(2), ..settings(&server) }).await;
    assert_eq!(bus.publish(part(0), [1; 10].into()).await, Ok(Published::Stored));
    server.pause();
    let hung = async {
        assert!(matches!(bus.publish(part(1), [1; 10].into()).await, Err(BusError::Unanswered { .. })));
        assert!(matches!(bus.pull(1, Duration::ZERO).await, Err(BusError::Unanswered { .. })));
    };
    tokio::time::timeout(LONG, hung).await.expect("every wait has a deadline");
    server.resume();
    // The server finds what was sent while it hung, so part 1 may be there already; once, whatever was repeated.
    let mut published = bus.publish(part(1), [1; 10].into()).await;
    while matches!(published, Err(BusError::Unanswered { .. })) {
        published = bus.publish(part(1), [1; 10].into()).await;
    }
    published.unwrap();
    let mut arrived = Vec::new();
    loop {
        // Part 0 may have been handed to the pull that had given up: it comes again when its time is over.
        let got = bus.pull(usize::MAX, SETTLE_WITHIN * 2).await.unwrap();
        if got.is_empty() {
            break;
        }
        for delivery in got {
            bus.settle(delivery.receipt, Settle::Done).await.unwrap();
            arrived.push(delivery.part);
        }
    }
    arrived.sort_unstable();
    assert_eq!(arrived, [part(0), part(1)]);
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            open.push(listener.accept().await.unwrap());
        }
    });
    let connect_within = Duration::from_millis(500);
    let settings = NatsSettings { urls: vec![url], connect_within, ..NatsSettings::default() };
    let refused = tokio::time::timeout(LONG, NatsBus::connect(&settings, "r")).await.expect("has a deadline");
    assert!(matches!(refused, Err(BusError::Unreachable { .. })), "{refused:?}");
    silent.abort();
}

#[tokio::test]
async fn a_wrong_password_is_said_so_without_saying_it() {
    let server = NatsServer::start_with(r#"authorization { user: "learner", password: "right" }"#);
    let auth = |password: &str| NatsAuth::Password { user: "learner".into(), password: password.into() };
    let refused = NatsBus::connect(&NatsSettings { auth: auth("wr-ong"), ..settings(&server) }, "r").await.unwrap_err();
    assert!(matches!(&refused, BusError::Denied { reason, .. } if reason.contains("authorization")), "{refused}");
    assert!(!refused.to_string().contains("wr-ong") && !refused.may_pass());
    connect(&NatsSettings { auth: auth("right"), ..settings(&server) }).await;
}

#[tokio::test]
async fn a_token_and_an_nkey_let_in() {
    let server = NatsServer::start_with(r#"authorization { token: "t0ken" }"#);
    connect(&NatsSettings { auth: NatsAuth::Token("t0ken".into()), ..settings(&server) }).await;
    // A pair from the documentation of NATS.
    let server = NatsServer::start_with(
        r#"authorization { users: [{ nkey: "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4" }] }"#,
    );
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    connect(&NatsSettings { auth: NatsAuth::Nkey(seed.into()), ..settings(&server) }).await;
}

#[tokio::test]
async fn a_stream_with_other_settings_is_named_with_what_differs() {
    let server = NatsServer::start();
    let settings = settings(&server);
    connect(&settings).await;
    connect(&settings).await; // the same again is no trouble
    let with = |limits| NatsSettings { limits, ..settings.clone() };
    let larger = with(NatsLimits { store_bytes: 128 << 10, ..settings.limits });
    let refused = NatsBus::connect(&larger, "r").await.unwrap_err();
    let expected = "stream fogfall-trajectories-r has another max_bytes: found 65536, expected 131072"; // 2^16, 2^17
    assert_eq!(refused.to_string(), expected);
    let slower = with(NatsLimits { settle_within: Duration::from_secs(9), ..settings.limits });
    let refused = NatsBus::connect(&slower, "r").await.unwrap_err();
    let expected = "consumer ingest of stream fogfall-trajectories-r has another ack_wait: found 2s, expected 9s";
    assert_eq!(refused.to_string(), expected);
}

#[tokio::test]
async fn weights_that_find_no_room_leave_nothing_behind() {
    let server = NatsServer::start();
    let settings = settings(&server);
    let bus = connect(&settings).await;
    let epoch = bus.claim(&manifest(), 0).await.unwrap();
    let (first, blob) = weights(epoch, 1, 1_000_000);
    bus.announce(epoch, first.clone(), blob).await.unwrap();
    let (head, blob) = weights(epoch, 2, 16_000_000); // with the first more than 16 MiB = 16,777,216
    let refused = bus.announce(epoch, head, blob).await;
    assert!(matches!(&refused, Err(BusError::Refused { reason, .. }) if reason.contains("maximum")), "{refused:?}");
    assert_eq!(bus.newest().await, Ok(Some(first)));
    let (head, blob) = weights(epoch, 3, 15_000_000); // 16,777,216 - 1,000,000 has room for it alone
    assert_eq!(bus.announce(epoch, head.clone(), Arc::clone(&blob)).await, Ok(()));
    assert_eq!(bus.fetch(&head).await, Ok(blob));
}

#[tokio::test]
async fn a_message_that_is_no_part_is_put_aside() {
    let server = NatsServer::start();
    let bus = connect(&settings(&server)).await;
    let stranger = async_nats::connect(server.url()).await.unwrap();
    let answer = stranger.request("fogfall.r.trajectory", "hello".into()).await.unwrap();
    assert!(answer.payload.starts_with(br#"{"stream":"fogfall-trajectories-r""#), "{answer:?}");
    bus.publish(part(0), [1; 10].into()).await.unwrap();
    let got = bus.pull(usize::MAX, LONG).await.unwrap();
    assert_eq!(got.iter().map(|delivery| delivery.part).collect::<Vec<_>>(), [part(0)]);
    assert_eq!(bus.fill().await.unwrap().parts, 1);
    let dead = bus.dead_letters().await.unwrap();
    assert_eq!((dead.len(), &*dead[0].bytes), (1, b"hello".as_slice()));
}

#[tokio::test]
async fn two_runs_on_one_server_do_not_see_each_other() {
    let server = NatsServer::start();
    let one = connect(&settings(&server)).await;
    let other = NatsBus::connect(&settings(&server), "r-2").await.unwrap();
    let epoch = one.claim(&manifest(), 0).await.unwrap();
    let (head, blob) = weights(epoch, 1, 100);
    one.announce(epoch, head.clone(), blob).await.unwrap();
    one.publish(part(0), [1; 100].into()).await.unwrap();
    assert_eq!(other.manifest().await, Ok(None));
    assert_eq!(other.newest().await, Ok(None));
    assert_eq!(other.fetch(&head).await, Err(BusError::Gone { version: head.version }));
    assert!(other.pull(usize::MAX, Duration::ZERO).await.unwrap().is_empty());
    assert_eq!(other.publish(part(0), [1; 100].into()).await, Ok(Published::Stored)); // its own part 0
    let refused = other.claim(&manifest(), 0).await; // of run `r`
    assert!(matches!(refused, Err(BusError::OtherRun { field: "run", .. })), "{refused:?}");
    let refused = NatsBus::connect(&settings(&server), "r.2").await.unwrap_err();
    assert_eq!(refused, BusError::BadRun { run: "r.2".into() });
}

#[tokio::test]
async fn of_two_learners_the_older_is_fenced() {
    let server = NatsServer::start();
    let (old, new) = (connect(&settings(&server)).await, connect(&settings(&server)).await);
    let first = old.claim(&manifest(), 0).await.unwrap();
    let second = new.claim(&manifest(), 0).await.unwrap();
    assert_eq!((first, second), (1, 2));
    let (head, blob) = weights(first, 100, 100);
    let fenced = Err(BusError::Fenced { epoch: 1, current: 2 });
    assert_eq!(old.announce(first, head, blob).await, fenced);
    let (head, blob) = weights(second, 1, 100);
    assert_eq!(new.announce(second, head.clone(), blob).await, Ok(()));
    assert_eq!(old.newest().await, Ok(Some(head)));
}

#[tokio::test]
async fn learners_that_claim_at_once_get_different_epochs() {
    let server = NatsServer::start();
    let mut claims = Vec::new();
    for _ in 0..5 {
        let bus = connect(&settings(&server)).await;
        claims.push(tokio::spawn(async move { bus.claim(&manifest(), 0).await }));
    }
    let mut epochs = Vec::new();
    for claim in claims {
        match claim.await.unwrap() {
            Ok(epoch) => epochs.push(epoch),
            Err(BusError::Fenced { epoch, .. }) => epochs.push(epoch), // overtaken before it had begun
            Err(other) => panic!("{other}"),
        }
    }
    epochs.sort_unstable();
    epochs.dedup();
    assert_eq!(epochs.len(), 5);
}

#[tokio::test]
async fn a_thousand_members_are_read_and_nothing_is_left_on_the_server() {
    let server = NatsServer::start();
    let mut settings = settings(&server);
    settings.limits.gone_after = LONG * 10;
    let bus = Arc::new(connect(&settings).await);
    let beats = (0..1000_u64).map(|life| {
        let bus = Arc::clone(&bus);
        async move { bus.beat(Heartbeat { games: life, ..Heartbeat::new("r", Role::Actor, life, "pod") }).await }
    });
    for beat in futures_util::future::join_all(beats).await {
        assert_eq!(beat, Ok(()));
    }
    let members = bus.alive().await.unwrap();
    assert_eq!(
        members.iter().map(|m| (m.beat.life, m.beat.games)).collect::<Vec<_>>(),
        (0..1000).map(|i| (i, i)).collect::<Vec<_>>()
    );
    let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let state = context.get_stream("fogfall-alive-r").await.unwrap().cached_info().state.clone();
    assert_eq!((state.messages, state.consumer_count), (1000, 0));
}

#[tokio::test]
async fn members_are_heard_again_after_a_restart_of_the_server_and_strangers_are_left_out() {
    let mut server = NatsServer::start();
    let bus = connect(&NatsSettings { answer_within: LONG, ..settings(&server) }).await;
    let beat = |life| Heartbeat::new("r", Role::Actor, life, "pod");
    bus.beat(beat(1)).await.unwrap();
    server.restart();
    let next_beats = async { while bus.beat(beat(2)).await.is_err() {} };
    tokio::time::timeout(LONG, next_beats).await.expect("the stream is still there");
    let client = async_nats::connect(server.url()).await.unwrap();
    client.publish("fogfall.r.alive.stranger", "no heartbeat".into()).await.unwrap();
    client.flush().await.unwrap();
    let alive = bus.alive().await.unwrap();
    assert!(alive.iter().any(|member| member.beat == beat(2)), "{alive:?}");
    assert!(alive.iter().all(|member| [1, 2].contains(&member.beat.life)), "{alive:?}");
}

#[tokio::test]
async fn each_role_can_do_its_work_and_no_more() {
    let permissions = include_str!("../../../docs/nats-permissions.conf").replace("RUN", "r");
    let server = NatsServer::start_with(&permissions);
    let role = async |user: &str, set_up| {
        let auth = NatsAuth::Password { user: user.into(), password: format!("change-{user}") };
        connect(&NatsSettings { auth, set_up, answer_within: Duration::from_secs(4), ..settings(&server) }).await
    };
    let learner = role("learner", true).await;
    let (ingest, actor, operator) =
        (role("ingest", false).await, role("actor", false).await, role("operator", false).await);
    let epoch = learner.claim(&manifest(), 0).await.unwrap();
    for step in 0..4 {
        let (head, blob) = weights(epoch, step, 1000);
        learner.announce(epoch, head, blob).await.unwrap();
    }
    let (first, _) = weights(epoch, 0, 1000);
    assert_eq!(learner.fetch(&first).await, Err(BusError::Gone { version: first.version })); // it may prune

    assert_eq!(actor.manifest().await, Ok(Some(manifest())));
    let newest = actor.newer_than(None, LONG).await.unwrap().unwrap();
    assert_eq!(newest.version, Version { epoch, step: 3 });
    assert_eq!(actor.fetch(&newest).await, Ok(weights(epoch, 3, 1000).1));
    for sequence in 0..2 {
        assert_eq!(actor.publish(part(sequence), [1; 100].into()).await, Ok(Published::Stored));
    }
    let got = ingest.pull(usize::MAX, LONG).await.unwrap();
    ingest.settle(got[0].receipt, Settle::Done).await.unwrap();
    ingest.settle(got[1].receipt, Settle::Poison("for a test".into())).await.unwrap();
    assert_eq!(ingest.fill().await.unwrap().parts, 0);
    assert_eq!(ingest.dead_letters().await.unwrap().len(), 1);
    assert_eq!(learner.dead_letters().await.unwrap().len(), 1);

    for (life, (member, role)) in
        [(&actor, Role::Actor), (&ingest, Role::Ingester), (&learner, Role::Learner)].into_iter().enumerate()
    {
        assert_eq!(member.beat(Heartbeat::new("r", role, life as u64, "pod")).await, Ok(()));
    }
    assert_eq!(operator.alive().await.unwrap().len(), 3);
    assert_eq!(learner.alive().await.unwrap().len(), 3);
    assert_eq!(operator.manifest().await, Ok(Some(manifest())));
    assert_eq!(operator.newest().await, Ok(Some(newest.clone())));
    assert!(operator.weights_age().await.unwrap().unwrap() < LONG);
    assert_eq!(operator.put_aside().await.unwrap().kept, 1);
    assert_eq!(operator.fill().await.unwrap().parts, 0);
    for refused in [
        operator.publish(part(9), [1; 100].into()).await.map(drop),
        operator.pull(1, Duration::ZERO).await.map(drop),
        operator.beat(Heartbeat::new("r", Role::Actor, 9, "pod")).await,
    ] {
        assert!(matches!(refused, Err(BusError::Refused { .. })), "{refused:?}");
    }

    for intruder in [&actor, &ingest, &operator] {
        let (head, blob) = weights(epoch, 9, 1000);
        let refused = intruder.announce(epoch, head, blob).await;
        assert!(matches!(&refused, Err(BusError::Refused { reason, .. }) if reason.contains("weights")), "{refused:?}");
        let refused = intruder.claim(&manifest(), 0).await;
        assert!(matches!(&refused, Err(BusError::Refused { reason, .. }) if reason.contains("$KV")), "{refused:?}");
    }
    let refused = actor.pull(1, Duration::ZERO).await;
    assert!(matches!(refused, Err(BusError::Refused { .. })), "{refused:?}");
    assert_eq!(learner.newest().await, Ok(Some(newest)));
}
