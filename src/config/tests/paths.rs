//! CFG-7: how configured paths are read.

use camino::Utf8Path;

use super::{Files, Input, global, harness, project, surroundings};
use crate::config::path::{PathError, resolve};

/// CFG-7: `~` is the home directory, a relative path is taken from the
/// directory of the file that declares it.
#[test]
fn paths_are_read_from_the_declaring_file() {
    let read = |text: &str| resolve(text, Utf8Path::new("/etc/h"), Utf8Path::new("/home/u"));
    for (text, path) in [
        ("~", "/home/u"),
        ("~/", "/home/u"),
        ("~/a/b", "/home/u/a/b"),
        ("~//a", "/home/u/a"),
        ("a", "/etc/h/a"),
        ("./a/./b/", "/etc/h/a/b"),
        ("../a", "/etc/h/../a"),
        (".", "/etc/h"),
        ("/abs//x", "/abs/x"),
        ("./~bob", "/etc/h/~bob"),
        ("a~", "/etc/h/a~"),
        ("$HOME/x", "/etc/h/$HOME/x"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(Utf8Path::new(path)), "{text}");
    }
    assert_eq!(read("~bob/x"), Err(PathError::OtherHome("~bob".into())));
    assert_eq!(read(""), Err(PathError::Empty));
    assert_eq!(read("a\0"), Err(PathError::Nul));
}

/// CFG-7: every path key follows the rule, in `[defaults]` too.
#[test]
fn every_path_key_is_read_alike() {
    let text = "[defaults]\nworkdir = \"w\"\nenv_file = \"~/e\"\nskill_paths = [\"s\"]\n\
                [harness.a]\nagent = \"pi\"\nprompt_file = \"./p\"\n";
    let made = harness(&[project(text)], "app/a");
    assert_eq!(made.workdir.as_deref(), Some(Utf8Path::new("/home/u/src/app/w")));
    assert_eq!(made.env_file.as_deref(), Some(Utf8Path::new("/home/u/e")));
    assert_eq!(made.skill_paths[0].1, "/home/u/src/app/s");
}

/// CFG-7: a file is taken as it was named; whether it is a symlink is not looked at.
#[test]
fn the_name_of_the_file_counts_not_what_it_points_to() {
    let mut input = global("[harness.a]\ncmd = \"x\"\nworkdir = \"w\"\n");
    input.file = "/dotfiles/../links/harness.toml".into();
    let loaded = super::load(&[input], &surroundings(), &Files);
    let configuration = loaded.configuration.unwrap();
    let made = configuration.harnesses.values().next().unwrap();
    assert_eq!(made.workdir.as_deref(), Some(Utf8Path::new("/dotfiles/../links/w")));
    assert_eq!((made.origin.file.as_str(), made.origin.line), ("/dotfiles/../links/harness.toml", 1));
}

/// CFG-7: The workdir of a project harness is the project root; a global one has none.
#[test]
fn the_default_workdir_is_the_project_root() {
    let text = "[harness.a]\ncmd = \"x\"\n";
    let root = Utf8Path::new("/home/u/src/app");
    assert_eq!(harness(&[project(text)], "app/a").workdir.as_deref(), Some(root));
    assert_eq!(harness(&[global(text)], "a").workdir, None);
    let made = harness(&[project(text)], "app/a");
    let project = made.project.as_ref().unwrap();
    assert_eq!((project.name.as_str(), project.root.as_path(), project.skills), ("app", root, false));
}

/// CFG-3: the project is named by `[project] name`, else by its directory.
#[test]
fn a_project_without_a_name_is_named_by_its_directory() {
    let named = project("[project]\nname = \"shop\"\n[harness.a]\ncmd = \"x\"\n");
    assert_eq!(harness(&[named], "shop/a").project.as_ref().unwrap().name, "shop");
    let odd = Input { file: "/src/My App.d/harness.toml".into(), ..project("[harness.a]\ncmd = \"x\"\n") };
    assert_eq!(harness(&[odd], "my-app-d/a").name.as_str(), "my-app-d/a");
    let root = Input { file: "/harness.toml".into(), ..project("[harness.a]\ncmd = \"x\"\n") };
    assert_eq!(harness(&[root], "project/a").name.as_str(), "project/a");
}

/// SCH-12, LIF-7: whether the home directory is named, or is where a harness without a `workdir` works.
#[test]
fn the_home_directory_is_known_however_it_is_named() {
    for (key, at_home) in [
        ("", true),
        ("workdir = \"~\"", true),
        ("workdir = \"/home//u/.\"", true),
        ("workdir = \"~/src\"", false),
        ("workdir = \"/\"", false),
    ] {
        let made = harness(&[global(&format!("[harness.a]\ncmd = \"x\"\n{key}\n"))], "a");
        assert_eq!(made.at_home, at_home, "{key}");
    }
}
