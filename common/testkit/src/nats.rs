//! A real NATS server with JetStream on a free port of this machine, for tests: its store is a temporary folder, it is
//! killed when dropped, and can be killed and started again on the same port and store in the middle of a test.
//!
//! The program is `.tools/bin/nats-server`, which `scripts/setup` installs, or else `nats-server` in `PATH`. A test that
//! finds neither fails; it is never skipped.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tempfile::TempDir;

use crate::supervise;

/// A server that has not answered after this long has not started.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks at a server that starts.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A running server.
#[derive(Debug)]
pub struct NatsServer {
    folder: TempDir,
    config: String,
    port: u16,
    /// `None` between kill and restart.
    process: Option<Child>,
}

impl NatsServer {
    /// Starts a server that lets anybody do anything.
    ///
    /// # Panics
    /// If there is no server program or it does not start.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// Starts a server with more lines in its configuration: users, permissions, TLS.
    ///
    /// # Panics
    /// If there is no server program or it does not start.
    pub fn start_with(config: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("nats-").tempdir().expect("a temporary folder");
        let mut server = Self { folder, config: config.to_owned(), port: 0, process: None };
        server.run();
        server
    }

    /// Starts a cluster of three servers. They take some seconds to agree on who leads; until then nothing is stored.
    ///
    /// # Panics
    /// If there is no server program or one does not start.
    pub fn three() -> [Self; 3] {
        // All at once, so that they differ; a server that finds its port taken meanwhile does not start.
        let listeners = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("a free port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("it is bound").port());
        let routes = ports.map(|port| format!("\"nats://127.0.0.1:{port}\"")).join(", ");
        [0, 1, 2].map(|i| {
            let cluster = format!("name: three, host: 127.0.0.1, port: {}, routes: [{routes}]", ports[i]);
            Self::start_with(&format!("server_name: \"server-{i}\"\ncluster {{ {cluster} }}"))
        })
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The server's process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Kills the server as `kill -9` does; what it stored stays.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().and_then(|()| process.wait()).expect("a child can be killed");
        }
    }

    /// Kills the server if it runs, and starts it again on the same port and store.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.run();
    }

    /// The same, but what it stored is lost.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart_empty(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(self.folder.path().join("store")); // it may have stored nothing
        self.run();
    }

    /// Stops the server without ending it: it keeps its connections and answers nobody until [`Self::resume`].
    ///
    /// # Panics
    /// If it does not run.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets a paused server go on.
    ///
    /// # Panics
    /// If it does not run.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        supervise::signal(self.pid().expect("the server runs"), signal);
    }

    fn run(&mut self) {
        let folder = self.folder.path();
        let ports = folder.join("ports");
        let _ = fs::remove_dir_all(&ports); // what the last one wrote
        fs::create_dir(&ports).expect("the folder is ours");
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let store = folder.join("store");
        // Bounds of its own: what a stream may reserve must not depend on how full this machine's disk is.
        let jetstream = format!("store_dir: {store:?}, max_file_store: 8GB, max_memory_store: 256MB");
        let config = format!(
            "host: 127.0.0.1\nport: {port}\njetstream {{ {jetstream} }}\nports_file_dir: {ports:?}\n{}\n",
            self.config
        );
        let file = folder.join("nats.conf");
        fs::write(&file, config).expect("the folder is ours");
        let program = program();
        let log = folder.join("log");
        let process = Command::new(&program)
            .arg("-c")
            .arg(&file)
            .arg("-l")
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
        let process = self.process.insert(process);
        let until = Instant::now() + STARTS_WITHIN;
        loop {
            if let Some(port) = port_in(&ports)
                && greets(port)
            {
                self.port = port;
                return;
            }
            let ended = process.try_wait().expect("a child can be asked");
            if ended.is_some() || Instant::now() > until {
                let log = fs::read_to_string(&log).unwrap_or_default();
                panic!("{} did not start ({ended:?}):\n{log}", program.display());
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The port that a server has written down.
fn port_in(folder: &Path) -> Option<u16> {
    let file = fs::read_dir(folder).ok()?.next()?.ok()?.path();
    let ports: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let (_, port) = ports["nats"][0].as_str()?.rsplit_once(':')?;
    port.parse().ok()
}

/// True if a server at this port says who it is.
fn greets(port: u16) -> bool {
    let greeting = || {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(STARTS_WITHIN))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        std::io::Result::Ok(line.starts_with("INFO "))
    };
    greeting().unwrap_or(false)
}

fn program() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bin/nats-server");
    let paths = env::var_os("PATH").unwrap_or_default();
    let in_path = env::split_paths(&paths).map(|folder| folder.join("nats-server"));
    [own].into_iter().chain(in_path).find(|program| program.is_file()).unwrap_or_else(|| {
        panic!("this test needs nats-server 2.10 or later: run scripts/setup, which installs it in .tools/bin, or put it in PATH")
    })
}
