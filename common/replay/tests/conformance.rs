//! The log in files does what any replay log must do.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use fogfall_replay::{FileLog, FileLogSettings, ReplayLog};
use fogfall_testkit::replay_log::{CAPACITY_BYTES, CAPACITY_ROWS, LogUnderTest, ROW_BYTES, conformance};
use tempfile::TempDir;

struct Files(TempDir);

impl LogUnderTest for Files {
    fn open(&mut self) -> Arc<dyn ReplayLog> {
        let (log, recovery) = FileLog::open(FileLogSettings {
            dir: self.0.path().join("log"),
            run: "r".into(),
            row_bytes: ROW_BYTES,
            capacity_rows: CAPACITY_ROWS,
            capacity_bytes: CAPACITY_BYTES,
        })
        .unwrap();
        assert_eq!((recovery.torn_bytes, recovery.damaged_rows), (0, 0));
        Arc::new(log)
    }
}

#[tokio::test]
async fn a_log_in_files_keeps_every_promise() {
    conformance(|| Files(TempDir::new().unwrap())).await;
}
