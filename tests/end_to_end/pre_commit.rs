//! The hooks of `.pre-commit-hooks.yaml`, run by the real pre-commit in a throw-away repository (CFG-9).
//!
//! Where there is no `pre-commit` the tests say so and check nothing; `.ci/run` sees to it that there is one.
//! Building harnessd by the second hook takes minutes: with `HARNESSD_FULL=1` only, where nothing may be missing.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Home;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const GOOD: &str = "[harness.sweep]\nagent = \"claude-code\"\nprompt = \"tidy up\"\nschedule = \"@daily\"\n";

fn in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn is_full() -> bool {
    env::var_os("HARNESSD_FULL").is_some_and(|value| value == "1")
}

/// Says so where the test runner does not capture it: a test that does nothing passes.
fn not_checked(hook: &str, why: &str) {
    let text = format!("the hook `{hook}` is not checked: {why}\n");
    std::io::stderr().write_all(text.as_bytes()).unwrap();
}

/// A home with a repository `app`, whose commits a hook checks.
struct Repository {
    home: Home,
}

impl Repository {
    /// With a hook of the repository at `source`; none where pre-commit or git cannot be had.
    fn with(hook: &str, source: Option<&Path>) -> Option<Self> {
        if !in_path("pre-commit") || !in_path("git") {
            assert!(!is_full(), "there is no `pre-commit` or no `git` in PATH");
            not_checked(hook, "there is no `pre-commit` or no `git` in PATH");
            return None;
        }
        let this = Self { home: Home::new("") };
        let source = source.map_or_else(|| this.hooks_alone(), Path::to_owned);
        let rev = this.git(&source, &["rev-parse", "HEAD"]);
        let config = format!(
            "repos:\n- repo: {}\n  rev: {}\n  hooks:\n  - id: {hook}\n",
            source.display(),
            rev.trim()
        );
        this.home.write("app/.pre-commit-config.yaml", &config);
        let app = this.home.path("app");
        this.git(&app, &["init", "--quiet"]);
        let (done, said) = this.run("pre-commit", &app, &["install"]);
        assert!(done, "{said}");
        Some(this)
    }

    /// A repository that holds the hooks and nothing to build.
    fn hooks_alone(&self) -> PathBuf {
        let text = fs::read_to_string(Path::new(ROOT).join(".pre-commit-hooks.yaml")).unwrap();
        self.home.write("hooks/.pre-commit-hooks.yaml", &text);
        let hooks = self.home.path("hooks");
        self.git(&hooks, &["init", "--quiet"]);
        self.git(&hooks, &["add", "."]);
        self.git(&hooks, &["commit", "--quiet", "-m", "hooks"]);
        hooks
    }

    /// Whether a program succeeds, and what it says; the built harnessd is first in its PATH.
    fn run(&self, program: &str, dir: &Path, args: &[&str]) -> (bool, String) {
        let built = Path::new(env!("CARGO_BIN_EXE_harnessd")).parent().unwrap().to_owned();
        let others = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([built].into_iter().chain(env::split_paths(&others))).unwrap();
        // What builds a hook finds its toolchain and its crates where they are.
        let outer = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        let place = |name: &str, usual: &str| env::var_os(name).unwrap_or_else(|| outer.join(usual).into());
        let mut command = Command::new(program);
        command.args(args).current_dir(dir).env_clear().env("PATH", path).env("LANG", "C.UTF-8");
        command.env("CARGO_HOME", place("CARGO_HOME", ".cargo"));
        command.env("RUSTUP_HOME", place("RUSTUP_HOME", ".rustup"));
        command.env("HOME", self.home.path("")).env("PRE_COMMIT_HOME", self.home.path("cache"));
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "tester");
            command.env(format!("GIT_{role}_EMAIL"), "tester@example.invalid");
        }
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    #[track_caller]
    fn git(&self, dir: &Path, args: &[&str]) -> String {
        let (done, said) = self.run("git", dir, args);
        assert!(done, "git {args:?}: {said}");
        said
    }

    /// Writes a file of the repository and commits all; whether that went through, and what was said.
    fn commit(&self, file: &str, text: &str) -> (bool, String) {
        self.home.write(Path::new("app").join(file), text);
        let app = self.home.path("app");
        self.git(&app, &["add", "."]);
        self.run("git", &app, &["commit", "-m", "change"])
    }

    /// A commit without a mistake, one with, one that mends it, and one that is none of the hook's business.
    fn refuses_mistakes_only(&self) {
        let (done, said) = self.commit("harness.toml", GOOD);
        assert!(done && said.contains("Passed"), "{said}");
        let (done, said) = self.commit("sub dir/ä/harness.toml", &GOOD.replace("@daily", "@dayly"));
        assert!(!done && said.contains("exit code: 1"), "{said}");
        let shown = ["harness.toml:4:13]", "4 │ schedule = \"@dayly\"", "╰── in harness `", "@daily"];
        assert!(shown.iter().all(|part| said.contains(part)), "{said}");
        let (done, said) = self.commit("sub dir/ä/harness.toml", GOOD);
        assert!(done, "{said}");
        let (done, said) = self.commit("Cargo.toml", "no = [configuration");
        assert!(done && said.contains("no files to check"), "{said}");
    }
}

/// CFG-9: the hook refuses a commit with a mistake, shows its place, and lets the mended one through.
#[test]
fn pre_commit_refuses_a_mistake_and_shows_its_place() {
    if let Some(repository) = Repository::with("harnessd-validate", None) {
        repository.refuses_mistakes_only();
    }
}

/// CFG-9: so does the hook that builds harnessd from what is committed here.
#[test]
fn pre_commit_builds_the_program_where_there_is_none() {
    if !is_full() {
        return not_checked("harnessd-validate-build", "it takes minutes: HARNESSD_FULL=1 checks it");
    }
    if let Some(repository) = Repository::with("harnessd-validate-build", Some(Path::new(ROOT))) {
        repository.refuses_mistakes_only();
    }
}
