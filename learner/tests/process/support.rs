//! Runs in directories of their own, learners as child processes, and what they leave.

use std::{
    collections::HashSet,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use fogfall_proto::Manifest;
use fogfall_replay::{Bounds, FileLog, FileLogSettings};
use serde_json::Value;
use tempfile::TempDir;

/// What is waited for longer than this does not come.
const DEADLINE: Duration = Duration::from_secs(180);
/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Settings under which a run of a small game takes a moment on a busy machine. They are given by the environment, so
/// that a flag can override each.
const TINY: &[(&str, &str)] = &[
    ("FOGFALL_DEVICE", "cpu"),
    ("FOGFALL_WIDTH", "16"),
    ("FOGFALL_BLOCKS", "1"),
    ("FOGFALL_SIMULATIONS", "8"),
    ("FOGFALL_BATCH_ROWS", "32"),
    ("FOGFALL_MIN_ROWS", "64"),
    ("FOGFALL_WINDOW_ROWS", "2000"),
    ("FOGFALL_SELFPLAY_THREADS", "1"),
    ("FOGFALL_SLOTS", "4"),
    ("FOGFALL_MATCH_EVERY_S", "0"),
    ("FOGFALL_METRICS_EVERY_S", "1"),
    ("FOGFALL_CHECKPOINT_S", "1000"),
];

/// A checkpoint every second, and not only at the end.
pub const OFTEN: &str = "--checkpoint-s=1";

/// A run directory.
pub struct Run {
    game: &'static str,
    /// Holds the run and the output of its learners.
    dir: TempDir,
    starts: AtomicUsize,
}

impl Run {
    pub fn of(game: &'static str) -> Self {
        Self { game, dir: tempfile::tempdir().unwrap(), starts: AtomicUsize::new(0) }
    }

    pub fn kuhn() -> Self {
        Self::of("kuhn_poker")
    }

    /// The run's directory.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// A file beside the run.
    pub fn beside(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// The learner's command with exactly these arguments and no setting from the environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_learner"));
        command.args(arguments).current_dir(self.dir.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FOGFALL_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Starts a command as a learner of this run.
    pub fn spawn(&self, mut command: Command) -> Learner {
        let number = self.starts.fetch_add(1, Ordering::Relaxed);
        let file = |name: &str| self.dir.path().join(format!("{name}-{number}"));
        let (out, err) = (file("out"), file("err"));
        command.stdin(Stdio::null()).stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Learner { child: command.spawn().unwrap(), out, err }
    }

    fn new_run(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["--local", "--game", self.game, "--run-dir", "run"]);
        command.envs(TINY.iter().copied()).args(more);
        command
    }

    /// Starts a new run.
    pub fn start(&self, more: &[&str]) -> Learner {
        self.spawn(self.new_run(more))
    }

    /// Runs a new run to its end.
    pub fn train(&self, more: &[&str]) -> Ended {
        self.start(more).end()
    }

    /// Starts a new run that may write no file larger than `kib` KiB.
    pub fn start_with_little_disk(&self, kib: u64, more: &[&str]) -> Learner {
        self.spawn(with_little_disk(kib, &self.new_run(more)))
    }

    /// Goes on with the run. Settings are those of its checkpoint.
    pub fn resume(&self, more: &[&str]) -> Learner {
        self.resume_from("latest", more)
    }

    pub fn resume_from(&self, checkpoint: &str, more: &[&str]) -> Learner {
        self.spawn(self.going_on(checkpoint, more))
    }

    /// Goes on with the run, but writes no file larger than `kib` KiB.
    pub fn resume_with_little_disk(&self, kib: u64, more: &[&str]) -> Learner {
        self.spawn(with_little_disk(kib, &self.going_on("latest", more)))
    }

    fn going_on(&self, checkpoint: &str, more: &[&str]) -> Command {
        let mut command = self.command(&["--local", "--run-dir", "run", "--resume", checkpoint]);
        command.args(more);
        command
    }

    pub fn checkpoints(&self) -> PathBuf {
        self.path().join("checkpoints")
    }

    /// Names of the complete checkpoints, oldest first.
    pub fn checkpoint_names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.checkpoints()) else { return Vec::new() };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())).collect();
        names.sort_unstable();
        names
    }

    /// The newest checkpoint's directory, once there is one.
    pub fn latest(&self) -> Option<PathBuf> {
        let name = fs::read_to_string(self.checkpoints().join("latest")).ok()?;
        Some(self.checkpoints().join(name.trim()))
    }

    /// What the newest checkpoint says.
    pub fn saved(&self) -> Saved {
        Saved::read(&self.latest().expect("there is a checkpoint"))
    }

    /// The step of the newest checkpoint; 0 if there is none.
    pub fn saved_step(&self) -> u64 {
        // It may be removed by a later one while it is read.
        self.latest().and_then(|path| path.file_name()?.to_str()?.split('.').nth(1)?.parse().ok()).unwrap_or(0)
    }

    /// All whole lines of the metrics file.
    pub fn statuses(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path().join("metrics.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The newest line of the metrics file; null if there is none.
    pub fn status(&self) -> Value {
        self.statuses().pop().unwrap_or_default()
    }

    /// What the replay log of the ended run holds.
    pub fn log(&self) -> Bounds {
        let manifest = self.saved().manifest();
        let (_, recovery) = FileLog::open(FileLogSettings {
            dir: self.path().join("replay"),
            run: manifest.run.clone(),
            row_bytes: manifest.row_layout().row_bytes(),
            capacity_rows: 1 << 30,
            capacity_bytes: 1 << 40,
        })
        .unwrap();
        assert_eq!((recovery.torn_bytes, recovery.damaged_rows), (0, 0));
        recovery.bounds
    }

    /// The parts that the replay log holds, oldest first. It is read as it lies in the files, so that nothing that opens
    /// a log can hide one.
    fn parts(&self) -> Vec<Part> {
        let entries = fs::read_dir(self.path().join("replay")).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "rows"));
        files.sort_unstable();
        let mut parts = Vec::new();
        for file in files {
            let bytes = fs::read(file).unwrap();
            let mut rest = &bytes[..];
            while let Some(header) = rest.get(..40) {
                // As `common/replay/src/frame.rs` has it.
                let u32_at = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
                let u64_at = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
                let (payload, rows) = (u32_at(8) as usize, u64::from(u32_at(12)));
                if rows > 0 {
                    parts.push(Part { id: (u64_at(24), u64_at(32)), rows });
                }
                rest = &rest[40 + payload..];
            }
        }
        parts
    }

    /// Checks that the log holds no part twice, and as many rows as it says.
    pub fn assert_each_part_once(&self) {
        let (parts, log) = (self.parts(), self.log());
        let ids: HashSet<_> = parts.iter().map(|part| part.id).collect();
        assert_eq!(ids.len(), parts.len(), "each part is stored once");
        assert_eq!(parts.iter().map(|part| part.rows).sum::<u64>(), log.rows());
    }

    /// The whole lines of the file of train steps, by step.
    pub fn steps(&self) -> Vec<(u64, String)> {
        let text = fs::read_to_string(self.path().join("steps.jsonl")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let step = |line: &str| serde_json::from_str::<Value>(line).unwrap()["step"].as_u64().unwrap();
        whole.lines().map(|line| (step(line), line.to_owned())).collect()
    }

    /// Bytes of the replay log.
    pub fn log_bytes(&self) -> u64 {
        let Ok(entries) = fs::read_dir(self.path().join("replay")) else { return 0 };
        entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|metadata| metadata.len()).sum()
    }
}

