//! Runs on real servers, led by the test in a learner's place, and the actor's services as child processes.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use fogfall_bus::{Bus, NatsBus, NatsLimits, NatsSettings};
use fogfall_game::{Game, GameInfo, GameSet, GameVisitor, Layout};
use fogfall_games::Shipped;
use fogfall_net::{Shape, Weights};
use fogfall_proto::{Manifest, NamedLen, Version, WIRE_VERSION, WeightsHead, digest};
use fogfall_testkit::nats::NatsServer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// What is waited for longer than this does not come.
const DEADLINE: Duration = Duration::from_secs(120);
/// How often a condition is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub const RUN: &str = "r-1";

struct Info;

impl GameVisitor for Info {
    type Out = GameInfo;

    fn visit<G: Game>(self, game: Arc<G>) -> GameInfo {
        game.info().clone()
    }
}

/// Shape and manifest of a small run of Kuhn poker.
pub fn kuhn() -> (Shape, Manifest) {
    let info = Shipped::with("kuhn_poker", None, Info).unwrap();
    let named =
        |layout: &Layout| layout.fields().iter().map(|f| NamedLen { name: f.name.clone(), len: f.len }).collect();
    let manifest = Manifest {
        wire: WIRE_VERSION,
        run: RUN.into(),
        game: info.name.clone(),
        rules: info.rules.clone(),
        observation: named(&info.observation),
        actions: info.actions.clone(),
        hidden: named(&info.hidden),
        width: 16,
        blocks: 1,
        tower: None,
        settings: [("simulations".to_owned(), "8".to_owned())].into(),
        log: [("log_rows", "1000000"), ("log_bytes", "64 MiB")].map(|(key, text)| (key.into(), text.into())).into(),
    };
    (Shape::new(&info, 16, 1), manifest)
}

/// Leads a run, as a learner does.
pub struct Lead {
    pub runtime: Runtime,
    pub bus: NatsBus,
}

impl Lead {
    /// Sets the run up on the server.
    pub fn new(nats: &NatsServer) -> Self {
        let settings = NatsSettings {
            urls: vec![nats.url()],
            set_up: true,
            limits: NatsLimits {
                store_bytes: 64 << 20,
                weights_bytes: 16 << 20,
                dead_bytes: 1 << 20,
                ..NatsLimits::default()
            },
            fetch_jitter: Duration::ZERO,
            ..NatsSettings::default()
        };
        let runtime = Runtime::new().unwrap();
        let bus = runtime.block_on(NatsBus::connect(&settings, RUN)).unwrap();
        Self { runtime, bus }
    }

    pub fn claim(&self, manifest: &Manifest) -> u32 {
        self.runtime.block_on(self.bus.claim(manifest, 0)).unwrap()
    }

    /// Announces random weights.
    pub fn announce(&self, shape: &Shape, version: Version) {
        let blob: Arc<[u8]> = Weights::random(shape.clone(), version.step).unwrap().to_bytes().into();
        let head = WeightsHead { version, ordinal: version.step, bytes: blob.len() as u64, digest: digest(&blob) };
        self.runtime.block_on(self.bus.announce(version.epoch, head, blob)).unwrap();
    }

    pub fn parts_on_the_bus(&self) -> u64 {
        self.runtime.block_on(self.bus.fill()).unwrap().parts
    }
}

/// A service that runs; killed when dropped.
pub struct Service {
    child: Child,
    folder: TempDir,
}

/// The actor's command with no setting from the environment.
pub fn command(arguments: &[&str]) -> Command {
    with_arguments(Command::new(env!("CARGO_BIN_EXE_actor")), arguments)
}

fn with_arguments(mut command: Command, arguments: &[&str]) -> Command {
    command.args(arguments).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FOGFALL_") {
            command.env_remove(name);
        }
    }
    command
}

impl Service {
    /// Starts the actor with a JSON log.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_of(Command::new(env!("CARGO_BIN_EXE_actor")), arguments)
    }

    /// The same with a program that is an actor, too.
    pub fn start_of(program: Command, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = with_arguments(program, arguments);
        command.args(["--json", "--run", RUN]).stdout(Stdio::null()).stderr(log);
        Self { child: command.spawn().unwrap(), folder }
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// All that it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap()
    }

    /// The newest record with this message.
    pub fn record(&self, message: &str) -> Option<Value> {
        let records = self.log();
        let mut records = records.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.rfind(|record| record["message"].as_str().is_some_and(|m| m.starts_with(message)))
    }

    /// Waits until something is so while the service runs.
    pub fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "ended with {ended:?} before: {what}\n{}", self.log());
            assert!(began.elapsed() < DEADLINE, "never came: {what}\n{}", self.log());
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until it has said something.
    pub fn until_said(&mut self, message: &str) {
        self.until(message, |service| service.record(message).is_some());
    }

    /// Sends SIGTERM, waits for its end, and returns its exit code and its last counts.
    pub fn terminate(&mut self) -> (Option<i32>, Value) {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        (self.end(), self.record("stopped").unwrap_or_default())
    }

    /// Waits for its end and returns its exit code.
    pub fn end(&mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(began.elapsed() < DEADLINE, "never ended\n{}", self.log());
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It fails only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A whole number of a record.
pub fn count(record: &Value, name: &str) -> u64 {
    record[name].as_u64().unwrap_or_else(|| panic!("no {name} in {record}"))
}

/// Status code and body of an admin route.
pub fn get(address: &str, route: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {route} HTTP/1.1\r\nhost: actor\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
