//! What any bus must do. Each implementation calls [`conformance`] with a way to make a new, empty bus. Waits are the
//! bus's own, so the suite runs in paused time as well as against a real server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fogfall_bus::{Bus, BusError, Delivery, Published, PutAside, Settle};
use fogfall_proto::{Heartbeat, Manifest, NamedLen, PartId, Role, Stage, Version, WIRE_VERSION, WeightsHead, digest};

/// Bytes of trajectories that the buses under test store.
pub const CAPACITY_BYTES: u64 = 64 << 10;
/// When the buses under test hand a delivery out again.
///
/// Long enough that a busy machine does not stall a test for it.
pub const SETTLE_WITHIN: Duration = Duration::from_secs(2);
/// Weights that the buses under test hold.
pub const KEEP_WEIGHTS: usize = 3;
/// When the buses under test forget who has fallen silent.
pub const GONE_AFTER: Duration = Duration::from_secs(4);

/// Long enough for anything that is to happen.
const LONG: Duration = Duration::from_secs(20);
/// What happens at once happens within this time, on a busy machine too.
const SOON: Duration = Duration::from_secs(5);
/// Bytes that a bus may count for a part beside its own: its id, where it goes.
const OVERHEAD_BYTES: u64 = 200;
/// Long enough to say that nothing happens.
const SHORT: Duration = Duration::from_millis(50);
const ALL: usize = usize::MAX;

/// Runs the suite.
///
/// # Panics
/// On the first promise that is not kept.
pub async fn conformance(mut fresh: impl AsyncFnMut() -> Arc<dyn Bus>) {
    a_new_bus_is_empty(&*fresh().await).await;
    a_part_is_stored_once_until_it_is_settled(&*fresh().await).await;
    first_deliveries_keep_each_publishers_order(fresh().await).await;
    a_pull_takes_what_fits_but_at_least_one(&*fresh().await).await;
    what_is_not_settled_comes_again(&*fresh().await).await;
    what_is_handed_back_comes_again_at_once(&*fresh().await).await;
    a_full_bus_pushes_back_until_there_is_room(&*fresh().await).await;
    poison_is_put_aside(&*fresh().await).await;
    competing_consumers_share_the_parts(fresh().await).await;
    a_waiting_pull_is_woken(fresh().await).await;
    weights_only_grow_and_are_checked(&*fresh().await).await;
    old_weights_go(&*fresh().await).await;
    whoever_waits_for_weights_is_woken(fresh().await).await;
    an_older_epoch_is_fenced(&*fresh().await).await;
    a_run_keeps_its_identity(&*fresh().await).await;
    members_are_there_until_they_end_or_fall_silent(&*fresh().await).await;
}

fn part(publisher: u64, sequence: u64) -> PartId {
    PartId { publisher, sequence }
}

fn message(len: usize, mark: u64) -> Arc<[u8]> {
    let mut bytes = vec![0; len.max(8)];
    bytes[..8].copy_from_slice(&mark.to_le_bytes());
    bytes.into()
}

/// A small manifest of run `r`.
pub fn manifest() -> Manifest {
    Manifest {
        wire: WIRE_VERSION,
        run: "r".into(),
        game: "g".into(),
        rules: None,
        observation: vec![NamedLen { name: "all".into(), len: 2 }],
        actions: vec!["a".into(), "b".into()],
        hidden: vec![],
        width: 8,
        blocks: 1,
        tower: None,
        settings: [("simulations".to_owned(), "64".to_owned())].into(),
        log: [("log_rows".to_owned(), "1000".to_owned())].into(),
    }
}

fn weights(epoch: u32, step: u64) -> (WeightsHead, Arc<[u8]>) {
    let blob: Arc<[u8]> = step.to_le_bytes().repeat(1000).into();
    let version = Version { epoch, step };
    (WeightsHead { version, ordinal: step, bytes: blob.len() as u64, digest: digest(&blob) }, blob)
}

async fn publish(bus: &dyn Bus, part: PartId, bytes: Arc<[u8]>) -> Published {
    bus.publish(part, bytes).await.expect("there is room")
}

async fn pull(bus: &dyn Bus, wait: Duration) -> Vec<Delivery> {
    bus.pull(ALL, wait).await.expect("a bus that is up answers")
}

async fn settle(bus: &dyn Bus, delivery: &Delivery, outcome: Settle) {
    bus.settle(delivery.receipt, outcome).await.expect("a bus that is up answers");
}

