//! When what was appended would survive a loss of power.
//!
//! Redis with `appendfsync everysec` begins a sync of its file every second in the background. From version 7.2 on it
//! says when a write is covered (`WAITAOF`). An older one does not: there, a sync that covers the write has begun two
//! seconds after it at the latest, and has ended when none is pending.

use std::time::Duration;

use crate::ReplayError;
use crate::redis_log::RedisLog;
use crate::redis_log::info::ServerInfo;

/// First version that knows `WAITAOF`.
const SAYS_WHEN: (u32, u32) = (7, 2);

/// After so long a sync that covers a write has begun: it begins each second, at the second's turn.
const BEGUN: Duration = Duration::from_secs(2);

/// Between two looks at a sync that is under way.
const LOOK_EVERY: Duration = Duration::from_millis(50);

impl RedisLog {
    pub(crate) async fn wait_for_sync(&self) -> Result<(), ReplayError> {
        let info = self.info().await?;
        if !info.aof {
            return Err(self.unsynced("appendonly is off"));
        }
        if info.version >= SAYS_WHEN { self.wait_aof().await } else { self.wait_for_background_sync().await }
    }

    /// Writes something, for the server answers for this connection's writes, and waits until it is on the disk; what
    /// was written before by others is there then too.
    async fn wait_aof(&self) -> Result<(), ReplayError> {
        let patience = self.settings.server.answer_timeout / 2;
        let (synced, _replicas): (u64, u64) = self
            .syncing
            .ask("sync", async |mut c| {
                redis::cmd("HINCRBY").arg(&self.names.log).arg("syncs").arg(1).query_async::<()>(&mut c).await?;
                let mut wait = redis::cmd("WAITAOF");
                wait.arg(1).arg(0).arg(patience.as_millis() as u64).query_async(&mut c).await
            })
            .await?;
        if synced == 0 { Err(self.unsynced("the disk is too slow")) } else { Ok(()) }
    }

    async fn wait_for_background_sync(&self) -> Result<(), ReplayError> {
        tokio::time::sleep(BEGUN).await;
        let patience = self.settings.server.answer_timeout / 2;
        let ended = async {
            loop {
                let info = self.info().await?;
                if !info.aof_works {
                    return Err(self.unsynced("the append-only file cannot be written"));
                }
                if info.aof_syncs_pending == 0 {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(patience, ended).await.unwrap_or_else(|_| Err(self.unsynced("the disk is too slow")))
    }

    async fn info(&self) -> Result<ServerInfo, ReplayError> {
        let text: String = self.syncing.ask("ask", async |mut c| redis::cmd("INFO").query_async(&mut c).await).await?;
        Ok(ServerInfo::parse(&text))
    }

    fn unsynced(&self, why: &str) -> ReplayError {
        ReplayError::Server { action: "sync", server: self.syncing.server().into(), reason: why.into() }
    }
}
