//! Every kind of difference is found, and none where all is well.

use fogfall_proto::Version;

use super::*;

fn part(sequence: u64) -> PartId {
    PartId { publisher: 7, sequence }
}

fn counts(counts: &[(&str, u64)]) -> Option<BTreeMap<String, u64>> {
    Some(counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect())
}

/// A player that sent part 0 of 2 rows and part 1 of 3, one ingester that was killed with part 1 in hand, and another
/// that stored both.
fn well() -> (Vec<Life>, Found) {
    let sent = |n: u64, rows| Event::Sent { part: part(n), rows, sum: 10 * rows };
    let player = Life {
        name: "player".into(),
        events: vec![
            Event::Heard(Version { epoch: 1, step: 4 }),
            sent(0, 2),
            Event::Acked(part(0)),
            sent(1, 3),
            sent(1, 3),
            Event::Acked(part(1)),
            Event::Heard(Version { epoch: 2, step: 4 }),
        ],
        counts: counts(&[("parts", 2), ("published", 1), ("duplicates", 1), ("lost", 0)]),
    };
    let killed =
        Life { name: "killed".into(), events: vec![Event::Taken(part(1)), Event::Append(part(1))], counts: None };
    let store = |n, answer: fn(PartId) -> Event| {
        [Event::Taken(part(n)), Event::Append(part(n)), answer(part(n)), Event::Settle(part(n), Settled::Done)]
    };
    let ingester = Life {
        name: "ingester".into(),
        events: [store(0, Event::Stored), store(1, Event::Duplicate)].concat(),
        counts: counts(&[("stored", 1), ("duplicates", 1), ("refused", 0)]),
    };
    let found = Found { held: [part(0), part(1)].into(), end: 5, sum: Some(50) }; // 2 + 3 rows, 20 + 30
    (vec![player, killed, ingester], found)
}

/// Part 0 was stale: it was noted, and its 2 rows were not stored.
fn stale(lives: &mut [Life], found: &mut Found) {
    let stored = lives[2].events.iter_mut().find(|event| **event == Event::Stored(part(0))).unwrap();
    *stored = Event::Noted(part(0));
    lives[2].counts = counts(&[("stored", 0), ("duplicates", 1), ("stale", 1), ("refused", 0)]);
    (found.end, found.sum) = (3, Some(30));
}

/// What is found after a change.
fn after(change: impl FnOnce(&mut Vec<Life>, &mut Found)) -> String {
    let (mut lives, mut found) = well();
    change(&mut lives, &mut found);
    audit(&lives, &found).join("\n")
}

#[test]
fn a_run_in_which_all_went_well_has_no_differences() {
    assert_eq!(after(|_, _| ()), "");
    assert_eq!(after(|_, found| found.sum = None), "");
}

#[test]
fn a_part_that_was_acknowledged_and_is_gone_is_told_with_its_history() {
    let lost = after(|_, found| {
        found.held.remove(&part(0));
        found.end = 3;
        found.sum = Some(30);
    });
    assert!(lost.starts_with("1 parts were acknowledged and are not stored"), "{lost}");
    assert!(lost.contains("player: sent 2 rows, acked; ingester: taken, append, stored, settle done"), "{lost}");
}

#[test]
fn a_part_that_was_never_acknowledged_may_be_stored_or_not() {
    let unanswered = |lives: &mut Vec<Life>| {
        lives[0].events.retain(|event| *event != Event::Acked(part(1)));
        lives[0].counts = None;
    };
    assert_eq!(after(|lives, _| unanswered(lives)), "");
    let not_stored = after(|lives, found| {
        unanswered(lives);
        lives[2] = Life { events: lives[2].events[..4].to_vec(), counts: None, ..lives[2].clone() };
        *found = Found { held: [part(0)].into(), end: 2, sum: Some(20) };
    });
    assert_eq!(not_stored, "");
}

#[test]
fn rows_stored_twice_or_changed_are_seen_in_the_log() {
    let longer = after(|_, found| found.end = 8);
    assert_eq!(longer, "the parts stored have 5 rows, but the log ends at 8");
    assert_eq!(after(|_, found| found.sum = Some(51)), "the rows stored are not the rows sent");
}

#[test]
fn a_part_is_stored_once_and_by_somebody() {
    let twice = after(|lives, _| lives[1].events.push(Event::Stored(part(0))));
    assert!(twice.starts_with("1 parts were stored twice"), "{twice}");
    let by_nobody = after(|lives, _| drop(lives.remove(1)));
    assert!(by_nobody.starts_with("1 parts are stored that no ingester stored"), "{by_nobody}");
}

#[test]
fn a_stale_part_is_noted_and_counted_and_one_that_nobody_can_tell_is_told() {
    assert_eq!(after(|lives, found| stale(lives, found)), "");
    let uncounted = after(|lives, found| {
        stale(lives, found);
        lives[2].counts.as_mut().unwrap().remove("stale");
    });
    assert_eq!(uncounted, "ingester: stale and parts noted are 0 and 1");
    let too_old = after(|lives, _| lives[1].events.push(Event::TooOld(part(0))));
    assert!(too_old.starts_with("1 parts came so late that the log could not tell"), "{too_old}");
}

#[test]
fn appends_that_overlap_are_told_apart() {
    let overlap = |lives: &mut Vec<Life>| {
        // Its two parts at once, the second answered first.
        let events = &mut lives[2].events;
        let last = events.remove(5);
        events.insert(0, last);
        assert_eq!(events[0], Event::Append(part(1)));
    };
    assert_eq!(after(|lives, _| overlap(lives)), "");
    let killed = after(|lives, _| {
        overlap(lives);
        lives.remove(1);
        let events = &mut lives[1].events;
        events.retain(|event| *event != Event::Duplicate(part(1)) && *event != Event::Settle(part(1), Settled::Done));
        lives[1].counts = None;
    });
    assert_eq!(killed, "");
}

#[test]
fn a_part_that_is_settled_before_it_is_stored_is_told() {
    let early = after(|lives, _| lives[2].events.insert(0, Event::Settle(part(0), Settled::Done)));
    assert!(early.starts_with("1 parts were settled that were not stored"), "{early}");
}

#[test]
fn counters_that_do_not_balance_are_told() {
    let changed =
        |at: usize, name: &str| after(|lives, _| *lives[at].counts.as_mut().unwrap().get_mut(name).unwrap() += 1);
    assert!(changed(0, "parts").contains("parts and published + duplicates + lost are 3 and 2"));
    assert!(changed(0, "published").contains("published + duplicates and parts acknowledged are 3 and 2"));
    assert!(changed(2, "stored").contains("stored and parts stored are 2 and 1"));
    assert!(changed(2, "refused").contains("refused and none are 1 and 0"));
}

#[test]
fn weights_that_go_back_are_told() {
    let back = after(|lives, _| lives[0].events.push(Event::Heard(Version { epoch: 2, step: 3 })));
    assert_eq!(back, "player heard of weights 2.3 after 2.4");
}