/// Parts stored and parts handed out, where the parts have so many bytes.
async fn fill(bus: &dyn Bus, bytes: u64) -> (u64, u64) {
    let fill = bus.fill().await.expect("a bus that is up answers");
    assert!((bytes..=bytes + fill.parts * OVERHEAD_BYTES).contains(&fill.bytes), "{fill:?}, {bytes} bytes of parts");
    assert_eq!(fill.capacity_bytes, CAPACITY_BYTES);
    (fill.parts, fill.unsettled)
}

async fn a_new_bus_is_empty(bus: &dyn Bus) {
    assert_eq!(bus.manifest().await, Ok(None));
    assert_eq!(bus.newest().await, Ok(None));
    assert!(pull(bus, SHORT).await.is_empty());
    assert_eq!(bus.newer_than(None, SHORT).await, Ok(None));
    assert_eq!(bus.dead_letters().await, Ok(vec![]));
    assert_eq!(bus.put_aside().await, Ok(PutAside::default()));
    assert_eq!(bus.weights_age().await, Ok(None));
    assert_eq!(bus.alive().await, Ok(vec![]));
    assert_eq!(fill(bus, 0).await, (0, 0));
}

async fn a_part_is_stored_once_until_it_is_settled(bus: &dyn Bus) {
    assert_eq!(publish(bus, part(1, 0), message(100, 7)).await, Published::Stored);
    assert_eq!(publish(bus, part(1, 0), message(100, 7)).await, Published::Duplicate);
    assert_eq!(publish(bus, part(2, 0), message(50, 8)).await, Published::Stored);
    assert_eq!(fill(bus, 150).await, (2, 0));
    let got = pull(bus, LONG).await;
    assert_eq!(got.iter().map(|d| (d.part, d.attempt)).collect::<Vec<_>>(), [(part(1, 0), 1), (part(2, 0), 1)]);
    assert_eq!(got[0].bytes, message(100, 7));
    assert_eq!(fill(bus, 150).await, (2, 2));
    assert!(pull(bus, SHORT).await.is_empty());
    for delivery in &got {
        settle(bus, delivery, Settle::Done).await;
        settle(bus, delivery, Settle::Done).await;
        settle(bus, delivery, Settle::Retry).await; // too late, and without effect
    }
    assert_eq!(fill(bus, 0).await, (0, 0));
    assert!(pull(bus, SETTLE_WITHIN * 2).await.is_empty());
    assert_eq!(publish(bus, part(1, 0), message(100, 7)).await, Published::Duplicate);
}

async fn first_deliveries_keep_each_publishers_order(bus: Arc<dyn Bus>) {
    let tasks: Vec<_> = (0..4_u64)
        .map(|publisher| {
            let bus = Arc::clone(&bus);
            tokio::spawn(async move {
                for sequence in 0..25 {
                    publish(&*bus, part(publisher, sequence), message(64, sequence)).await;
                }
            })
        })
        .collect();
    let mut order = Vec::new();
    while order.len() < 100 {
        let got = bus.pull(5 * 64, LONG).await.expect("a bus that is up answers");
        assert!((1..=5).contains(&got.len()), "{} parts", got.len());
        for delivery in got {
            settle(&*bus, &delivery, Settle::Done).await;
            order.push(delivery.part);
        }
    }
    for task in tasks {
        task.await.expect("no publisher fails");
    }
    for publisher in 0..4 {
        let own: Vec<u64> = order.iter().filter(|p| p.publisher == publisher).map(|p| p.sequence).collect();
        assert_eq!(own, (0..25).collect::<Vec<_>>());
    }
}

async fn a_pull_takes_what_fits_but_at_least_one(bus: &dyn Bus) {
    for sequence in 0..4 {
        publish(bus, part(1, sequence), message(1000, sequence)).await;
    }
    let count = async |max_bytes| bus.pull(max_bytes, LONG).await.expect("a bus that is up answers").len();
    assert_eq!(count(10).await, 1);
    assert_eq!(count(2999).await, 2);
    assert_eq!(count(ALL).await, 1);
}

async fn what_is_not_settled_comes_again(bus: &dyn Bus) {
    publish(bus, part(1, 0), message(10, 0)).await;
    publish(bus, part(1, 1), message(10, 1)).await;
    let first = pull(bus, LONG).await;
    assert_eq!(first.len(), 2);
    settle(bus, &first[1], Settle::Done).await;
    let again = pull(bus, LONG).await;
    assert_eq!(again.iter().map(|d| (d.part, d.attempt)).collect::<Vec<_>>(), [(part(1, 0), 2)]);
    settle(bus, &first[0], Settle::Done).await; // the first consumer was only slow
    assert!(pull(bus, SETTLE_WITHIN * 2).await.is_empty());
    assert_eq!(fill(bus, 0).await, (0, 0));
}

