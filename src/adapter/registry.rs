//! All adapters: the built-in ones, with a user's tables over them.
//!
//! Invariant (ADP-4): ids and aliases are unique whatever their case, no
//! command infers two adapters, `unknown` is no id, and `generic` is there.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use super::check::{GENERIC, check, clashes};
use super::document;
use super::merge::deep_merge;
use super::model::{Adapter, Retention};
use super::place::resolve;
use super::shape::{ADAPTER, Problem};
use super::skills::private_subdir;
use crate::wire::RetentionView;

/// The built-in documents, in the order in which they are listed.
pub(super) const DOCUMENTS: [&str; 15] = [
    include_str!("builtin/claude-code.toml"),
    include_str!("builtin/codex.toml"),
    include_str!("builtin/opencode.toml"),
    include_str!("builtin/pi.toml"),
    include_str!("builtin/gemini.toml"),
    include_str!("builtin/qwen.toml"),
    include_str!("builtin/copilot.toml"),
    include_str!("builtin/crush.toml"),
    include_str!("builtin/goose.toml"),
    include_str!("builtin/hermes.toml"),
    include_str!("builtin/kimi.toml"),
    include_str!("builtin/grok.toml"),
    include_str!("builtin/vibe.toml"),
    include_str!("builtin/antigravity.toml"),
    include_str!("builtin/generic.toml"),
];

static BUILTIN: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let adapters = DOCUMENTS.map(|text| {
        let value = document::read(text).unwrap_or_default();
        let adapter: Adapter = serde_json::from_value(value).expect("a test reads each built-in document");
        Arc::new(adapter)
    });
    Arc::new(Registry { adapters: adapters.to_vec() })
});

/// The adapters that are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    /// `generic` is the last.
    adapters: Vec<Arc<Adapter>>,
}

/// A mistake in a user's `[adapter.NAME]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProblem {
    /// The table's `NAME`.
    pub adapter: String,
    /// From the table down to the offending key, all of which the table holds;
    /// a position in a list is a decimal number. Empty: the table as a whole.
    pub path: Vec<String>,
    /// A lower-case fragment.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

impl Adapter {
    /// The name by which it is known and shown.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Further names by which it is found.
    #[must_use]
    pub fn aliases(&self) -> &[String] {
        &self.aliases
    }

    /// The file names that infer it, its own command first.
    #[must_use]
    pub fn commands(&self) -> &[String] {
        &self.commands
    }

    /// The variable that names another program for it.
    #[must_use]
    pub fn command_env(&self) -> Option<&str> {
        self.command_env.as_deref()
    }

    /// Where installers put it, as written. See [`Adapter::command_words`].
    #[must_use]
    pub fn search(&self) -> &[String] {
        &self.search
    }

    /// Whether its skills go to a directory that others use too.
    #[must_use]
    pub fn shares_target(&self) -> bool {
        let target = self.skills.as_ref().and_then(|skills| skills.target.as_deref());
        target.is_some_and(|target| private_subdir(target).is_none())
    }

    /// Whether skills are projected for it (SKL-12).
    #[must_use]
    pub fn takes_skills(&self) -> bool {
        self.skills.as_ref().is_some_and(|skills| skills.target.is_some())
    }

    /// Whether a resident agent runs under a terminal unless told otherwise.
    #[must_use]
    pub const fn resident_tty(&self) -> bool {
        self.tty
    }

    /// Variables of an outer agent that are not inherited.
    #[must_use]
    pub fn scrub(&self) -> &[String] {
        &self.scrub
    }

    /// Where it writes its transcripts, the one in use first: those places
    /// whose variables are set or have a default.
    #[must_use]
    pub fn stores(&self, env: &BTreeMap<String, String>, home: &Utf8Path) -> Vec<Utf8PathBuf> {
        let stores = self.trajectory.as_ref().map_or(&[][..], |trajectory| &trajectory.stores);
        stores.iter().filter_map(|store| resolve(store, env, home)).collect()
    }

    /// The version of its program that it was last tried with.
    #[must_use]
    pub fn verified(&self) -> Option<&str> {
        self.verified.as_deref()
    }

    /// What its program is asked with for its version; empty: it is not asked.
    #[must_use]
    pub fn version_args(&self) -> &[String] {
        self.probe.as_ref().map_or(&[], |probe| &probe.version)
    }

    /// The variables that stop its updates, telemetry and chatter.
    pub fn quietened(&self) -> impl Iterator<Item = (&String, &String)> {
        self.quieten.env.iter()
    }

    /// The files that show whether somebody is logged in.
    #[must_use]
    pub fn login_files(&self, env: &BTreeMap<String, String>, home: &Utf8Path) -> Vec<Utf8PathBuf> {
        let files = self.probe.as_ref().map_or(&[][..], |probe| &probe.login);
        files.iter().filter_map(|file| resolve(file, env, home)).collect()
    }

    /// Where it says how long it keeps its transcripts, and what it does while that says nothing.
    #[must_use]
    pub fn retention(&self, env: &BTreeMap<String, String>, home: &Utf8Path) -> Option<RetentionView> {
        let Retention { file, key, default } = self.retention.as_ref()?;
        let file = resolve(file, env, home)?.into_string();
        Some(RetentionView { file, key: key.clone(), value: None, default: default.clone(), trouble: None })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.id.eq_ignore_ascii_case(name)
            || self.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    }
}

