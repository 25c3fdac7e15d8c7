//! A run whose learner comes back: with other settings of play, which its actors take up, and as another run, which ends
//! them.

use std::collections::BTreeSet;

use fogfall_bus::{Bus, Settle};
use fogfall_net::Shape;
use fogfall_proto::{Manifest, PartId, Trajectory, Version};
use fogfall_testkit::nats::NatsServer;

use crate::support::{Lead, Service, count, kuhn};

const FIRST: Version = Version { epoch: 1, step: 5 };

fn actor(nats: &NatsServer) -> Service {
    Service::start(&["--nats", &nats.url(), "--threads=1", "--slots=4"])
}

/// Takes all that is on the bus.
fn take(lead: &Lead) -> Vec<Trajectory> {
    let taken = lead.runtime.block_on(lead.bus.pull(usize::MAX, std::time::Duration::ZERO)).unwrap();
    let settle = |receipt| lead.runtime.block_on(lead.bus.settle(receipt, Settle::Done)).unwrap();
    taken.iter().for_each(|delivery| settle(delivery.receipt));
    taken.iter().map(|delivery| Trajectory::decode(&delivery.bytes).unwrap()).collect()
}

#[test]
fn actors_play_by_the_new_settings_of_a_learner_that_comes_back_and_lose_nothing() {
    let (nats, (shape, manifest)) = (NatsServer::start(), kuhn());
    // Long searches: the bus must not be full when the actor ends, however fast the machine is.
    let of = |simulations: &str| Manifest {
        settings: [("simulations".to_owned(), simulations.to_owned())].into(),
        ..manifest.clone()
    };
    let (first, second) = (of("2000"), of("3000"));
    let lead = Lead::new(&nats);
    lead.claim(&first);
    lead.announce(&shape, FIRST);
    let mut actor = actor(&nats);
    let mut parts: Vec<Trajectory> = Vec::new();
    actor.until("games by the first settings", |_| {
        parts.extend(take(&lead));
        parts.len() > 20
    });
    assert_eq!(lead.claim(&second), 2);
    lead.announce(&shape, Version { epoch: 2, step: 3 });
    actor.until("games by the second settings", |_| {
        parts.extend(take(&lead));
        parts.iter().filter(|part| part.settings_hash == second.settings_hash()).count() > 20
    });
    assert!(actor.record("the run's games are played otherwise").is_some());
    let (code, played) = actor.terminate();
    assert_eq!(code, Some(0), "{}", actor.log());
    loop {
        let more = take(&lead);
        if more.is_empty() {
            break;
        }
        parts.extend(more);
    }
    assert_eq!((count(&played, "lost"), count(&played, "duplicates")), (0, 0), "{played}");
    assert_eq!(parts.len() as u64, count(&played, "parts"), "counts go on from one crew to the next: {played}");
    let ids: BTreeSet<PartId> = parts.iter().map(|part| part.part).collect();
    assert_eq!(ids.len(), parts.len(), "no part has the id of another");
    let layout = first.row_layout();
    for part in &parts {
        let simulations = if part.settings_hash == second.settings_hash() { 3000 } else { 2000 };
        for row in layout.rows(&part.rows) {
            // A forced move takes one; there is none in Kuhn poker.
            assert_eq!(row.to_row().simulations, simulations, "{:?}", row.version());
        }
    }
}

#[test]
fn an_actor_ends_with_the_difference_when_its_run_has_become_another_one() {
    let (mut nats, (shape, manifest)) = (NatsServer::start(), kuhn());
    let lead = Lead::new(&nats);
    lead.claim(&manifest);
    lead.announce(&shape, FIRST);
    let mut actor = actor(&nats);
    actor.until_said("playing");
    nats.restart_empty();
    let lead = Lead::new(&nats);
    let other = Manifest { width: 24, ..manifest };
    assert_eq!(lead.runtime.block_on(lead.bus.claim(&other, 1)), Ok(2));
    lead.announce(&Shape { width: 24, ..shape }, Version { epoch: 2, step: 1 });
    assert_eq!(actor.end(), Some(1));
    assert!(actor.log().contains("the network's width was 16 and is 24"), "{}", actor.log());
}
