//! The form of an adapter: what one TOML document can say about an agent.
//!
//! Invariant: every field that an agent may lack can be left out, and what is
//! left out is not written back, so a document survives being read and written.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Variables, by name.
pub(super) type Variables = BTreeMap<String, String>;
/// Variables whose text is a JSON document, by name.
pub(super) type JsonVariables = BTreeMap<String, Value>;

/// Everything that is known about one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adapter {
    /// Its name: that of its table.
    #[schemars(with = "Option<String>")]
    pub(super) id: String,
    /// Other names by which `agent` may call it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<String>,
    /// The file names of its program, in order; a `cmd` of such a name infers it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) commands: Vec<String>,
    /// The version of its program that this was last tried with: what `harnessd agents --check` compares with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verified: Option<String>,
    /// The variable that names another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) command_env: Option<String>,
    /// Where its program is looked for if `PATH` lacks it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) search: Vec<String>,
    /// Whether a resident one is given a terminal.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub(super) tty: bool,
    /// Its own form of `auto_accept`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) approval: Option<Means>,
    /// How it is started for one prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) oneshot: Option<Launch>,
    /// How it is started in a terminal with a prompt to begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resident: Option<Launch>,
    /// What stops updates and telemetry.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) quieten: Quieten,
    /// Variables of an outer agent that it does not inherit; a `*` at the end stands for whatever follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scrub: Vec<String>,
    /// Where skills come from and where their copies are put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skills: Option<Skills>,
    /// Where it writes down what it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trajectory: Option<Trajectory>,
    /// How its requests are sent elsewhere; `{endpoint}` is the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) gateway: Option<Injection>,
    /// How a server of tools is injected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mcp: Option<Injection>,
    /// How the result of a one-shot is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<Report>,
    /// How its version is asked for, and what shows a login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) probe: Option<Probe>,
    /// What it is called in events for other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) envelope_id: Option<String>,
    /// Where it says how long it keeps transcripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) retention: Option<Retention>,
}

/// How the agent is started with a prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Launch {
    /// After the program, with the prompt as an argument; empty: not possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) argument: Vec<String>,
    /// After the program, with the prompt on standard input; empty: not possible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) stdin: Vec<String>,
    /// Prompts that the argument form would take for something else; a `*` at
    /// the end stands for whatever follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) misreads: Vec<String>,
    /// How `model` is passed on; `{value}` is its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Means>,
    /// In place of the adapter's `approval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) auto_accept: Option<Means>,
    /// How `max_turns` is passed on; `{value}` is its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) max_turns: Option<Means>,
    /// How `quiet = true` is passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) quiet: Option<Means>,
    /// The arguments that choose the id of a new session: `{session}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) session_id: Vec<String>,
    /// The arguments that go on with `{session}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) resume: Vec<String>,
    /// The arguments that work in a copy of `{session}`, called `{fresh}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fork: Vec<String>,
}

/// How one option is fulfilled: by arguments and variables, or without any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Means {
    /// The agent does so without being told.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) already: bool,
    /// Arguments, where the template has `{options}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// Flags whose next word is a JSON document, joined with that of `skills`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_args: JsonVariables,
    /// Variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: Variables,
}

/// What stops updates, telemetry and chatter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Quieten {
    /// Arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// Variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: Variables,
}

/// Where skills come from, where they are put, and how the agent is told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Skills {
    /// The directories of skills that are the agent's own, lowest precedence first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) roots: Vec<String>,
    /// Directories of skills in the working directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) project: Vec<String>,
    /// `{private}`, `{private}/sub`, or the directory that is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<String>,
    /// Where the agent looks by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) native: Vec<Native>,
    /// Arguments that hand the target over, where the template has `{skills}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// Variables that hand it over.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: Variables,
    /// Variables that hand it over, whose texts are JSON documents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_env: JsonVariables,
    /// Flags whose next word is a JSON document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_args: JsonVariables,
    /// JSON documents that are written beside the copies, by file name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) documents: JsonVariables,
    /// How copies that it finds by itself are hidden from its model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hide: Option<Hide>,
    /// Where it shows that the user trusts a folder, if it looks at a shared target in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trust: Option<Trust>,
}

/// Where an agent shows that the user trusts a folder: any one of these is enough.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Trust {
    /// What its files say then.
    #[serde(default)]
    pub(super) said: Vec<Said>,
    /// Variables that switch the question off, each with the value that does.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) off: Variables,
    /// How the user comes to trust a folder, in words.
    #[serde(default)]
    pub(super) how: String,
}

