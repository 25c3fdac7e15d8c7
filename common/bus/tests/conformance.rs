//! The bus in memory does what any bus must do, and loses nothing when things go wrong.

use std::sync::Arc;
use std::time::Duration;

use fogfall_bus::{Bus, Faults, MemoryBus, MemoryBusSettings};
use fogfall_testkit::bus::{CAPACITY_BYTES, GONE_AFTER, KEEP_WEIGHTS, SETTLE_WITHIN, conformance, nothing_is_lost};

fn bus(faults: Faults) -> Arc<dyn Bus> {
    Arc::new(MemoryBus::new(MemoryBusSettings {
        capacity_bytes: CAPACITY_BYTES,
        settle_within: SETTLE_WITHIN,
        keep_weights: KEEP_WEIGHTS,
        gone_after: GONE_AFTER,
        faults,
    }))
}

#[tokio::test(start_paused = true)]
async fn a_bus_in_memory_keeps_every_promise() {
    conformance(async || bus(Faults::default())).await;
}

#[tokio::test(start_paused = true)]
async fn no_part_is_lost_whatever_goes_wrong() {
    for seed in 0..10 {
        let faults = Faults {
            seed,
            duplicate: 0.2,
            lost_answer: 0.2,
            lost_settlement: 0.2,
            delay: 0.2,
            delay_by: Duration::from_millis(700),
        };
        let seen = nothing_is_lost(bus(faults)).await;
        assert!(seen.deliveries > seen.parts * 5 / 4, "the faults came to pass: {seen:?}");
        assert!(seen.unanswered > seen.parts / 10, "the faults came to pass: {seen:?}");
    }
    let seen = nothing_is_lost(bus(Faults::default())).await;
    assert_eq!((seen.deliveries, seen.unanswered), (seen.parts, 0));
}
