//! RUN-6, SKL-6: a draft and its performance.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::{Chosen, LaunchError, Surroundings, draft, plan, prepare};
use crate::adapter::Registry;
use crate::base::{HarnessName, RunId, RunIds, Wall};
use crate::config::{self, AllGood, FileKind, Harness, Input, Surroundings as ConfigSurroundings};
use crate::host::limits::InheritedLimits;
use crate::host::process::SpawnSpec;
use crate::skills::Bounds;
use crate::wire::PlannedStart;

/// A home with every agent's command in it.
struct World {
    _dir: TempDir,
    home: Utf8PathBuf,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Utf8PathBuf::from_path_buf(dir.path().canonicalize().unwrap()).unwrap();
        fs::create_dir_all(home.join("bin")).unwrap();
        fs::create_dir_all(home.join("app")).unwrap();
        for adapter in Registry::builtin().all() {
            for command in adapter.commands() {
                let file = home.join("bin").join(command);
                fs::write(&file, "#!/bin/sh\n").unwrap();
                fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let world = Self { _dir: dir, home };
        world.skill("team/alpha", "team");
        world.skill("team/beta", "team");
        world.skill("app/.agents/skills/alpha", "project");
        world
    }

    fn skill(&self, directory: &str, text: &str) {
        let directory = self.home.join(directory);
        fs::create_dir_all(&directory).unwrap();
        let name = directory.file_name().unwrap();
        fs::write(directory.join("SKILL.md"), format!("---\nname: {name}\ndescription: {text}\n---\n"))
            .unwrap();
    }

    fn around(&self) -> Surroundings {
        let bin = self.home.join("bin");
        let env = [("HOME", self.home.as_str()), ("PATH", bin.as_str())];
        Surroundings {
            home: self.home.clone(),
            env: env.map(|(name, value)| (name.into(), value.into())).into(),
            state: self.home.join("state"),
            scrub: Vec::new(),
            bounds: Bounds::default(),
            limits: InheritedLimits::default(),
        }
    }

    /// The harness `a` of a configuration.
    fn harness(&self, text: &str) -> Arc<Harness> {
        let input =
            Input { file: self.home.join("harness.toml"), kind: FileKind::Global, text: text.to_owned() };
        let surroundings =
            ConfigSurroundings { home: self.home.clone(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
        let loaded = config::load(&[input], &surroundings, &AllGood);
        let configuration = loaded.configuration.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        Arc::clone(&configuration.harnesses[&HarnessName::parse("a").unwrap()])
    }

    /// Every path below the home.
    fn paths(&self) -> Vec<Utf8PathBuf> {
        fn walk(directory: &Utf8Path, into: &mut Vec<Utf8PathBuf>) {
            for entry in directory.read_dir_utf8().unwrap() {
                let path = entry.unwrap().into_path();
                if path.is_dir() {
                    walk(&path, into);
                }
                into.push(path);
            }
        }
        let mut paths = Vec::new();
        walk(&self.home, &mut paths);
        paths.sort();
        paths
    }
}

fn run() -> RunId {
    RunIds::new(7).next(Wall(1_800_000_000_000_000))
}

/// Every agent, as a one-shot where it takes a prompt.
fn every_agent() -> Vec<(String, String)> {
    let of = |adapter: &Arc<crate::adapter::Adapter>| {
        let id = adapter.id();
        let rest = match (adapter.takes_prompt(), id) {
            (_, "generic") => "cmd = \"true\"\nargs = [\"{workdir}\"]",
            (true, _) => "prompt = \"look\\n around\"\nenv = { TOKEN = \"sk-secret\" }",
            (false, _) => "args = [\"--help\"]",
        };
        let text = format!(
            "[harness.a]\nagent = \"{id}\"\n{rest}\nworkdir = \"~/app\"\nskill_paths = [\"~/team\"]\n"
        );
        (id.to_owned(), text)
    };
    Registry::builtin().all().iter().map(of).collect()
}

/// RUN-6: a start executes what was drafted, to the byte, whichever the agent; and a draft writes nothing.
#[test]
fn a_start_executes_what_was_drafted() {
    for (id, text) in every_agent() {
        let world = World::new();
        fs::write(world.home.join("bin/true"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(world.home.join("bin/true"), fs::Permissions::from_mode(0o755)).unwrap();
        let (harness, around) = (world.harness(&text), world.around());
        let before = world.paths();
        let drafted =
            draft(&harness, run(), &around, Chosen::Fresh).unwrap_or_else(|cause| panic!("{id}: {cause}"));
        let (spec, shown) = (drafted.command.spec.clone(), drafted.command.shown.clone());
        let documents = drafted.command.documents.clone();
        let PlannedStart::Executes(planned) = plan(Ok(drafted), None) else { panic!("{id}") };
        assert_eq!(world.paths(), before, "{id}: a draft writes nothing");
        let prepared = prepare(&harness, run(), &around, Chosen::Fresh).unwrap();
        assert_eq!((&prepared.spec, &prepared.shown), (&spec, &shown), "{id}");
        assert_eq!(planned.command, prepared.shown, "{id}");
        assert_eq!(planned.program, prepared.spec.program, "{id}");
        let names: Vec<_> = prepared.spec.env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(planned.environment, names, "{id}");
        for (path, text) in documents {
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{id}");
        }
        let projected: Vec<_> = prepared.skills.iter().map(|skill| skill.name.as_str()).collect();
        let written = planned.skills.as_ref().map_or(&[][..], |skills| &skills.changes.written);
        assert_eq!(written, projected, "{id}");
        let told = serde_json::to_string(&planned).unwrap();
        assert!(!told.contains("look") && !told.contains("secret"), "{id}: {told}");
        // The second start finds its copies.
        let again = prepare(&harness, run(), &around, Chosen::Fresh).unwrap();
        assert_eq!(again.spec, spec, "{id}");
    }
}

/// RUN-6, SKL-8: a name that somebody takes after the draft is occupied at the start, and what is hidden
/// from the agent follows that.
#[test]
fn a_name_that_is_taken_after_the_draft_is_left_alone() {
    let world = World::new();
    let text =
        "[harness.a]\nagent = \"codex\"\nprompt = \"x\"\nworkdir = \"~/app\"\nskill_paths = [\"~/team\"]\n";
    let (harness, around) = (world.harness(text), world.around());
    let drafted = draft(&harness, run(), &around, Chosen::Fresh).unwrap();
    let before = drafted.command.spec.clone();
    world.skill("app/.codex/skills/alpha", "somebody's");
    let prepared = drafted.perform().unwrap();
    assert_eq!(prepared.skills.len(), 1);
    let hides =
        |spec: &SpawnSpec| spec.argv.iter().any(|word| word.to_string_lossy().contains("skills.config"));
    // The agent sees the project's own copy of the name that it did not get.
    assert_eq!((hides(&before), hides(&prepared.spec)), (true, false));
}

/// RUN-6, SKL-11, PRM-3: a start that cannot be is told so by its draft, in the same words, and
/// leaves nothing behind.
#[test]
fn a_start_that_would_fail_is_foretold() {
    let world = World::new();
    let around = world.around();
    fs::write(world.home.join("app/.codex"), "a file\n").unwrap();
    fs::write(world.home.join("blank"), "  \n").unwrap();
    fs::write(world.home.join("env"), "not a variable\n").unwrap();
    let home = &world.home;
    for (rest, expected) in [
        (
            "agent = \"codex\"\nprompt = \"x\"\nskill_paths = [\"~/team\"]\nworkdir = \"~/app\"",
            format!("adapter codex: project skills: write {home}/app/.codex/skills: not a directory"),
        ),
        (
            "agent = \"claude-code\"\nprompt_file = \"blank\"",
            format!("prompt file `{home}/blank`: it is blank"),
        ),
        (
            "agent = \"claude-code\"\nprompt = \"x\"\nworkdir = \"~/nowhere\"",
            format!("workdir `{home}/nowhere` does not exist"),
        ),
        ("cmd = \"nothing\"", format!("`nothing` is not in PATH ({home}/bin)")),
        (
            "cmd = \"nothing\"\nenv_file = \"env\"",
            format!("env file `{home}/env`: line 1: write `NAME=VALUE`"),
        ),
    ] {
        let harness = world.harness(&format!("[harness.a]\n{rest}\n"));
        let before = world.paths();
        let drafted = draft(&harness, run(), &around, Chosen::Fresh);
        let told = drafted.as_ref().err().map(LaunchError::to_string).unwrap_or_default();
        assert_eq!(told, expected);
        let failed = prepare(&harness, run(), &around, Chosen::Fresh).unwrap_err();
        assert_eq!(failed.to_string(), told);
        assert_eq!(world.paths(), before, "{rest}");
    }
}
