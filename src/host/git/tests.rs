//! What is read is what git itself says, and a hostile repository is no repository.

use std::fs;
use std::process::Command;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use tempfile::TempDir;

use super::Repository;

/// A directory in which git knows nothing of this machine's user.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, inside: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().canonicalize_utf8().unwrap().join(inside)
    }

    /// Runs git in a directory of the place; what it says, if it succeeds.
    fn try_git(&self, at: &str, args: &[&str]) -> Option<String> {
        let mut command = Command::new("git");
        command.current_dir(self.path(at)).args(["-c", "protocol.file.allow=always"]).args(args);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
            command.env_remove(name);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "n").env(format!("GIT_{who}_EMAIL"), "n@example.org");
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.env("GIT_CEILING_DIRECTORIES", self.path("").parent().unwrap());
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    #[track_caller]
    fn git(&self, at: &str, args: &[&str]) -> String {
        self.try_git(at, args).unwrap_or_else(|| panic!("git {args:?} in `{at}`"))
    }

    fn commit(&self, at: &str, message: &str) {
        self.git(at, &["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// A repository with one commit.
    fn repository(&self, at: &str) {
        fs::create_dir_all(self.path(at)).unwrap();
        self.git(at, &["init", "-q", "-b", "main"]);
        self.commit(at, "first");
    }

    fn head(&self, at: &str) -> Option<String> {
        Repository::holding(&self.path(at))?.head()
    }

    /// What is read is what git says, and that is a commit.
    #[track_caller]
    fn agrees(&self, at: &str) {
        let theirs = self.git(at, &["rev-parse", "--verify", "HEAD"]);
        assert_eq!(self.head(at), Some(theirs));
    }
}

/// RUN-1: a branch, another one, a directory deep inside, a detached head, a branch without a commit.
#[test]
fn the_commit_is_the_one_that_git_names() {
    let place = Place::new();
    place.repository("r");
    place.agrees("r");
    fs::create_dir_all(place.path("r/a/b")).unwrap();
    place.agrees("r/a/b");
    std::os::unix::fs::symlink(place.path("r/a"), place.path("link")).unwrap();
    place.agrees("link");
    let first = place.head("r");
    place.git("r", &["checkout", "-q", "-b", "topic/deep"]);
    place.commit("r", "second");
    place.agrees("r");
    assert_ne!(place.head("r"), first);
    place.git("r", &["checkout", "-q", "--detach", "main"]);
    place.agrees("r");
    assert_eq!(place.head("r"), first);
    place.git("r", &["symbolic-ref", "HEAD", "refs/heads/none-yet"]);
    assert!(Repository::holding(&place.path("r")).is_some());
    assert_eq!(place.head("r"), None);
    // A reference that leads to another one.
    place.git("r", &["symbolic-ref", "refs/heads/alias", "refs/heads/topic/deep"]);
    place.git("r", &["symbolic-ref", "HEAD", "refs/heads/alias"]);
    place.agrees("r");
    // Old repositories have a link in place of the text.
    fs::remove_file(place.path("r/.git/HEAD")).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", place.path("r/.git/HEAD")).unwrap();
    place.agrees("r");
}

/// RUN-1: outside of a repository there is none; a `.git` that is none does not hide the one above.
#[test]
fn where_git_finds_no_repository_there_is_none() {
    let place = Place::new();
    fs::create_dir_all(place.path("plain/.git")).unwrap();
    assert_eq!(place.try_git("plain", &["rev-parse", "--git-dir"]), None);
    assert_eq!(Repository::holding(&place.path("plain")), None);
    assert_eq!(Repository::holding(&place.path("nowhere")), None);
    place.repository("r");
    fs::create_dir_all(place.path("r/sub/.git/objects")).unwrap();
    fs::create_dir_all(place.path("r/sub/.git/refs")).unwrap();
    fs::write(place.path("r/sub/.git/HEAD"), "nonsense\n").unwrap();
    place.agrees("r/sub");
}

/// RUN-1: linked working trees, submodules and bare repositories keep their files elsewhere.
#[test]
fn every_kind_of_working_tree_is_read() {
    let place = Place::new();
    place.repository("r");
    place.git("r", &["worktree", "add", "-q", "-b", "side", "../tree"]);
    place.commit("tree", "on the side");
    place.agrees("tree");
    place.agrees("r");
    assert_ne!(place.head("tree"), place.head("r"));
    place.git("tree", &["pack-refs", "--all"]);
    place.agrees("tree");
    // A reference that only that working tree has.
    place.git("tree", &["update-ref", "refs/worktree/own", "main"]);
    place.git("tree", &["symbolic-ref", "HEAD", "refs/worktree/own"]);
    place.agrees("tree");
    place.repository("outer");
    place.commit("outer", "of its own");
    let source = place.path("r");
    place.git("outer", &["submodule", "--quiet", "add", source.as_str(), "inner"]);
    place.agrees("outer/inner");
    assert_ne!(place.head("outer/inner"), place.head("outer"));
    place.git("", &["clone", "-q", "--bare", "r", "bare.git"]);
    place.agrees("bare.git");
    place.agrees("bare.git/refs/heads");
}

/// RUN-1: packed references, few or many, sorted or not.
#[test]
fn packed_references_are_found_wherever_they_stand() {
    let place = Place::new();
    place.repository("r");
    place.git("r", &["tag", "-a", "-m", "a tag", "v1"]);
    place.git("r", &["pack-refs", "--all"]);
    assert!(!place.path("r/.git/refs/heads/main").exists());
    place.agrees("r");
    place.git("r", &["symbolic-ref", "HEAD", "refs/heads/gone"]);
    assert_eq!(place.head("r"), None);
    // More than one block: each name gets a hash that tells it from the others.
    let names: Vec<String> = (0..3000).map(|at| format!("refs/heads/branch-{at:05}")).collect();
    let hash = |at: usize| format!("{at:040x}");
    let lines: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("{} {name}\n", hash(at))).collect();
    let file = place.path("r/.git/packed-refs");
    let tagged = format!("{} refs/tags/v\n^{}\n", hash(7), hash(8));
    let sorted = format!("# pack-refs with: peeled fully-peeled sorted \n{}{tagged}", lines.concat());
    let found = |text: &str, name: &str| {
        fs::write(&file, text).unwrap();
        super::packed::find(&file, name)
    };
    for at in [0, 1, 2, 1499, 1500, 2998, 2999] {
        assert_eq!(found(&sorted, &names[at]), Some(hash(at)), "{at}");
    }
    assert_eq!(found(&sorted, "refs/tags/v"), Some(hash(7)));
    for name in ["refs/heads/a", "refs/heads/branch-01500x", "refs/heads/zzz", "refs/tags/w"] {
        assert_eq!(found(&sorted, name), None, "{name}");
    }
    // Every one of them, with lines of remarks between: nothing hides behind the edge of a block.
    let peeled: String = lines.iter().map(|line| format!("{line}^{}\n", hash(1))).collect();
    fs::write(&file, format!("# pack-refs with: peeled fully-peeled sorted \n{peeled}")).unwrap();
    for (at, name) in names.iter().enumerate() {
        assert_eq!(super::packed::find(&file, name), Some(hash(at)));
    }
    let backwards: String = lines.iter().rev().cloned().collect();
    assert_eq!(found(&backwards, &names[1]), Some(hash(1)));
}

/// RUN-1: where references are kept in a table, or hashes are longer.
#[test]
fn other_formats_are_read_or_left_alone() {
    let place = Place::new();
    // A git that does not know these formats cannot make such a repository.
    for (at, format) in [("table", "--ref-format=reftable"), ("long", "--object-format=sha256")] {
        fs::create_dir_all(place.path(at)).unwrap();
        if place.try_git(at, &["init", "-q", format]).is_none() {
            continue;
        }
        place.commit(at, "first");
        match at {
            "table" => assert_eq!(place.head(at), None),
            _ => place.agrees(at),
        }
    }
}

/// RUN-1: what a repository says never makes the reading wait, leave it, or go round for ever.
#[test]
fn a_hostile_repository_is_read_as_far_as_it_is_safe() {
    let place = Place::new();
    place.repository("r");
    let head = |text: &str| {
        fs::write(place.path("r/.git/HEAD"), text).unwrap();
        place.head("r")
    };
    fs::write(place.path("secret"), "0".repeat(40)).unwrap();
    for text in [
        "ref: refs/../../../secret\n",
        "ref: refs/heads/../../../../secret\n",
        "ref: refs/heads//main\n",
        "ref: refs/heads/.invalid\n",
        "ref: ",
        "ref: refs/",
        "",
        "\n",
        "0123",
        "z123456789012345678901234567890123456789\n",
    ] {
        assert_eq!(head(text), None, "{text:?}");
    }
    assert_eq!(head(&format!("{}{}", "0".repeat(40), " ".repeat(1 << 20))), None, "too large");
    fs::write(place.path("r/.git/refs/heads/one"), "ref: refs/heads/two\n").unwrap();
    fs::write(place.path("r/.git/refs/heads/two"), "ref: refs/heads/one\n").unwrap();
    assert_eq!(head("ref: refs/heads/one\n"), None);
    let fifo = |at: &str| {
        let path = place.path(at);
        let _absent = fs::remove_file(&path);
        nix::unistd::mkfifo(path.as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    };
    fifo("r/.git/refs/heads/two");
    fifo("r/.git/packed-refs");
    assert_eq!(head("ref: refs/heads/two\n"), None);
    fifo("r/.git/commondir");
    assert_eq!(head("ref: refs/heads/two\n"), None);
    fifo("r/.git/HEAD");
    assert_eq!(place.head("r"), None);
    // Files that lead to one another, to nothing, or hold no text.
    for (at, text) in
        [("a", "gitdir: ../b/.git\n".as_bytes()), ("b", b"gitdir: ../a/.git"), ("c", b"\xff"), ("d", b"")]
    {
        fs::create_dir_all(place.path(at)).unwrap();
        fs::write(place.path(at).join(".git"), text).unwrap();
    }
    for at in ["a", "b", "c", "d"] {
        assert_eq!(Repository::holding(&place.path(at)), None, "{at}");
    }
    fs::create_dir_all(place.path("e")).unwrap();
    fifo("e/.git");
    assert_eq!(Repository::holding(&place.path("e")), None);
}

/// Complaint of users: a lock that a dead git left is reported, and left where it is.
#[test]
fn an_old_lock_of_the_index_is_reported() {
    let place = Place::new();
    place.repository("r");
    let repository = Repository::holding(&place.path("r")).unwrap();
    assert_eq!(repository.stale_lock(Duration::ZERO), None);
    let lock = place.path("r/.git/index.lock");
    fs::write(&lock, "").unwrap();
    assert_eq!(repository.stale_lock(Duration::from_secs(600)), None, "somebody may be at work");
    let old = std::time::SystemTime::now() - Duration::from_secs(1000);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    let (path, age) = repository.stale_lock(Duration::from_secs(600)).unwrap();
    assert_eq!(path, lock);
    assert!(age >= Duration::from_secs(1000));
    assert!(lock.exists());
}
