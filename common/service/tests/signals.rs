//! What real signals do to a real process: the test starts itself again as a child.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use fogfall_service::shutdown::{self, EXIT_INTERRUPTED, EXIT_TOO_LATE, Stop};

/// What the child does when it is asked to stop: `end` or `hang`.
const ROLE: &str = "SIGNAL_TEST_ROLE";

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// Not a test of its own: the body of the child.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let grace = Duration::from_millis(if role == "late" { 10 } else { 600_000 });
    let stop = Stop::new();
    shutdown::listen(&stop, grace).unwrap();
    say("\nready");
    assert!(stop.wait(Duration::from_secs(600)));
    say(&format!("\nstopping {}", stop.reason().unwrap()));
    if role == "end" {
        std::process::exit(0);
    }
    Stop::new().wait(Duration::from_secs(600)); // hangs
}

struct Process {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Process {
    fn start(role: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env(ROLE, role)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { child, lines };
        process.await_line("ready");
        process
    }

    fn await_line(&mut self, expected: &str) {
        assert!(self.lines.any(|line| line.unwrap() == expected), "the child never said {expected}");
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    fn exit_code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_first_signal_of_either_kind_lets_the_process_end_in_good_order() {
    for (name, reason) in [("TERM", "stopping SIGTERM"), ("INT", "stopping Ctrl-C")] {
        let mut process = Process::start("end");
        process.signal(name);
        process.await_line(reason);
        assert_eq!(process.exit_code(), Some(0));
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let mut process = Process::start("hang");
    process.signal("INT");
    process.await_line("stopping Ctrl-C");
    process.signal("INT");
    assert_eq!(process.exit_code(), Some(EXIT_INTERRUPTED));
}

#[test]
fn a_process_that_does_not_end_in_its_time_is_ended() {
    let process = Process::start("late");
    process.signal("TERM");
    assert_eq!(process.exit_code(), Some(EXIT_TOO_LATE));
}
