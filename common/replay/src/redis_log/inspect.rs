//! A look at a run's log from outside: by somebody who need not know how large it is, and changes nothing.

use std::sync::Arc;

use crate::redis_log::capacity::Capacity;
use crate::redis_log::info::ServerInfo;
use crate::redis_log::link::Link;
use crate::redis_log::names::Names;

use crate::{Bounds, RedisLog, RedisServer, ReplayError};

/// How a run's log in Redis stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisLogState {
    /// What it holds.
    pub bounds: Bounds,
    /// Most rows that it holds.
    pub capacity_rows: u64,
    /// Parts ever stored.
    pub parts: u64,
    /// Memory that the server uses, for all that it holds.
    pub memory_bytes: u64,
    /// Memory that it may use, if there is a limit.
    pub memory_limit: Option<u64>,
}

impl RedisLog {
    /// Looks at the log of `run`; none if there is none. Needs no more than the right to read and `INFO`.
    ///
    /// # Errors
    /// [`ReplayError::Settings`], [`ReplayError::Denied`], [`ReplayError::Server`]; [`ReplayError::Broken`] if its layout
    /// is one that this program does not know.
    pub async fn inspect(server: &RedisServer, run: &str) -> Result<Option<RedisLogState>, ReplayError> {
        let (link, names) = (Arc::new(Link::new(server)?), Names::new(run)?);
        let mut request = redis::pipe();
        request.cmd("HMGET").arg(&names.log).arg("layout").arg("first").arg("end").arg("held").arg("parts");
        request.cmd("INFO");
        type Log = (Option<String>, Option<u64>, Option<u64>, Option<u64>, Option<u64>);
        let (log, info): (Log, String) = link.ask("look at", async |mut c| request.query_async(&mut c).await).await?;
        let (Some(layout), Some(first), Some(end), Some(held), Some(parts)) = log else { return Ok(None) };
        let unknown = || ReplayError::Broken { reason: format!("the layout '{layout}' of run {run} is not known") };
        let (capacity, info) = (Capacity::of_layout(&layout).ok_or_else(unknown)?, ServerInfo::parse(&info));
        Ok(Some(RedisLogState {
            bounds: capacity.bounds(first, end, held),
            capacity_rows: capacity.most_rows(),
            parts,
            memory_bytes: info.memory_bytes,
            memory_limit: Some(info.memory_limit).filter(|&limit| limit > 0),
        }))
    }
}
