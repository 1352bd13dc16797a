//! COR-2, COR-3: where a configured harness would write, with the files of a real disk.

use std::fs;
use std::os::unix::fs::symlink;

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::base::HarnessName;
use harnessd::config::FileKind;
use harnessd::correlate::Peer;
use harnessd::host::limits::InheritedLimits;
use harnessd::launch::{Surroundings, peer};
use harnessd::loader;
use harnessd::skills::Bounds;
use harnessd::trajectory::Format;
use harnessd::wire::StorePlace;

/// A directory with a home, a project, a link to the project, and a configuration.
struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Self { dir: tempfile::tempdir().unwrap() };
        for made in ["home", "project"] {
            fs::create_dir(ground.path(made)).unwrap();
        }
        symlink(ground.path("project"), ground.path("link")).unwrap();
        ground
    }

    /// Physical: the temporary directory may lie behind a link.
    fn path(&self, inside: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().canonicalize_utf8().unwrap().join(inside)
    }

    fn write(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The harness `h` of this table, with these variables in the daemon's environment.
    fn peer(&self, table: &str, daemon: &[(&str, &str)]) -> Peer {
        let home = self.path("home");
        self.peer_in(table, &[&[("HOME", home.as_str())], daemon].concat())
    }

    /// The same in an environment of nothing else.
    fn peer_in(&self, table: &str, daemon: &[(&str, &str)]) -> Peer {
        self.write("harness.toml", &format!("{MINE}[harness.h]\n{table}\n"));
        let loaded = loader::load(&[(self.path("harness.toml"), FileKind::Global)], &self.path("home"));
        let configuration = loaded.configuration.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let home = self.path("home");
        let env = daemon.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let around = Surroundings {
            home,
            env,
            state: self.path("state"),
            scrub: Vec::new(),
            bounds: Bounds::default(),
            limits: InheritedLimits::default(),
        };
        peer(&configuration.harnesses[&HarnessName::parse("h").unwrap()], &around).0
    }

    fn places(&self, peer: &Peer) -> Vec<(String, bool)> {
        let base = self.path("");
        let inside = |place: &StorePlace| place.path.replacen(base.as_str(), "", 1);
        peer.stores.iter().map(|place| (inside(place), place.named)).collect()
    }
}

/// An agent like crush.
const MINE: &str = "
[adapter.mine]
commands = ['mine']
[adapter.mine.trajectory]
format = 'crush'
stores = ['.mine/mine.db']
flags = ['--data-dir', '-D']
below = 'mine.db'
without_cwd = true
registry = { file = '${MINE_DATA:-~/.local/share/mine}/projects.json', list = 'projects', workdir = 'path', store = 'data_dir' }
settings = [{ files = ['mine.json'], key = 'options.data_directory' }]
";

/// COR-1 (2), COR-2: the directory and the stores are physical, though they are named by a link and may not exist.
#[test]
fn directory_and_stores_are_physical() {
    let ground = Ground::new();
    let table = format!("cmd = 'mine'\nworkdir = '{}'", ground.path("link"));
    let project = Some(ground.path("project").into_string());
    assert_eq!(
        ground.peer(&table, &[]),
        Peer {
            harness: HarnessName::parse("h").unwrap(),
            adapter: "mine".to_owned(),
            format: Some(Format::Crush),
            workdir: project.clone(),
            stores: vec![StorePlace {
                path: ground.path("project/.mine/mine.db").into_string(),
                named: false,
                cwd: project,
            }],
        }
    );
    let homeless = ground.peer("cmd = 'mine'", &[]);
    assert_eq!((homeless.workdir.as_deref(), homeless.stores.len()), (None, 1));
}

