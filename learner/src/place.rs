//! Where a run's bus and replay log are: in this process and its directory, or on servers that actors and ingesters share.

use std::sync::Arc;

use anyhow::{Context, bail};
use fogfall_bus::{Bus, BusError, MemoryBus, MemoryBusSettings, NatsBus, without_secrets};
use fogfall_game::GameInfo;
use fogfall_pipeline::{NatsFlags, RedisFlags};
use fogfall_proto::Manifest;
use fogfall_replay::{RedisLog, ReplayError, ReplayLog};

use crate::{
    cli::Flags,
    patience::{Patience, STOPPED},
    replay,
};

/// Trajectories that may wait on the bus in this process, in bytes, if the game's are not larger. What waits there gets
/// old.
const BUS_BYTES: usize = 64 << 10;
/// Bytes of a trajectory besides its rows, at most.
const TRAJECTORY_BYTES: usize = 1024;

/// Where a run's bus and log are.
#[derive(Clone, Debug)]
pub enum Place {
    /// In this process, which also plays.
    Local,
    /// On servers.
    Cluster(Box<Cluster>),
}

/// A run on servers.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The run.
    pub run: String,
    /// Its bus.
    pub nats: NatsFlags,
    /// Its replay log.
    pub redis: RedisFlags,
    /// Move games from the bus into the log in this process too.
    pub ingest: bool,
    /// Begin anew, whatever the bus holds of the run.
    pub start_over: bool,
}

impl Place {
    /// The run's name on its servers; none for a run that is nowhere but here.
    pub fn run(&self) -> Option<&str> {
        self.cluster().map(|cluster| cluster.run.as_str())
    }

    /// The servers, if there are.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Self::Local => None,
            Self::Cluster(cluster) => Some(cluster),
        }
    }

    /// The run's bus.
    ///
    /// # Errors
    /// If what is there was set up otherwise, or the server does not let this program in. One that is not there is waited
    /// for.
    pub fn bus(
        &self,
        info: &GameInfo,
        flags: &Flags,
        manifest: &Manifest,
        patience: &Patience<'_>,
    ) -> anyhow::Result<Arc<dyn Bus>> {
        let Some(cluster) = self.cluster() else {
            // Room for at least two of the longest games.
            let rows = replay::longest_game(info, flags) * manifest.row_layout().row_bytes();
            let capacity_bytes = BUS_BYTES.max(2 * (rows + TRAJECTORY_BYTES)) as u64;
            return Ok(Arc::new(MemoryBus::new(MemoryBusSettings { capacity_bytes, ..MemoryBusSettings::default() })));
        };
        let settings = cluster.nats.settings(true);
        let connect = async || NatsBus::connect(&settings, &cluster.run).await;
        let connected = patience.persist("connecting to the bus", BusError::may_pass, connect);
        let connected = connected.with_context(|| format!("cannot use the bus at {}", cluster.nats.nats))?;
        Ok(Arc::new(connected.context(STOPPED)?))
    }

    /// Refuses a run that begins anew where the bus holds weights of the same run: whoever lost the checkpoints should know.
    ///
    /// # Errors
    /// If that is so, and starting over was not asked for.
    pub fn refuse_lost_checkpoints(&self, bus: &dyn Bus, patience: &Patience<'_>) -> anyhow::Result<()> {
        let Some(cluster) = self.cluster().filter(|cluster| !cluster.start_over) else { return Ok(()) };
        let newest = patience.persist("asking for the newest weights", BusError::may_pass, async || bus.newest().await);
        if let Some(head) = newest?.context(STOPPED)? {
            bail!(
                "the bus holds weights {} of run {}, but there is no checkpoint to go on from: give --resume and the run's \
                 directory, or --start-over to train anew from step 0",
                head.version,
                cluster.run
            );
        }
        Ok(())
    }
}

impl Cluster {
    /// The flags that name the run and its servers, without secrets: these are given by the environment.
    pub fn arguments(&self) -> String {
        let nats: Vec<_> = self.nats.nats.split(',').map(|url| without_secrets(url.trim())).collect();
        format!("--run {} --nats {} --redis {}", self.run, nats.join(","), without_secrets(&self.redis.redis))
    }

    /// The run's replay log.
    ///
    /// # Errors
    /// If the server cannot be used. One that is not there is waited for.
    pub fn log(
        &self,
        flags: &Flags,
        manifest: &Manifest,
        patience: &Patience<'_>,
    ) -> anyhow::Result<Arc<dyn ReplayLog>> {
        let settings = flags.log.in_redis(&self.redis, manifest);
        let open = async || RedisLog::open(settings.clone()).await;
        let opened = patience.persist("opening the replay log", ReplayError::may_pass, open);
        Ok(Arc::new(opened.context("cannot use the replay log in Redis")?.context(STOPPED)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_named_as_it_was_given_but_for_secrets() {
        let nats = NatsFlags { nats: "nats://u:hush@a:1, nats://b:2".into(), ..NatsFlags::default() };
        let redis = RedisFlags { redis: "redis://u:hush@c:3/1".into(), ..RedisFlags::default() };
        let cluster = Cluster { run: "k".into(), nats, redis, ingest: false, start_over: false };
        assert_eq!(cluster.arguments(), "--run k --nats nats://a:1,nats://b:2 --redis redis://c:3/1");
    }
}