async fn what_is_handed_back_comes_again_at_once(bus: &dyn Bus) {
    publish(bus, part(1, 0), message(10, 0)).await;
    for attempt in 1..5 {
        let got = pull(bus, SETTLE_WITHIN / 2).await;
        assert_eq!(got.iter().map(|d| d.attempt).collect::<Vec<_>>(), [attempt]);
        settle(bus, &got[0], Settle::Retry).await;
    }
}

async fn a_full_bus_pushes_back_until_there_is_room(bus: &dyn Bus) {
    let size = CAPACITY_BYTES as usize / 8;
    let mut stored = 0;
    let refused = loop {
        match bus.publish(part(1, stored), message(size, stored)).await {
            Ok(published) => assert_eq!(published, Published::Stored),
            Err(refused) => break refused,
        }
        stored += 1;
        assert!(stored <= 8, "more than its capacity");
    };
    assert!(matches!(refused, BusError::Full { .. }), "{refused}");
    assert!(stored >= 6, "full after {stored} of 8"); // a server adds some bytes of its own
    let got = bus.pull(1, LONG).await.expect("a bus that is up answers");
    let still = bus.publish(part(1, stored), message(size, stored)).await;
    assert!(matches!(still, Err(BusError::Full { .. })), "handed out is not settled: {still:?}");
    settle(bus, &got[0], Settle::Done).await;
    assert_eq!(publish(bus, part(1, stored), message(size, stored)).await, Published::Stored);
    let large = bus.publish(part(9, 0), message(CAPACITY_BYTES as usize + 1, 0)).await;
    assert!(matches!(large, Err(BusError::TooLarge { .. })), "{large:?}");
}

async fn poison_is_put_aside(bus: &dyn Bus) {
    publish(bus, part(1, 0), message(10, 7)).await;
    let got = pull(bus, LONG).await;
    settle(bus, &got[0], Settle::Poison("not a trajectory".into())).await;
    assert!(pull(bus, SETTLE_WITHIN * 2).await.is_empty());
    assert_eq!(fill(bus, 0).await, (0, 0));
    let dead = bus.dead_letters().await.expect("a bus that is up answers");
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].part, dead[0].reason.as_str()), (part(1, 0), "not a trajectory"));
    assert_eq!(dead[0].bytes, message(10, 7));
    assert_eq!(bus.put_aside().await, Ok(PutAside { kept: 1, newest: dead.first().cloned() }));
    publish(bus, part(1, 1), message(10, 8)).await;
    let got = pull(bus, LONG).await;
    settle(bus, &got[0], Settle::Poison("nor this".into())).await;
    let aside = bus.put_aside().await.expect("a bus that is up answers");
    assert_eq!((aside.kept, aside.newest.map(|letter| letter.reason)), (2, Some("nor this".into())));
}

