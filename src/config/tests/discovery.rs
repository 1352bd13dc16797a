//! CFG-1, CFG-3, CFG-9: which files are read, and as what.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::is_name;
use crate::config::{
    FileKind, GlobalCandidates, decode, file_kind, global_candidates, project_candidates, sanitise,
};

fn candidates(flag: Option<&str>, env: &[(&str, &str)]) -> GlobalCandidates {
    let env: BTreeMap<String, String> =
        env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    global_candidates(flag.map(Utf8Path::new), &env, Utf8Path::new("/home/u"))
}

/// CFG-1: `--config` > `HARNESSD_CONFIG` > the user's file > the system's, and
/// only a named file must exist.
#[test]
fn the_global_file_is_the_first_of_four() {
    let named = |path: &str| GlobalCandidates::Named(path.into());
    let search = |user: &str| {
        GlobalCandidates::Search(vec![user.into(), Utf8PathBuf::from("/etc/harnessd/harness.toml")])
    };
    let env = [("HARNESSD_CONFIG", "/env.toml"), ("XDG_CONFIG_HOME", "/xdg")];
    assert_eq!(candidates(Some("/flag.toml"), &env), named("/flag.toml"));
    assert_eq!(candidates(None, &env), named("/env.toml"));
    assert_eq!(candidates(None, &[("HARNESSD_CONFIG", "~/h.toml")]), named("/home/u/h.toml"));
    assert_eq!(candidates(None, &env[1..]), search("/xdg/harnessd/harness.toml"));
    let user = search("/home/u/.config/harnessd/harness.toml");
    assert_eq!(candidates(None, &[]), user);
    let empty = [("HARNESSD_CONFIG", ""), ("XDG_CONFIG_HOME", "")];
    assert_eq!(candidates(None, &empty), user, "an empty variable counts as unset");
    assert_eq!(candidates(None, &[("XDG_CONFIG_HOME", "rel")]), user);
}

/// CFG-3: up from the current directory, to the home directory or the root.
#[test]
fn the_project_file_is_looked_for_upwards() {
    let up = |cwd: &str| project_candidates(Utf8Path::new(cwd), Utf8Path::new("/home/u"));
    assert_eq!(
        up("/home/u/src/app"),
        ["/home/u/src/app/harness.toml", "/home/u/src/harness.toml", "/home/u/harness.toml"]
    );
    assert_eq!(up("/home/u/"), ["/home/u/harness.toml"]);
    assert_eq!(up("/srv/x"), ["/srv/x/harness.toml", "/srv/harness.toml", "/harness.toml"]);
    assert_eq!(up("/"), ["/harness.toml"]);
}

/// CFG-9: a file is global if it is the selected one or lies in its `harness.d`.
#[test]
fn the_kind_of_a_file_follows_from_its_place() {
    let global = Some(Utf8Path::new("/c/harness.toml"));
    let kind = |file: &str| file_kind(Utf8Path::new(file), global, None);
    assert_eq!(kind("/c/harness.toml"), FileKind::Global);
    assert_eq!(kind("/c/./harness.toml"), FileKind::Global);
    assert_eq!(kind("/c/harness.d/x.toml"), FileKind::DropIn);
    assert_eq!(kind("/c/harness.d/deeper/x.toml"), FileKind::Project);
    assert_eq!(kind("/c/other.toml"), FileKind::Project);
    assert_eq!(file_kind(Utf8Path::new("/x"), None, None), FileKind::Project);
    assert_eq!(file_kind(Utf8Path::new("/x"), None, Some(FileKind::Global)), FileKind::Global);
}

/// CFG-3: a directory's name becomes a name that the grammar allows.
#[test]
fn a_directory_name_becomes_a_legal_name() {
    for (directory, name) in [
        ("app", "app"),
        ("My App", "my-app"),
        (".dotfiles", "dotfiles"),
        ("_x_", "x_"),
        ("größe", "gr--e"),
        ("日本", "project"),
        ("", "project"),
        ("--", "project"),
    ] {
        assert_eq!(sanitise(directory), name, "{directory}");
    }
    let long = sanitise(&"x".repeat(100));
    assert!(is_name(&long) && long.len() == 63);
}

/// CFG-8: a file that is no UTF-8 is told with the place of its first wrong byte.
#[test]
fn the_first_byte_that_is_no_utf8_is_told() {
    let file = Utf8Path::new("/h.toml");
    let error = decode(file, b"a = 1\nb = \"\xc3\xb6\xff\"\n".to_vec()).unwrap_err();
    assert_eq!(error.message, "line 2, column 7: byte 0xFF is no UTF-8");
    assert_eq!((error.code, error.place.span), ("harnessd::config::encoding", None));
    assert_eq!(decode(file, b"\xef\xbb\xbfa = 1\r\n".to_vec()).as_deref(), Ok("a = 1\r\n"));
    assert_eq!(decode(file, Vec::new()).as_deref(), Ok(""));
}
