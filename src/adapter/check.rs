//! What must hold of an adapter beyond the kinds of its values.
//!
//! Invariant: an adapter with no problem here expands without a placeholder
//! left over, whatever is asked of it.

use serde_json::Value;

use super::model::{Adapter, Hide, Injection, JsonVariables, Launch, Means, Variables};
use super::place::{Place, is_variable};
use super::release::Release;
use super::shape::{Problem, suggestion, under};
use super::template::holes;
use crate::base::{Word, is_name, quoted};
use crate::report::Format;

mod clash;
mod skills;
mod trajectory;

pub(super) use clash::clashes;

/// The id that stands for "no adapter known" where ids are exchanged.
pub(super) const UNKNOWN: &str = "unknown";
/// The id of the adapter for everything that is no known agent.
pub(super) const GENERIC: &str = "generic";

/// Collects problems below one path.
struct Checker<'a> {
    problems: &'a mut Vec<Problem>,
    path: Vec<String>,
}

/// Every mistake of an adapter whose values have the right kinds.
pub(super) fn check(adapter: &Adapter) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut all = Checker { problems: &mut problems, path: Vec::new() };
    all.names(adapter);
    all.at("search").places(&adapter.search, false);
    all.at("scrub").variables(adapter.scrub.iter());
    if let Some(means) = &adapter.approval {
        all.at("approval").means(means, &[]);
    }
    all.at("quieten").at("args").words(&adapter.quieten.args, &[]);
    all.at("quieten").at("env").texts(&adapter.quieten.env, &[]);
    for (key, launch) in [("oneshot", &adapter.oneshot), ("resident", &adapter.resident)] {
        if let Some(launch) = launch {
            all.at(key).launch(adapter, launch, key == "oneshot");
        }
    }
    if let Some(skills) = &adapter.skills {
        all.at("skills").skills(skills);
    }
    if let Some(trajectory) = &adapter.trajectory {
        all.at("trajectory").trajectory(trajectory);
    }
    if let Some(gateway) = &adapter.gateway {
        all.at("gateway").injection(gateway, &["endpoint"]);
    }
    if let Some(mcp) = &adapter.mcp {
        all.at("mcp").injection(mcp, &["command", "arguments", "words"]);
    }
    if let Some(outcome) = &adapter.outcome {
        all.at("outcome").at("args").words(&outcome.args, &[]);
        all.at("outcome").at("format").format(&outcome.format);
    }
    if let Some(probe) = &adapter.probe {
        all.at("probe").at("version").words(&probe.version, &[]);
        all.at("probe").at("login").places(&probe.login, false);
    }
    if let Some(retention) = &adapter.retention {
        all.at("retention").at("file").place(&retention.file, false);
        all.at("retention").required("key", retention.key.is_empty());
    }
    problems
}

