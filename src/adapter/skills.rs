//! Where an agent's skills come from, where they go, and how it is told.
//!
//! Invariant: of a native copy that the merge did not choose the model sees
//! nothing, wherever the agent has a means (SKL-14); hiding one copy never
//! hides the projected one of the same name.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use super::merge::deep_merge;
use super::model::{Adapter, Hide, JsonVariables, Said, Skills, Trust, Variables};
use super::place::{Place, resolve};
use super::template::{fill, holes};

pub use super::model::Hidden;

/// The placeholder for a harness's private directory.
const PRIVATE: &str = "private";
/// The same at the head of a target.
const PRIVATE_TARGET: &str = "{private}";
/// A key that stands for the folder that may be trusted.
pub(super) const FOLDER: &str = "{folder}";

/// What projection needs to know about an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFacts {
    /// The agent's default roots, lowest first. One that follows from a
    /// relative value of the agent's own variable is relative to the workdir.
    pub default_roots: Vec<Utf8PathBuf>,
    /// Project-local directories below the project root, lowest first, all
    /// but `<root>/skills`.
    pub project_dirs: Vec<String>,
    /// Where copies are put; none: no projection.
    pub target: Option<TargetKind>,
    /// Where the agent itself looks.
    pub native: Vec<NativePlace>,
    /// Where it shows that the user trusts a folder, if it looks at the target in no other.
    pub trust: Option<TrustFacts>,
}

/// Where an agent shows that the user trusts a folder: any one flag is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFacts {
    /// The flags.
    pub flags: Vec<TrustFlag>,
    /// How the user comes to trust a folder, in words.
    pub how: String,
}

/// A flag in a TOML file of an agent's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustFlag {
    /// The file; a relative one is relative to the workdir.
    pub file: Utf8PathBuf,
    /// Keys from the top down.
    pub key: Vec<String>,
    /// What it says of a folder that is trusted.
    pub is: bool,
}

impl TrustFlag {
    /// The keys for a folder.
    pub fn path<'a>(&'a self, folder: &'a Utf8Path) -> impl Iterator<Item = &'a str> {
        self.key.iter().map(move |key| if key == FOLDER { folder.as_str() } else { key })
    }
}

/// The kind of a projection target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetKind {
    /// A directory of the harness's own.
    Private {
        /// Where in it the copies lie; none: directly in it.
        subdir: Option<String>,
    },
    /// A directory that others use too.
    Shared {
        /// Relative to the workdir, or absolute.
        dir: String,
    },
}

/// A directory in which the agent looks for skills by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativePlace {
    /// The directory.
    pub base: NativeBase,
    /// Whether it is looked for in all parents too, up to the git root.
    pub upward: bool,
    /// By what its copies are hidden once skills are handed over.
    pub hidden: Hidden,
}

impl NativePlace {
    /// Whether a copy in it is hidden from the model; `projected` tells whether
    /// its name is in the merged set.
    #[must_use]
    pub const fn hides(&self, projected: bool) -> bool {
        match self.hidden {
            Hidden::Never => false,
            Hidden::Always | Hidden::Copies => true,
            Hidden::Unmerged => !projected,
        }
    }
}

/// From where a native place is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeBase {
    /// An absolute path.
    Home(Utf8PathBuf),
    /// A path below the directory in which the agent works.
    Workdir(Utf8PathBuf),
}

/// A copy that the agent would find by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeSkill {
    /// The skill's name.
    pub name: String,
    /// The directory that holds its `SKILL.md`.
    pub dir: Utf8PathBuf,
    /// Another copy of the name won the merge.
    pub shadowed: bool,
    /// The name is in the merged set.
    pub projected: bool,
}

/// A finished projection, to be made known to the agent.
#[derive(Debug, Clone, Copy)]
pub struct Handover<'a> {
    /// The harness's private directory, or the shared target.
    pub target: &'a Utf8Path,
    /// What the agent would find by itself.
    pub native: &'a [NativeSkill],
}

/// Arguments, variables and files that make the projection known.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) args: Vec<String>,
    /// After `args`.
    pub(super) json_args: JsonVariables,
    /// After both.
    pub(super) last: Vec<String>,
    pub(super) env: Variables,
    pub(super) json_env: JsonVariables,
    pub(super) documents: Vec<(String, String)>,
}

impl Told {
    /// The words for the agent.
    pub(super) fn words(&self) -> impl Iterator<Item = String> {
        let documents = self.json_args.iter().flat_map(|(flag, value)| [flag.clone(), value.to_string()]);
        self.args.iter().cloned().chain(documents).chain(self.last.iter().cloned())
    }
}

impl Adapter {
    /// Roots, target and native places with the agent's own variables filled
    /// in. A place whose variable is unset and has no default is left out.
    #[must_use]
    pub fn skill_facts(&self, env: &BTreeMap<String, String>, home: &Utf8Path) -> SkillFacts {
        let Some(skills) = &self.skills else { return SkillFacts::default() };
        let native = skills.native.iter().filter_map(|native| {
            let place = Place::parse(&native.at).ok()?;
            let path = place.resolve(env, home)?;
            let base = if place.is_relative() || path.is_relative() {
                NativeBase::Workdir(path)
            } else {
                NativeBase::Home(path)
            };
            Some(NativePlace { base, upward: native.upward, hidden: native.hidden })
        });
        SkillFacts {
            default_roots: skills.roots.iter().filter_map(|root| resolve(root, env, home)).collect(),
            project_dirs: skills.project.clone(),
            target: skills.target.as_deref().and_then(|target| target_kind(target, env, home)),
            native: native.collect(),
            trust: skills.trust.as_ref().and_then(|trust| trust_facts(trust, env, home)),
        }
    }
}

