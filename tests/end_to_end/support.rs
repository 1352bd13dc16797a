//! A fresh home with a daemon in it.
//!
//! Nothing here sleeps as a synchronisation: [`until`] waits for a condition, with a bound.

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take before a test gives up. Generous: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` gives a value.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "gave up waiting: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a finished command said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }

    /// Standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|cause| panic!("{cause}: {self:?}"))
    }
}

/// A fresh home. Dropping it ends the daemon and everything that carries its mark.
pub(crate) struct Home {
    dir: TempDir,
    daemon: Option<Child>,
    env: Vec<(String, String)>,
    user: Option<(u32, PathBuf)>,
    /// A copy of the program, which a test may replace.
    copy: Option<PathBuf>,
    client_is_built: Cell<bool>,
    group: Option<PathBuf>,
}

impl Home {
    pub(crate) fn new(config: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("harnessd-test").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let home = Self {
            dir,
            daemon: None,
            env: Vec::new(),
            user: None,
            copy: None,
            client_is_built: Cell::new(false),
            group: None,
        };
        fs::create_dir_all(home.path(".config/harnessd")).unwrap();
        home.write(".config/harnessd/harness.toml", config);
        home
    }

    /// A path inside the home.
    pub(crate) fn path(&self, inside: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(inside)
    }

    pub(crate) fn text(&self, inside: impl AsRef<Path>) -> String {
        self.path(inside).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, inside: impl AsRef<Path>, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, inside: impl AsRef<Path>) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_default()
    }

    /// Replaces the configuration, as an editor does: by a rename.
    pub(crate) fn configure(&self, config: &str) {
        self.write(".config/harnessd/new", config);
        fs::rename(self.path(".config/harnessd/new"), self.path(".config/harnessd/harness.toml")).unwrap();
    }

    /// A variable for every command from now on.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// Everything is an ordinary user's from now on: `nobody`'s where the tests run as root. The program
    /// is copied into the home, since that user may not reach the one that was built.
    pub(crate) fn for_an_ordinary_user(&mut self) {
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let uid = nix::unistd::User::from_name("nobody").unwrap().map_or(65534, |user| user.uid.as_raw());
        let program = self.path("the-program");
        copy(Path::new(env!("CARGO_BIN_EXE_harnessd")), &program);
        let mut pending = vec![self.path("")];
        while let Some(path) = pending.pop() {
            std::os::unix::fs::lchown(&path, Some(uid), Some(uid)).unwrap();
            if path.is_dir() && !path.is_symlink() {
                pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        self.user = Some((uid, program));
    }

    /// Everything is done by a copy of the program from now on; its path.
    pub(crate) fn use_a_copy(&mut self) -> PathBuf {
        let program = self.path("bin/harnessd");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        copy(Path::new(env!("CARGO_BIN_EXE_harnessd")), &program);
        self.copy = Some(program.clone());
        program
    }

    /// Does something by the program that was built, where the copy may be broken.
    pub(crate) fn with_the_built_program<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        self.client_is_built.set(true);
        let done = work(self);
        self.client_is_built.set(false);
        done
    }

    /// The daemon begins in this control group from now on.
    pub(crate) fn in_group(&mut self, directory: &Path) {
        self.group = Some(directory.to_owned());
    }

    /// The daemon's own command.
    fn daemon_command(&self) -> Command {
        let run = self.command(&["run"]);
        let Some(group) = &self.group else { return run };
        let mut inside = Command::new("/bin/sh");
        inside.args(["-c", "echo 0 > \"$0/cgroup.procs\" && exec \"$@\""]).arg(group);
        inside.arg(run.get_program()).args(run.get_args()).env_clear().current_dir(self.dir.path());
        inside.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        inside
    }

    /// The program with a clean environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_harnessd"));
        let copy = self.copy.as_ref().filter(|_| !self.client_is_built.get());
        let own = self.user.as_ref().map(|(_, program)| program).or(copy);
        let mut command = Command::new(own.unwrap_or(&built));
        if let Some((uid, _)) = self.user {
            command.uid(uid).gid(uid);
        }
        command.args(args).env_clear().current_dir(self.dir.path());
        command
            .env("HOME", self.dir.path())
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a verb to its end.
    #[track_caller]
    pub(crate) fn harnessd(&self, args: &[&str]) -> Said {
        Said::of(&self.command(args).output().unwrap())
    }

    /// Runs a verb in a directory of the home.
    #[track_caller]
    pub(crate) fn within(&self, dir: impl AsRef<Path>, args: &[&str]) -> Said {
        Said::of(&self.command(args).current_dir(self.path(dir)).output().unwrap())
    }

    /// Runs a verb that must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, args: &[&str]) -> Said {
        let said = self.harnessd(args);
        assert_eq!(said.code, 0, "harnessd {args:?}: {said:?}");
        said
    }

    /// Starts the daemon and waits until it answers.
    pub(crate) fn start_daemon(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.path("daemon.log")).unwrap();
        let mut command = self.daemon_command();
        command.stdout(Stdio::null()).stderr(log).process_group(0);
        self.daemon = Some(command.spawn().unwrap());
        until("the daemon answers", || {
            let daemon = self.daemon.as_mut().unwrap();
            assert!(
                daemon.try_wait().unwrap().is_none(),
                "the daemon ended: {}",
                fs::read_to_string(self.dir.path().join("daemon.log")).unwrap()
            );
            (self.harnessd(&["status"]).code == 0).then_some(())
        });
    }

    pub(crate) fn daemon_pid(&self) -> i32 {
        i32::try_from(self.daemon.as_ref().unwrap().id()).unwrap()
    }

    pub(crate) fn daemon_log(&self) -> String {
        self.read("daemon.log")
    }

    /// Sends the daemon a signal.
    pub(crate) fn signal_daemon(&self, signal: i32) {
        kill(self.daemon_pid(), signal);
    }

    /// Waits until the daemon has ended and tells how.
    pub(crate) fn wait_daemon(&mut self) -> std::process::ExitStatus {
        let mut daemon = self.daemon.take().unwrap();
        until("the daemon ends", || daemon.try_wait().unwrap())
    }

    /// Stops the daemon as a service manager does.
    pub(crate) fn stop_daemon(&mut self) {
        self.signal_daemon(nix::libc::SIGTERM);
        let status = self.wait_daemon();
        assert!(status.success(), "{status:?}: {}", self.daemon_log());
    }

    /// One harness as `list --json` shows it.
    #[track_caller]
    pub(crate) fn harness(&self, name: &str) -> Value {
        self.listed(name).unwrap_or_else(|| panic!("no harness {name}: {}", self.ok(&["list"]).out))
    }

    #[track_caller]
    fn listed(&self, name: &str) -> Option<Value> {
        let list = self.ok(&["list", "--json"]).json();
        list["harnesses"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned()
    }

    /// Waits until a harness is there and in a state: a file that was just written is noticed some time later.
    #[track_caller]
    pub(crate) fn wait_state(&self, name: &str, state: &str) -> Value {
        until(&format!("{name} is {state}; {:?}", self.path("")), || {
            self.listed(name).filter(|harness| harness["state"] == state)
        })
    }

    pub(crate) fn pid(&self, name: &str) -> i32 {
        i32::try_from(self.harness(name)["pid"].as_i64().unwrap_or_else(|| panic!("{name} has no pid")))
            .unwrap()
    }

    /// All runs of a harness, newest first.
    #[track_caller]
    pub(crate) fn runs(&self, name: &str) -> Vec<Value> {
        self.ok(&["runs", name, "--json", "-n", "100000"]).json()["runs"].as_array().unwrap().clone()
    }

    /// The newest run of a harness, once it has ended.
    #[track_caller]
    pub(crate) fn ended_run(&self, name: &str) -> Value {
        until(&format!("a run of {name} ends"), || {
            self.runs(name).into_iter().find(|run| run.get("outcome").is_some())
        })
    }

    /// The whole log of a harness's newest run.
    pub(crate) fn log(&self, name: &str) -> String {
        self.harnessd(&["logs", name, "--all"]).out
    }

    /// Living processes whose environment has this home's marker.
    pub(crate) fn processes_with(&self, mark: &str) -> Vec<i32> {
        processes_with(mark)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let Some(mut daemon) = self.daemon.take() else { return };
        self.daemon = None;
        kill(i32::try_from(daemon.id()).unwrap(), nix::libc::SIGTERM);
        let start = Instant::now();
        while daemon.try_wait().is_ok_and(|status| status.is_none()) {
            if start.elapsed() > PATIENCE {
                let _killed = daemon.kill();
            }
            thread::sleep(Duration::from_millis(5));
        }
        if thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.read("daemon.log"));
        }
    }
}

/// Copies a program by another process: a descriptor that writes it here could be inherited by what another
/// test starts at that moment, and the program could not be executed (ETXTBSY).
pub(crate) fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

/// Replaces the program as an upgrade does: by a rename, so that the old file stays what is executed.
pub(crate) fn replace(program: &Path, contents: &[u8], mode: u32) {
    let (data, new) = (program.with_extension("data"), program.with_extension("new"));
    fs::write(&data, contents).unwrap();
    copy(&data, &new);
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
    fs::rename(new, program).unwrap();
}

/// Sends a signal to a process that this test started (or that its daemon did).
pub(crate) fn kill(pid: i32, signal: i32) {
    assert!(pid > 1);
    let signal = nix::sys::signal::Signal::try_from(signal).unwrap();
    let _gone = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
}

/// Whether a process lives (a zombie does not).
pub(crate) fn alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The living `sleep` of this length. A process without any environment carries no mark; a length that
/// nothing else sleeps for finds it.
pub(crate) fn sleeper(length: &str) -> Option<i32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let argv = format!("sleep\0{length}\0");
    pids.find(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|found| found == argv.as_bytes()) && alive(*pid)
    })
}

/// Living processes whose environment holds `mark`.
pub(crate) fn processes_with(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let mut environ = Vec::new();
        let read = fs::File::open(format!("/proc/{pid}/environ"))
            .and_then(|mut file| file.read_to_end(&mut environ));
        read.is_ok() && environ.windows(mark.len()).any(|part| part == mark.as_bytes()) && alive(*pid)
    })
    .collect()
}

/// A mark that no other test has.
pub(crate) fn mark(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("MARK_OF_TEST_{name}_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The directory of the stand-in agent.
pub(crate) fn stand_in_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stand-in")
}

/// A skill directory.
pub(crate) fn skill(home: &Home, root: &str, name: &str, label: &str) {
    home.write(
        format!("{root}/{name}/SKILL.md"),
        &format!("---\nname: {name}\ndescription: from {label}\n---\nBody of {label}.\n"),
    );
}

/// `PATH` with a directory in front.
pub(crate) fn path_with(dir: &Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", dir.display())
}
