//! What a person should know although nothing stops for it.
//!
//! Invariant: a message is one line without control characters, whatever the
//! names of files and skills hold.

use std::fmt;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

/// What a warning is about; callers match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// A root cannot be read (SKL-11).
    RootUnreadable,
    /// A root is, lies in or leads to the target (SKL-4).
    RootIsTarget,
    /// A root or a skill lies in the learned tier (SKL-5).
    Learned,
    /// A directory entry is no skill although it looks like one.
    NoSkill,
    /// The frontmatter does not parse (SKL-1).
    Frontmatter,
    /// The frontmatter's `name` is not the directory's (SKL-1).
    NameMismatch,
    /// An entry of a skill is not copied (SKL-6).
    EntryLeftOut,
    /// A skill is over the bounds and not projected (SKL-10).
    TooLarge,
    /// A skill cannot be read and is not projected.
    SkillUnreadable,
    /// The name is taken in a shared target (SKL-8).
    Occupied,
    /// Something in the target was moved aside and kept (SKL-8).
    Displaced,
    /// The manifest, or something that we left behind, is unusable.
    Target,
    /// The model sees a copy that lost (SKL-14).
    Native,
    /// The agent does not look at the target: its model sees no copy.
    Unseen,
}

impl WarningKind {
    /// Whether it means that a skill is missing: to be shown as an error.
    #[must_use]
    pub const fn is_error(self) -> bool {
        matches!(self, Self::TooLarge | Self::SkillUnreadable)
    }
}

/// One warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What it is about.
    pub kind: WarningKind,
    /// For people.
    pub message: String,
}

impl Warning {
    pub(super) fn new(kind: WarningKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// `text` with its control characters escaped.
pub(super) fn plain(text: impl AsRef<str>) -> String {
    let mut plain = String::with_capacity(text.as_ref().len());
    for letter in text.as_ref().chars() {
        if letter.is_control() {
            plain.extend(letter.escape_default());
        } else {
            plain.push(letter);
        }
    }
    plain
}

/// A path for a message.
pub(super) fn shown(path: &Utf8Path) -> String {
    plain(path.as_str())
}
