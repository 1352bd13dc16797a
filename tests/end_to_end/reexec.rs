//! Re-execution: a newer program takes everything over, in place (CTL-11).

mod disturbed;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::libc::{SIGKILL, SIGTERM, SIGUSR2};
use serde_json::Value;

use crate::support::{Home, alive, kill, replace, sleeper, until};

const SLEEPER: &str = "[harness.sleeper]\ncmd = \"sleep\"\nargs = [\"600\"]\n";
const MARK: &[u8] = b"harnessd-version:0.1.0";

/// A daemon that runs from a copy of the program, and the path of that copy.
fn daemon(config: &str) -> (Home, PathBuf) {
    let mut home = Home::new(config);
    let program = home.use_a_copy();
    home.start_daemon();
    (home, program)
}

/// The program with another version, of the same length, in the one place where that stands.
fn of_version(version: &str) -> Vec<u8> {
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_harnessd")).unwrap();
    let candidates = bytes.iter().enumerate().filter(|(_, byte)| **byte == MARK[0]).map(|(at, _)| at);
    let found: Vec<usize> = candidates.filter(|at| bytes[*at..].starts_with(MARK)).collect();
    assert_eq!(found.len(), 1, "the version stands in one place");
    let at = found[0] + MARK.len() - version.len();
    bytes[at..at + version.len()].copy_from_slice(version.as_bytes());
    bytes
}

/// Re-executes; the successor's answer.
#[track_caller]
fn reexec(home: &Home) -> Value {
    home.ok(&["reexec", "--json"]).json()
}

fn descriptors(pid: i32) -> BTreeMap<String, String> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(Result::ok);
    let named = entries.filter_map(|entry| {
        let to = fs::read_link(entry.path()).ok()?;
        Some((entry.file_name().into_string().unwrap(), to.display().to_string()))
    });
    named.collect()
}

fn zombies_of(parent: i32) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let zombie = |stat: &String| {
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.starts_with(&format!("Z {parent} "))
    };
    stats.filter(zombie).collect()
}

