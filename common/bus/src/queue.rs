//! The store of trajectories in memory: bounded in bytes, handed out oldest first, again if not settled in time. It
//! knows no waiting; times are passed in.
//!
//! **Invariant:** a stored message is in exactly one of `ready`, `held` and `out`.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fogfall_proto::PartId;
use tokio::time::Instant;

use crate::bus::{DeadLetter, Delivery, Fill, Published, Receipt, Settle};
use crate::error::BusError;
use crate::faults::{Draws, Fault};

/// Part ids remembered for telling duplicates.
const KNOWN_PARTS: usize = 1 << 16;

/// Parts put aside that are kept.
const DEAD_LETTERS: usize = 100;

/// What bounds the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub(crate) capacity_bytes: u64,
    pub(crate) settle_within: Duration,
}

#[derive(Debug)]
struct Message {
    part: PartId,
    bytes: Arc<[u8]>,
    attempt: u32,
}

#[derive(Debug)]
pub(crate) struct Queue {
    limits: QueueLimits,
    /// All messages stored, by order of arrival.
    messages: BTreeMap<u64, Message>,
    ready: BTreeSet<u64>,
    /// Held back until then.
    held: BTreeSet<(Instant, u64)>,
    /// Handed out; again after then.
    out: BTreeMap<u64, Instant>,
    bytes: u64,
    arrivals: u64,
    known: HashSet<PartId>,
    known_order: VecDeque<PartId>,
    dead: VecDeque<DeadLetter>,
    draws: Draws,
}

impl Queue {
    pub(crate) fn new(limits: QueueLimits, draws: Draws) -> Self {
        Self {
            limits,
            messages: BTreeMap::new(),
            ready: BTreeSet::new(),
            held: BTreeSet::new(),
            out: BTreeMap::new(),
            bytes: 0,
            arrivals: 0,
            known: HashSet::new(),
            known_order: VecDeque::new(),
            dead: VecDeque::new(),
            draws,
        }
    }

    pub(crate) fn publish(&mut self, part: PartId, bytes: Arc<[u8]>, now: Instant) -> Result<Published, BusError> {
        if self.known.contains(&part) {
            return Ok(Published::Duplicate);
        }
        let capacity_bytes = self.limits.capacity_bytes;
        let size = bytes.len() as u64;
        if size > capacity_bytes {
            return Err(BusError::TooLarge { part, bytes: size, limit_bytes: capacity_bytes });
        }
        if self.bytes + size > capacity_bytes {
            return Err(BusError::Full { bytes: self.bytes, capacity_bytes });
        }
        self.remember(part);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.bytes += size;
        self.messages.insert(arrival, Message { part, bytes, attempt: 0 });
        if self.draws.happens(Fault::Delay) {
            self.held.insert((now + self.draws.faults.delay_by, arrival));
        } else {
            self.ready.insert(arrival);
        }
        if self.draws.happens(Fault::LostAnswer) {
            return Err(BusError::Unanswered { what: "publish" });
        }
        Ok(Published::Stored)
    }

    fn remember(&mut self, part: PartId) {
        self.known.insert(part);
        self.known_order.push_back(part);
        if self.known_order.len() > KNOWN_PARTS
            && let Some(oldest) = self.known_order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Hands out what is due, or says when something may be.
    pub(crate) fn pull(&mut self, max_bytes: usize, now: Instant) -> Result<Vec<Delivery>, Option<Instant>> {
        self.release(now);
        let mut deliveries = Vec::new();
        let mut bytes = 0;
        while let Some(&arrival) = self.ready.first() {
            let message = self.messages.get_mut(&arrival).expect("a ready message is stored");
            bytes += message.bytes.len();
            if bytes > max_bytes && !deliveries.is_empty() {
                break;
            }
            message.attempt += 1;
            let Message { part, attempt, .. } = *message;
            let delivery = Delivery { receipt: Receipt(arrival), part, attempt, bytes: Arc::clone(&message.bytes) };
            self.ready.remove(&arrival);
            self.out.insert(arrival, now + self.limits.settle_within);
            if self.draws.happens(Fault::Duplicate) {
                deliveries.push(delivery.clone());
            }
            deliveries.push(delivery);
        }
        if deliveries.is_empty() { Err(self.next_due()) } else { Ok(deliveries) }
    }

    /// Makes ready what was held back or handed out for long enough.
    fn release(&mut self, now: Instant) {
        while let Some(&(until, arrival)) = self.held.first()
            && until <= now
        {
            self.held.pop_first();
            self.ready.insert(arrival);
        }
        let overdue: Vec<u64> = self.out.iter().filter(|&(_, &until)| until <= now).map(|(&a, _)| a).collect();
        for arrival in overdue {
            self.out.remove(&arrival);
            self.ready.insert(arrival);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        let held = self.held.first().map(|&(until, _)| until);
        held.into_iter().chain(self.out.values().copied()).min()
    }

    /// True if something became ready.
    pub(crate) fn settle(&mut self, Receipt(arrival): Receipt, outcome: Settle) -> bool {
        if !self.messages.contains_key(&arrival) || self.draws.happens(Fault::LostSettlement) {
            return false;
        }
        match outcome {
            Settle::Done => {
                self.remove(arrival);
                false
            }
            // Somebody else may have it by now, or it waits for its next turn already.
            Settle::Retry => self.out.remove(&arrival).is_some() && self.ready.insert(arrival),
            Settle::Poison(reason) => {
                if let Some(Message { part, bytes, .. }) = self.remove(arrival) {
                    self.dead.push_back(DeadLetter { part, reason, bytes });
                    if self.dead.len() > DEAD_LETTERS {
                        self.dead.pop_front();
                    }
                }
                false
            }
        }
    }

    fn remove(&mut self, arrival: u64) -> Option<Message> {
        self.out.remove(&arrival);
        self.ready.remove(&arrival);
        let message = self.messages.remove(&arrival)?;
        self.bytes -= message.bytes.len() as u64;
        Some(message)
    }

    pub(crate) fn dead_letters(&self) -> Vec<DeadLetter> {
        self.dead.iter().cloned().collect()
    }

    pub(crate) fn fill(&self) -> Fill {
        Fill {
            parts: self.messages.len() as u64,
            unsettled: self.out.len() as u64,
            bytes: self.bytes,
            capacity_bytes: self.limits.capacity_bytes,
        }
    }
}
