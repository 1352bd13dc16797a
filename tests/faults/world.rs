//! A daemon with faults in it, its home, and what must be so after a fault.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use harnessd::wire::PROTOCOL;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::injector::Injector;
use crate::points::Point;

/// How long anything may take. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A pipe, a terminal, one that ends and is started again, one for the end, and one that fires.
const CONFIG: &str = r#"
[harness.pipe]
stop_timeout = "2s"
cmd = "sh"
args = ["-c", "echo a line; exec sleep 3800"]
[harness.terminal]
tty = true
stop_timeout = "2s"
cmd = "sh"
args = ["-c", "echo a line; exec sleep 3800"]
[harness.again]
restart = "always"
restart_delay = "10ms"
stop_timeout = "2s"
cmd = "sh"
args = ["-c", "test -e once || { touch once; exit 3; }; exec sleep 3800"]
[harness.probe]
oneshot = true
restart = "no"
keep_runs = 5
cmd = "sh"
args = ["-c", "echo probed"]
[harness.fires]
oneshot = true
schedule = "@every 1s"
restart = "no"
keep_runs = 50
cmd = "true"
"#;

/// A home with a daemon.
#[derive(Debug)]
pub(crate) struct World {
    dir: TempDir,
    program: PathBuf,
    pub(crate) injector: Injector,
    pub(crate) daemon: Option<Child>,
}

impl World {
    /// None where this user may not answer system calls, which is said.
    pub(crate) fn new() -> Option<Self> {
        let probe = Injector::default().start(Command::new("true"), Path::new("/nowhere"));
        match probe.and_then(|mut probe| probe.wait()) {
            Ok(status) if status.success() => {}
            refused => {
                eprintln!("not checked: system calls cannot be answered by a test here: {refused:?}");
                return None;
            }
        }
        let dir = tempfile::Builder::new().prefix("harnessd-faults").tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".config/harnessd")).unwrap();
        fs::write(dir.path().join(".config/harnessd/harness.toml"), CONFIG).unwrap();
        let program = fs::canonicalize(env!("CARGO_BIN_EXE_harnessd")).unwrap();
        Some(Self { dir, program, injector: Injector::default(), daemon: None })
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("HOME", self.dir.path()).env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8");
        command.env("FAULTS_HOME", self.dir.path());
        command
    }

    /// Starts the daemon; whether it serves is another question.
    pub(crate) fn start_daemon(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.path("daemon.log")).unwrap();
        let mut command = self.command(&self.program);
        command.arg("run").stdout(Stdio::null()).stderr(log).process_group(0);
        self.daemon = Some(self.injector.start(command, &self.program).unwrap());
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.dir.path().join(inside)
    }

    /// What the daemon has logged.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.path("daemon.log")).unwrap_or_default()).into_owned()
    }

    /// A request over a connection of its own, as a verb makes it; the answer must come. An error
    /// has words.
    #[track_caller]
    pub(crate) fn ask(&self, op: Value) -> Result<Value, String> {
        let gone = |cause: std::io::Error| {
            assert_ne!(cause.kind(), ErrorKind::WouldBlock, "{op} is not answered\n{}", self.log());
            format!("{op}: {cause}")
        };
        let mut stream =
            UnixStream::connect(self.path(".local/state/harnessd/harnessd.sock")).map_err(gone)?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let hello = json!({"id": 1, "op": "hello", "protocol": PROTOCOL, "version": "0"});
        let mut request = op.clone();
        request["id"] = json!(2);
        stream.write_all(format!("{hello}\n{request}\n").as_bytes()).map_err(gone)?;
        let mut lines = BufReader::new(stream).lines();
        loop {
            let line = lines.next().ok_or(format!("{op}: hung up on"))?.map_err(gone)?;
            let mut reply: Value = serde_json::from_str(&line).unwrap();
            if let Some(error) = reply.get("error") {
                assert_ne!(error["message"].as_str().unwrap(), "");
                return Err(format!("{op}: {error}"));
            }
            if reply["id"] == 2 {
                return Ok(reply["ok"].take());
            }
        }
    }

    /// Waits until `condition` gives a value.
    #[track_caller]
    pub(crate) fn until<T>(&self, what: &str, mut condition: impl FnMut() -> Result<T, String>) -> T {
        let start = Instant::now();
        loop {
            match condition() {
                Ok(value) => return value,
                Err(last) => {
                    let up = start.elapsed() < PATIENCE && self.is_up();
                    assert!(up, "in vain: {what}: {last}\n{}", self.log());
                }
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the daemon lives; it is not reaped by the question.
    fn is_up(&self) -> bool {
        let Some(daemon) = &self.daemon else { return false };
        let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.id())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    }

    /// Whether the daemon has ended, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.daemon.as_mut().unwrap().try_wait().unwrap();
        if status.is_some() {
            self.daemon = None;
        }
        status
    }

    /// Waits until the daemon serves. Otherwise: how it ended.
    pub(crate) fn serves(&mut self) -> Result<(), ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Err(status);
            }
            if self.ask(json!({"op": "status"})).is_ok() {
                return Ok(());
            }
            assert!(start.elapsed() < PATIENCE, "it neither serves nor ends:\n{}", self.log());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// TERM, and how it ended then.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        let pid = i32::try_from(self.daemon.as_ref().unwrap().id()).unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end:\n{}", self.log());
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Living processes that came from this home, its daemon apart.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = format!("FAULTS_HOME={}\0", self.dir.path().display());
        let daemon = self.daemon.as_ref().map(|daemon| i32::try_from(daemon.id()).unwrap());
        let pids = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours = pids.filter(|pid| Some(*pid) != daemon).filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.windows(mark.len()).any(|part| part == mark.as_bytes())
        });
        let told = |pid| {
            let argv = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            (pid, String::from_utf8_lossy(&argv).replace('\0', " "))
        };
        ours.map(told).collect()
    }

    /// The newest runs that the store has.
    pub(crate) fn runs(&self) -> Result<Vec<Value>, String> {
        let mut value = self.ask(json!({"op": "runs", "limit": 60}))?;
        let Value::Array(runs) = value["runs"].take() else { panic!("{value}") };
        Ok(runs)
    }

    /// The fault has ended: everything can be stopped, and a probe can be started, run, read and
    /// found in the records; no process is left, no record is open or without its cause.
    #[track_caller]
    pub(crate) fn is_sound(&mut self, after: &str) {
        assert!(!self.log().contains("panicked"), "{after}: {}", self.log());
        assert_eq!(self.ended(), None, "{after}: the daemon has ended\n{}", self.log());
        // A configuration that could not be read is read when somebody asks for it.
        self.ask(json!({"op": "reload"})).unwrap_or_else(|cause| panic!("{after}: {cause}\n{}", self.log()));
        self.until(&format!("{after}: everything is stopped"), || self.ask(stop_all()));
        // `fires` may be at it: its processes are none that were left.
        self.until(&format!("{after}: nothing is left"), || {
            let left = self.processes();
            let left: Vec<_> = left.into_iter().filter(|(_, argv)| argv.trim() != "true").collect();
            if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
        });
        self.ask(json!({"op": "start", "names": ["probe"], "wait": true})).unwrap();
        let run = self.until(&format!("{after}: the probe is recorded"), || {
            let runs = self.runs()?;
            let run = runs.into_iter().find(|run| run["harness"] == "probe").ok_or("no run")?;
            if run["outcome"] == "ok" { Ok(run) } else { Err(run.to_string()) }
        });
        assert_eq!(fs::read_to_string(run["log"].as_str().unwrap()).unwrap(), "probed\n", "{after}");
        self.until(&format!("{after}: it has no trouble"), || {
            let status = self.ask(json!({"op": "status"}))?;
            let trouble = status.get("trouble").and_then(Value::as_array);
            if trouble.is_none_or(Vec::is_empty) { Ok(()) } else { Err(status.to_string()) }
        });
        for run in self.runs().unwrap() {
            let Some(outcome) = run.get("outcome") else {
                assert_eq!(run["harness"], "fires", "{after}: it is over, its record is not: {run}");
                continue;
            };
            assert!(outcome == "ok" || run["cause"].is_string(), "{after}: without a cause: {run}");
        }
    }
}