impl Registry {
    /// The built-in adapters.
    #[must_use]
    pub fn builtin() -> Arc<Self> {
        Arc::clone(&BUILTIN)
    }

    /// The adapter of that id or alias, whatever its case and the blanks around it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Adapter>> {
        let name = name.trim();
        self.adapters.iter().find(|adapter| adapter.answers_to(name)).map(Arc::clone)
    }

    /// The adapter that a program's file name stands for; `generic` if none.
    #[must_use]
    pub fn infer(&self, cmd: &str) -> Arc<Adapter> {
        let file = cmd.rsplit('/').next().unwrap_or(cmd);
        let infers = |adapter: &&Arc<Adapter>| adapter.commands.iter().any(|command| command == file);
        self.adapters.iter().find(infers).map_or_else(|| self.generic(), Arc::clone)
    }

    /// The adapter for everything that is no known agent.
    #[must_use]
    pub fn generic(&self) -> Arc<Adapter> {
        Arc::clone(&self.adapters[self.adapters.len() - 1])
    }

    /// The ids, in order; aliases are accepted but not advertised.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        self.adapters.iter().map(|adapter| adapter.id()).collect()
    }

    /// All adapters, in order.
    #[must_use]
    pub fn all(&self) -> &[Arc<Adapter>] {
        &self.adapters
    }

    /// The variables of any outer agent that no agent inherits.
    #[must_use]
    pub fn scrub(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.adapters.iter().flat_map(|adapter| adapter.scrub()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// This registry with a user's tables over it: a table of a known id
    /// overrides single keys (a list is replaced), any other one adds an agent.
    ///
    /// # Errors
    /// Every mistake of every table.
    pub fn overlay(&self, tables: &[(String, Value)]) -> Result<Self, Vec<TableProblem>> {
        let mut problems = Vec::new();
        let mut adapters: Vec<(Arc<Adapter>, Option<usize>)> =
            self.adapters.iter().map(|adapter| (Arc::clone(adapter), None)).collect();
        for (at, (name, table)) in tables.iter().enumerate() {
            match self.read(name, table) {
                Ok(adapter) => {
                    let last = adapters.len() - 1;
                    match adapters.iter_mut().find(|(known, _)| known.id == adapter.id) {
                        Some(known) => *known = (Arc::new(adapter), Some(at)),
                        None => adapters.insert(last, (Arc::new(adapter), Some(at))),
                    }
                }
                Err(found) => problems.extend(found.into_iter().map(|problem| place(name, table, problem))),
            }
        }
        // Untouched ones first: a clash is then always a user's.
        let (own, touched): (Vec<_>, Vec<_>) = adapters.iter().partition(|(_, table)| table.is_none());
        let ordered: Vec<_> = own.into_iter().chain(touched).collect();
        let all: Vec<&Adapter> = ordered.iter().map(|(adapter, _)| adapter.as_ref()).collect();
        for (position, problem) in clashes(&all) {
            if let Some(at) = ordered[position].1 {
                let (name, table) = &tables[at];
                problems.push(place(name, table, problem));
            }
        }
        if problems.is_empty() {
            Ok(Self { adapters: adapters.into_iter().map(|(adapter, _)| adapter).collect() })
        } else {
            Err(problems)
        }
    }

    fn read(&self, name: &str, table: &Value) -> Result<Adapter, Vec<Problem>> {
        let refuse = |path: &[&str], message: String, help: Option<String>| {
            let path = path.iter().map(|&step| step.to_owned()).collect();
            Err(vec![Problem { path, message, help }])
        };
        if name == GENERIC {
            return refuse(&[], "`generic` cannot be changed".to_owned(), None);
        }
        let mut whole = match self.find(name) {
            Some(known) if known.id == name => serde_json::to_value(&*known).unwrap_or_default(),
            Some(known) => {
                let help = format!("write `[adapter.{}]`", known.id);
                return refuse(
                    &[],
                    format!("`{name}` is another name of adapter `{}`", known.id),
                    Some(help),
                );
            }
            None => Value::Object(Map::from_iter([("id".to_owned(), Value::from(name))])),
        };
        let mut problems = Vec::new();
        if !table.is_object() {
            return refuse(&[], format!("`adapter.{name}` is a table"), None);
        }
        ADAPTER.check(table, &[], &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        if table.get("id").is_some_and(|id| id != name) {
            return refuse(&["id"], format!("the `id` of `[adapter.{name}]` is `{name}`"), None);
        }
        deep_merge(&mut whole, table.clone());
        let adapter: Adapter = match serde_json::from_value(whole) {
            Ok(adapter) => adapter,
            Err(error) => return refuse(&[], error.to_string(), None),
        };
        let problems = check(&adapter);
        if problems.is_empty() { Ok(adapter) } else { Err(problems) }
    }
}

/// A problem of a merged adapter, at the last of its steps that the user wrote.
fn place(name: &str, table: &Value, problem: Problem) -> TableProblem {
    let mut here = Some(table);
    let written = |step: &String| {
        here = here.and_then(|value| match value {
            Value::Array(list) => step.parse::<usize>().ok().and_then(|at| list.get(at)),
            other => other.get(step),
        });
        here.is_some()
    };
    let path = problem.path.into_iter().take_while(written).collect();
    TableProblem { adapter: name.to_owned(), path, message: problem.message, help: problem.help }
}
