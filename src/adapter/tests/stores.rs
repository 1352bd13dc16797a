//! Which stores an instance of an agent writes to (COR-2, COR-3).

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::{builtin, overlaid, strings, variables};
use crate::adapter::{Adapter, Disk, Scene, Stores};
use crate::wire::StorePlace;

/// An agent like crush.
const DOCUMENT: &str = "
[mine]
commands = ['mine']
trajectory.format = 'crush'
trajectory.stores = ['.mine/mine.db']
trajectory.flags = ['--data-dir', '-D']
trajectory.below = 'mine.db'
trajectory.upward = true
trajectory.without_cwd = true
trajectory.registry = { file = '${MINE_DATA:-${XDG_DATA_HOME:-~/.local/share}/mine}/projects.json', list = 'projects', workdir = 'path', store = 'data_dir' }
[[mine.trajectory.settings]]
files = ['${MINE_DATA:-${XDG_DATA_HOME:-~/.local/share}/mine}/mine.json']
key = 'options.data_directory'
[[mine.trajectory.settings]]
files = ['.mine.json', 'mine.json']
key = 'options.data_directory'
";

/// Documents by path, and symbolic links.
#[derive(Default)]
struct Memory {
    documents: BTreeMap<&'static str, &'static str>,
    links: Vec<(&'static str, &'static str)>,
}

impl Disk for Memory {
    fn document(&self, path: &Utf8Path) -> Result<Option<Vec<u8>>, String> {
        match self.documents.get(path.as_str()) {
            Some(&"unreadable") => Err("cannot be read: no permission".to_owned()),
            found => Ok(found.map(|text| text.as_bytes().to_vec())),
        }
    }

    fn exists(&self, path: &Utf8Path) -> bool {
        self.documents.contains_key(path.as_str())
    }

    fn physical(&self, path: &Utf8Path) -> Utf8PathBuf {
        let link = self.links.iter().find_map(|(link, to)| Some((to, path.strip_prefix(link).ok()?)));
        link.map_or_else(|| path.to_owned(), |(to, rest)| Utf8Path::new(to).join(rest))
    }
}

/// One question, asked in `/w` by somebody at home in `/h`.
#[derive(Default)]
struct Question<'a> {
    workdir: Option<&'a str>,
    env: &'a [(&'a str, &'a str)],
    own: &'a [&'a str],
    args: &'a [&'a str],
    disk: Memory,
}

impl Question<'_> {
    fn ask(&self, adapter: &Adapter) -> Stores {
        let scene = Scene {
            env: &variables(self.env),
            own: &strings(self.own).into_iter().collect(),
            home: Utf8Path::new("/h"),
            args: &strings(self.args),
            workdir: Utf8Path::new(self.workdir.unwrap_or("/w")),
        };
        adapter.store_places(&scene, &self.disk)
    }

    /// What an agent like crush answers.
    fn mine(&self) -> Stores {
        self.ask(&overlaid(DOCUMENT).unwrap().find("mine").unwrap())
    }
}

fn place(path: &str, named: bool, cwd: Option<&str>) -> StorePlace {
    StorePlace { path: path.to_owned(), named, cwd: cwd.map(str::to_owned) }
}

/// Stores of a session that does not say where it was: in `/w`.
fn in_w(places: &[(&str, bool)]) -> Stores {
    let places = places.iter().map(|(path, named)| place(path, *named, Some("/w"))).collect();
    Stores { places, warnings: Vec::new() }
}

fn only(path: &str, named: bool) -> Stores {
    Stores { places: vec![place(path, named, None)], warnings: Vec::new() }
}

/// COR-2: a store follows the agent's own variable; by one that the harness itself sets it is named.
#[test]
fn a_variable_of_the_harness_names_a_store_and_an_inherited_one_does_not() {
    let claude = builtin("claude-code");
    let moved: &[_] = &[("CLAUDE_CONFIG_DIR", "/c")];
    assert_eq!(Question::default().ask(&claude), only("/h/.claude/projects", false));
    assert_eq!(Question { env: moved, ..Question::default() }.ask(&claude), only("/c/projects", false));
    let own = Question { env: moved, own: &["CLAUDE_CONFIG_DIR"], ..Question::default() };
    assert_eq!(own.ask(&claude), only("/c/projects", true));
    let other = Question { env: moved, own: &["PATH", "CODEX_HOME"], ..Question::default() };
    assert_eq!(other.ask(&claude), only("/c/projects", false));
    let at_home = Question { own: &["HOME"], ..Question::default() };
    assert_eq!(at_home.ask(&claude), only("/h/.claude/projects", true), "a home of its own");
    let relative = Question { env: &[("CODEX_HOME", "c")], own: &["CODEX_HOME"], ..Question::default() };
    assert_eq!(relative.ask(&builtin("codex")), only("/w/c/sessions", true));
    assert_eq!(Question::default().ask(&builtin("generic")), Stores::default());
}

