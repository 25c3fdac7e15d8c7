//! What the machine or container says of itself.

use std::{fs, path::Path};

/// Where control groups are shown.
const GROUPS: &str = "/sys/fs/cgroup";

/// The name of the machine, or of the pod in it; empty if it has none that can be read.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Bytes of memory that this process may use: the least limit of its control group (version 2 or 1) and of those above it,
/// or else all memory of the machine; none where the system does not say.
pub fn memory_limit() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    least_limit(Path::new(GROUPS), &read("/proc/self/cgroup"), &read("/proc/meminfo"))
}

/// The same, from where groups are shown under `root` and what `/proc` says.
fn least_limit(root: &Path, own_groups: &str, meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"));
    let total = total.and_then(|number| number.trim().parse::<u64>().ok()).map(|kib| kib << 10);
    let groups = own_groups.lines().flat_map(|line| {
        // Number, controllers, path: version 2 has neither of the first two.
        let mut parts = line.splitn(3, ':').skip(1);
        match (parts.next(), parts.next()) {
            (Some(""), Some(path)) => limits(root, path, "memory.max"),
            (Some(controllers), Some(path)) if controllers.split(',').any(|name| name == "memory") => {
                limits(&root.join("memory"), path, "memory.limit_in_bytes")
            }
            _ => Vec::new(),
        }
    });
    groups.chain(total).min()
}

/// The limits in the files of this name from the group at `path` up to `root`. In a container the path may be the host's,
/// and only the root be there.
fn limits(root: &Path, path: &str, file: &str) -> Vec<u64> {
    let inside = Path::new(path.trim_start_matches('/'));
    let groups = inside.ancestors().map(|group| root.join(group).join(file));
    // "max" is no limit, nor is the largest number that version 1 writes.
    groups.filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const MEMINFO: &str = "MemTotal:       1000 kB\nMemFree:         10 kB\n";

    /// A folder with these files below it.
    fn groups(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("fogfall-host-{}-{name}", std::process::id()));
        for (file, content) in files {
            let file = root.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        root
    }

    #[test]
    fn the_least_limit_above_a_process_counts() {
        let root = groups("two", &[("a/memory.max", "5000\n"), ("a/b/memory.max", "max\n"), ("memory.max", "9000\n")]);
        assert_eq!(least_limit(&root, "0::/a/b\n", MEMINFO), Some(5000));
        assert_eq!(least_limit(&root, "0::/not/shown/here\n", MEMINFO), Some(9000));
        let root = groups("one", &[("memory/c/memory.limit_in_bytes", "7000\n")]);
        assert_eq!(least_limit(&root, "4:cpu:/x\n5:blkio,memory:/c\n", MEMINFO), Some(7000));
    }

    #[test]
    fn without_a_limit_it_is_all_memory_and_never_more() {
        let root = groups("none", &[("memory/memory.limit_in_bytes", "9223372036854771712\n")]);
        assert_eq!(least_limit(&root, "5:memory:/\n", MEMINFO), Some(1_024_000)); // 1000 * 1024
        assert_eq!(least_limit(&root, "", MEMINFO), Some(1_024_000));
        assert_eq!(least_limit(&root, "", ""), None);
        assert!(memory_limit().is_some_and(|bytes| bytes > 1 << 20));
    }
}