async fn competing_consumers_share_the_parts(bus: Arc<dyn Bus>) {
    for sequence in 0..60 {
        publish(&*bus, part(1, sequence), message(100, sequence)).await;
    }
    let consumers: Vec<_> = (0..3)
        .map(|_| {
            let bus = Arc::clone(&bus);
            tokio::spawn(async move {
                let mut parts = Vec::new();
                loop {
                    let got = bus.pull(400, SHORT).await.expect("a bus that is up answers");
                    if got.is_empty() {
                        return parts;
                    }
                    for delivery in got {
                        settle(&*bus, &delivery, Settle::Done).await;
                        parts.push(delivery.part.sequence);
                    }
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for consumer in consumers {
        all.extend(consumer.await.expect("no consumer fails"));
    }
    all.sort_unstable();
    assert_eq!(all, (0..60).collect::<Vec<_>>());
}

async fn a_waiting_pull_is_woken(bus: Arc<dyn Bus>) {
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let bus = Arc::clone(&bus);
            tokio::spawn(async move { bus.pull(1, LONG * 100).await.expect("a bus that is up answers").len() })
        })
        .collect();
    tokio::task::yield_now().await;
    publish(&*bus, part(1, 0), message(10, 0)).await;
    publish(&*bus, part(1, 1), message(10, 1)).await;
    for waiting in waiting {
        let woken = tokio::time::timeout(SOON, waiting).await.expect("woken, not timed out");
        assert_eq!(woken.expect("no consumer fails"), 1);
    }
}

async fn weights_only_grow_and_are_checked(bus: &dyn Bus) {
    let epoch = bus.claim(&manifest(), 0).await.expect("claimed");
    let (head, blob) = weights(epoch, 10);
    assert_eq!(bus.announce(epoch, head.clone(), Arc::clone(&blob)).await, Ok(()));
    assert_eq!(bus.newest().await, Ok(Some(head.clone())));
    let age = bus.weights_age().await.expect("a bus that is up answers");
    assert!(age.is_some_and(|age| age < SOON), "{age:?}");
    assert_eq!(bus.fetch(&head).await, Ok(Arc::clone(&blob)));
    for step in [9, 10] {
        let (old, blob) = weights(epoch, step);
        let refused = bus.announce(epoch, old.clone(), blob).await;
        assert_eq!(refused, Err(BusError::NotNewer { version: old.version, newest: head.version }));
    }
    let (next, blob) = weights(epoch, 11);
    let mut damaged = blob.to_vec();
    damaged[77] ^= 1;
    let refused = bus.announce(epoch, next.clone(), damaged.into()).await;
    assert!(matches!(refused, Err(BusError::Damaged { what: "digest", .. })), "{refused:?}");
    let refused = bus.announce(epoch, next.clone(), blob[1..].into()).await;
    assert!(matches!(refused, Err(BusError::Damaged { what: "length", .. })), "{refused:?}");
    assert_eq!(bus.newest().await, Ok(Some(head.clone())));
    let lying = WeightsHead { digest: 1, ..head };
    assert!(matches!(bus.fetch(&lying).await, Err(BusError::Damaged { .. })));
    assert_eq!(bus.announce(epoch, next.clone(), blob).await, Ok(()));
    assert_eq!(bus.newest().await, Ok(Some(next)));
}

async fn old_weights_go(bus: &dyn Bus) {
    let epoch = bus.claim(&manifest(), 0).await.expect("claimed");
    for step in 0..6 {
        let (head, blob) = weights(epoch, step);
        bus.announce(epoch, head, blob).await.expect("announced");
    }
    for step in 0..3 {
        let (head, _) = weights(epoch, step);
        assert_eq!(bus.fetch(&head).await, Err(BusError::Gone { version: head.version }));
    }
    for step in 3..6 {
        let (head, blob) = weights(epoch, step);
        assert_eq!(bus.fetch(&head).await, Ok(blob));
    }
}

async fn whoever_waits_for_weights_is_woken(bus: Arc<dyn Bus>) {
    let epoch = bus.claim(&manifest(), 0).await.expect("claimed");
    let wait = |known| {
        let bus = Arc::clone(&bus);
        tokio::spawn(async move { bus.newer_than(known, LONG * 100).await.expect("a bus that is up answers") })
    };
    let (first, blob) = weights(epoch, 1);
    let waiting = wait(None);
    tokio::task::yield_now().await;
    bus.announce(epoch, first.clone(), blob).await.expect("announced");
    let woken = tokio::time::timeout(LONG, waiting).await.expect("woken, not timed out").expect("no failure");
    assert_eq!(woken, Some(first.clone()));
    assert_eq!(bus.newer_than(None, SHORT).await, Ok(Some(first.clone()))); // who comes late sees it at once
    assert_eq!(bus.newer_than(Some(first.version), SHORT).await, Ok(None));
    let waiting = wait(Some(first.version));
    tokio::task::yield_now().await;
    let (second, blob) = weights(epoch, 2);
    bus.announce(epoch, second.clone(), blob).await.expect("announced");
    let woken = tokio::time::timeout(LONG, waiting).await.expect("woken, not timed out").expect("no failure");
    assert_eq!(woken, Some(second));
}

async fn an_older_epoch_is_fenced(bus: &dyn Bus) {
    let old = bus.claim(&manifest(), 0).await.expect("claimed");
    let (head, blob) = weights(old, 1000);
    bus.announce(old, head, blob).await.expect("announced");
    let new = bus.claim(&manifest(), 0).await.expect("claimed");
    assert!(new > old);
    let (head, blob) = weights(old, 1001);
    let fenced = Err(BusError::Fenced { epoch: old, current: new });
    assert_eq!(bus.announce(old, head.clone(), Arc::clone(&blob)).await, fenced);
    assert_eq!(bus.announce(new, head, blob).await, fenced); // its own epoch, but the old one's weights
    let (head, blob) = weights(new, 7); // the new learner began from an older checkpoint
    assert_eq!(bus.announce(new, head.clone(), blob).await, Ok(()));
    assert_eq!(bus.newest().await, Ok(Some(head)));
    let later = bus.claim(&manifest(), 40).await.expect("claimed");
    assert!(later > 40);
}

async fn a_run_keeps_its_identity(bus: &dyn Bus) {
    bus.claim(&manifest(), 0).await.expect("claimed");
    assert_eq!(bus.manifest().await, Ok(Some(manifest())));
    for (other, field) in [
        (Manifest { rules: Some("other".into()), ..manifest() }, "rules hash"),
        (Manifest { width: 16, ..manifest() }, "network"),
        (Manifest { game: "h".into(), ..manifest() }, "game"),
    ] {
        let refused = bus.claim(&other, 0).await;
        assert!(matches!(&refused, Err(BusError::OtherRun { field: f, .. }) if *f == field), "{refused:?}");
    }
    assert_eq!(bus.manifest().await, Ok(Some(manifest())));
    let changed = Manifest { settings: [("simulations".to_owned(), "32".to_owned())].into(), ..manifest() };
    bus.claim(&changed, 0).await.expect("settings may change");
    assert_eq!(bus.manifest().await, Ok(Some(changed)));
}

fn beat(role: Role, life: u64, games: u64) -> Heartbeat {
    Heartbeat { stage: Stage::Working, games, ..Heartbeat::new("r", role, life, "pod-1") }
}

async fn members_are_there_until_they_end_or_fall_silent(bus: &dyn Bus) {
    let say = async |beat: Heartbeat| bus.beat(beat).await.expect("a bus that is up answers");
    let alive = async || {
        let members = bus.alive().await.expect("a bus that is up answers");
        assert!(members.iter().all(|member| member.age < GONE_AFTER), "{members:?}");
        members.into_iter().map(|member| member.beat).collect::<Vec<_>>()
    };
    say(beat(Role::Learner, 1, 0)).await;
    say(beat(Role::Actor, u64::MAX, 1)).await;
    say(beat(Role::Actor, 2, 1)).await;
    say(beat(Role::Actor, 2, 5)).await;
    let all = [beat(Role::Actor, 2, 5), beat(Role::Actor, u64::MAX, 1), beat(Role::Learner, 1, 0)];
    assert_eq!(alive().await, all);
    say(Heartbeat { stage: Stage::Ended, ..beat(Role::Actor, 2, 6) }).await;
    assert_eq!(alive().await, all[1..]);
    assert!(pull(bus, GONE_AFTER * 2).await.is_empty()); // silence
    assert_eq!(alive().await, []);
    say(beat(Role::Actor, 2, 7)).await;
    assert_eq!(alive().await, [beat(Role::Actor, 2, 7)]);
}

/// What [`nothing_is_lost`] saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Parts published.
    pub parts: u64,
    /// Deliveries of them.
    pub deliveries: u64,
    /// Publications that were repeated because they were not answered.
    pub unanswered: u64,
}

/// Publishers that repeat until they are answered and a consumer that drops what it has seen: every part arrives, with
/// its own bytes, and in the end nothing is left on the bus.
///
/// # Panics
/// If a part is lost, damaged or left.
pub async fn nothing_is_lost(bus: Arc<dyn Bus>) -> Seen {
    const PUBLISHERS: u64 = 4;
    const PARTS: u64 = 100;
    let publishers: Vec<_> = (0..PUBLISHERS)
        .map(|publisher| {
            let bus = Arc::clone(&bus);
            tokio::spawn(async move {
                let mut unanswered = 0;
                for sequence in 0..PARTS {
                    let bytes = message(1000, publisher * PARTS + sequence);
                    while let Err(e) = bus.publish(part(publisher, sequence), Arc::clone(&bytes)).await {
                        assert!(matches!(e, BusError::Full { .. } | BusError::Unanswered { .. }), "{e}");
                        unanswered += u64::from(matches!(e, BusError::Unanswered { .. }));
                        tokio::time::sleep(SHORT).await; // what a publisher does before it tries again
                    }
                }
                unanswered
            })
        })
        .collect();
    let mut arrived = BTreeSet::new();
    let mut deliveries = 0;
    loop {
        let got = bus.pull(8000, SETTLE_WITHIN * 3).await.expect("a bus that is up answers");
        if got.is_empty() {
            break;
        }
        for delivery in got {
            let PartId { publisher, sequence } = delivery.part;
            assert_eq!(delivery.bytes, message(1000, publisher * PARTS + sequence));
            arrived.insert(delivery.part);
            deliveries += 1;
            settle(&*bus, &delivery, Settle::Done).await;
        }
    }
    let mut unanswered = 0;
    for publisher in publishers {
        unanswered += publisher.await.expect("no publisher fails");
    }
    let expected: BTreeSet<_> = (0..PUBLISHERS).flat_map(|p| (0..PARTS).map(move |s| part(p, s))).collect();
    assert_eq!(arrived, expected);
    assert_eq!(fill(&*bus, 0).await, (0, 0));
    Seen { parts: PUBLISHERS * PARTS, deliveries, unanswered }
}
