//! The units under `examples/systemd` say what the daemon needs, and systemd understands them.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn unit(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/systemd").join(file)
}

/// The assignments of a unit: section, key, value; fails on any other line.
fn assignments(file: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found = Vec::new();
    for line in fs::read_to_string(unit(file)).unwrap().lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("{file}: {line}"));
        found.push((section.clone(), key.to_owned(), value.to_owned()));
    }
    found
}

fn values<'a>(all: &'a [(String, String, String)], section: &str, key: &str) -> Vec<&'a str> {
    let of = |one: &&'a (String, String, String)| one.0 == section && one.1 == key;
    all.iter().filter(of).map(|one| one.2.as_str()).collect()
}

/// CTL-1: both units speak the notify protocol and stop the daemon first, then what it left.
#[test]
fn the_units_say_what_the_daemon_needs() {
    for file in ["harnessd.service", "harnessd-system.service"] {
        let all = assignments(file);
        for (key, value) in [
            ("Type", "notify"),
            ("NotifyAccess", "main"),
            ("Restart", "on-failure"),
            ("KillMode", "mixed"),
            ("Delegate", "yes"),
            ("OOMPolicy", "continue"),
            ("WatchdogSec", "60"),
            ("TimeoutStopSec", "90"),
        ] {
            assert_eq!(values(&all, "Service", key), [value], "{file}: {key}");
        }
        let start = values(&all, "Service", "ExecStart");
        assert_eq!(start.len(), 1, "{file}");
        let program = start[0].strip_suffix(" run").expect("ExecStart is `harnessd run`");
        assert!(program.ends_with("/harnessd"), "{file}: {program}");
        assert_eq!(values(&all, "Service", "ExecReload"), [format!("{program} reload")], "{file}");
        let path = values(&all, "Service", "Environment");
        assert!(
            path.len() == 1 && path[0].starts_with("PATH=") && path[0].ends_with(":/usr/bin:/bin"),
            "{file}"
        );
    }
}

/// CTL-1: the user unit starts with the session; the system unit has a user and directories of its own.
#[test]
fn each_unit_fits_its_manager() {
    let user = assignments("harnessd.service");
    assert_eq!(values(&user, "Install", "WantedBy"), ["default.target"]);
    for key in ["User", "StateDirectory", "RuntimeDirectory", "ProtectHome", "CapabilityBoundingSet"] {
        assert_eq!(values(&user, "Service", key), [""; 0], "{key}");
    }
    let system = assignments("harnessd-system.service");
    assert_eq!(values(&system, "Install", "WantedBy"), ["multi-user.target"]);
    for (key, value) in [
        ("User", "harnessd"),
        ("StateDirectory", "harnessd"),
        ("StateDirectoryMode", "0700"),
        ("RuntimeDirectory", "harnessd"),
        ("RuntimeDirectoryMode", "0700"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
    ] {
        assert_eq!(values(&system, "Service", key), [value], "{key}");
    }
}

/// What agents do must stay possible: sandboxes, debuggers, JavaScript engines, their home, the network.
#[test]
fn no_unit_confines_an_agent() {
    let harmful = [
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "PrivateNetwork",
        "ProcSubset",
        "ProtectControlGroups",
        "ProtectHome",
        "ProtectHostname",
        "ProtectKernelLogs",
        "ProtectKernelTunables",
        "ProtectProc",
        "RestrictNamespaces",
        "SystemCallFilter",
        "TasksMax",
    ];
    for file in ["harnessd.service", "harnessd-system.service"] {
        for (_, key, _) in assignments(file) {
            assert!(!harmful.contains(&key.as_str()), "{file}: {key}");
        }
    }
}

/// CTL-1: `systemd-analyze verify` has nothing to say (where it is installed; the program is replaced by one
/// that exists, and manual pages are not looked for).
#[test]
fn systemd_has_nothing_to_object() {
    let place = tempfile::tempdir().unwrap();
    let verify = |manager: &str, path: &Path| {
        let mut command = Command::new("systemd-analyze");
        command.args([manager, "--man=no", "verify"]).arg(path).env("XDG_RUNTIME_DIR", place.path());
        let output = command.output().ok()?;
        Some(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (manager, file) in [("--user", "harnessd.service"), ("--system", "harnessd-system.service")] {
        let text = fs::read_to_string(unit(file)).unwrap();
        let runnable: String = text
            .lines()
            .map(|line| match line.split_once('=') {
                Some((key @ ("ExecStart" | "ExecReload"), _)) => format!("{key}=/bin/true\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        assert_eq!(runnable.matches("/bin/true\n").count(), 2, "{file}");
        let copy = place.path().join(file);
        fs::write(&copy, &runnable).unwrap();
        let Some(objections) = verify(manager, &copy) else { return };
        if objections.contains("Failed to initialize manager") {
            return;
        }
        assert_eq!(objections, "", "{file}");

        fs::write(&copy, runnable.replace("KillMode=", "KillMood=")).unwrap();
        let objections = verify(manager, &copy).unwrap_or_default();
        assert!(objections.contains("KillMood"), "it would have been said: {objections}");
    }
}