/// Tries one point after the other, each in the world that the one before left. After one that fails
/// the world is made anew, and all that failed are told at the end.
pub(crate) fn try_all(
    points: &[Point],
    mut attempt: impl FnMut(&mut World, &Point),
    start: impl Fn() -> World,
) {
    let mut world = start();
    let mut failed = Vec::new();
    for point in points {
        let tried = catch_unwind(AssertUnwindSafe(|| attempt(&mut world, point)));
        if let Err(panic) = tried {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            failed.push(format!("== {point}\n{}", text.unwrap_or_default()));
            world = start();
        }
    }
    assert!(failed.is_empty(), "{} of {} points failed:\n{}", failed.len(), points.len(), failed.join("\n"));
}

impl Drop for World {
    fn drop(&mut self) {
        self.injector.disarm();
        if let Some(daemon) = &mut self.daemon {
            let _killed = daemon.kill();
            let _reaped = daemon.wait();
        }
        for (pid, _) in self.processes() {
            let _gone =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
        }
    }
}

/// Stops what does not end by itself, and waits for that.
pub(crate) fn stop_all() -> Value {
    json!({"op": "stop", "names": ["pipe", "terminal", "again"], "wait": true})
}

/// How a process ended that must not have crashed.
#[track_caller]
pub(crate) fn no_crash(status: ExitStatus, after: &str, log: &str) {
    assert_eq!(status.signal(), None, "{after}: {status}\n{log}");
    assert_ne!(status.code(), Some(101), "{after}: a panic\n{log}");
}