/// COR-2: of several variables the one that is in use decides.
#[test]
fn the_variable_in_use_decides_whether_a_store_is_named() {
    let env: &[_] = &[("PI_CODING_AGENT_DIR", "/own"), ("PI_CODING_AGENT_SESSION_DIR", "/inherited")];
    let question = Question { env, own: &["PI_CODING_AGENT_DIR"], ..Question::default() };
    assert_eq!(question.ask(&builtin("pi")), only("/inherited", false));
}

/// COR-2: a flag names a store in each of its spellings, the last one counts, and no other argument does.
#[test]
fn a_flag_names_a_store_in_each_spelling() {
    let mine = |args| Question { args, ..Question::default() }.mine();
    for args in [
        &["--data-dir", "/d"][..],
        &["--data-dir=/d"],
        &["-D", "/d"],
        &["-D=/d"],
        &["-D/d"],
        &["run", "-D", "/other", "-q", "-D/d", "a prompt"],
    ] {
        assert_eq!(mine(args), in_w(&[("/d/mine.db", true)]), "{args:?}");
    }
    assert_eq!(mine(&["-D", "d"]), in_w(&[("/w/d/mine.db", true)]), "relative to the workdir");
    for args in [
        &["--data-directory", "/d"][..],
        &["--", "-D", "/d"],
        &["-d", "/d"],
        &["-D"],
        &["--data-dir="],
        &["/d"],
    ] {
        assert_eq!(mine(args), in_w(&[("/w/.mine/mine.db", false)]), "{args:?}");
    }
    let pi = Question { args: &["--session-dir", "s"], ..Question::default() };
    assert_eq!(pi.ask(&builtin("pi")), only("/w/s", true), "without `below` it is the store itself");
}

/// COR-3, COR-4: an agent that takes the nearest directory of its kind may write above its own, but not at home.
#[test]
fn the_nearest_store_above_may_be_in_use() {
    let places = |workdir, existing: &[&'static str]| -> Vec<String> {
        let documents = existing.iter().map(|path| (*path, "")).collect();
        let disk = Memory { documents, ..Memory::default() };
        let question = Question { workdir: Some(workdir), disk, ..Question::default() };
        question.mine().places.into_iter().map(|place| place.path).collect()
    };
    let own = "/w/a/b/.mine/mine.db";
    assert_eq!(places("/w/a/b", &["/w/.mine", "/.mine"]), [own, "/w/.mine/mine.db"]);
    assert_eq!(places("/w/a/b", &["/w/a/b/.mine", "/w/.mine"]), [own]);
    assert_eq!(places("/w/a/b", &[]), [own]);
    assert_eq!(places("/h/a", &["/h/.mine", "/.mine"]), ["/h/a/.mine/mine.db"]);
}

const LISTED: &str = r#"{"projects":[{"path":"/w","data_dir":"/far"},{"path":"/v","data_dir":"/v/.mine"},
    {"path":"/link","data_dir":".near"},{"path":"/w"},{"data_dir":"/x"},7,{"path":"/w","data_dir":"/w/.mine"}]}"#;

/// COR-3: an inferred store is the project's and what the registry lists for the directory, each once.
#[test]
fn without_a_name_the_project_and_the_registry_are_read() {
    let disk = Memory {
        documents: [("/h/.local/share/mine/projects.json", LISTED)].into(),
        links: vec![("/link", "/w")],
    };
    let question = Question { disk, ..Question::default() };
    assert_eq!(
        question.mine(),
        in_w(&[("/w/.mine/mine.db", false), ("/far/mine.db", false), ("/w/.near/mine.db", false)])
    );
}

