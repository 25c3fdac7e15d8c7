//! The settings of a run's replay log: given to its learner, which puts them into the manifest, where whoever stores rows
//! finds them.

use std::collections::BTreeMap;

use fogfall_proto::Manifest;
use fogfall_replay::RedisLogSettings;
use fogfall_service::settings::{ByteSize, Loader};

use crate::RedisFlags;

fogfall_service::settings! {
    /// Replay log
    pub struct LogFlags {
        /// Most rows in the replay log. Ingesters take it from the run's manifest.
        log_rows: u64 = 1_000_000, in 1..=1_000_000_000_000_u64, class Operational;
        /// Most bytes in the replay log. Ingesters take it from the run's manifest.
        log_bytes: ByteSize = ByteSize(4 << 30), in ByteSize(1 << 20)..=ByteSize(1 << 50), class Operational;
        /// Games are not stored whose weights are more train steps behind the newest than this; 0 stores all.
        stale_after_steps: u64 = 10_000, in 0..=1_000_000_000_000_u64, class Operational;
    }
}

impl LogFlags {
    /// As given, else as the run says, else as the game asks for. Mistakes are noted in `loader`.
    pub fn of_run(loader: &mut Loader, run: &Manifest, game: &BTreeMap<String, String>) -> Self {
        loader.stored("the run's manifest", &run.log);
        loader.stored("the game's own defaults", game);
        loader.load()
    }

    /// The run's log in Redis.
    pub fn in_redis(&self, redis: &RedisFlags, run: &Manifest) -> RedisLogSettings {
        RedisLogSettings {
            server: redis.server(),
            run: run.run.clone(),
            row_bytes: run.row_layout().row_bytes(),
            capacity_rows: self.log_rows,
            capacity_bytes: self.log_bytes.0,
            require_aof: redis.redis_require_aof,
        }
    }
}
