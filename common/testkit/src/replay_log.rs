//! What any replay log must do. Each implementation calls [`conformance`] with a way to open its log anew.

use std::sync::Arc;

use fogfall_proto::PartId;
use fogfall_replay::{Appended, Bounds, ReplayError, ReplayLog};
use futures_util::StreamExt;

/// Bytes of one row of the logs under test.
pub const ROW_BYTES: usize = 64;
/// Rows that the logs under test may hold.
pub const CAPACITY_ROWS: u64 = 256;
/// Bytes that the logs under test may take: more than their rows do.
pub const CAPACITY_BYTES: u64 = 1 << 20;

/// A log that can be closed and opened again.
pub trait LogUnderTest {
    /// Opens the log: empty the first time, afterwards with what it held. Nothing else holds it open.
    fn open(&mut self) -> Arc<dyn ReplayLog>;
}

/// Runs the suite. `fresh` makes a new, empty log of [`ROW_BYTES`], [`CAPACITY_ROWS`] and [`CAPACITY_BYTES`].
///
/// # Panics
/// On the first promise that is not kept.
pub async fn conformance<L: LogUnderTest>(mut fresh: impl FnMut() -> L) {
    an_append_stores_a_part_once(fresh().open()).await;
    a_part_that_many_overtake_is_stored_and_one_in_a_gap_that_was_given_up_is_not_taken_for_stored(fresh()).await;
    a_part_that_is_noted_is_known_and_takes_no_place(fresh()).await;
    a_bad_part_is_refused_and_nothing_is_stored(fresh().open()).await;
    reads_give_whole_rows_from_any_position(fresh().open()).await;
    the_oldest_rows_are_evicted_first(fresh().open()).await;
    parts_of_many_publishers_interleave(fresh().open()).await;
    all_survives_a_restart(fresh()).await;
}

fn part(publisher: u64, sequence: u64) -> PartId {
    PartId { publisher, sequence }
}

/// `count` rows, each filled with its position's digits.
fn rows(from: u64, count: u64) -> Vec<u8> {
    (from..from + count).flat_map(|position| position.to_le_bytes().repeat(ROW_BYTES / 8)).collect()
}

/// Reads all rows from `from` to the end, a few at a time.
async fn read_all(log: &dyn ReplayLog, mut from: u64) -> Result<Vec<u8>, ReplayError> {
    let mut all = Vec::new();
    loop {
        let some = log.read(from, 5 * ROW_BYTES + 1).await?;
        if some.is_empty() {
            return Ok(all);
        }
        assert!(some.len() <= 5 * ROW_BYTES && some.len().is_multiple_of(ROW_BYTES), "{} bytes", some.len());
        from += (some.len() / ROW_BYTES) as u64;
        all.extend(some);
    }
}

async fn bounds(log: &dyn ReplayLog) -> Bounds {
    log.bounds().await.expect("a log that is up knows its bounds")
}

async fn append(log: &dyn ReplayLog, part: PartId, rows: &[u8]) -> Appended {
    log.append(part, rows).await.expect("a good part is taken")
}

async fn an_append_stores_a_part_once(log: Arc<dyn ReplayLog>) {
    let log = &*log;
    assert_eq!((bounds(log).await.first, bounds(log).await.end), (0, 0));
    assert!(log.read(0, 1024).await.expect("nothing yet").is_empty());
    assert_eq!(append(log, part(1, 0), &rows(0, 3)).await, Appended::Stored);
    assert_eq!(append(log, part(1, 0), &rows(0, 3)).await, Appended::Duplicate);
    assert_eq!(append(log, part(1, 2), &rows(3, 1)).await, Appended::Stored);
    assert_eq!(append(log, part(1, 1), &rows(4, 2)).await, Appended::Stored); // overtaken, not a duplicate
    assert_eq!(append(log, part(1, 2), &rows(3, 1)).await, Appended::Duplicate);
    assert_eq!((bounds(log).await.first, bounds(log).await.end), (0, 6)); // 3 + 1 + 2
    assert_eq!(read_all(log, 0).await.expect("read"), rows(0, 6));
    let counts = log.counts();
    assert_eq!((counts.appended_parts, counts.appended_rows), (3, 6));
    assert_eq!((counts.duplicate_parts, counts.duplicate_rows), (2, 4)); // 3 + 1
}

