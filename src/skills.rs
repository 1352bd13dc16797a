//! Skills: which ones a harness gets, and the copies that it gets of them.
//!
//! [`survey`] reads the roots and merges them, [`project`] makes the target
//! hold exactly the merge, [`preview()`] tells what that would do, [`view`] shows all. Invariant: a source is only
//! ever read, and whatever in a target is not ours is moved or left alone,
//! never deleted.

mod assess;
mod build;
mod cause;
mod check;
mod displace;
mod execute;
mod frontmatter;
mod lint;
mod manifest;
mod merge;
mod plan;
mod preview;
mod read;
mod rename;
mod roots;
mod salvage;
mod show;
mod stamp;
mod target;
mod tree;
mod warning;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use camino::Utf8PathBuf;
use thiserror::Error;

use crate::adapter::Hidden;
use crate::base::HarnessName;
use crate::wire::{ErrorCode, RootView, RunSkill, ShadowedSkill, SkillChanges, SkillRank};

pub use check::{Checked, check};
pub use execute::project;
pub use lint::{CODES, UNREADABLE};
pub use preview::preview;
pub use roots::survey;
pub use show::view;
pub use warning::{Warning, WarningKind};

/// One directory that may hold skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Absolute path.
    pub path: Utf8PathBuf,
    /// Who contributes it.
    pub rank: SkillRank,
}

/// Where the copies go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The directory that holds the `NAME/` directories.
    pub dir: Utf8PathBuf,
    /// Whether it is this harness's alone: then it holds the merged set and nothing else.
    pub private: bool,
}

/// A directory in which the agent looks by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeDir {
    /// Absolute path.
    pub path: Utf8PathBuf,
    /// By what its copies are hidden from the model.
    pub hidden: Hidden,
}

/// How large one skill may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Files; there may be as many directories.
    pub files: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { files: 4_096, bytes: 256 * 1_024 * 1_024 }
    }
}

/// Everything that the skills of one harness depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Whose skills.
    pub harness: HarnessName,
    /// The adapter's id, for messages.
    pub adapter: String,
    /// Lowest precedence first.
    pub roots: Vec<Root>,
    /// None: nothing is projected (SKL-12).
    pub target: Option<Target>,
    /// The learned tier; need not exist.
    pub learned: Utf8PathBuf,
    /// Where edited copies are kept.
    pub displaced: Utf8PathBuf,
    /// Directories in which the agent looks by itself; need not exist.
    pub native: Vec<NativeDir>,
    /// Why the agent does not look at the target, in words.
    pub unseen: Option<String>,
    /// How large one skill may be.
    pub bounds: Bounds,
}

/// What the roots hold, merged.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// All roots and what became of them, lowest precedence first.
    pub roots: Vec<RootView>,
    /// One skill a name, by name.
    pub skills: Vec<MergedSkill>,
    /// What the agent finds by itself, by name.
    pub native: Vec<Native>,
    /// What is odd about roots, the target, or entries that are no skill.
    pub warnings: Vec<Warning>,
    /// The target's manifest as the survey found it.
    loaded: Arc<target::Loaded>,
}

impl Merged {
    /// Whether a skill of that name is in the merged set, projected or not.
    #[must_use]
    pub fn wins(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<&MergedSkill> {
        let index = self.skills.binary_search_by(|skill| skill.name.as_str().cmp(name)).ok()?;
        Some(&self.skills[index])
    }
}

/// The copy of a skill that won.
#[derive(Debug, Clone)]
pub struct MergedSkill {
    /// Its directory's name.
    pub name: String,
    /// Its directory as it is found under its root.
    pub source: Utf8PathBuf,
    /// The rank that decided.
    pub rank: SkillRank,
    /// The copies that lost, the strongest first.
    pub shadowed: Vec<ShadowedSkill>,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
    /// The directory with every link resolved.
    resolved: Utf8PathBuf,
    seen: Seen,
}

impl MergedSkill {
    /// Whether it is too large or unreadable, so that it is not projected; a
    /// warning says why.
    #[must_use]
    pub const fn is_left_out(&self) -> bool {
        matches!(self.seen, Seen::LeftOut)
    }
}

/// What the survey saw of a winner's directory.
#[derive(Debug, Clone)]
enum Seen {
    /// Every path that the manifest lists has the metadata that this stamp sums up.
    Unchanged(String),
    /// It was walked.
    Walked(Box<tree::Tree>),
    /// It cannot be projected.
    LeftOut,
}

/// A skill that the agent finds by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Native {
    /// Its directory's name.
    pub name: String,
    /// Its directory.
    pub source: Utf8PathBuf,
    /// Whether the merge preferred another copy of that name.
    pub shadowed: bool,
    /// Whether the name is in the merged set.
    pub projected: bool,
    /// Whether the model still sees it.
    pub visible: bool,
}

/// What a projection did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projection {
    /// The skills in force, by name.
    pub skills: Vec<RunSkill>,
    /// Everything odd: the survey's warnings and those of the projection.
    pub warnings: Vec<Warning>,
    /// What became of each name.
    pub changes: SkillChanges,
}

/// What a projection would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preview {
    /// Everything odd: the survey's warnings and those of the comparison with the target.
    pub warnings: Vec<Warning>,
    /// What would become of each name.
    pub changes: SkillChanges,
}

/// Why the target does not hold the merged set. The start fails.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The target cannot be written.
    #[error("adapter {adapter}: project skills: write {target}: {cause}")]
    TargetNotWritable {
        /// The adapter's id.
        adapter: String,
        /// The target directory.
        target: Utf8PathBuf,
        /// What the system said, in lower case.
        cause: String,
    },
    /// Somebody holds the target's lock and does not let go.
    #[error("adapter {adapter}: project skills: lock {target}: held by another process")]
    TargetBusy {
        /// The adapter's id.
        adapter: String,
        /// The target directory.
        target: Utf8PathBuf,
    },
}

impl SkillError {
    /// The stable name that clients match on.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::TargetNotWritable
    }
}
