//! STUB, to be replaced by the adapter part: just enough to compile.

use std::sync::Arc;

/// Options of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptOptions;

/// One agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Adapter;

impl Adapter {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        "generic"
    }
}

/// All agents.
#[derive(Debug, Clone)]
pub struct Registry;

impl Registry {
    /// The built-in ones.
    #[must_use]
    pub fn builtin() -> Arc<Self> {
        Arc::new(Self)
    }

    /// The one of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Adapter>> {
        (name == "generic").then(|| Arc::new(Adapter))
    }
}