/// A flag in a TOML file of an agent's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    /// The file.
    pub(super) file: String,
    /// Keys from the top down; `{folder}` alone is the folder: the root of its repository, else itself.
    pub(super) key: Vec<String>,
    /// What it says then.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub(super) is: bool,
}

/// A directory in which the agent looks for skills by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Native {
    /// The directory.
    pub(super) at: String,
    /// Whether it is looked for in every directory from the working directory up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) upward: bool,
    /// By what the copies in it are hidden.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) hidden: Hidden,
}

/// By what the copies in a native place are hidden from the model (SKL-14).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hidden {
    /// By nothing: they stay visible.
    #[default]
    Never,
    /// The hand-over makes the agent ignore the whole place.
    Always,
    /// Each copy is hidden singly.
    Copies,
    /// Only copies whose name is not in the merged set can be hidden.
    Unmerged,
}

/// How single copies are hidden from the model: by name, or by path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Hide {
    /// By name: the word for a name of which another copy won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shadowed: Option<String>,
    /// By name: the word for a name whose native copy won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) won: Option<String>,
    /// By name: the word for a name that is not in the merged set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unmerged: Option<String>,
    /// By path: what stands in the list for the file `{path}` (a TOML string).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) entry: Option<String>,
    /// Arguments that hide; `{hidden}` is the list or table of what is hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// Variables whose texts are JSON documents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_env: JsonVariables,
    /// Flags whose next word is a JSON document.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_args: JsonVariables,
}

/// Where the agent writes down what it did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Trajectory {
    /// The format of the transcripts.
    #[serde(default)]
    pub(super) format: String,
    /// The first that resolves is the one in use.
    #[serde(default)]
    pub(super) stores: Vec<String>,
    /// Arguments that name another store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) flags: Vec<String>,
    /// What lies in the directory that an argument, a setting or the registry names; none: it is the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) below: Option<String>,
    /// Whether the agent takes the nearest existing one of the directories in which a relative store lies, from
    /// the working directory up, the home directory excluded.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) upward: bool,
    /// Whether no session says in which directory it was.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) without_cwd: bool,
    /// Documents that name another store, lowest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) settings: Vec<Setting>,
    /// A document in which the agent lists further stores by working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) registry: Option<StoreRegistry>,
}

/// A setting of the agent that names its store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    /// JSON documents; the first that exists counts.
    pub(super) files: Vec<String>,
    /// Keys from the top down, with a `.` between them.
    pub(super) key: String,
}

/// Where the agent lists its stores by working directory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StoreRegistry {
    /// The JSON document.
    #[schemars(with = "Option<String>")]
    pub(super) file: String,
    /// The key of the list.
    #[schemars(with = "Option<String>")]
    pub(super) list: String,
    /// The key of an entry's working directory.
    #[schemars(with = "Option<String>")]
    pub(super) workdir: String,
    /// The key of an entry's store.
    #[schemars(with = "Option<String>")]
    pub(super) store: String,
}

/// Arguments and variables that point the agent at something of ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Injection {
    /// Arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) args: Vec<String>,
    /// Variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) env: Variables,
    /// Variables whose texts are JSON documents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) json_env: JsonVariables,
}

/// How a one-shot is asked for machine-readable output, and its format: one of `report`'s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Report {
    /// Arguments that ask for machine-readable output.
    #[serde(default)]
    pub(super) args: Vec<String>,
    /// One of `claude-code`, `codex`, `copilot`, `gemini`, `goose`, `grok`, `hermes`, `kimi`, `opencode`, `pi`, `qwen` and `vibe`.
    #[serde(default)]
    pub(super) format: String,
}

/// How the agent is asked for its version, and which files show a login.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Probe {
    /// Arguments that ask for the version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) version: Vec<String>,
    /// Files that show a login; they are never read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) login: Vec<String>,
}

/// Where the agent says for how long it keeps its transcripts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Retention {
    /// A JSON document of the agent's settings.
    #[serde(default)]
    pub(super) file: String,
    /// Keys from the top down, with a `.` between them.
    #[serde(default)]
    pub(super) key: String,
    /// What holds while the file does not say, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference to this")]
const fn is_yes(value: &bool) -> bool {
    *value
}
