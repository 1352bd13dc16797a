//! Finding programs and naming signals, without starting anything. What a
//! child is started like is shown by `tests/host/child.rs`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::{find_program, signal_group, signal_pid};

fn executable(path: &Utf8Path, mode: u32) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn found(word: &str, path: Option<&str>, cwd: &Utf8Path) -> Result<Utf8PathBuf, String> {
    find_program(word, path.map(OsStr::new), cwd).map_err(|problem| problem.to_string())
}

/// `cmd`: a program, looked up in PATH of the child's environment, relative to the child's workdir.
#[test]
fn a_program_is_looked_up_as_the_child_would() {
    let directory = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(directory.path()).unwrap();
    executable(&base.join("one/tool"), 0o644);
    executable(&base.join("two/tool"), 0o755);
    executable(&base.join("work/bin/own"), 0o755);
    fs::create_dir_all(base.join("one/dir")).unwrap();
    let (work, path) = (base.join("work"), format!("{base}/one:{base}/two:bin:"));
    assert_eq!(found("tool", Some(&path), &work), Ok(base.join("two/tool")));
    assert_eq!(found("own", Some(&path), &work), Ok(work.join("bin/own")));
    assert_eq!(found("bin/own", Some("/nowhere"), &work), Ok(work.join("bin/own")));
    assert_eq!(found("own", Some(""), &work.join("bin")), Ok(work.join("bin/own")));
    assert_eq!(found("sh", None, &work).map(|path| path.file_name() == Some("sh")), Ok(true));
    let refused = |word: &str, path: &str| found(word, Some(path), &work).unwrap_err();
    assert_eq!(refused("foo", "/usr/bin:/bin"), "`foo` is not in PATH (/usr/bin:/bin)");
    assert_eq!(refused("dir", &format!("{base}/one")), format!("`dir` is not in PATH ({base}/one)"));
    assert_eq!(refused("tool", &format!("{base}/one")), format!("`{base}/one/tool` is not executable"));
    assert_eq!(refused("/x/y", ""), "`/x/y` does not exist");
    assert_eq!(refused("bin/own/x", ""), format!("`{work}/bin/own/x` does not exist"));
    assert_eq!(refused("./bin", ""), format!("`{work}/./bin` is not a file"));
    assert_eq!(refused("", "/bin"), "the program's name is empty");
}

/// The numbers that a configuration's names stand for are this system's.
#[test]
fn signals_have_the_systems_numbers() {
    for name in crate::base::signal_names() {
        let number = crate::base::signal_number(name).unwrap();
        let system = nix::sys::signal::Signal::try_from(number).unwrap();
        assert_eq!(system.as_str(), format!("SIG{name}"));
        assert_eq!(crate::base::signal_name(number), Some(name));
    }
}

/// LIF-8: numbers that mean "everybody" or "init" are never signalled.
#[test]
fn a_signal_never_goes_to_everybody() {
    for number in [i32::MIN, -1, 0, 1] {
        let refused = "no process or group of our own has this number";
        assert_eq!(signal_pid(number, 0).unwrap_err().to_string(), refused);
        assert_eq!(signal_group(number, 0).unwrap_err().to_string(), refused);
    }
    assert!(!signal_pid(i32::MAX, 0).unwrap());
}