impl Checker<'_> {
    fn at(&mut self, step: &str) -> Checker<'_> {
        Checker { path: under(&self.path, step), problems: self.problems }
    }

    fn add(&mut self, message: impl Into<String>, help: Option<String>) {
        self.problems.push(Problem { path: self.path.clone(), message: message.into(), help });
    }

    fn required(&mut self, key: &str, lacks: bool) {
        if lacks {
            self.at(key).add(format!("`{key}` is missing"), None);
        }
    }

    /// A format of output for which there is a decoder.
    fn format(&mut self, name: &str) {
        if name.is_empty() {
            self.add("`format` is missing", None);
        } else if name.parse::<Format>().is_err() {
            let message = format!("no agent's output has the format `{}`", name.escape_debug());
            self.add(message, Some(suggestion(name, Format::WORDS.iter().copied())));
        }
    }

    fn names(&mut self, adapter: &Adapter) {
        if !is_name(&adapter.id) || adapter.id == UNKNOWN {
            let message = format!("`{}` cannot be an adapter's id", adapter.id.escape_debug());
            let help =
                "an id is 1 to 63 of `a-z 0-9 _ -`, begins with a letter or digit, and is not `unknown`";
            self.add(message, Some(help.to_owned()));
        }
        for (at, alias) in adapter.aliases.iter().enumerate() {
            if alias.is_empty() || alias.trim() != alias || alias.eq_ignore_ascii_case(UNKNOWN) {
                let message = format!("`{}` cannot be an alias", alias.escape_debug());
                self.at("aliases").at(&at.to_string()).add(message, None);
            }
        }
        for (at, command) in adapter.commands.iter().enumerate() {
            if command.is_empty() || command.contains('/') {
                let message = format!("`{}` is no file name", command.escape_debug());
                let help = "a command infers the adapter by its file name; `search` holds paths".to_owned();
                self.at("commands").at(&at.to_string()).add(message, Some(help));
            }
        }
        if adapter.commands.is_empty() && adapter.id != GENERIC {
            self.at("commands").add("`commands` is missing: there is nothing to start", None);
        }
        if let Some(version) = adapter.verified.as_ref().filter(|version| Release::parse(version).is_none()) {
            let message = format!("`{}` is no version", quoted(version));
            let help = "a version is like `1.2`, `0.171.0` or `1.2.3-beta.1`".to_owned();
            self.at("verified").add(message, Some(help));
        }
        self.at("command_env").variables(adapter.command_env.iter());
    }

    fn variables<'v>(&mut self, names: impl Iterator<Item = &'v String>) {
        for name in names.filter(|name| !is_variable(name)) {
            self.add(format!("`{}` is no name of a variable", name.escape_debug()), None);
        }
    }

    fn place(&mut self, text: &str, relative: bool) {
        match Place::parse(text) {
            Ok(place) if place.is_relative() && !relative => {
                self.add(
                    format!("`{text}` is no absolute path"),
                    Some("begin it with `~/`, `/` or a variable".to_owned()),
                );
            }
            Ok(_) => {}
            Err(error) => self.add(format!("path `{text}` {error}"), None),
        }
    }

    fn places(&mut self, texts: &[String], relative: bool) {
        for (at, text) in texts.iter().enumerate() {
            self.at(&at.to_string()).place(text, relative);
        }
    }

    fn template(&mut self, text: &str, known: &[&str]) {
        for hole in holes(text).into_iter().filter(|hole| !known.contains(hole)) {
            let braced: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            let help = match known {
                [] => "no placeholder is known here".to_owned(),
                _ => suggestion(&format!("{{{hole}}}"), braced.iter().map(String::as_str)),
            };
            self.add(format!("unknown placeholder `{{{hole}}}`"), Some(help));
        }
    }

    fn words(&mut self, words: &[String], known: &[&str]) {
        for (at, word) in words.iter().enumerate() {
            self.at(&at.to_string()).template(word, known);
        }
    }

    fn texts(&mut self, variables: &Variables, known: &[&str]) {
        self.variables(variables.keys());
        for (name, text) in variables {
            self.at(name).template(text, known);
        }
    }

    fn json(&mut self, value: &Value, known: &[&str]) {
        match value {
            Value::String(text) => self.template(text, known),
            Value::Array(list) => {
                list.iter().enumerate().for_each(|(at, item)| self.at(&at.to_string()).json(item, known));
            }
            Value::Object(map) => map.iter().for_each(|(key, item)| self.at(key).json(item, known)),
            _ => {}
        }
    }

    fn json_env(&mut self, variables: &JsonVariables, known: &[&str]) {
        self.variables(variables.keys());
        self.documents(variables, known);
    }

    fn documents(&mut self, documents: &JsonVariables, known: &[&str]) {
        for (name, value) in documents {
            if !value.is_object() {
                self.at(name).add(format!("`{name}` is a table, which becomes a JSON document"), None);
            }
            self.at(name).json(value, known);
        }
    }

    fn means(&mut self, means: &Means, known: &[&str]) {
        let spelt = !means.args.is_empty() || !means.json_args.is_empty() || !means.env.is_empty();
        if means.already == spelt {
            let message = if spelt {
                "what is fulfilled `already` needs no `args` or `env`"
            } else {
                "neither `args` nor `env` nor `already = true` is given"
            };
            self.add(message, None);
        }
        self.at("args").words(&means.args, known);
        self.at("json_args").documents(&means.json_args, &[]);
        self.at("env").texts(&means.env, known);
    }

    fn launch(&mut self, adapter: &Adapter, launch: &Launch, oneshot: bool) {
        if !launch.is_possible() {
            self.add("neither `argument` nor `stdin` says how the prompt is handed over", None);
        }
        for (key, means, known) in [
            ("model", &launch.model, &["value"] as &[&str]),
            ("auto_accept", &launch.auto_accept, &[]),
            ("max_turns", &launch.max_turns, &["value"]),
            ("quiet", &launch.quiet, &[]),
        ] {
            if let Some(means) = means {
                self.at(key).means(means, known);
            }
        }
        for (key, words) in
            [("session_id", &launch.session_id), ("resume", &launch.resume), ("fork", &launch.fork)]
        {
            let known: &[&str] = if key == "fork" { &["session", "fresh"] } else { &["session"] };
            self.at(key).words(words, known);
        }
        let splices = splices(adapter, launch, oneshot);
        for (key, words, prompts) in [("argument", &launch.argument, 1), ("stdin", &launch.stdin, 0)] {
            if !words.is_empty() {
                self.at(key).form(words, prompts, &splices);
            }
        }
    }

    /// One argv template. `splices` says of each list whether there is
    /// anything that would be lost without its placeholder.
    fn form(&mut self, words: &[String], prompts: usize, splices: &[(&str, bool)]) {
        let mut known: Vec<&str> = splices.iter().map(|(name, _)| *name).collect();
        known.extend((prompts > 0).then_some("prompt"));
        self.words(words, &known);
        let all: Vec<&str> = words.iter().flat_map(|word| holes(word)).collect();
        if all.iter().filter(|hole| **hole == "prompt").count() != prompts && prompts == 1 {
            self.add("the template holds `{prompt}` exactly once", None);
        }
        for (name, needed) in splices {
            let whole = format!("{{{name}}}");
            let alone = words.iter().filter(|word| **word == whole).count();
            let seen = all.iter().filter(|hole| *hole == name).count();
            if seen > 1 || seen != alone {
                self.add(format!("`{whole}` stands alone as one element, once"), None);
            } else if seen == 0 && *needed {
                self.add(format!("the template lacks the element `{whole}`"), None);
            }
        }
    }

    fn injection(&mut self, injection: &Injection, known: &[&str]) {
        self.at("args").words(&injection.args, known);
        self.at("env").texts(&injection.env, known);
        self.at("json_env").json_env(&injection.json_env, known);
    }
}

/// The lists that a template may splice in, and whether each can hold anything.
fn splices(adapter: &Adapter, launch: &Launch, for_oneshot: bool) -> Vec<(&'static str, bool)> {
    let options = [&launch.model, &launch.max_turns, &launch.quiet]
        .into_iter()
        .chain([if launch.auto_accept.is_some() { &launch.auto_accept } else { &adapter.approval }])
        .flatten()
        .any(|means| !means.args.is_empty() || !means.json_args.is_empty());
    // A resident agent is not asked for it; a template of one may take the list all the same.
    let reported = for_oneshot && adapter.outcome.as_ref().is_some_and(|outcome| !outcome.args.is_empty());
    let told = adapter.skills.as_ref().is_some_and(|skills| {
        let hides = |hide: &Hide| !hide.args.is_empty() || !hide.json_args.is_empty();
        !skills.args.is_empty() || !skills.json_args.is_empty() || skills.hide.as_ref().is_some_and(hides)
    });
    let session = [&launch.session_id, &launch.resume, &launch.fork].iter().any(|words| !words.is_empty());
    vec![
        ("options", options || reported || session),
        ("skills", told),
        ("quieten", !adapter.quieten.args.is_empty()),
    ]
}
