//! The merged skills of a harness as people and scripts are shown them (SKL-3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::HarnessName;

/// Who contributes a skill root, lowest precedence first (SKL-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillRank {
    /// The adapter's defaults.
    Adapter,
    /// `skill_paths` of the global file.
    Global,
    /// `skill_paths` of the project file.
    Project,
    /// A directory of the project itself.
    ProjectLocal,
}

/// What became of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RootState {
    /// It was read.
    Ok,
    /// It does not exist.
    Missing,
    /// It could not be read.
    Unreadable,
    /// It is, lies in or leads to the target.
    IsTarget,
    /// It lies in the learned tier.
    Learned,
}

/// One root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RootView {
    /// Absolute path.
    pub path: String,
    /// Who contributes it.
    pub rank: SkillRank,
    /// What became of it.
    pub state: RootState,
}

/// What became of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SkillState {
    /// The target holds it as it is now.
    Projected,
    /// The next start will write it.
    Pending,
    /// Its name is taken in a shared target.
    Occupied,
    /// The copy in the target was changed by hand.
    Edited,
    /// It is left out (too large, learned, unreadable).
    Skipped,
}

/// A copy of a skill that did not win.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShadowedSkill {
    /// Its directory.
    pub source: String,
    /// The root's rank.
    pub rank: SkillRank,
}

/// One merged skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillView {
    /// Its directory's name.
    pub name: String,
    /// The winning directory, absolute.
    pub source: String,
    /// The rank that decided.
    pub rank: SkillRank,
    /// The copies that lost.
    pub shadowed: Vec<ShadowedSkill>,
    /// What became of it.
    pub state: SkillState,
    /// What is odd about it.
    pub warnings: Vec<String>,
}

/// A copy that the agent would find by itself (SKL-14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NativeSkillView {
    /// Its directory's name.
    pub name: String,
    /// Its directory.
    pub source: String,
    /// Whether the model still sees it.
    pub visible: bool,
    /// Whether the merge preferred another copy.
    pub shadowed: bool,
}

/// The skills of one harness.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillsView {
    /// The harness.
    pub harness: HarnessName,
    /// The adapter's id.
    pub adapter: String,
    /// Where the copies go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Whether the target is this harness's alone.
    pub private: bool,
    /// All roots, lowest precedence first.
    pub roots: Vec<RootView>,
    /// The merged skills by name.
    pub skills: Vec<SkillView>,
    /// What the agent finds by itself.
    pub native: Vec<NativeSkillView>,
    /// What is odd about roots or target.
    pub warnings: Vec<String>,
}