/// A game's rows in the replay log.
struct Part {
    /// Publisher and sequence number.
    id: (u64, u64),
    rows: u64,
}

/// The same command under a limit for the size of files, at which writing fails as on a full disk.
fn with_little_disk(kib: u64, command: &Command) -> Command {
    let mut limited = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -S -f {kib}; exec \"$@\"");
    limited.args(["-c", &script, "learner"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        limited.current_dir(dir);
    }
    limited
}

/// `state.json` of a checkpoint.
#[derive(Debug)]
pub struct Saved(pub Value);

impl Saved {
    pub fn read(checkpoint: &Path) -> Self {
        let text = fs::read(checkpoint.join("state.json")).unwrap();
        Self(serde_json::from_slice::<Value>(&text).unwrap()["state"].take())
    }

    pub fn number(&self, pointer: &str) -> u64 {
        self.0.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer} in {}", self.0))
    }

    pub fn step(&self) -> u64 {
        self.number("/version/step")
    }

    pub fn epoch(&self) -> u64 {
        self.number("/version/epoch")
    }

    pub fn rows(&self) -> u64 {
        self.number("/totals/rows")
    }

    pub fn games(&self) -> u64 {
        self.number("/totals/games")
    }

    pub fn setting(&self, key: &str) -> &str {
        self.0["settings"][key].as_str().unwrap()
    }

    fn manifest(&self) -> Manifest {
        serde_json::from_value(self.0["manifest"].clone()).unwrap()
    }
}

/// A learner that runs.
pub struct Learner {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Learner {
    /// What it has printed so far.
    pub fn out(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// What it has logged so far.
    pub fn err(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    /// Waits until something is so while the learner runs.
    pub fn until(&mut self, what: &str, holds: impl FnMut(&Self) -> bool) {
        self.until_every(LOOK_EVERY, what, holds);
    }

    /// The same for what lasts only a moment.
    pub fn until_at_once(&mut self, what: &str, holds: impl FnMut(&Self) -> bool) {
        self.until_every(Duration::ZERO, what, holds);
    }

    fn until_every(&mut self, pause: Duration, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("ended with {status} before {what}\n{}\n{}", self.out(), self.err());
            }
            assert!(began.elapsed() < DEADLINE, "never {what}\n{}\n{}", self.out(), self.err());
            std::thread::sleep(pause);
        }
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Lets it write files of any size again.
    pub fn give_disk(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().unwrap().success());
    }

    /// Ends it by SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends.
    pub fn end(mut self) -> Ended {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(began.elapsed() < DEADLINE, "never ends\n{}\n{}", self.out(), self.err());
            std::thread::sleep(LOOK_EVERY);
        };
        Ended { code: status.code(), out: self.out(), err: self.err() }
    }
}

impl Drop for Learner {
    fn drop(&mut self) {
        // A test that fails leaves nothing behind; one that has ended is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a learner ended.
#[derive(Debug)]
pub struct Ended {
    /// None if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    /// Checks that it ended well, with all that was played stored.
    pub fn well(self) -> Self {
        assert!(!self.out.contains("games were given up"), "{}", self.out);
        self.well_but_out_of_time()
    }

    /// Checks that it ended well, be all that was played stored or not.
    pub fn well_but_out_of_time(self) -> Self {
        assert_eq!(self.code, Some(0), "{}\n{}", self.out, self.err);
        self
    }

    /// Checks that it ended with a code and said all of these.
    pub fn refused(self, code: i32, texts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        for text in texts {
            assert!(self.err.contains(text), "'{text}' is not in:\n{}", self.err);
        }
        self
    }
}
