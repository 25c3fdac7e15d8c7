//! What a server says about itself.

/// The parts of `INFO` that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerInfo {
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    /// True while it reads its data from its files: what it says of them meanwhile means nothing.
    pub(crate) loading: bool,
    /// `maxmemory_policy`.
    pub(crate) policy: String,
    /// Memory that it uses.
    pub(crate) memory_bytes: u64,
    /// Memory that it may use; 0 for no limit.
    pub(crate) memory_limit: u64,
    /// True if it keeps an append-only file.
    pub(crate) aof: bool,
    /// True if the last write to that file went well.
    pub(crate) aof_works: bool,
    /// Bytes of that file.
    pub(crate) aof_bytes: u64,
    /// Bytes that are still to be written to it.
    pub(crate) aof_buffer_bytes: u64,
    /// Syncs of that file that have begun and not ended.
    pub(crate) aof_syncs_pending: u64,
}

impl ServerInfo {
    /// Reads lines of `name:value`; what is missing stays empty.
    pub(crate) fn parse(text: &str) -> Self {
        let mut info = Self::default();
        for (name, value) in text.lines().filter_map(|line| line.trim().split_once(':')) {
            match name {
                "redis_version" => {
                    let mut numbers = value.split('.').map(|number| number.parse().unwrap_or(0));
                    info.version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                }
                "loading" => info.loading = value == "1",
                "maxmemory_policy" => info.policy = value.into(),
                "used_memory" => info.memory_bytes = value.parse().unwrap_or(0),
                "maxmemory" => info.memory_limit = value.parse().unwrap_or(0),
                "aof_enabled" => info.aof = value == "1",
                "aof_last_write_status" => info.aof_works = value == "ok",
                "aof_current_size" => info.aof_bytes = value.parse().unwrap_or(0),
                "aof_buffer_length" => info.aof_buffer_bytes = value.parse().unwrap_or(0),
                "aof_pending_bio_fsync" => info.aof_syncs_pending = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_matter_are_read() {
        let info = ServerInfo::parse(
            "# Server\r\nredis_version:7.0.15\r\nloading:1\r\n\r\n# Memory\r\nused_memory:5\r\nmaxmemory:9\r\n\
             maxmemory_policy:noeviction\r\naof_enabled:1\r\naof_last_write_status:ok\r\naof_pending_bio_fsync:2\r\n\
             aof_current_size:7\r\naof_buffer_length:3\r\n",
        );
        let expected = ServerInfo {
            version: (7, 0),
            loading: true,
            policy: "noeviction".into(),
            memory_bytes: 5,
            memory_limit: 9,
            aof: true,
            aof_works: true,
            aof_bytes: 7,
            aof_buffer_bytes: 3,
            aof_syncs_pending: 2,
        };
        assert_eq!(info, expected);
        assert_eq!(ServerInfo::parse("redis_version:unstable").version, (0, 0));
    }
}
