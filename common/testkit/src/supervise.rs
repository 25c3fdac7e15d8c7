//! Real processes for tests that break them: started, killed, paused, started again, and stopped in good order, as a
//! supervisor does it. Each life of a process has output files of its own, which say afterwards what went on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::nats::NatsServer;
use crate::redis_server::RedisServer;

/// Between two looks at something that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// An admin route that has not answered after this long does not.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// What can be broken and mended again.
pub trait Victim {
    /// Its name, for people.
    fn name(&self) -> &str;

    /// Ends it as `kill -9` does.
    fn kill(&mut self);

    /// Starts it again after it was killed.
    fn restart(&mut self);

    /// Stops it without ending it: it keeps its connections and answers nobody.
    fn pause(&mut self);

    /// Lets it go on.
    fn resume(&mut self);

    /// How it ended, if it did so by itself. Servers do not.
    fn ended(&mut self) -> Option<ExitStatus> {
        None
    }
}

/// Makes the command of a life of a process; the first is life 1.
pub type MakeCommand = Box<dyn Fn(u32) -> Command>;

/// A process under supervision; killed when dropped.
pub struct Supervised {
    name: String,
    folder: PathBuf,
    make: MakeCommand,
    life: u32,
    child: Option<Child>,
}

impl Supervised {
    /// Starts a process. Its output goes to `NAME-LIFE.out` and `NAME-LIFE.log` in `folder`.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(name: &str, folder: &Path, make: MakeCommand) -> Self {
        let mut process = Self { name: name.to_owned(), folder: folder.to_owned(), make, life: 0, child: None };
        process.restart();
        process
    }

    /// How often it was started.
    pub fn lives(&self) -> u32 {
        self.life
    }

    /// What this life, or the last, wrote to standard output and to standard error.
    pub fn output(&self) -> (PathBuf, PathBuf) {
        self.output_of(self.life)
    }

    /// What an earlier life wrote.
    pub fn output_of(&self, life: u32) -> (PathBuf, PathBuf) {
        let file = |kind: &str| self.folder.join(format!("{}-{life}.{kind}", self.name));
        (file("out"), file("log"))
    }

    /// The newest record with this message in the JSON log of this life, or of the last.
    pub fn record(&self, message: &str) -> Option<Value> {
        let log = fs::read_to_string(self.output().1).ok()?;
        let mut records = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        records.rfind(|record| record["message"].as_str().is_some_and(|m| m.starts_with(message)))
    }

    /// Sends SIGTERM and waits for its end; `None` if it is still there after `patience`.
    ///
    /// # Panics
    /// If it does not run.
    pub fn terminate(&mut self, patience: Duration) -> Option<ExitStatus> {
        signal(self.running(), "TERM");
        let mut status = None;
        until(patience, || {
            status = self.ended();
            status.is_some()
        });
        self.child = self.child.take().filter(|_| status.is_none());
        status
    }

    fn running(&self) -> u32 {
        self.child.as_ref().unwrap_or_else(|| panic!("{} runs", self.name)).id()
    }
}

impl Victim for Supervised {
    fn name(&self) -> &str {
        &self.name
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It fails only if the process has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn restart(&mut self) {
        self.kill();
        self.life += 1;
        let (out, log) = self.output();
        let file = |path: &Path| File::create(path).expect("the folder can be written");
        let mut command = (self.make)(self.life);
        command.stdin(Stdio::null()).stdout(file(&out)).stderr(file(&log));
        self.child = Some(command.spawn().unwrap_or_else(|e| panic!("{} does not start: {e}", self.name)));
    }

    fn pause(&mut self) {
        signal(self.running(), "STOP");
    }

    fn resume(&mut self) {
        signal(self.running(), "CONT");
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().expect("a child can be asked")
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Victim for NatsServer {
    fn name(&self) -> &str {
        "nats"
    }

    fn kill(&mut self) {
        Self::kill(self);
    }

    fn restart(&mut self) {
        Self::restart(self);
    }

    fn pause(&mut self) {
        Self::pause(self);
    }

    fn resume(&mut self) {
        Self::resume(self);
    }
}

impl Victim for RedisServer {
    fn name(&self) -> &str {
        "redis"
    }

    fn kill(&mut self) {
        Self::kill(self);
    }

    fn restart(&mut self) {
        Self::restart(self);
    }

    fn pause(&mut self) {
        signal(self.pid(), "STOP");
    }

    fn resume(&mut self) {
        signal(self.pid(), "CONT");
    }
}

/// A command with no setting of ours from the environment.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("FOGFALL_") {
            command.env_remove(name);
        }
    }
    command
}

/// Waits until something is so, at most `patience`; false if it never was.
pub fn until(patience: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if began.elapsed() >= patience {
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Status code and body of an admin route; `None` if nobody answers.
pub fn get(address: &str, route: &str) -> Option<(u16, String)> {
    let answer = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        write!(stream, "GET {route} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = answer().ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// Sends a signal by its name.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(sent.is_ok_and(|status| status.success()), "kill -{name} {pid}");
}