/// Scenario: A relocated registry is followed.
#[test]
fn a_relocated_registry_is_followed() {
    let disk = || Memory {
        documents: [
            ("/h/.local/share/mine/projects.json", r#"{"projects":[{"path":"/w","data_dir":"/default"}]}"#),
            ("/x/mine/projects.json", r#"{"projects":[{"path":"/w","data_dir":"/by-xdg"}]}"#),
            ("/g/projects.json", r#"{"projects":[{"path":"/w","data_dir":"/by-own"}]}"#),
        ]
        .into(),
        ..Memory::default()
    };
    for (env, own, listed) in [
        (&[][..], &[][..], "/default/mine.db"),
        (&[("XDG_DATA_HOME", "/x")], &["XDG_DATA_HOME"], "/by-xdg/mine.db"),
        (&[("XDG_DATA_HOME", "/x"), ("MINE_DATA", "/g")], &["MINE_DATA"], "/by-own/mine.db"),
    ] {
        let question = Question { env, own, disk: disk(), ..Question::default() };
        assert_eq!(question.mine(), in_w(&[("/w/.mine/mine.db", false), (listed, false)]), "{env:?}");
    }
}

/// Scenario: A named store is not widened by the shared ones. COR-3: the last level that names one counts.
#[test]
fn a_named_store_is_not_widened_by_the_shared_ones() {
    let global = "/h/.local/share/mine/mine.json";
    let with = |documents: &[(&'static str, &'static str)], args| {
        let listed = ("/h/.local/share/mine/projects.json", LISTED);
        let disk =
            Memory { documents: documents.iter().copied().chain([listed]).collect(), ..Memory::default() };
        Question { disk, args, ..Question::default() }.mine()
    };
    let absolute = r#"{"options":{"data_directory":"/s"}}"#;
    let relative = r#"{"options":{"data_directory":"s"}}"#;
    assert_eq!(with(&[(global, absolute)], &[]), in_w(&[("/s/mine.db", true)]));
    assert_eq!(with(&[(global, absolute), ("/w/mine.json", relative)], &[]), in_w(&[("/w/s/mine.db", true)]));
    assert_eq!(with(&[(global, absolute), ("/w/mine.json", "{}")], &[]), in_w(&[("/s/mine.db", true)]));
    let two = [("/w/.mine.json", absolute), ("/w/mine.json", relative)];
    assert_eq!(with(&two, &[]), in_w(&[("/s/mine.db", true)]), "the first file of a level");
    assert_eq!(with(&two, &["-D", "/f"]), in_w(&[("/f/mine.db", true)]), "an argument before all");
}

/// COR-3: a registry that is corrupt, or not to be read, is a warning; the project's store is read all the same.
#[test]
fn a_corrupt_registry_is_a_warning() {
    let path = "/h/.local/share/mine/projects.json";
    for (text, cause) in [
        ("{\"projects\":[", "is no JSON: EOF while parsing a list at line 1 column 13"),
        ("unreadable", "cannot be read: no permission"),
    ] {
        let disk = Memory { documents: [(path, text)].into(), ..Memory::default() };
        let warning = format!("`{path}`, which lists or names stores of transcripts, {cause}");
        let expected = Stores { warnings: vec![warning], ..in_w(&[("/w/.mine/mine.db", false)]) };
        assert_eq!(Question { disk, ..Question::default() }.mine(), expected);
    }
}

/// COR-4: with a setting that cannot be read nobody knows whether a store is named, so none is.
#[test]
fn with_settings_that_cannot_be_read_no_store_is_named() {
    let named = r#"{"options":{"data_directory":"/s"}}"#;
    let documents = [("/h/.local/share/mine/mine.json", named), ("/w/mine.json", "{")].into();
    let question = Question { disk: Memory { documents, ..Memory::default() }, ..Question::default() };
    assert_eq!(question.mine().places, in_w(&[("/w/.mine/mine.db", false)]).places);
}

/// CFG-8: a mistake in what names stores is found where it stands.
#[test]
fn a_mistake_in_the_names_of_stores_is_found() {
    let text = "[mine]\ncommands = ['mine']\n[mine.trajectory]\nformat = 'crush'\nstores = ['x']\nflags = ['data', '-', '-D=']\n\
                below = '../y'\nsettings = [{ files = [], key = '' }]\nregistry = { file = 'x', list = '', workdir = 'w', store = 's' }\n";
    let problems = overlaid(text).unwrap_err();
    let found: Vec<String> =
        problems.iter().map(|problem| format!("{} {}", problem.path.join("."), problem.message)).collect();
    assert_eq!(
        found,
        [
            "trajectory.flags.0 `data` is no flag",
            "trajectory.flags.1 `-` is no flag",
            "trajectory.flags.2 `-D=` is no flag",
            "trajectory.below `../y` is no path below another",
            "trajectory.settings.0.files `files` is missing",
            "trajectory.settings.0.key `key` is missing",
            "trajectory.registry.file `x` is no absolute path",
            "trajectory.registry.list `list` is missing",
        ]
    );
}
