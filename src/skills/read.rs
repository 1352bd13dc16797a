//! Looking at one skill: its tree, its frontmatter, and what is odd about them.

use std::fs::File;
use std::io::{self, Read};

use camino::Utf8Path;

use super::build::open_regular;
use super::frontmatter::{self, HEAD};
use super::tree::{Links, Tree, walk};
use super::warning::{Warning, WarningKind, plain, shown};
use super::{Bounds, MergedSkill};
use crate::host::cause;

/// The file that makes a directory a skill, spelled exactly so (SKL-1).
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// What a look at a skill found.
#[derive(Debug)]
pub(super) struct Inspected {
    /// None: it cannot be projected, and the last warning says why.
    pub(super) tree: Option<Box<Tree>>,
    pub(super) warnings: Vec<Warning>,
}

/// Walks the skill at `resolved` and reads its frontmatter. `source` is how
/// people know the directory.
pub(super) fn inspect(name: &str, source: &Utf8Path, resolved: &Utf8Path, bounds: Bounds) -> Inspected {
    let tree = match walk(resolved, Links::Follow, bounds) {
        Ok(tree) => tree,
        Err(error) => {
            let kind = error.kind();
            return Inspected {
                tree: None,
                warnings: vec![left_out(name, source, kind, &error.to_string())],
            };
        }
    };
    let mut warnings = Vec::new();
    for entry in &tree.left_out {
        warnings.push(Warning::new(
            WarningKind::EntryLeftOut,
            format!("skill `{}`: not copied: {entry}", plain(name)),
        ));
    }
    let head = match tree.files.iter().find(|file| file.rel == SKILL_FILE) {
        Some(file) => open_regular(&file.path).and_then(|(file, _)| first_bytes(file)),
        None => {
            let reason = "its `SKILL.md` cannot be copied";
            warnings.push(left_out(name, source, WarningKind::SkillUnreadable, reason));
            return Inspected { tree: None, warnings };
        }
    };
    match head {
        Ok(head) => warnings.extend(frontmatter::warnings(name, &head)),
        Err(error) => {
            let reason = format!("{SKILL_FILE}: {}", cause(&error));
            warnings.push(left_out(name, source, WarningKind::SkillUnreadable, &reason));
            return Inspected { tree: None, warnings };
        }
    }
    Inspected { tree: Some(Box::new(tree)), warnings }
}

impl MergedSkill {
    /// [`inspect`] for a skill that the merge chose.
    pub(super) fn inspect(&self, bounds: Bounds) -> Inspected {
        inspect(&self.name, &self.source, &self.resolved, bounds)
    }

    /// Says that this skill is not projected.
    pub(super) fn left_out(&self, kind: WarningKind, reason: &str) -> Warning {
        left_out(&self.name, &self.source, kind, reason)
    }
}

fn left_out(name: &str, source: &Utf8Path, kind: WarningKind, reason: &str) -> Warning {
    let text = format!("skill `{}` at {} is left out: {}", plain(name), shown(source), plain(reason));
    Warning::new(kind, text)
}

fn first_bytes(file: File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}
