//! What `doctor` finds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::Judge;

/// What `doctor` shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorView {
    /// In whose environment it was judged.
    pub judged_by: Judge,
    /// What was looked at, in order.
    pub sections: Vec<Section>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// What it is.
    pub name: String,
    /// What was found, in order.
    pub findings: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How grave it is.
    pub level: Level,
    /// What it is, in words.
    pub text: String,
    /// How to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A fact.
    Note,
    /// It is as it should be.
    Ok,
    /// Something may go wrong.
    Warning,
    /// Something does not work.
    Error,
}

impl Finding {
    fn new(level: Level, text: impl Into<String>) -> Self {
        Self { level, text: text.into(), help: None }
    }

    /// A fact that is neither good nor bad.
    #[must_use]
    pub fn note(text: impl Into<String>) -> Self {
        Self::new(Level::Note, text)
    }

    /// Something that is as it should be.
    #[must_use]
    pub fn ok(text: impl Into<String>) -> Self {
        Self::new(Level::Ok, text)
    }

    /// Something that may go wrong.
    #[must_use]
    pub fn warning(text: impl Into<String>) -> Self {
        Self::new(Level::Warning, text)
    }

    /// Something that does not work.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self::new(Level::Error, text)
    }

    /// Says how to mend it.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl DoctorView {
    /// How many findings are of that level.
    #[must_use]
    pub fn count(&self, level: Level) -> usize {
        self.sections.iter().flat_map(|section| &section.findings).filter(|one| one.level == level).count()
    }
}
