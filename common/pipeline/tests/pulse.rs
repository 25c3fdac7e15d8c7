//! A process says that it lives, what it waits for and how far it has come, until it says goodbye.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_bus::{MemoryBus, MemoryBusSettings};
use fogfall_pipeline::{Pulse, Stages};
use fogfall_proto::{Heartbeat, Role, Stage};
use fogfall_service::shutdown::Stop;
use tokio::runtime::Runtime;

#[test]
fn a_process_is_heard_from_its_first_wait_to_its_goodbye() {
    let runtime = Runtime::new().unwrap();
    let bus = Arc::new(MemoryBus::new(MemoryBusSettings::default()));
    let stages = Stages::new(runtime.handle().clone(), bus);
    let heard = || {
        let mut alive = runtime.block_on(stages.bus.alive()).unwrap();
        assert!(alive.len() <= 1, "{alive:?}");
        alive.pop().map(|member| member.beat)
    };
    let until = |stage| loop {
        if let Some(beat) = heard().filter(|beat| beat.stage == stage) {
            return beat;
        }
        std::thread::yield_now();
    };
    let (vitals, stop) = (stages.vitals.clone(), Stop::new());
    vitals.condition("weights").unmet("the run has published none yet");
    stages.troubles.failed("fetching weights", &"no answer");
    let pulse = Pulse::start(&stages, Heartbeat::new("r", Role::Actor, 7, "pod"), &stop);
    let first = until(Stage::Starting);
    assert_eq!((first.run.as_str(), first.life, first.host.as_str()), ("r", 7, "pod"));
    assert_eq!(first.waits[0].what, "weights: the run has published none yet");
    assert_eq!((first.troubles[0].what.as_str(), first.troubles[0].reason.as_str()), ("fetching weights", "no answer"));
    stages.troubles.works("fetching weights");
    pulse.note(|beat| beat.games = 12);
    stop.request("for a test"); // it is said at once
    let last = until(Stage::Stopping);
    assert_eq!((last.games, last.troubles.len()), (12, 0));
    pulse.end();
    assert_eq!(heard(), None);
}
