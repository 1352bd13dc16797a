//! A home with roots and a target to try things in.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::HarnessName;
use crate::skills::{Bounds, Job, Projection, Root, Target, WarningKind, project, survey};
use crate::wire::SkillRank;

/// Everything lies in one directory that goes with the value.
pub(super) struct Place {
    _dir: tempfile::TempDir,
    pub(super) home: Utf8PathBuf,
    pub(super) job: Job,
}

impl Place {
    /// A home with one root `global` and a private target.
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
        let job = Job {
            harness: HarnessName::parse("tester").unwrap(),
            adapter: "claude-code".to_owned(),
            roots: vec![],
            target: Some(Target { dir: home.join("target"), private: true }),
            learned: home.join("learned"),
            displaced: home.join("displaced"),
            native: vec![],
            unseen: None,
            bounds: Bounds::default(),
        };
        let mut place = Self { _dir: dir, home, job };
        place.root("global", SkillRank::Global);
        place
    }

    /// The same with a target that is shared.
    pub(super) fn shared() -> Self {
        let mut place = Self::new();
        place.job.target = Some(Target { dir: place.home.join("target"), private: false });
        place
    }

    /// Another harness in the same place, with no roots yet.
    pub(super) fn other(&self, name: &str) -> Job {
        Job { harness: HarnessName::parse(name).unwrap(), roots: vec![], ..self.job.clone() }
    }

    pub(super) fn root(&mut self, name: &str, rank: SkillRank) -> Utf8PathBuf {
        let path = self.home.join(name);
        fs::create_dir_all(&path).unwrap();
        self.job.roots.push(Root { path: path.clone(), rank });
        path
    }

    /// Writes a skill with a frontmatter that fits.
    pub(super) fn skill(&self, root: &str, name: &str, text: &str) -> Utf8PathBuf {
        let dir = self.home.join(root).join(name);
        write(&dir.join("SKILL.md"), &format!("---\nname: {name}\n---\n{text}"));
        dir
    }

    pub(super) fn target(&self) -> Utf8PathBuf {
        self.job.target.as_ref().unwrap().dir.clone()
    }

    pub(super) fn project(&self) -> Projection {
        project(&self.job, &survey(&self.job)).unwrap()
    }

    /// What the agent finds: every path in the target but our own files.
    pub(super) fn found(&self) -> BTreeMap<String, String> {
        let mut found = contents(&self.target());
        found.retain(|path, _| path != ".harnessd.json" && path != ".harnessd.lock");
        found
    }

    /// The text of a skill's `SKILL.md` in the target below its frontmatter.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.target().join(name).join("SKILL.md")).ok()?;
        Some(text.rsplit("---\n").next().unwrap().to_owned())
    }
}

/// Writes a file and the directories above it.
pub(super) fn write(path: &Utf8Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(super) fn link(to: impl AsRef<std::path::Path>, at: &Utf8Path) {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(to, at).unwrap();
}

pub(super) fn mode(path: &Utf8Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

pub(super) fn set_mode(path: &Utf8Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Every file and symlink below `dir` with its contents or `-> target`, and
/// every empty directory.
pub(super) fn contents(dir: &Utf8Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(next) = left.pop() {
        let mut empty = true;
        for entry in next.read_dir_utf8().unwrap() {
            empty = false;
            let path = entry.unwrap().into_path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let rel = path.strip_prefix(dir).unwrap().to_string();
            if meta.is_dir() {
                left.push(path);
            } else if meta.is_symlink() {
                found.insert(rel, format!("-> {}", path.read_link_utf8().unwrap()));
            } else {
                found.insert(rel, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
            }
        }
        if empty && next != dir {
            found.insert(next.strip_prefix(dir).unwrap().to_string(), "directory".to_owned());
        }
    }
    found
}

/// Waits until the file system's clock has moved on: old kernels date changes
/// in steps of some milliseconds.
pub(in crate::skills) fn tick() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let now = || {
        file.as_file().set_len(0).unwrap();
        let meta = file.as_file().metadata().unwrap();
        (meta.ctime(), meta.ctime_nsec())
    };
    let start = now();
    assert!((0..10_000_000).any(|_| now() != start), "the clock stands still");
}

/// The messages of one kind.
pub(super) fn messages(done: &[crate::skills::Warning], kind: WarningKind) -> Vec<String> {
    done.iter().filter(|warning| warning.kind == kind).map(ToString::to_string).collect()
}
