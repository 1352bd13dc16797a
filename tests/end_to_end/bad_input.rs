//! What is wrong outside the configuration's text: files, directories, sockets, programs.
//! Each has a clear error that names the harness and the path; nothing is lost, the others run on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::unistd::geteuid;
use serde_json::Value;

use crate::support::{Home, until};

const FINE: &str = "[harness.fine]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";

/// CFG-9: A directory, a FIFO, a huge file, text that is no UTF-8, a missing file in place of a configuration.
#[test]
fn what_is_no_configuration_file_is_said_so() {
    let home = Home::new("");
    fs::create_dir(home.path("dir")).unwrap();
    nix::unistd::mkfifo(&home.path("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::File::create(home.path("huge")).unwrap().set_len(100 << 20).unwrap();
    fs::write(home.path("latin"), b"[harness.a]\ncmd = \"caf\xe9\"\n").unwrap();
    let short = |name: &str| {
        let said = home.harnessd(&["validate", "--format", "short", name]);
        (said.code, said.out)
    };
    let unreadable =
        |name: &str, why: &str| (2, format!("{name}:1:1: harnessd::config::unreadable: {why}\n"));
    assert_eq!(short("dir"), unreadable("dir", "it is a directory, not a regular file"));
    assert_eq!(short("fifo"), unreadable("fifo", "it is a FIFO, not a regular file"));
    assert_eq!(short("huge"), unreadable("huge", "it is 100.0 MiB large, at most 16.0 MiB are read"));
    assert_eq!(short("missing"), unreadable("missing", "the file does not exist"));
    let latin = short("latin");
    assert_eq!(
        latin,
        (1, "latin:1:1: harnessd::config::encoding: line 2, column 11: byte 0xE9 is no UTF-8\n".to_owned())
    );
}

/// CFG-8: CRLF and a byte order mark are accepted.
#[test]
fn windows_text_is_accepted() {
    let home = Home::new("");
    home.write("crlf.toml", "\u{feff}[harness.a]\r\ncmd = \"true\"\r\n");
    assert_eq!(home.ok(&["validate", "crlf.toml"]).out, "1 file, 0 errors, 0 warnings\n");
}

/// CFG-1: a file that was named must exist; the usual ones need not.
#[test]
fn a_named_configuration_must_exist() {
    let home = Home::new("");
    fs::remove_file(home.path(".config/harnessd/harness.toml")).unwrap();
    assert_eq!(
        home.ok(&["validate"]).out,
        "no configuration file was found; `harnessd validate FILE` checks one, `harnessd init` writes one\n"
    );
    let missing = home.text("missing.toml");
    let said = home.harnessd(&["--config", &missing, "validate", "--format", "short"]);
    assert_eq!(
        (said.code, said.out),
        (2, format!("{missing}:1:1: harnessd::config::unreadable: the file does not exist\n"))
    );
}

/// RUN-1, LIF-3: A workdir, a program, a program's permission: the run is recorded as not spawned, with the path.
#[test]
fn a_start_that_cannot_be_made_names_harness_and_path() {
    let mut home = Home::new("");
    home.write("plain.txt", "not a program\n");
    fs::set_permissions(home.path("plain.txt"), fs::Permissions::from_mode(0o644)).unwrap();
    home.write("no-interpreter", "#!/nonexistent/interpreter\n");
    fs::set_permissions(home.path("no-interpreter"), fs::Permissions::from_mode(0o755)).unwrap();
    home.configure(&format!(
        "{FINE}[defaults]\nrestart = \"no\"\n\
         [harness.dir]\ncmd = \"true\"\nworkdir = \"~/nowhere\"\n\
         [harness.file]\ncmd = \"true\"\nworkdir = \"~/plain.txt\"\n\
         [harness.missing]\ncmd = \"~/nowhere/agent\"\n\
         [harness.path]\ncmd = \"no-such-program-anywhere\"\n\
         [harness.mode]\ncmd = \"{0}\"\n[harness.shebang]\ncmd = \"{1}\"\n",
        home.text("plain.txt"),
        home.text("no-interpreter")
    ));
    home.start_daemon();
    let expect = [
        ("dir", format!("workdir `{}` does not exist", home.text("nowhere"))),
        ("file", format!("workdir `{}` is not a directory", home.text("plain.txt"))),
        ("missing", format!("`{}` does not exist", home.text("nowhere/agent"))),
        ("path", "`no-such-program-anywhere` is not in PATH (/usr/local/bin:/usr/bin:/bin)".to_owned()),
        ("mode", format!("`{}` is not executable", home.text("plain.txt"))),
        (
            "shebang",
            format!(
                "execute `{}`: its interpreter `/nonexistent/interpreter` does not exist",
                home.text("no-interpreter")
            ),
        ),
    ];
    for (name, cause) in expect {
        let said = home.harnessd(&["start", name, "--wait"]);
        assert_eq!(
            (said.code, said.err),
            (
                1,
                format!(
                    "error: harness `{name}` could not be started: {cause}\n\
             \x20 help: `harnessd plan` shows what a start executes, `harnessd doctor` whether it is there\n"
                )
            )
        );
        let run = &home.runs(name)[0];
        assert_eq!(
            (&run["outcome"], run["cause"].as_str().unwrap()),
            (&"spawn-failed".into(), cause.as_str())
        );
        assert!(run["started_at"].is_string(), "a spawn that fails has a start: {run}");
        assert_eq!(home.harness(name)["state"], "failed");
    }
    assert_eq!(home.harness("fine")["state"], "running");
}

/// A state directory that cannot be made, and one below a file.
#[test]
fn an_unusable_state_directory_is_said() {
    let home = Home::new(FINE);
    home.write("file", "");
    let state = home.text("file/state");
    let said = home.harnessd(&["--state-dir", &state, "run"]);
    assert_eq!(
        (said.code, said.err),
        (
            1,
            format!(
                "error: state directory `{state}`: not a directory\n  help: make the directory writable for this user, or choose another with `--state-dir`\n"
            )
        )
    );
}

/// A state directory that may not be written. Root may write everywhere, so this is an ordinary user's.
#[test]
fn a_read_only_state_directory_is_said() {
    let mut home = Home::new(FINE);
    let state = home.path("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o500)).unwrap();
    home.for_an_ordinary_user();
    let said = home.harnessd(&["--state-dir", &home.text("state"), "run"]);
    let lock = home.text("state/lock");
    let whole = format!(
        "error: state directory `{}`: lock `{lock}`: permission denied\n  help: make the directory writable for this user, or choose another with `--state-dir`\n",
        home.text("state")
    );
    assert_eq!((said.code, said.err), (1, whole));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
}

/// CTL-3: a socket path that is too long for an address is a clear error.
#[test]
fn a_socket_path_that_is_too_long_is_said() {
    let home = Home::new(FINE);
    let path = home.text("x".repeat(120));
    let said = home.harnessd(&["--socket", &path, "run"]);
    assert_eq!(said.code, 1);
    let whole = format!("error: socket path `{path}` is {} bytes long, the system allows 107", path.len());
    assert_eq!(said.err.lines().next().unwrap(), whole);
}

/// A harness that is started by hand, one that fires all the time, and one that just runs.
const BUSY: &str = "[harness.job]\noneshot = true\ncmd = \"true\"\n\
     [harness.timed]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 1s\"\n\
     [harness.fine]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";

/// With a store that cannot be written from `block` on until `release`: records wait in memory, `status`
/// says so, the harness runs on, no unclaimed slot is run, and nothing is lost in the end.
fn records_wait<T>(home: &mut Home, block: impl FnOnce() -> T, release: impl FnOnce(T)) {
    home.start_daemon();
    home.wait_state("fine", "running");
    let blocked = block();
    home.harnessd(&["start", "job", "--wait"]);
    let status = until("the trouble is said", || {
        let status = home.ok(&["status", "--json"]).json();
        (!status["trouble"].as_array().unwrap().is_empty()).then_some(status)
    });
    assert!(status["trouble"][0].as_str().unwrap().starts_with("records wait in memory: "), "{status}");
    assert_eq!(home.harness("fine")["state"], "running");
    home.write("app/harness.toml", "[harness.web]\ncmd = \"true\"\n");
    let up = home.ok(&["up", &home.text("app"), "--json"]).json();
    let warning = up["warnings"][0].as_str().unwrap();
    let expected = "this is not written yet, and a daemon that starts anew does not know of it: ";
    assert!(warning.starts_with(expected), "{up}");
    // A slot that cannot be claimed is not run, and that is recorded.
    until("a firing is refused", || home.daemon_log().contains("its slot cannot be claimed").then_some(()));
    release(blocked);
    until("the store is written again", || {
        home.ok(&["status", "--json"]).json()["trouble"].as_array().unwrap().is_empty().then_some(())
    });
    let up = home.ok(&["up", &home.text("app"), "--json"]).json();
    assert_eq!(up["warnings"], Value::Array(Vec::new()));
    assert_eq!(home.runs("job").len(), 1, "the record of the run is not lost");
    let refused = home.runs("timed").into_iter().find(|run| run["outcome"] == "spawn-failed").unwrap();
    assert!(refused["cause"].as_str().unwrap().contains("its slot cannot be claimed"), "{refused}");
    home.stop_daemon();
}

/// LIF-9, RUN-1: records wait while another connection holds the store, whoever runs the test.
#[test]
fn records_wait_while_the_store_is_locked() {
    let mut home = Home::new(BUSY);
    let store = home.path(".local/state/harnessd/state.db");
    let lock = || {
        let other = rusqlite::Connection::open(&store).unwrap();
        other.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        other
    };
    records_wait(&mut home, lock, |other| other.execute_batch("COMMIT").unwrap());
}

/// LIF-9, RUN-1: records wait while a small disk is full. Only root may mount one; for others the test
/// above stands in, whose store refuses writes for another reason.
#[test]
fn records_wait_while_the_disk_is_full() {
    if !geteuid().is_root() {
        return eprintln!("not checked on a real file system: this user may not mount one");
    }
    let mut home = Home::new(BUSY);
    let state = home.path("small");
    fs::create_dir(&state).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&state)
        .status()
        .unwrap();
    assert!(mounted.success(), "root can mount");
    struct Unmount(std::path::PathBuf);
    impl Drop for Unmount {
        fn drop(&mut self) {
            let _done = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let _unmount = Unmount(state.clone());
    home.set("HARNESSD_STATE_DIR", state.to_str().unwrap());
    let fill = || {
        // To the last byte.
        let mut filler = fs::File::create(state.join("filler")).unwrap();
        while std::io::Write::write(&mut filler, &[0; 4096]).is_ok() {}
        while std::io::Write::write(&mut filler, &[0; 1]).is_ok() {}
        filler
    };
    records_wait(&mut home, fill, |filler| {
        drop(filler);
        fs::remove_file(state.join("filler")).unwrap();
    });
}

/// CTL-7: arguments that do not fit are told as JSON too, where that is asked for.
#[test]
fn wrong_arguments_are_told_as_json() {
    let home = Home::new("");
    for (args, message) in [
        (&["--json", "strat"][..], "unrecognized subcommand 'strat'"),
        (&["show", "--json"][..], "the following required arguments were not provided: <RUN>"),
    ] {
        let said = home.harnessd(args);
        let error: Value = serde_json::from_str(&said.err).unwrap();
        let expected = serde_json::json!({ "error": {
            "code": "bad_request",
            "message": message,
            "help": "`harnessd help` and `harnessd VERB --help` show what is understood",
        }});
        assert_eq!((said.code, error), (2, expected));
    }
}

/// CTL-13: a daemon that has found no configuration says so, in its log and its status, and reads one that comes.
#[test]
fn a_missing_configuration_is_said() {
    let mut home = Home::new("");
    fs::remove_file(home.path(".config/harnessd/harness.toml")).unwrap();
    home.start_daemon();
    let status = home.ok(&["status"]).out;
    assert!(status.contains("\nconfiguration: no file was found: nothing is to be run\n"), "{status}");
    home.write(".config/harnessd/harness.toml", "[harness.late]\ncmd = \"true\"\n");
    until("it is read", || home.ok(&["list"]).out.contains("late").then_some(()));
    let status = home.ok(&["status"]).out;
    assert!(status.contains("\nconfiguration: in force\n"), "{status}");
}
