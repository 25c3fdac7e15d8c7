//! What a log in Redis is opened with.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::ReplayError;
use crate::redis_log::capacity::Capacity;

/// How to reach a Redis server.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisServer {
    /// `redis://HOST:PORT/DATABASE`, or `rediss://` for TLS. User and password may stand in it.
    pub url: String,
    /// The ACL user, if not in the URL.
    pub user: Option<String>,
    /// The password, if not in the URL.
    pub password: Option<String>,
    /// Certificates in PEM that a server's certificate must come from; those of the system if none are given.
    pub ca: Option<PathBuf>,
    /// Longest wait for a connection with its greeting, or until one is made anew.
    pub connect_timeout: Duration,
    /// Longest wait for an answer.
    pub answer_timeout: Duration,
}

impl RedisServer {
    /// The server at `url` with 2 s to connect and 10 s to answer.
    pub fn at(url: &str) -> Self {
        Self {
            url: url.into(),
            user: None,
            password: None,
            ca: None,
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(10),
        }
    }
}

/// Without secrets: neither the password nor the URL, which may hold one.
impl fmt::Debug for RedisServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisServer").field("user", &self.user).field("ca", &self.ca).finish_non_exhaustive()
    }
}

/// What a log in Redis is opened with. All who open one run's log must say the same rows and capacities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisLogSettings {
    /// Where it lies.
    pub server: RedisServer,
    /// The run it belongs to, without braces.
    pub run: String,
    /// Bytes of one row.
    pub row_bytes: usize,
    /// Most rows held.
    pub capacity_rows: u64,
    /// Most bytes held, with what the server takes for each part besides its rows. It needs a quarter more.
    pub capacity_bytes: u64,
    /// Refuse a server without an append-only file: it forgets all when it restarts.
    pub require_aof: bool,
}

impl RedisLogSettings {
    /// Checks that a log can be had with these settings. Asks no server.
    ///
    /// # Errors
    /// [`ReplayError::Settings`].
    pub fn check(&self) -> Result<(), ReplayError> {
        crate::redis_log::names::Names::new(&self.run)?;
        self.capacity().map(drop)
    }

    /// True if parts of so many rows can be stored.
    pub fn takes(&self, rows: u64) -> bool {
        self.capacity().is_ok_and(|capacity| rows <= capacity.largest_part())
    }

    pub(crate) fn capacity(&self) -> Result<Capacity, ReplayError> {
        Capacity::new(self.row_bytes, self.capacity_rows, self.capacity_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let server = RedisServer {
            user: Some("ingest".into()),
            password: Some("hush".into()),
            ..RedisServer::at("redis://u:hush@h:1")
        };
        let text = format!("{server:?}");
        assert!(text.contains("ingest") && !text.contains("hush"), "{text}");
    }
}
