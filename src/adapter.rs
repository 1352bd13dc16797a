//! A stand-in with the contract's signatures, to be replaced by the real registry.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Options of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptOptions {
    /// Model.
    pub model: Option<String>,
    /// Approve all.
    pub auto_accept: bool,
    /// Bound.
    pub max_turns: Option<u32>,
    /// Quiet.
    pub quiet: bool,
}
/// Stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fulfilment {
    /// By a flag.
    ByFlag,
    /// Anyway.
    Already,
    /// Not at all.
    Never,
}
/// Stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionKey {
    /// `model`
    Model,
    /// `auto_accept`
    AutoAccept,
    /// `max_turns`
    MaxTurns,
    /// `quiet`
    Quiet,
}
/// Stub.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    id: String,
    alias: Option<String>,
    command: Option<String>,
    bound: Option<usize>,
}
impl Adapter {
    /// Id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
    /// Takes a prompt.
    #[must_use]
    pub fn takes_prompt(&self) -> bool {
        self.id != "generic"
    }
    /// Fulfilment.
    #[must_use]
    pub fn fulfils(&self, key: OptionKey) -> Fulfilment {
        match (self.id.as_str(), key) {
            ("pi", OptionKey::AutoAccept) => Fulfilment::Already,
            ("pi" | "codex" | "opencode", OptionKey::MaxTurns) | ("generic", _) => Fulfilment::Never,
            _ => Fulfilment::ByFlag,
        }
    }
    /// Terminal.
    #[must_use]
    pub fn resident_tty(&self) -> bool {
        self.id != "generic"
    }
    /// Bound.
    #[must_use]
    pub fn prompt_bound(&self) -> Option<usize> {
        self.bound
    }
}
/// Stub.
#[derive(Debug, Clone)]
pub struct Registry(Vec<Arc<Adapter>>);
/// Stub.
#[derive(Debug, Clone, PartialEq)]
pub struct TableProblem {
    /// Adapter.
    pub adapter: String,
    /// Path.
    pub path: Vec<String>,
    /// Message.
    pub message: String,
    /// Help.
    pub help: Option<String>,
}
impl Registry {
    /// Built-in ones.
    #[must_use]
    pub fn builtin() -> Arc<Self> {
        let one = |id: &str, alias: Option<&str>, command: Option<&str>| {
            Arc::new(Adapter {
                id: id.into(),
                alias: alias.map(Into::into),
                command: command.map(Into::into),
                bound: None,
            })
        };
        Arc::new(Self(vec![
            one("claude-code", Some("claude"), Some("claude")),
            one("codex", None, Some("codex")),
            one("opencode", None, Some("opencode")),
            one("pi", None, Some("pi")),
            one("generic", None, None),
        ]))
    }
    /// Look-up.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Adapter>> {
        let same = |text: &str| text.eq_ignore_ascii_case(name.trim());
        self.0.iter().find(|one| same(&one.id) || one.alias.as_deref().is_some_and(same)).cloned()
    }
    /// Inference.
    #[must_use]
    pub fn infer(&self, cmd: &str) -> Arc<Adapter> {
        let file = cmd.rsplit('/').next().unwrap_or(cmd);
        let found = self.0.iter().find(|one| one.command.as_deref() == Some(file));
        found.or_else(|| self.0.last()).cloned().expect("generic is there")
    }
    /// Ids.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|one| one.id.as_str()).collect()
    }
    /// User's tables.
    ///
    /// # Errors
    /// Bad tables.
    pub fn overlay(&self, tables: &[(String, serde_json::Value)]) -> Result<Self, Vec<TableProblem>> {
        let mut all = self.0.clone();
        let mut problems = Vec::new();
        for (name, table) in tables {
            for (key, _) in table.as_object().into_iter().flatten() {
                if !["commands", "oneshot", "aliases", "skills", "search"].contains(&key.as_str()) {
                    problems.push(TableProblem {
                        adapter: name.clone(),
                        path: vec![key.clone()],
                        message: format!("unknown key `{key}`"),
                        help: None,
                    });
                }
            }
            all.insert(
                0,
                Arc::new(Adapter {
                    id: name.clone(),
                    alias: None,
                    command: table["commands"][0].as_str().map(Into::into),
                    bound: Some(131_071),
                }),
            );
        }
        if problems.is_empty() { Ok(Self(all)) } else { Err(problems) }
    }
}
