//! What `examples/stand-in/claude` does, word by word: other tests build on it.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid, getsid};
use tempfile::TempDir;

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/stand-in/claude")
}

/// The stand-in, told `words`, in an empty directory that is its HOME too.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(script());
        command
            .current_dir(self.path())
            .env("HOME", self.path().join("home"))
            .env("STAND_IN", words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn told(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// One that runs on, with its output line by line.
struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut child = command.process_group(0).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().try_into().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[test]
fn it_does_what_it_is_told_in_order() {
    let output = Stage::new().told("say=one_two err=oops lines=2 sleep=0 bytes exit=7 say=never");
    assert_eq!(output.stdout, b"one two\nline 1\nline 2\n\xff\xfe");
    assert_eq!(text(&output.stderr), "oops\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn it_listens_to_its_arguments_and_to_its_input() {
    let stage = Stage::new();
    let mut command = stage.command("say=first");
    command.args(["-p", "--", "please stand-in:say=second\nand stand-in:say=third"]).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"also stand-in:say=fourth * stand-in:exit=3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), "first\nsecond\nthird\nfourth\n");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn it_refuses_words_that_it_does_not_know() {
    let output = Stage::new().told("say=a dance");
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("a\n", "stand-in: unknown word `dance`\n"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn told_nothing_it_takes_its_prompt_and_ends() {
    let stage = Stage::new();
    let output = stage.command("").args(["-p", "--", "né"]).output().unwrap();
    assert_eq!(text(&output.stdout), "stand-in: a prompt of 3 bytes\n");
    assert!(output.status.success());
    let version = stage.command("").arg("--version").output().unwrap();
    assert_eq!(text(&version.stdout), "0.0.0 (stand-in)\n");
}

/// Each agent's flag for machine-readable output, and how that agent states a success.
#[test]
fn asked_for_it_it_states_its_result() {
    let stage = Stage::new();
    for (flags, result) in [
        (
            &["--output-format", "stream-json", "--verbose"] as &[&str],
            "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"\"}\n",
        ),
        (&["--json"], "{\"type\":\"turn.completed\"}\n"),
        (&["--format", "json"], "{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}\n"),
        (
            &["--mode", "json"],
            "{\"type\":\"message_end\",\"message\":{\"role\":\"assistant\",\"content\":[],\"stopReason\":\"stop\"}}\n\
             {\"type\":\"agent_end\",\"willRetry\":false}\n",
        ),
        (&["--output-format", "text"], ""),
    ] {
        let told =
            |words: &str| stage.command(words).arg("-p").args(flags).args(["--", "go"]).output().unwrap();
        assert_eq!(text(&told("say=a").stdout), format!("a\n{result}"));
        assert_eq!(text(&told("").stdout), format!("stand-in: a prompt of 2 bytes\n{result}"));
        assert_eq!(text(&told("say=a exit=1 say=b").stdout), "a\n");
    }
}

#[test]
fn without_a_prompt_it_stays() {
    let mut running = Running::start(Stage::new().command(""));
    assert_eq!(running.line(), "stand-in: ready");
    kill(running.pid(), Signal::SIGTERM).unwrap();
    assert_eq!(running.child.wait().unwrap().signal(), Some(15));
    assert_eq!(running.line(), "", "nothing is left that holds its output");
}

#[test]
fn it_dies_by_a_signal() {
    for (name, number) in [("SEGV", 11), ("KILL", 9), ("TERM", 15), ("HUP", 1)] {
        assert_eq!(Stage::new().told(&format!("die={name}")).status.signal(), Some(number), "{name}");
    }
}

#[test]
fn it_ignores_a_signal() {
    let mut running = Running::start(Stage::new().command("ignore=TERM say=ready hang"));
    assert_eq!(running.line(), "ready");
    killpg(running.pid(), Signal::SIGTERM).unwrap();
    killpg(running.pid(), Signal::SIGINT).unwrap();
    assert_eq!(running.child.wait().unwrap().signal(), Some(2), "the first one did nothing");
}

#[test]
fn it_catches_a_signal() {
    let mut running = Running::start(Stage::new().command("catch=TERM say=ready hang"));
    assert_eq!(running.line(), "ready");
    kill(running.pid(), Signal::SIGTERM).unwrap();
    assert_eq!(running.line(), "caught TERM");
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    assert_eq!(running.line(), "", "its own sleep is ended too");
}

#[test]
fn it_leaves_a_grandchild_that_holds_its_output() {
    let mut running = Running::start(Stage::new().command("fork=600 exit=4"));
    let line = running.line();
    assert_eq!(running.child.wait().unwrap().code(), Some(4), "the end is seen though the output is open");
    let grandchild = Pid::from_raw(line.strip_prefix("grandchild ").unwrap().parse().unwrap());
    assert_eq!(getsid(Some(grandchild)), Ok(grandchild));
    killpg(grandchild, Signal::SIGKILL).unwrap();
    assert_eq!(running.line(), "", "only now the output ends");

    let mut short = Running::start(Stage::new().command("fork=0"));
    let mut lines = [short.line(), short.line()];
    lines.sort();
    assert_eq!(lines[1], "grandchild over", "{lines:?}");
}

#[test]
fn it_leaves_a_member_of_its_group_that_ignores_term() {
    let mut running = Running::start(Stage::new().command("member=600 hang"));
    let line = running.line();
    let member = Pid::from_raw(line.strip_prefix("member ").unwrap().parse().unwrap());
    assert_eq!(getpgid(Some(member)), Ok(running.pid()));
    killpg(running.pid(), Signal::SIGTERM).unwrap();
    assert_eq!(running.child.wait().unwrap().signal(), Some(15));
    kill(member, None).expect("the member lives on");
    killpg(running.pid(), Signal::SIGKILL).unwrap();
    assert_eq!(running.line(), "");
}

#[test]
fn it_fails_a_number_of_times() {
    let stage = Stage::new();
    let codes: Vec<_> = (0..4).map(|_| stage.told("flaky=2:count exit=9").status.code()).collect();
    assert_eq!(codes, [Some(1), Some(1), Some(9), Some(9)]);
}

#[test]
fn it_reports_its_arguments_byte_by_byte() {
    let arguments = ["-p", "", "a b", "\"x\"\\", "1\n\n2\r\t\n", "*"];
    let output = Stage::new().command("argv").args(arguments).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        r#"argv 6
argv 1 "-p"
argv 2 ""
argv 3 "a b"
argv 4 "\"x\"\\"
argv 5 "1\n\n2\r\t\n"
argv 6 "*"
"#
    );
}

#[test]
fn it_reports_its_prompt_and_its_input() {
    let stage = Stage::new();
    let digest = "c73b73af8851e9e91bc6b4dc12e7dace0a2bfb931c1d0b8b36ef367319f58cd1";
    let argument = stage.command("prompt stdin").args(["-p", "--", "line\n"]).output().unwrap();
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(text(&argument.stdout), format!("prompt 5 {digest} \"line\\n\"\nstdin 0 {empty}\n"));

    stage.write("prompt", "line\n");
    let file = File::open(stage.path().join("prompt")).unwrap();
    let input = stage.command("prompt stdin").arg("-p").stdin(file).output().unwrap();
    assert_eq!(text(&input.stdout), format!("prompt 5 {digest} \"line\\n\"\nstdin 5 {digest}\n"));
}

#[test]
fn it_reports_values_of_its_environment_only_where_asked() {
    let stage = Stage::new();
    let mut command = stage.command("names env=B,C,A");
    let path = std::env::var("PATH").unwrap();
    command.env_clear().env("PATH", path).env("STAND_IN", "names env=B,C,A").env("A", "x\ny=z").env("B", "");
    let output = text(&command.output().unwrap().stdout).to_owned();
    let (names, values): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| line.starts_with("name "));
    for name in ["name A", "name B", "name PATH", "name STAND_IN"] {
        assert!(names.contains(&name), "{output}");
    }
    assert!(!names.contains(&"name C") && !output.contains("/bin"), "{output}");
    assert_eq!(values, [r#"env B """#, "env C unset", r#"env A "x\ny=z""#]);
}

#[test]
fn it_reports_its_directory_and_its_terminal() {
    let stage = Stage::new();
    let output = stage.told("cwd tty");
    assert_eq!(text(&output.stdout), format!("cwd \"{}\"\ntty none\n", stage.path().display()));

    let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = openpty(Some(&size), None).unwrap();
    let end = || Stdio::from(terminal.slave.try_clone().unwrap());
    let mut child = stage.command("tty stdin").stdin(end()).stdout(end()).spawn().unwrap();
    assert!(child.wait().unwrap().success());
    drop(terminal.slave);
    assert_eq!(all_of(terminal.master), "tty 120 40\r\nstdin terminal\r\n");
}

/// What a terminal showed; reading it fails once nobody holds the other end.
fn all_of(master: OwnedFd) -> String {
    let mut shown = Vec::new();
    let mut master = File::from(master);
    let mut byte = [0];
    while let Ok(1) = master.read(&mut byte) {
        shown.push(byte[0]);
    }
    String::from_utf8(shown).unwrap()
}

#[test]
fn it_reports_the_state_of_its_process() {
    let mut running = Running::start(Stage::new().command("ignore=USR1 process say=over sleep=600"));
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "over") {
        lines.push(running.line());
    }
    let pid = running.pid();
    let session = getsid(Some(pid)).unwrap();
    assert_eq!(lines[0], format!("process {pid} {pid} {session}"));
    assert!(lines[1].starts_with("signals SigBlk 0"), "{lines:?}");
    let ignored = u64::from_str_radix(lines[2].strip_prefix("signals SigIgn ").unwrap(), 16).unwrap();
    assert_ne!(ignored & 1 << (Signal::SIGUSR1 as u64 - 1), 0);
    let reported = lines[3].strip_prefix("descriptors ").unwrap();
    // The shell may not yet have closed the pipe that its last words went through.
    let begun = Instant::now();
    while descriptors(pid) != reported {
        assert!(begun.elapsed() < Duration::from_secs(20), "{} is not {reported}", descriptors(pid));
        std::thread::yield_now();
    }
    assert!(lines[4].starts_with("umask 0"), "{lines:?}");
    assert!(lines[5].starts_with("limit "), "{lines:?}");
}

/// The open descriptors of a stand-in, but for the one that it is read from.
fn descriptors(pid: Pid) -> String {
    let own = script().canonicalize().unwrap();
    let mut open: Vec<String> = fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|target| target != own))
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    open.sort();
    open.join(" ")
}

#[test]
fn it_finds_skills_where_claude_code_looks() {
    let stage = Stage::new();
    let skill = |dir: &str, description: &str| {
        let name = dir.rsplit('/').next().unwrap();
        stage.write(
            &format!("{dir}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: {description}\n---\nx\n"),
        );
    };
    skill("d/skills/review", "Reads \"a\" diff");
    skill("d/skills/deploy", "Ships");
    stage.write("d/skills/empty/README.md", "no skill");
    stage.write("d/.claude-plugin/plugin.json", "{\"name\":\"harnessd\"}");
    skill("e f/skills/other", "Second");
    skill("home/.claude/skills/review", "Native");
    skill("home/.claude/skills/mine", "Mine");
    skill(".claude/skills/local", "Local");
    let settings = r#"{"skillOverrides":{"review":"off","local":"user-invocable-only"}}"#;
    let arguments = ["--plugin-dir", "d", "--plugin-dir=e f", "--settings", settings, "-p", "--", "go"];
    let output = stage.command("skills").args(arguments).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        r#"plugin "d" named
skill plugin "deploy" visible "Ships"
skill plugin "review" visible "Reads \"a\" diff"
plugin "e f" unnamed
skill plugin "other" visible "Second"
skill home "mine" visible "Mine"
skill home "review" hidden "Native"
skill project "local" hidden "Local"
"#
    );
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn it_stands_in_under_any_name_and_needs_only_coreutils_and_setsid() {
    let stage = Stage::new();
    let bin = stage.path().join("bin");
    fs::create_dir(&bin).unwrap();
    symlink(script(), bin.join("codex")).unwrap();
    let coreutils =
        ["cat", "cut", "env", "printenv", "seq", "sha256sum", "sleep", "sort", "stty", "tr", "wc"];
    for tool in coreutils.iter().chain(&["setsid", "sh"]) {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(tool))
            .find(|path| path.is_file());
        symlink(found.unwrap_or_else(|| panic!("no `{tool}` on PATH")), bin.join(tool)).unwrap();
    }
    let words = "argv prompt env=A names cwd stdin tty process skills say=a err=b lines=1 bytes sleep=0 \
                 ignore=HUP fork=0 member=0 flaky=0:count exit=5";
    let output =
        stage.command(words).env("PATH", &bin).arg0("codex").args(["exec", "--", "go"]).output().unwrap();
    assert_eq!(text(&output.stderr), "b\n");
    assert_eq!(output.status.code(), Some(5));
    let linked =
        Command::new(bin.join("codex")).env("STAND_IN", "argv").stdin(Stdio::null()).output().unwrap();
    assert_eq!(text(&linked.stdout), "argv 0\n");
}