/// More gaps than a log remembers of a publisher.
const GAPS: u64 = 4096 + 10;

async fn append_all(log: &dyn ReplayLog, parts: impl Iterator<Item = PartId>) {
    let row = rows(0, 1);
    let mut appends = futures_util::stream::iter(parts.map(|part| append(log, part, &row))).buffered(64);
    while let Some(appended) = appends.next().await {
        assert_eq!(appended, Appended::Stored);
    }
}

async fn a_part_that_many_overtake_is_stored_and_one_in_a_gap_that_was_given_up_is_not_taken_for_stored<
    L: LogUnderTest,
>(
    mut test: L,
) {
    let log = test.open();
    append_all(&*log, (1..10_000).map(|sequence| part(1, sequence))).await;
    assert_eq!(append(&*log, part(1, 0), &rows(7, 1)).await, Appended::Stored);
    assert_eq!(append(&*log, part(1, 0), &rows(7, 1)).await, Appended::Duplicate);
    append_all(&*log, (0..GAPS).map(|gap| part(2, 2 * gap + 1))).await; // the even ones are missing
    drop(log);
    let log = test.open();
    let again = async |sequence| append(&*log, part(2, sequence), &rows(8, 1)).await;
    assert_eq!(again(0).await, Appended::TooOld);
    assert_eq!((again(2 * GAPS - 1).await, again(2 * GAPS - 2).await), (Appended::Duplicate, Appended::Stored));
    assert_eq!(append(&*log, part(1, 9_999), &rows(7, 1)).await, Appended::Duplicate);
    let counts = log.counts();
    assert_eq!((counts.appended_parts, counts.duplicate_parts, counts.too_old_parts), (1, 2, 1));
}

async fn a_part_that_is_noted_is_known_and_takes_no_place<L: LogUnderTest>(mut test: L) {
    let log = test.open();
    assert_eq!(append(&*log, part(1, 0), &rows(0, 2)).await, Appended::Stored);
    let note = async |log: &dyn ReplayLog, sequence| log.note(part(1, sequence)).await.expect("a part can be noted");
    assert_eq!((note(&*log, 1).await, note(&*log, 1).await), (Appended::Stored, Appended::Duplicate));
    assert_eq!(append(&*log, part(1, 1), &rows(2, 1)).await, Appended::Duplicate);
    assert_eq!(append(&*log, part(1, 2), &rows(2, 1)).await, Appended::Stored);
    drop(log);
    let log = test.open();
    assert_eq!((note(&*log, 1).await, note(&*log, 2).await), (Appended::Duplicate, Appended::Duplicate));
    assert_eq!(append(&*log, part(1, 3), &rows(3, 1)).await, Appended::Stored);
    assert_eq!(read_all(&*log, 0).await.expect("read"), rows(0, 4)); // 2 + 1 + 1
    assert_eq!((log.counts().appended_parts, log.counts().appended_rows), (1, 1));
}

async fn a_bad_part_is_refused_and_nothing_is_stored(log: Arc<dyn ReplayLog>) {
    let log = &*log;
    for bytes in [0, 1, ROW_BYTES - 1, ROW_BYTES + 1] {
        let refused = log.append(part(1, 0), &vec![0; bytes]).await;
        assert!(matches!(refused, Err(ReplayError::RowBytes { .. })), "{bytes} bytes: {refused:?}");
    }
    let refused = log.append(part(1, 0), &rows(0, CAPACITY_ROWS + 1)).await;
    assert!(matches!(refused, Err(ReplayError::PartTooLarge { .. })), "{refused:?}");
    assert_eq!(bounds(log).await.end, 0);
    assert_eq!(append(log, part(1, 0), &rows(0, 1)).await, Appended::Stored);
}

