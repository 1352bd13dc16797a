//! Starting, stopping, surviving: the daemon with generic programs.

use crate::support::{Home, alive, kill, mark, until};

/// A resident that marks its processes and prints its pid.
fn ticker(mark: &str) -> String {
    format!(
        "[harness.ticker]\ncmd = \"sh\"\nargs = [\"-c\", \"echo tick $$; exec sleep 600\"]\nenv = {{ {mark} = \"1\" }}\n\
         enabled = true\nrestart_delay = \"10ms\"\n"
    )
}

/// LIF-2, LIF-3, LIF-5: The main promise: an enabled program starts, is restarted when killed, and `stop`
/// leaves no process.
#[test]
fn an_enabled_harness_is_started_restarted_and_stopped_whole() {
    let mark = mark("ticker");
    let mut home = Home::new(&ticker(&mark));
    home.start_daemon();
    let first = home.wait_state("ticker", "running")["pid"].as_i64().unwrap();
    kill(i32::try_from(first).unwrap(), nix::libc::SIGKILL);
    let second = until("another process runs", || {
        let harness = home.harness("ticker");
        harness["pid"].as_i64().filter(|pid| *pid != first)
    });
    assert!(alive(i32::try_from(second).unwrap()));
    let said = home.ok(&["stop", "ticker", "--wait"]);
    assert_eq!(said.out, "ticker: stopped\n");
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    assert_eq!(home.harness("ticker")["state"], "stopped");
    let runs = home.runs("ticker");
    assert_eq!(runs.len(), 2);
    assert_eq!((&runs[0]["outcome"], &runs[0]["trigger"]), (&"stopped".into(), &"restart".into()));
    assert_eq!((&runs[1]["outcome"], &runs[1]["signal"]), (&"failed".into(), &"SIGKILL".into()));
    assert_eq!(runs[1]["cause"], "killed by SIGKILL");
    assert_eq!(runs[1]["trigger"], "boot");
}

/// CTL-2: TERM and INT stop everything gracefully and exit 0; nothing is left.
#[test]
fn term_and_int_stop_the_fleet_and_exit_0() {
    for signal in [nix::libc::SIGTERM, nix::libc::SIGINT] {
        let mark = mark("term");
        let mut home = Home::new(&ticker(&mark));
        home.start_daemon();
        home.wait_state("ticker", "running");
        home.signal_daemon(signal);
        let status = home.wait_daemon();
        assert!(status.success(), "{status:?}: {}", home.daemon_log());
        assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
        assert_eq!(home.runs("ticker")[0]["outcome"], "stopped");
        assert!(!home.path(".local/state/harnessd/harnessd.sock").exists(), "the socket is removed");
    }
}

/// CTL-2: a second TERM does not wait for `stop_timeout`.
#[test]
fn a_second_term_stops_at_once() {
    let mark = mark("second");
    let config = format!(
        "[harness.stubborn]\ncmd = \"sh\"\nargs = [\"-c\", \"trap '' TERM; echo up; while :; do sleep 1; done\"]\n\
         env = {{ {mark} = \"1\" }}\nenabled = true\nstop_timeout = \"10m\"\n"
    );
    let mut home = Home::new(&config);
    home.start_daemon();
    until("it has set its trap", || home.log("stubborn").contains("up").then_some(()));
    home.signal_daemon(nix::libc::SIGTERM);
    until("it is stopping", || (home.harness("stubborn")["state"] == "stopping").then_some(()));
    home.signal_daemon(nix::libc::SIGTERM);
    assert!(home.wait_daemon().success());
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
}

/// LIF-2: a manual start of a resident is remembered until `stop`, across a restart of the daemon.
#[test]
fn a_manual_start_is_remembered_until_stop() {
    let mut home = Home::new("[harness.side]\ncmd = \"sleep\"\nargs = [\"600\"]\n");
    home.start_daemon();
    assert_eq!(home.harness("side")["state"], "stopped");
    assert_eq!(home.ok(&["start", "side", "--wait"]).out, "side: started\n");
    assert_eq!(home.ok(&["start", "side"]).out, "side: already running\n");
    home.stop_daemon();
    home.start_daemon();
    home.wait_state("side", "running");
    home.ok(&["stop", "side", "--wait"]);
    assert_eq!(home.ok(&["stop", "side"]).out, "side: already stopped\n");
    home.stop_daemon();
    home.start_daemon();
    assert_eq!(home.harness("side")["state"], "stopped");
}