/// Scenario: A relocated registry is followed. What the registry lists for a link is listed for the directory.
#[test]
fn a_relocated_registry_is_followed() {
    let ground = Ground::new();
    let registry =
        format!("{{\"projects\":[{{\"path\":\"{}\",\"data_dir\":\"/far\"}}]}}", ground.path("link"));
    ground.write("data/projects.json", &registry);
    ground.write("h.env", &format!("MINE_DATA={}\n", ground.path("data")));
    let workdir = format!("cmd = 'mine'\nworkdir = '{}'", ground.path("project"));
    let own = ground.peer(&format!("{workdir}\nenv_file = '{}'", ground.path("h.env")), &[]);
    let both = [("project/.mine/mine.db".to_owned(), false), ("/far/mine.db".to_owned(), false)];
    assert_eq!(ground.places(&own), both);
    assert_eq!(ground.places(&ground.peer(&workdir, &[])), both[..1]);
}

/// COR-2, COR-4: a variable of the `env_file` names a store, over the daemon's; an inherited one does not.
#[test]
fn a_variable_of_the_env_file_names_a_store() {
    let ground = Ground::new();
    ground.write("h.env", &format!("CLAUDE_CONFIG_DIR={}\n", ground.path("own")));
    let workdir = format!("cmd = 'claude'\nworkdir = '{}'", ground.path("project"));
    let inherited = ground.path("inherited");
    let daemon = [("CLAUDE_CONFIG_DIR", inherited.as_str())];
    let with_file = format!("{workdir}\nenv_file = '{}'", ground.path("h.env"));
    assert_eq!(ground.places(&ground.peer(&with_file, &daemon)), [("own/projects".to_owned(), true)]);
    assert_eq!(ground.places(&ground.peer(&workdir, &daemon)), [("inherited/projects".to_owned(), false)]);
    let table = format!("{with_file}\nenv = {{ CLAUDE_CONFIG_DIR = '{}' }}", ground.path("table"));
    assert_eq!(ground.places(&ground.peer(&table, &daemon)), [("table/projects".to_owned(), true)]);
}

/// COR-2: without a usable `HOME` an agent is at home where the user is, as for its skills and its login.
#[test]
fn without_a_home_in_the_environment_it_is_the_users() {
    let ground = Ground::new();
    let table = format!("cmd = 'claude'\nworkdir = '{}'", ground.path("project"));
    for daemon in [&[][..], &[("HOME", "")], &[("HOME", "relative")]] {
        let peer = ground.peer_in(&table, daemon);
        assert_eq!(ground.places(&peer), [("home/.claude/projects".to_owned(), false)], "{daemon:?}");
    }
}

/// Scenario: A named store is not widened by the shared ones: by an argument, or by the agent's settings.
#[test]
fn a_named_store_is_not_widened() {
    let ground = Ground::new();
    let listed =
        format!("{{\"projects\":[{{\"path\":\"{}\",\"data_dir\":\"/far\"}}]}}", ground.path("project"));
    ground.write("home/.local/share/mine/projects.json", &listed);
    let workdir = format!("cmd = 'mine'\nworkdir = '{}'", ground.path("project"));
    let flagged = ground.peer(&format!("{workdir}\nargs = ['run', '-D', 'mine-own']"), &[]);
    assert_eq!(ground.places(&flagged), [("project/mine-own/mine.db".to_owned(), true)]);
    ground.write("project/mine.json", "{\"options\":{\"data_directory\":\"set\"}}");
    assert_eq!(ground.places(&ground.peer(&workdir, &[])), [("project/set/mine.db".to_owned(), true)]);
}

/// COR-3: whatever stands in the place of the registry, the project's store is known all the same.
#[test]
fn a_registry_that_is_none_is_passed_over() {
    let ground = Ground::new();
    let workdir = format!("cmd = 'mine'\nworkdir = '{}'", ground.path("project"));
    let project = [("project/.mine/mine.db".to_owned(), false)];
    ground.write("home/.local/share/mine/projects.json", "{\"projects\":[");
    assert_eq!(ground.places(&ground.peer(&workdir, &[])), project);
    fs::remove_file(ground.path("home/.local/share/mine/projects.json")).unwrap();
    fs::create_dir(ground.path("home/.local/share/mine/projects.json")).unwrap();
    assert_eq!(ground.places(&ground.peer(&workdir, &[])), project);
}
