//! A home in which a daemon lives again and again.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::fleet::CHILD;

/// How long anything may take before the test gives up. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The home. Dropping it ends whatever carries its mark.
pub(crate) struct Field {
    dir: TempDir,
    mark: String,
    daemon: Option<Child>,
}

impl Field {
    pub(crate) fn new(configuration: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("harnessd-torture").tempdir().unwrap();
        fs::write(dir.path().join("harness.toml"), configuration).unwrap();
        fs::write(dir.path().join("child"), CHILD).unwrap();
        let mark = format!("MARK_OF_TORTURE={}", dir.path().display());
        Self { dir, mark, daemon: None }
    }

    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.dir.path().join(inside)
    }

    pub(crate) fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_default()
    }

    /// The program with a clean environment, in which its children find the ledger and the mark.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_harnessd"));
        let (name, value) = self.mark.split_once('=').unwrap();
        command
            .args(["--config", self.path("harness.toml").to_str().unwrap()])
            .args(["--state-dir", self.path("state").to_str().unwrap()])
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .env("LEDGER", self.dir.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env(name, value)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn start(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.path("daemon.log")).unwrap();
        self.daemon = Some(self.command(&["run"]).stderr(log).process_group(0).spawn().unwrap());
    }

    #[track_caller]
    fn must_run(&mut self) {
        let ended = self.daemon.as_mut().unwrap().try_wait().unwrap();
        assert!(ended.is_none(), "the daemon ended by itself: {ended:?}\n{}", self.last_words());
    }

    /// One life that ends by SIGKILL; meanwhile somebody may start a harness.
    pub(crate) fn live_and_die(&mut self, lifetime: Duration, by_hand: Option<&str>) {
        let birth = Instant::now();
        self.start();
        let client = by_hand.map(|name| {
            // The first half of its life is for coming up.
            thread::sleep(lifetime / 2);
            self.command(&["start", name, "--wait"]).stderr(Stdio::null()).spawn().unwrap()
        });
        thread::sleep(lifetime.saturating_sub(birth.elapsed()));
        self.must_run();
        let mut daemon = self.daemon.take().unwrap();
        daemon.kill().unwrap();
        daemon.wait().unwrap();
        if let Some(mut client) = client {
            client.wait().unwrap();
        }
    }

    /// One life that ends as a service manager ends it, once the daemon has answered.
    pub(crate) fn live_and_stop(&mut self) {
        self.start();
        let birth = Instant::now();
        while !self.command(&["status"]).stderr(Stdio::null()).status().unwrap().success() {
            self.must_run();
            assert!(birth.elapsed() < PATIENCE, "no answer:\n{}", self.last_words());
            thread::sleep(Duration::from_millis(10));
        }
        let mut daemon = self.daemon.take().unwrap();
        kill(Pid::from_raw(i32::try_from(daemon.id()).unwrap()), Signal::SIGTERM).unwrap();
        let told = Instant::now();
        let status = loop {
            if let Some(status) = daemon.try_wait().unwrap() {
                break status;
            }
            if told.elapsed() > PATIENCE {
                daemon.kill().unwrap();
                daemon.wait().unwrap();
                panic!("it does not stop:\n{}", self.last_words());
            }
            thread::sleep(Duration::from_millis(10));
        };
        assert!(status.success(), "{status:?}\n{}", self.last_words());
    }

    /// Every living process that carries the mark: pid, command, harness, run.
    pub(crate) fn processes(&self) -> Vec<String> {
        let words = |path: String| {
            let text = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&text).split('\0').map(str::to_owned).collect::<Vec<_>>()
        };
        let show = |pid| {
            let environ = words(format!("/proc/{pid}/environ"));
            let of = environ.iter().filter(|entry| entry.starts_with("HARNESSD_"));
            let of: Vec<&str> = of.map(String::as_str).collect();
            format!("{pid} {} {}", words(format!("/proc/{pid}/cmdline")).join(" "), of.join(" "))
        };
        self.pids().into_iter().map(show).collect()
    }

    fn pids(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            // The environment of a zombie is empty.
            let mut environ = Vec::new();
            let file = fs::File::open(format!("/proc/{pid}/environ"));
            let read = file.and_then(|mut file| file.read_to_end(&mut environ));
            read.is_ok() && environ.split(|byte| *byte == 0).any(|entry| entry == self.mark.as_bytes())
        })
        .collect()
    }

    /// The end of the daemons' log.
    pub(crate) fn last_words(&self) -> String {
        let log = self.read("daemon.log");
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _dead = daemon.kill();
            let _reaped = daemon.wait();
        }
        for pid in self.pids() {
            let _gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}