/// None: a variable switches the question off.
fn trust_facts(trust: &Trust, env: &BTreeMap<String, String>, home: &Utf8Path) -> Option<TrustFacts> {
    let flag = |said: &Said| {
        let file = resolve(&said.file, env, home)?;
        Some(TrustFlag { file, key: said.key.clone(), is: said.is })
    };
    let off = trust.off.iter().any(|(name, value)| env.get(name) == Some(value));
    let flags = || trust.said.iter().filter_map(flag).collect();
    (!off).then(|| TrustFacts { flags: flags(), how: trust.how.clone() })
}

fn target_kind(target: &str, env: &BTreeMap<String, String>, home: &Utf8Path) -> Option<TargetKind> {
    match private_subdir(target) {
        Some(subdir) => Some(TargetKind::Private { subdir: subdir.map(str::to_owned) }),
        None => resolve(target, env, home).map(|dir| TargetKind::Shared { dir: dir.into_string() }),
    }
}

/// `Some` if a target is private, with the directory below it if there is one.
pub(super) fn private_subdir(target: &str) -> Option<Option<&str>> {
    let rest = target.strip_prefix(PRIVATE_TARGET)?;
    if rest.is_empty() { Some(None) } else { rest.strip_prefix('/').map(Some) }
}

/// Spells out how the agent is told of a projection.
pub(super) fn hand_over(skills: &Skills, handover: &Handover<'_>) -> Told {
    let private = handover.target.as_str();
    let word = |text: &String| fill(text, PRIVATE, private);
    let json = |map: &JsonVariables| -> JsonVariables {
        map.iter().map(|(name, value)| (name.clone(), fill_json(value, private, None))).collect()
    };
    let documents = json(&skills.documents);
    let mut told = Told {
        args: skills.args.iter().map(word).collect(),
        json_args: json(&skills.json_args),
        last: Vec::new(),
        env: skills.env.iter().map(|(name, text)| (name.clone(), word(text))).collect(),
        json_env: json(&skills.json_env),
        documents: documents.into_iter().map(|(path, value)| (path, format!("{value}\n"))).collect(),
    };
    if let Some(hide) = &skills.hide
        && let Some((text, value)) = hidden(hide, handover)
    {
        told.last = hide.args.iter().map(|word| fill(word, "hidden", &text)).collect();
        for (under, over) in [(&mut told.json_env, &hide.json_env), (&mut told.json_args, &hide.json_args)] {
            for (name, template) in over {
                let document = under.entry(name.clone()).or_insert(Value::Null);
                deep_merge(document, fill_json(template, private, Some(&value)));
            }
        }
    }
    told
}

/// What is hidden, as text and as a value; none: nothing is.
fn hidden(hide: &Hide, handover: &Handover<'_>) -> Option<(String, Value)> {
    if let Some(entry) = &hide.entry {
        let list = hidden_paths(entry, handover);
        return (!list.is_empty()).then_some((list, Value::Null));
    }
    let names = Value::Object(hidden_names(hide, handover.native));
    (names.as_object().is_some_and(|names| !names.is_empty())).then(|| (names.to_string(), names))
}

/// From each name to its word. Of several copies of a name the one that must
/// not be seen decides: by name the agent cannot tell them apart.
fn hidden_names(hide: &Hide, native: &[NativeSkill]) -> Map<String, Value> {
    let mut words: BTreeMap<&str, (bool, &str)> = BTreeMap::new();
    for skill in native {
        let (won, word) = match (skill.projected, skill.shadowed) {
            (false, _) => (false, &hide.unmerged),
            (true, true) => (false, &hide.shadowed),
            (true, false) => (true, &hide.won),
        };
        let Some(word) = word else { continue };
        let entry = words.entry(&skill.name).or_insert((won, word));
        if entry.0 && !won {
            *entry = (won, word);
        }
    }
    words.into_iter().map(|(name, (_, word))| (name.to_owned(), Value::from(word))).collect()
}

/// The list of files. What lies in a shared target is the projection itself.
fn hidden_paths(entry: &str, handover: &Handover<'_>) -> String {
    let is_projection = |skill: &NativeSkill| skill.projected && skill.dir.parent() == Some(handover.target);
    let files: BTreeSet<Utf8PathBuf> = handover
        .native
        .iter()
        .filter(|skill| !is_projection(skill))
        .map(|skill| skill.dir.join("SKILL.md"))
        .collect();
    let entries: Vec<String> =
        files.iter().map(|file| fill(entry, "path", &toml_text(file.as_str()))).collect();
    entries.join(",")
}

/// A text as TOML writes it.
fn toml_text(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}

/// Fills `{private}` into every text of a value, and puts `hidden` in the
/// place of the text that is exactly its placeholder.
fn fill_json(value: &Value, private: &str, hidden: Option<&Value>) -> Value {
    match value {
        Value::String(text) => match hidden {
            Some(hidden) if holes(text) == ["hidden"] && text.len() == "{hidden}".len() => hidden.clone(),
            _ => Value::from(fill(text, PRIVATE, private)),
        },
        Value::Array(list) => list.iter().map(|item| fill_json(item, private, hidden)).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, item)| (key.clone(), fill_json(item, private, hidden))).collect(),
        ),
        other => other.clone(),
    }
}