async fn reads_give_whole_rows_from_any_position(log: Arc<dyn ReplayLog>) {
    let log = &*log;
    for sequence in 0..20 {
        append(log, part(1, sequence), &rows(sequence * 7, 7)).await;
    }
    for from in 0..=140 {
        assert_eq!(read_all(log, from).await.expect("read"), rows(from, 140 - from), "from {from}");
    }
    assert_eq!(log.read(3, 0).await.expect("read"), rows(3, 1)); // never stuck on a small buffer
    assert_eq!(log.read(3, 1 << 20).await.expect("read"), rows(3, 137));
    let ahead = log.read(141, 1024).await;
    assert!(matches!(ahead, Err(ReplayError::Ahead { from: 141, end: 140 })), "{ahead:?}");
}

async fn the_oldest_rows_are_evicted_first(log: Arc<dyn ReplayLog>) {
    let log = &*log;
    let mut stored = 0;
    for sequence in 0..200 {
        let count = 1 + sequence * 5 % 13; // parts of 1 to 13 rows
        append(log, part(1, sequence), &rows(stored, count)).await;
        stored += count;
        let bounds = bounds(log).await;
        assert_eq!(bounds.end, stored);
        assert!(bounds.rows() <= CAPACITY_ROWS && bounds.bytes <= CAPACITY_BYTES, "{bounds:?}");
        assert!(bounds.rows() >= stored.min(CAPACITY_ROWS / 2), "{bounds:?}: more evicted than needed");
        assert_eq!(read_all(log, bounds.first).await.expect("read"), rows(bounds.first, bounds.rows()));
    }
    let Bounds { first, end, .. } = bounds(log).await;
    let evicted = log.read(first - 1, 1024).await;
    assert!(matches!(evicted, Err(ReplayError::Evicted { first: f }) if f == first), "{evicted:?}");
    assert_eq!(append(log, part(1, 0), &rows(0, 1)).await, Appended::Duplicate); // evicted, but not forgotten
    let counts = log.counts();
    assert_eq!(counts.appended_rows, end);
    assert_eq!(counts.appended_rows, bounds(log).await.rows() + first); // stored = held + evicted
}

async fn parts_of_many_publishers_interleave(log: Arc<dyn ReplayLog>) {
    let tasks: Vec<_> = (0..8_u64)
        .map(|publisher| {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                for sequence in 0..10 {
                    let mark = rows(publisher * 100 + sequence, 1).repeat(3);
                    assert_eq!(append(&*log, part(publisher, sequence), &mark).await, Appended::Stored);
                    assert_eq!(append(&*log, part(publisher, sequence), &mark).await, Appended::Duplicate);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no publisher fails");
    }
    let all = read_all(&*log, 0).await.expect("read");
    assert_eq!(all.len(), 240 * ROW_BYTES); // 8 * 10 * 3
    let marks: Vec<u64> = all
        .chunks_exact(3 * ROW_BYTES)
        .map(|part| {
            assert_eq!(part, part[..ROW_BYTES].repeat(3), "a part's rows lie together");
            u64::from_le_bytes(part[..8].try_into().expect("eight bytes"))
        })
        .collect();
    for publisher in 0..8 {
        let order: Vec<u64> = marks.iter().copied().filter(|mark| mark / 100 == publisher).collect();
        assert!(order.is_sorted() && order.len() == 10, "publisher {publisher}: {order:?}");
    }
}

async fn all_survives_a_restart<L: LogUnderTest>(mut test: L) {
    let mut stored = 0;
    for life in 0..4 {
        let log = test.open();
        let found = bounds(&*log).await;
        assert_eq!(found.end, stored);
        assert_eq!(log.counts().appended_rows, 0);
        for sequence in 0..30 {
            append(&*log, part(life, sequence), &rows(stored, 4)).await;
            stored += 4;
        }
        for past in 0..=life {
            assert_eq!(append(&*log, part(past, 29), &rows(0, 4)).await, Appended::Duplicate);
            assert_eq!(append(&*log, part(past, 0), &rows(0, 4)).await, Appended::Duplicate);
        }
        let now = bounds(&*log).await;
        assert_eq!(found.end + log.counts().appended_rows, now.first + now.rows()); // found + stored = evicted + held
        assert_eq!(read_all(&*log, now.first).await.expect("read"), rows(now.first, now.rows()));
        log.sync().await.expect("synced");
    }
}
