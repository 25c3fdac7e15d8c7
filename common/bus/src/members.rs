//! Who has been heard lately, in memory. It knows no waiting; times are passed in.

use std::collections::BTreeMap;
use std::time::Duration;

use fogfall_proto::{Heartbeat, Role, Stage};
use tokio::time::Instant;

use crate::bus::Member;

/// What each process said last, and when.
#[derive(Debug, Default)]
pub(crate) struct Members(BTreeMap<(Role, u64), (Instant, Heartbeat)>);

impl Members {
    /// Hears one, and forgets those that have not been heard for `gone_after`.
    pub(crate) fn hear(&mut self, beat: Heartbeat, now: Instant, gone_after: Duration) {
        let key = (beat.role, beat.life);
        if beat.stage == Stage::Ended {
            self.0.remove(&key);
        } else {
            self.0.insert(key, (now, beat));
        }
        self.0.retain(|_, (heard, _)| now.duration_since(*heard) < gone_after);
    }

    /// Those heard within `gone_after`, by role and life.
    pub(crate) fn alive(&self, now: Instant, gone_after: Duration) -> Vec<Member> {
        let member =
            |(heard, beat): &(Instant, Heartbeat)| Member { beat: beat.clone(), age: now.duration_since(*heard) };
        self.0.values().map(member).filter(|member| member.age < gone_after).collect()
    }
}