/// LIF-7: the child starts clean: session, signals, descriptors, umask, environment.
#[test]
fn a_child_starts_clean() {
    let config = "[harness.look]\noneshot = true\ncmd = \"sh\"\n\
        args = [\"-c\", \"cat /proc/self/status; ls /proc/self/fd; umask; env; cut -d' ' -f5,6 /proc/$$/stat; echo pid $$; cat\"]\n\
        env = { OWN = \"yes\" }\n";
    let mut home = Home::new(config);
    home.set("HARNESSD_LEAK", "1");
    home.set("NOTIFY_SOCKET", "/nonexistent/notify");
    home.set("KEPT", "1");
    home.start_daemon();
    home.ok(&["start", "look", "--wait"]);
    let log = home.log("look");
    let field = |name: &str| {
        let line = log.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {log}"));
        line[name.len()..].trim().to_owned()
    };
    for mask in ["SigBlk:", "SigIgn:", "SigCgt:"] {
        assert_eq!(u64::from_str_radix(&field(mask), 16).unwrap(), 0, "{mask} of cat: {log}");
    }
    // 0, 1, 2, and 3 for the directory that `ls` reads.
    let numbers: Vec<&str> =
        log.lines().filter(|line| line.len() == 1 && line.parse::<u8>().is_ok()).collect();
    assert_eq!(numbers, ["0", "1", "2", "3"]);
    assert!(log.contains("\n0022\n"), "{log}");
    assert!(
        log.contains("OWN=yes") && log.contains("KEPT=1") && log.contains("HARNESSD_HARNESS=look"),
        "{log}"
    );
    assert!(!log.contains("HARNESSD_LEAK") && !log.contains("NOTIFY_SOCKET"), "{log}");
    let run = &home.runs("look")[0];
    assert!(log.contains(&format!("HARNESSD_RUN_ID={}", run["id"].as_str().unwrap())));
    let pid = field("pid ");
    assert!(log.contains(&format!("\n{pid} {pid}\n")), "its own group and session: {log}");
}

/// Requirement of the issue: nothing wakes the daemon while nothing is due.
#[test]
fn an_idle_daemon_does_not_wake_up() {
    let mut home = Home::new(
        "[harness.still]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n\
         [harness.later]\noneshot = true\ncmd = \"true\"\nschedule = \"0 0 1 1 *\"\n",
    );
    home.start_daemon();
    home.wait_state("still", "running");
    let switches = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", home.daemon_pid())).unwrap();
        let line =
            status.lines().find(|line| line.starts_with("voluntary_ctxt_switches")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    // The last request may still be on its way out: idle begins when two looks far apart agree.
    let mut last = switches();
    until("the daemon settles", || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let now = switches();
        (std::mem::replace(&mut last, now) == now).then_some(())
    });
    let before = switches();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(switches() - before, 0, "wake-ups in two idle seconds");
}

/// CTL-1: the service manager is told READY, RELOADING, STOPPING, a STATUS and that the loop turns; no
/// child hears of it.
#[test]
fn the_service_manager_is_told() {
    use std::os::unix::net::UnixDatagram;
    let mut home = Home::new("[harness.env]\noneshot = true\ncmd = \"env\"\n");
    let socket = UnixDatagram::bind(home.path("notify")).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    home.set("NOTIFY_SOCKET", &home.text("notify"));
    home.set("WATCHDOG_USEC", "200000");
    home.start_daemon();
    let heard = |wanted: &str| {
        let mut buffer = [0; 4096];
        until(wanted, || {
            let count = socket.recv(&mut buffer).unwrap();
            let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
            text.lines().any(|line| line.starts_with(wanted)).then_some(text)
        })
    };
    assert_eq!(heard("READY=1").trim_end(), "READY=1\nSTATUS=running");
    heard("WATCHDOG=1");
    home.ok(&["reload"]);
    assert!(heard("RELOADING=1").contains("\nMONOTONIC_USEC="));
    heard("READY=1");
    home.ok(&["start", "env", "--wait"]);
    let log = home.log("env");
    assert!(!log.contains("NOTIFY_SOCKET") && !log.contains("WATCHDOG"), "{log}");
    home.stop_daemon();
    assert_eq!(heard("STOPPING=1").trim_end(), "STOPPING=1\nSTATUS=stopping all harnesses");
}
