//! A real Redis server for a test: on a free port, with a directory of its own, killed and wiped when it is dropped.
//!
//! The program is looked for in `FOGFALL_REDIS_SERVER`, `.tools/bin` (where `scripts/setup` puts one) and `PATH`. A test
//! that needs it fails without it; it is never skipped.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longest time a server may take to come up; it takes a few hundredths of a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
#[derive(Debug)]
pub struct RedisServer {
    child: Child,
    dir: TempDir,
    port: u16,
    /// Options that come after the usual ones.
    options: Vec<String>,
}

impl RedisServer {
    /// Starts a server as a replay log wants it: append-only file, synced every second, nothing evicted.
    ///
    /// # Panics
    /// If there is no program, or it does not come up.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with further options, each with its value: `["--maxmemory", "8mb"]`.
    ///
    /// # Panics
    /// If there is no program, or it does not come up.
    pub fn start_with(options: &[&str]) -> Self {
        let dir = TempDir::new().expect("a temporary directory can be made");
        let options: Vec<String> = options.iter().map(|&option| option.into()).collect();
        // Somebody may take the port between our look and the server's start.
        for _ in 0..5 {
            let port = free_port();
            if let Some(child) = spawn(dir.path(), port, &options) {
                return Self { child, dir, port, options };
            }
        }
        panic!("redis-server does not start with {options:?}: {}", log(dir.path()));
    }

    /// Its address, as the client wants it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Its port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it as `kill -9` does.
    pub fn kill(&mut self) {
        // It fails only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills it if it runs, and starts it on the same port and directory.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn restart(&mut self) {
        self.kill();
        let child = spawn(self.dir.path(), self.port, &self.options);
        self.child = child.unwrap_or_else(|| panic!("redis-server does not come back: {}", log(self.dir.path())));
    }

    /// Kills it if it runs, removes all that it stored, and starts it on the same port.
    ///
    /// # Panics
    /// If that cannot be removed, or it does not come up.
    pub fn restart_empty(&mut self) {
        self.kill();
        let stored = self.dir.path().join("appendonlydir");
        std::fs::remove_dir_all(stored).expect("the server has kept a file");
        self.restart();
    }

    /// Bounds its files to so many bytes, or to none: what it writes beyond them fails as on a full disk.
    ///
    /// # Panics
    /// If the system does not let it.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let limit = bytes.map_or_else(|| "unlimited".into(), |bytes| bytes.to_string());
        let limit = format!("--fsize={limit}:");
        let set = Command::new("prlimit").args(["--pid", &self.pid().to_string(), &limit]).status();
        assert!(set.is_ok_and(|status| status.success()), "prlimit {limit}");
    }

    /// Sends one command of plain words, such as `CONFIG SET maxmemory 1mb`, and returns the first line of the answer.
    ///
    /// # Panics
    /// If the server does not answer.
    pub fn command(&self, words: &str) -> String {
        command(self.port, words).expect("the server answers")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program.
///
/// # Panics
/// If there is none.
pub fn program() -> PathBuf {
    if let Some(program) = env::var_os("FOGFALL_REDIS_SERVER") {
        return program.into();
    }
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    [ours]
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|dir| dir.join("redis-server"))
        .find(|program| program.is_file())
        .expect(
            "this test needs redis-server 7 or later, which is neither in .tools/bin nor in PATH: run scripts/setup",
        )
}

/// Starts a server and waits until it has loaded its data; `None` if it ended before.
fn spawn(dir: &Path, port: u16, options: &[String]) -> Option<Child> {
    let output = || std::fs::File::options().create(true).append(true).open(dir.join("output")).map(Stdio::from);
    // A test may bound the size of its files: that is to be an error, as of a full disk, and not its end.
    let mut child = Command::new("sh")
        .args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#])
        .arg(program())
        .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "everysec"])
        .args(["--auto-aof-rewrite-percentage", "300", "--rdbcompression", "no", "--rdbchecksum", "no"])
        .args(["--maxmemory-policy", "noeviction", "--port", &port.to_string(), "--dir"])
        .arg(dir)
        .args(options)
        .stdin(Stdio::null())
        .stdout(output().expect("the directory can be written"))
        .stderr(output().expect("the directory can be written"))
        .spawn()
        .expect("redis-server can be run");
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if child.try_wait().expect("our child can be asked").is_some() {
            return None;
        }
        // With a password set it refuses us, and is up.
        if command(port, "PING").is_ok_and(|answer| answer == "+PONG" || answer.starts_with("-NOAUTH")) {
            return Some(child);
        }
        thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn command(port: u16, words: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{words}\r\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line.trim_end().into())
}

/// A port that nobody listens on just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("a listener has an address").port()
}

fn log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("output")).unwrap_or_default()
}
