//! The log in Redis beside a model in memory.

use fogfall_proto::PartId;
use fogfall_testkit::redis_server::RedisServer as TestServer;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::sequences::{Known, Sequences};
use crate::{Appended, RedisLog, RedisLogSettings, RedisServer, ReplayLog};

const ROW_BYTES: usize = 16;

async fn open(server: &TestServer, run: &str) -> RedisLog {
    let settings = RedisLogSettings {
        server: RedisServer::at(&server.url()),
        run: run.into(),
        row_bytes: ROW_BYTES,
        capacity_rows: 90,
        capacity_bytes: 1 << 20,
        require_aof: true,
    };
    RedisLog::open(settings).await.unwrap()
}

/// Gaps that log and model remember, few enough to have one too many now and then.
const GAPS: usize = 12;

/// What the log must do: what `sequences.rs` knows, and all rows ever stored.
#[derive(Default)]
struct Model {
    sequences: Sequences,
    rows: Vec<u8>,
}

impl Model {
    fn append(&mut self, part: PartId, rows: &[u8]) -> Appended {
        match self.sequences.state(part) {
            Known::Noted => return Appended::Duplicate,
            Known::Forgotten => return Appended::TooOld,
            Known::New => {}
        }
        self.sequences.insert_with(part, GAPS);
        self.rows.extend(rows);
        Appended::Stored
    }
}

/// A number near the newest or far beyond it, or any from before.
fn sequence(rng: &mut Xoshiro256PlusPlus, newest: u64) -> u64 {
    match rng.random_range(0..20) {
        0 => newest + rng.random_range(0..1000),
        1..5 => rng.random_range(0..=newest),
        _ => (newest + 3).saturating_sub(rng.random_range(0..8)),
    }
}

#[tokio::test]
async fn random_appends_store_what_a_model_stores() {
    let server = TestServer::start();
    for seed in 0..4 {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let log = RedisLog { most_gaps: GAPS, ..open(&server, &format!("r{seed}")).await };
        let mut model = Model::default();
        let mut newest = [0_u64; 3];
        for step in 0..600 {
            let publisher = rng.random_range(0..3);
            let sequence = sequence(&mut rng, newest[publisher]);
            newest[publisher] = newest[publisher].max(sequence);
            let part = PartId { publisher: u64::MAX - publisher as u64, sequence };
            let rows: Vec<u8> = (0..rng.random_range(1..=11) * ROW_BYTES).map(|_| rng.random()).collect();
            let expected = model.append(part, &rows);
            assert_eq!(log.append(part, &rows).await.unwrap(), expected, "seed {seed}, step {step}, {part}");
            let bounds = log.bounds().await.unwrap();
            assert_eq!(bounds.end as usize * ROW_BYTES, model.rows.len(), "seed {seed}, step {step}");
            assert!(bounds.rows() <= 90 && bounds.rows() >= bounds.end.min(77), "{bounds:?}"); // 88 - 11 rows
            let from = rng.random_range(bounds.first..=bounds.end);
            let read = log.read(from, 1 << 20).await.unwrap();
            assert_eq!(read, model.rows[from as usize * ROW_BYTES..], "seed {seed}, step {step}");
        }
        // The fourth publisher has sent nothing.
        let of = |i: u64| (0..9_000).map(move |sequence| PartId { publisher: u64::MAX - i, sequence });
        let parts: Vec<_> = (0..4).flat_map(of).collect();
        let expected: Vec<_> = parts.iter().map(|&part| model.sequences.state(part) == Known::Noted).collect();
        assert!(expected.contains(&true) && expected.contains(&false));
        assert_eq!(log.stored(&parts).await.unwrap(), expected, "seed {seed}");
        let counts = log.counts();
        assert!(counts.duplicate_parts > 50 && counts.appended_parts > 200 && counts.too_old_parts > 10, "{counts:?}");
    }
}

#[tokio::test]
async fn the_publisher_silent_for_longest_is_forgotten_first() {
    let server = TestServer::start();
    let publishers = 100;
    let log = RedisLog { most_publishers: publishers, ..open(&server, "r").await };
    let row = [0; ROW_BYTES];
    let append = async |publisher, sequence| log.append(PartId { publisher, sequence }, &row).await.unwrap();
    for publisher in 0..publishers as u64 {
        // The first two leave a gap, to be forgotten with them.
        assert_eq!(append(publisher, u64::from(publisher < 2)).await, Appended::Stored);
    }
    assert_eq!(append(0, 2).await, Appended::Stored);
    assert_eq!(append(u64::MAX, 0).await, Appended::Stored);
    assert_eq!(server.command("ZCARD fogfall:{r}:heard"), format!(":{publishers}"));
    assert_eq!(server.command("ZRANGE fogfall:{r}:ranges 0 -1"), "*1"); // 1 and 2 of publisher 0
    assert_eq!(append(0, 1).await, Appended::Duplicate);
    assert_eq!(append(2, 0).await, Appended::Duplicate);
    assert_eq!(append(1, 1).await, Appended::Stored); // forgotten
}
