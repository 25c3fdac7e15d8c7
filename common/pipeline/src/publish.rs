//! From self-play to the bus. Games are sent in the order in which they were finished, several on their way at once, where
//! one may overtake another; the oldest is waited for, so what is not answered lies close together.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use fogfall_bus::{BusError, Published};
use fogfall_game::mix;
use fogfall_proto::{PartId, Trajectory};
use fogfall_service::{admin::Heartbeat, shutdown::Stop};
use futures_util::{FutureExt, StreamExt, stream::FuturesOrdered};
use tracing::warn;

use crate::{
    StageCounts, Stages,
    stages::{PATIENCE, RETRY, spawn},
};

/// What may not work, as [`Troubles`](crate::Troubles) names it.
const PUBLISHING: &str = "publishing games";
/// Games that may be on their way to the bus at once.
const AHEAD: usize = 64;
/// First and longest pause before a bus that is full is tried again.
const FULL_RETRY: Duration = Duration::from_millis(2);
const FULL_RETRY_MOST: Duration = Duration::from_secs(1);

/// A game that was sent, and what the bus said.
struct Answer {
    part: PartId,
    bytes: Arc<[u8]>,
    published: Result<Published, BusError>,
}

impl Stages {
    /// Publishes what self-play finishes until the channel closes. A bus that is full or silent is tried again, until
    /// `give_up` is set: then what is left is counted as lost, untried.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn publish(&self, games: Receiver<Trajectory>, give_up: Stop) -> std::io::Result<JoinHandle<()>> {
        let stages = self.clone();
        spawn("publish", move || stages.publish_all(&games, &give_up))
    }

    fn publish_all(&self, games: &Receiver<Trajectory>, give_up: &Stop) {
        let (mut sent, mut open, heartbeat) = (FuturesOrdered::new(), true, self.heartbeat("publish"));
        while open || !sent.is_empty() {
            heartbeat.beat();
            let patience = if sent.is_empty() { PATIENCE } else { Duration::ZERO };
            let mut game = None;
            if open && sent.len() < AHEAD {
                match games.recv_timeout(patience) {
                    Ok(next) => game = Some(next),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            }
            let answer = match game {
                Some(game) => {
                    StageCounts::add(&self.counts.produced, 1);
                    if give_up.is_requested() {
                        StageCounts::add(&self.counts.publish_lost, 1);
                        continue;
                    }
                    sent.push_back(self.send(game.part, game.encode().into()));
                    // It is on its way from here on. A bus in this process has answered: no more than one game waits here.
                    self.runtime.block_on(async { sent.next().now_or_never() }).flatten()
                }
                None => self.runtime.block_on(sent.next()),
            };
            if let Some(answer) = answer {
                self.conclude(answer, &heartbeat, give_up);
            }
        }
    }

    async fn send(&self, part: PartId, bytes: Arc<[u8]>) -> Answer {
        let asked = Instant::now();
        let published = self.bus.publish(part, Arc::clone(&bytes)).await;
        if published.is_ok() {
            self.counts.times.publish.observe(asked.elapsed().as_secs_f64());
        }
        Answer { part, published, bytes }
    }

    /// Sends a game that the bus did not take again and again, alone: those behind it come when it is through.
    fn conclude(&self, mut answer: Answer, heartbeat: &Heartbeat, give_up: &Stop) {
        let since = Instant::now();
        loop {
            heartbeat.beat();
            let part = answer.part;
            let pause = match &answer.published {
                Ok(published) => {
                    self.troubles.works(PUBLISHING);
                    return match published {
                        Published::Stored => StageCounts::add(&self.counts.published, 1),
                        Published::Duplicate => StageCounts::add(&self.counts.publish_duplicates, 1),
                    };
                }
                Err(error @ BusError::TooLarge { .. }) => {
                    warn!(%part, %error, "a game does not fit the bus");
                    return StageCounts::add(&self.counts.publish_lost, 1);
                }
                // A full bus is no trouble: its readers wait for training.
                Err(BusError::Full { .. }) => full_pause(since.elapsed(), part),
                Err(error) => {
                    self.troubles.failed(PUBLISHING, error);
                    RETRY
                }
            };
            // A bus that does not answer takes its time for each game, and there is none.
            if give_up.wait(pause) {
                return StageCounts::add(&self.counts.publish_lost, 1);
            }
            StageCounts::add(&self.counts.publish_retries, 1);
            answer = self.runtime.block_on(self.send(part, answer.bytes));
        }
    }
}

/// How long to leave a bus alone that has been full for so long: each try brings the whole game to the server. The parts'
/// numbers spread it by half, so that a thousand publishers do not come together.
fn full_pause(full_for: Duration, part: PartId) -> Duration {
    let spread = (mix(part.publisher, part.sequence) % 512) as f64 / 1024.0;
    (full_for / 4).clamp(FULL_RETRY, FULL_RETRY_MOST).mul_f64(1.0 + spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_that_stays_full_is_tried_less_and_less_often_and_not_by_all_at_once() {
        let pause = |full_ms, publisher| {
            full_pause(Duration::from_millis(full_ms), PartId { publisher, sequence: 0 }).as_millis()
        };
        for publisher in 0..20 {
            assert!((2..=3).contains(&pause(0, publisher)));
            assert!((100..=150).contains(&pause(400, publisher))); // a quarter, and up to half more
            assert!((1000..=1500).contains(&pause(600_000, publisher)));
        }
        assert_ne!(pause(600_000, 1), pause(600_000, 2));
    }
}
