//! Which parts have been stored: for audits, which compare what was sent with what is there.

use std::collections::{BTreeMap, btree_map::Entry};

use fogfall_proto::PartId;
use redis::pipe;

use crate::ReplayError;
use crate::redis_log::{RedisLog, publisher};
use crate::sequences::{Known, Seen};

impl RedisLog {
    /// Says of each part whether it has been stored, be its rows evicted since or not. False too of a part of which nobody
    /// can tell.
    ///
    /// # Errors
    /// [`ReplayError`] if the server does not answer.
    pub async fn stored(&self, parts: &[PartId]) -> Result<Vec<bool>, ReplayError> {
        let mut publishers = BTreeMap::new();
        for &part in parts {
            if let Entry::Vacant(entry) = publishers.entry(part.publisher) {
                entry.insert(self.seen(&publisher(part)).await?);
            }
        }
        Ok(parts.iter().map(|part| publishers[&part.publisher].state(part.sequence) == Known::Noted).collect())
    }

    /// What the log knows of a publisher.
    async fn seen(&self, publisher: &str) -> Result<Seen, ReplayError> {
        let mut request = pipe();
        request.cmd("HGET").arg(&self.names.below).arg(publisher);
        request.cmd("HGET").arg(&self.names.forgotten).arg(publisher);
        let (from, to) = (format!("[{publisher}-"), format!("({publisher}."));
        request.cmd("ZRANGEBYLEX").arg(&self.names.ranges).arg(from).arg(to);
        let (below, forgotten, ranges): (Option<u64>, Option<String>, Vec<String>) =
            self.reading.ask("ask for parts in", async |mut c| request.query_async(&mut c).await).await?;
        let range = |text: &str| {
            let (from, to) = text.split_once('-')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        let unreadable = || self.broken("a range of parts cannot be read");
        let forgotten = forgotten.map_or(Some((0, 0)), |text| range(&text)).ok_or_else(unreadable)?;
        let of_member = |member: &String| range(member.get(publisher.len() + 1..)?);
        let ranges = ranges.iter().map(of_member).collect::<Option<_>>().ok_or_else(unreadable)?;
        Ok(Seen::of(below.unwrap_or(0), ranges, forgotten))
    }
}
