//! Makes sure that the server can keep a log, and that the log is there.

use std::hash::{BuildHasher, RandomState};

use redis::Script;

use crate::redis_log::RedisLog;
use crate::redis_log::info::ServerInfo;
use crate::{RedisLogSettings, ReplayError};

const CREATE: &str = include_str!("create.lua");

/// Oldest server whose scripts are all or nothing when memory is short.
const OLDEST: (u32, u32) = (7, 0);

impl RedisLog {
    /// Checks the server and begins the log if there is none. Safe to repeat, and for several at once.
    pub(crate) async fn prepare(&self) -> Result<(), ReplayError> {
        self.check_server().await?;
        let layout = self.capacity.layout();
        // Two of them are never the same; nothing else is asked of it.
        let identity = format!("{:016x}", RandomState::new().hash_one(&layout));
        let found: String = self
            .writing
            .ask("begin the log on", async |mut c| {
                let create = Script::new(CREATE);
                create.key(&self.names.log).arg(&layout).arg(&identity).invoke_async(&mut c).await
            })
            .await?;
        if found != layout {
            return Err(self.other_layout(&found));
        }
        Ok(())
    }

    pub(crate) fn other_layout(&self, found: &str) -> ReplayError {
        ReplayError::OtherLog {
            place: format!("redis at {}, run {}", self.writing.server(), self.settings.run),
            field: "layout",
            found: format!("'{found}'"),
            expected: format!("'{}'", self.capacity.layout()),
        }
    }

    async fn check_server(&self) -> Result<(), ReplayError> {
        let text: String = self.writing.ask("ask", async |mut c| redis::cmd("INFO").query_async(&mut c).await).await?;
        let info = ServerInfo::parse(&text);
        judge(&info, &self.settings, self.writing.server())?;
        // A user without the right to ask, or a hosted server, does not say; then nobody can.
        let asked = self.writing.ask("ask", async |mut c| {
            redis::cmd("CONFIG").arg("GET").arg("appendfsync").query_async::<(String, String)>(&mut c).await
        });
        match asked.await {
            Ok((_, how)) if how == "no" && info.aof => tracing::warn!(
                server = self.writing.server(),
                "appendfsync is 'no': a loss of power may take more than the last second; 'everysec' is advised"
            ),
            _ => {}
        }
        Ok(())
    }
}

/// Whether a server can keep a log. One that still loads its data says nothing true of its files, and is to be asked again.
fn judge(info: &ServerInfo, settings: &RedisLogSettings, server: &str) -> Result<(), ReplayError> {
    let server = server.to_owned();
    if info.loading {
        return Err(ReplayError::Server { action: "open the log on", server, reason: "it is loading its data".into() });
    }
    unfit(info, settings).map_or(Ok(()), |what| Err(ReplayError::Unfit { server, what }))
}

/// Why a server cannot keep a log, if so.
fn unfit(info: &ServerInfo, settings: &RedisLogSettings) -> Option<String> {
    if info.version < OLDEST {
        let (major, minor) = info.version;
        return Some(format!("it is version {major}.{minor}, and {}.{} is the oldest that serves", OLDEST.0, OLDEST.1));
    }
    if info.policy != "noeviction" {
        return Some(format!(
            "maxmemory-policy is '{}', with which it may drop rows on its own: it must be 'noeviction'",
            info.policy
        ));
    }
    let bytes = settings.capacity().map_or(0, |capacity| capacity.most_bytes());
    if info.memory_limit > 0 && info.memory_limit < bytes {
        return Some(format!(
            "maxmemory is {} bytes, and the log may take {bytes}: raise it, to a quarter more than the log, or lower the \
             log's capacity",
            info.memory_limit
        ));
    }
    if !info.aof {
        let what = "appendonly is off, with which it forgets all rows when it restarts";
        if settings.require_aof {
            return Some(format!(
                "{what}: set appendonly to 'yes' and appendfsync to 'everysec' in its configuration (or now, with CONFIG \
                 SET), or go without by redis_require_aof = false"
            ));
        }
        tracing::warn!("redis: {what}");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedisServer;

    #[test]
    fn a_server_that_loads_its_data_is_asked_again_whatever_it_says_of_its_files() {
        let settings = RedisLogSettings {
            server: RedisServer::at("redis://127.0.0.1"),
            run: "r".into(),
            row_bytes: 8,
            capacity_rows: 100,
            capacity_bytes: 1000,
            require_aof: true,
        };
        let info = ServerInfo { version: (7, 0), policy: "noeviction".into(), loading: true, ..ServerInfo::default() };
        assert!(judge(&info, &settings, "here").unwrap_err().may_pass());
        let error = judge(&ServerInfo { loading: false, ..info.clone() }, &settings, "here").unwrap_err();
        assert!(!error.may_pass() && error.to_string().contains("appendonly is off"), "{error}");
        assert!(judge(&ServerInfo { loading: false, aof: true, ..info }, &settings, "here").is_ok());
    }
}