struct Connection {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Connection {
    fn open(home: &Home) -> Self {
        let stream = UnixStream::connect(home.path(".local/state/harnessd/harnessd.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut open = Self { to: stream.try_clone().unwrap(), from: BufReader::new(stream) };
        open.send("{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"test\"}\n");
        assert_eq!(open.read()["ok"]["protocol"], 1);
        open
    }

    fn send(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {line:?}"))
    }
}

/// A verb that goes on in the background.
fn behind(home: &Home, args: &[&str], out: &str) -> Child {
    let out = fs::File::create(home.path(out)).unwrap();
    home.command(args).stdout(out).stderr(Stdio::inherit()).spawn().unwrap()
}

fn end(child: &mut Child) {
    kill(i32::try_from(child.id()).unwrap(), SIGTERM);
    child.wait().unwrap();
}

/// CTL-11: the process stays, nothing restarts, socket and locks stay, for a newer version and an older one.
#[test]
fn everything_stays_where_it_is() {
    let (mut home, program) = daemon(SLEEPER);
    home.ok(&["start", "sleeper", "--wait"]);
    let before = home.harness("sleeper");
    let started = home.ok(&["status", "--json"]).json()["started_at"].clone();
    replace(&program, &of_version("0.1.9"), 0o755);
    assert_eq!(home.ok(&["reexec"]).out, "harnessd 0.1.9 has taken over from 0.1.0\n");
    let status = home.ok(&["status", "--json"]).json();
    assert_eq!((&status["version"], &status["started_at"]), (&"0.1.9".into(), &started));
    assert_eq!(status["pid"], home.daemon_pid());
    assert_eq!(home.harness("sleeper"), before);
    let second = home.harnessd(&["run"]);
    assert!(second.err.contains(&format!("is locked by process {}", home.daemon_pid())), "{second:?}");
    let once = home.harnessd(&["once", "sleeper"]);
    assert!(once.err.contains("runs already"), "its lock is held: {once:?}");
    replace(&program, &of_version("0.1.0"), 0o755);
    assert_eq!(reexec(&home), serde_json::json!({"version": "0.1.0", "before": "0.1.9"}));
    assert_eq!(home.harness("sleeper"), before);
    home.ok(&["stop", "sleeper", "--wait"]);
    assert_eq!(home.ended_run("sleeper")["outcome"], "stopped");
    home.stop_daemon();
    assert!(!home.path(".local/state/harnessd/harnessd.sock").exists(), "its socket is removed at the end");
}

/// The lines `number nanoseconds` of a heartbeat.
fn beats(text: &str) -> Vec<(u64, u64)> {
    let pair = |line: &str| line.split_once(' ').map(|(n, at)| (n.parse().unwrap(), at.parse().unwrap()));
    text.lines().filter_map(pair).collect()
}

/// Whether lines count up from 0 without a gap.
fn count_up(mut lines: impl Iterator<Item = u64>) -> bool {
    (0..).zip(&mut lines).all(|(expected, line)| expected == line)
}

const HEART: &str =
    "import time\nn = 0\nwhile True:\n    print(n, time.monotonic_ns())\n    n += 1\n    time.sleep(0.002)\n";

/// Numbered lines of a kilobyte, `RATE` thousand of them a second.
const WRITER: &str = "import os, time\nn = 0\nbegun = time.monotonic()\nrest = \" \" + \"x\" * 1012 + \"\\n\"\nwhile True:\n    piece = \"\".join(f\"{k:010}{rest}\" for k in range(n, n + 100)).encode()\n    while piece:\n        piece = piece[os.write(1, piece):]\n    n += 100\n    ahead = begun + n / 1000 / RATE - time.monotonic()\n    if ahead > 0:\n        time.sleep(ahead)\n";

/// Reads what a follower of the writer's log prints, as it comes; how many lines came, each the next one.
fn read_along(follower: &mut Child) -> Arc<AtomicU64> {
    let (count, counted) = (Arc::new(AtomicU64::new(0)), follower.stdout.take().unwrap());
    let along = Arc::clone(&count);
    thread::spawn(move || {
        let (mut lines, mut line) = (BufReader::new(counted), Vec::new());
        while lines.read_until(b'\n', &mut line).unwrap() == 1024 {
            let number: Option<u64> =
                std::str::from_utf8(&line[..10]).ok().and_then(|text| text.parse().ok());
            if number != Some(along.load(Ordering::Relaxed)) {
                return;
            }
            along.fetch_add(1, Ordering::Relaxed);
            line.clear();
        }
    });
    count
}

/// CTL-11: each numbered line is in the logs exactly once, with fifty children, one of them writing 20 MB a
/// second (100 MB in the long form), one beating like a heart; no descriptor leaks, no zombie stays, nothing restarts.
#[test]
fn no_line_is_lost_or_doubled_and_no_descriptor_leaks() {
    let times = if std::env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1") { 200 } else { 10 };
    let writer = WRITER.replace("RATE", if times == 200 { "100" } else { "20" });
    let mut config = format!(
        "[harness.writer]\ncmd = \"python3\"\nargs = [\"-uc\", '''{writer}''']\nlog_max_bytes = \"1GB\"\n[harness.heart]\ncmd = \"python3\"\nargs = [\"-uc\", '''{HEART}''']\nlog_max_bytes = \"1GB\"\n"
    );
    for number in 0..48 {
        let script = "n=0; while :; do echo $n; n=$((n+1)); sleep 0.05; done";
        writeln!(config, "[harness.tick{number}]\ncmd = \"sh\"\nargs = [\"-c\", \"{script}\"]").unwrap();
    }
    let (mut home, _) = daemon(&config);
    home.ok(&["start", "--all", "--wait"]);
    let pids = |home: &Home| -> Vec<Value> {
        let list = home.ok(&["list", "--json"]).json();
        list["harnesses"].as_array().unwrap().iter().map(|one| one["pid"].clone()).collect()
    };
    let before = pids(&home);
    let along = ["logs", "writer", "--follow", "--all", "--raw"];
    let mut reader = home.command(&along).stdout(Stdio::piped()).spawn().unwrap();
    let read = read_along(&mut reader);
    let mut follower = behind(&home, &["logs", "heart", "--follow", "--all"], "followed");
    let mut settled = None;
    for turn in 0..times {
        reexec(&home);
        assert_eq!(pids(&home), before, "turn {turn}");
        // A client that has just ended may still be known for a moment.
        let first: usize = *settled.get_or_insert_with(|| descriptors(home.daemon_pid()).len());
        until("no descriptor is left behind", || {
            (descriptors(home.daemon_pid()).len() <= first).then_some(())
        });
    }
    assert_eq!(home.ok(&["status", "--json"]).json()["attention"], serde_json::json!([]));
    assert_eq!(zombies_of(home.daemon_pid()), Vec::<String>::new());
    assert!(follower.try_wait().unwrap().is_none(), "the follower follows");
    end(&mut follower);
    home.ok(&["stop", "--all", "--wait"]);
    for number in 0..48 {
        let log = home.log(&format!("tick{number}"));
        assert!(log.lines().count() > 1);
        assert!(count_up(log.lines().map(|line| line.parse().unwrap())), "tick{number}: {log}");
    }
    // The writer's log is a ring, so it was read along; it may have been stopped within a line.
    let tail = home.ok(&["logs", "writer", "-n", "3", "--raw"]).out;
    let (whole, _) = tail.rsplit_once('\n').unwrap();
    let last: u64 = whole.rsplit('\n').next().unwrap()[..10].parse().unwrap();
    until(&format!("each line up to {last} is read; {read:?}"), || {
        (read.load(Ordering::Relaxed) > last).then_some(())
    });
    end(&mut reader);
    let heart = beats(&home.log("heart"));
    assert!(count_up(heart.iter().map(|(number, _)| *number)));
    let followed = home.read("followed");
    let followed = beats(followed.rsplit_once('\n').unwrap().0);
    assert!(followed.len() > 1 && count_up(followed.iter().map(|(number, _)| *number)));
    let gap = heart.windows(2).map(|pair| pair[1].1 - pair[0].1).max().unwrap();
    eprintln!(
        "{times} re-executions: {} kilobytes written, {} heartbeats, the worst gap {} us",
        last + 1,
        heart.len(),
        gap / 1000
    );
    home.stop_daemon();
}

/// CTL-11: what clients wait for comes on the same connection: a reply, events, the end of half a line.
#[test]
fn clients_notice_nothing() {
    let (mut home, _) = daemon(
        "[harness.job]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"while [ ! -e go ]; do sleep 0.01; done; echo done\"]\n[harness.other]\noneshot = true\ncmd = \"true\"\n",
    );
    let mut waiting = behind(&home, &["start", "job", "--wait"], "said");
    home.wait_state("job", "running");
    let (mut subscriber, mut slow) = (Connection::open(&home), Connection::open(&home));
    let mut follower = behind(&home, &["logs", "job", "--follow"], "followed");
    subscriber.send("{\"id\":2,\"op\":\"subscribe\"}\n");
    assert_eq!(subscriber.read()["id"], 2);
    slow.send("{\"id\":7,\"op\":\"sta");
    for _ in 0..3 {
        reexec(&home);
    }
    slow.send("tus\"}\n");
    let answer = slow.read();
    assert_eq!((&answer["id"], &answer["ok"]["pid"]), (&7.into(), &home.daemon_pid().into()));
    home.ok(&["start", "other", "--wait"]);
    let (first, next) = (subscriber.read(), subscriber.read());
    assert_eq!((&first["event"], &first["harness"]), (&"state_changed".into(), &"other".into()), "{first}");
    assert_eq!(next["seq"].as_u64(), first["seq"].as_u64().map(|seq| seq + 1), "{first} {next}");
    assert!(first["seq"].as_u64() > Some(1), "the numbers go on: {first}");
    home.write("go", "");
    assert!(until("start --wait ends", || waiting.try_wait().unwrap()).success());
    assert_eq!(home.read("said"), "job: started\n");
    until("logs --follow shows it", || home.read("followed").contains("done").then_some(()));
    end(&mut follower);
    home.stop_daemon();
}

/// CTL-11: a terminal stays a terminal, and a query that is cut in two is still answered.
#[test]
fn a_terminal_stays() {
    let script = "stty -echo raw; printf '\\033[6'; touch half; while [ ! -e go ]; do sleep 0.01; done; printf n; answer=$(dd bs=1 count=6 2>/dev/null | od -An -tx1); stty sane; echo \"got $answer\"";
    let (mut home, _) = daemon(&format!(
        "[harness.ask]\noneshot = true\ntty = true\ncmd = \"sh\"\nargs = [\"-c\", '''{script}''']\n"
    ));
    home.ok(&["start", "ask"]);
    until("half a query is written", || home.path("half").exists().then_some(()));
    reexec(&home);
    home.write("go", "");
    assert_eq!(home.ended_run("ask")["outcome"], "ok");
    assert!(home.log("ask").contains("got  1b 5b 31 3b 31 52"), "{:?}", home.log("ask"));
    home.stop_daemon();
}

/// CTL-11: the phase of a schedule, the deadline of a backoff, a crash loop and the count of attempts are kept.
#[test]
fn deadlines_and_counts_are_kept() {
    let (mut home, _) = daemon(
        "[daemon]\ncrash_loop_exits = 3\ncrash_loop_window = \"1h\"\nbackoff_max = \"1h\"\n[harness.every]\noneshot = true\nschedule = \"@every 1h\"\ncmd = \"true\"\n[harness.crash]\ncmd = \"sh\"\nargs = [\"-c\", \"[ -e calm ] || exit 3; sleep 600\"]\nrestart_delay = \"20ms\"\n[harness.later]\ncmd = \"false\"\nrestart = \"always\"\nrestart_delay = \"1h\"\n",
    );
    home.ok(&["start", "crash"]);
    home.ok(&["start", "later"]);
    let later = home.wait_state("later", "backoff");
    home.wait_state("crash", "degraded");
    home.write("calm", "");
    let running = |one: &Value| one.get("pid").is_some() && alive(one["pid"].as_i64().unwrap() as i32);
    until("it is calm", || {
        let crash = home.harness("crash");
        (running(&crash) && crash == home.harness("crash")).then_some(())
    });
    let (crash, every) = (home.harness("crash"), home.harness("every"));
    assert!(every["next_firing"].is_string());
    for _ in 0..3 {
        reexec(&home);
    }
    assert_eq!(home.harness("every"), every);
    assert_eq!(home.harness("later"), later);
    assert_eq!(home.harness("crash"), crash);
    let attempt = || home.runs("crash")[0]["attempt"].as_u64().unwrap();
    let before = attempt();
    kill(home.pid("crash"), SIGKILL);
    until("it is tried again", || (attempt() > before).then_some(()));
    assert_eq!((attempt(), &home.wait_state("crash", "degraded")["name"]), (before + 1, &"crash".into()));
    home.stop_daemon();
}

/// CTL-11: a schedule that fires each second goes on: each slot has one record, none is left out.
#[test]
fn a_schedule_goes_on() {
    let (mut home, _) = daemon(
        "[harness.tick]\noneshot = true\nschedule = \"* * * * * *\"\noverlap = \"queue\"\nkeep_runs = 1000\ncmd = \"true\"\n",
    );
    until("some slots are run", || {
        reexec(&home);
        (home.runs("tick").len() >= 4).then_some(())
    });
    home.stop_daemon();
    let runs = home.runs("tick");
    let second = |at: &Value| chrono::DateTime::parse_from_rfc3339(at.as_str().unwrap()).unwrap().timestamp();
    let covers = |run: &Value| match run.get("missed") {
        Some(stretch) => second(&stretch["first"])..=second(&stretch["last"]),
        None => second(&run["planned_at"])..=second(&run["planned_at"]),
    };
    let mut slots: Vec<i64> = runs.iter().flat_map(covers).collect();
    slots.sort_unstable();
    assert!(slots.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{slots:?} {runs:?}");
}

/// CTL-11: a stop that is under way goes on: its KILL comes, leftovers are known, and the client hears of it.
#[test]
fn a_stop_under_way_goes_on() {
    let (mut home, _) = daemon(
        "[harness.stubborn]\ncmd = \"sh\"\nargs = [\"-c\", \"trap '' TERM; (trap '' TERM; setsid sleep 601.5) & touch up; while :; do sleep 0.05; done\"]\nstop_timeout = \"2s\"\n",
    );
    home.ok(&["start", "stubborn"]);
    until("it is up", || home.path("up").exists().then_some(()));
    let pid = home.pid("stubborn");
    until("its child is up", || sleeper("601.5"));
    let mut stop = behind(&home, &["stop", "stubborn", "--wait"], "said");
    home.wait_state("stubborn", "stopping");
    reexec(&home);
    assert!(until("stop --wait ends", || stop.try_wait().unwrap()).success());
    assert_eq!(home.read("said"), "stubborn: stopped\n");
    assert!(!alive(pid));
    assert_eq!(sleeper("601.5"), None);
    assert_eq!(home.ended_run("stubborn")["outcome"], "stopped");
    home.stop_daemon();
}

/// CTL-11, CFG-10: what the files say by then is applied as by a reload: gone, changed and new harnesses.
#[test]
fn changed_files_are_applied_as_by_a_reload() {
    let sleeps = |name: &str, time: u32| format!("[harness.{name}]\ncmd = \"sleep\"\nargs = [\"{time}\"]\n");
    let start = "[daemon]\nwatch = false\n".to_owned();
    let all = [start.clone(), sleeps("gone", 600), sleeps("stays", 600), sleeps("other", 600)].concat();
    let (mut home, _) = daemon(&all);
    home.ok(&["start", "--all", "--wait"]);
    let (gone, stays, other) = (home.pid("gone"), home.pid("stays"), home.pid("other"));
    home.configure(
        &[start, sleeps("stays", 600), sleeps("other", 601), sleeps("new", 600), "enabled = true\n".into()]
            .concat(),
    );
    reexec(&home);
    home.wait_state("new", "running");
    until("what is gone is stopped", || (!alive(gone)).then_some(()));
    assert_eq!((home.pid("stays"), home.pid("other")), (stays, other));
    assert_eq!(home.harness("other")["changed"], true);
    assert_eq!(home.harness("stays")["changed"], false);
    let run = until("it is recorded", || {
        let all = home.ok(&["runs", "--json"]).json()["runs"].as_array().unwrap().clone();
        all.into_iter().find(|run| run["harness"] == "gone" && run.get("outcome").is_some())
    });
    let expected = (&"stopped".into(), &"removed from the configuration".into());
    assert_eq!((&run["outcome"], &run["cause"]), expected);
    home.stop_daemon();
}

/// CTL-11, RUN-4: a run in the foreground is not handed over, and goes on.
#[test]
fn a_foreground_run_is_not_handed_over() {
    let home = Home::new(
        "[harness.job]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"touch up; while [ ! -e go ]; do sleep 0.01; done\"]\n",
    );
    let mut once = behind(&home, &["once", "job"], "said");
    until("it runs", || home.path("up").exists().then_some(()));
    kill(i32::try_from(once.id()).unwrap(), SIGUSR2);
    home.write("go", "");
    assert!(until("it ends", || once.try_wait().unwrap()).success());
}

/// CTL-11, LIF-7: nothing of the hand-over reaches a child: neither descriptors, limits nor variables.
#[test]
fn a_child_inherits_nothing_of_it() {
    let (mut home, _) = daemon(
        "[harness.sleeper]\ncmd = \"sleep\"\nargs = [\"600\"]\n[harness.look]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"ls /proc/self/fd; env; ulimit -n; grep Sig[PBIC] /proc/self/status\"]\n",
    );
    home.ok(&["start", "sleeper", "--wait"]);
    let look = || -> Vec<String> {
        home.ok(&["start", "look", "--wait"]);
        let log = home.log("look");
        log.lines().filter(|line| !line.starts_with("HARNESSD_RUN_ID")).map(ToOwned::to_owned).collect()
    };
    let before = look();
    assert!(before.len() > 5, "{before:?}");
    reexec(&home);
    reexec(&home);
    assert_eq!(look(), before);
    home.stop_daemon();
}
