//! What can be said of the values of one table without looking at any other.
//!
//! Invariant: only keys that stand in the table itself are looked at, so that
//! a mistake in `[defaults]` is reported there, once.

use std::sync::Arc;

use super::codes::{
    BAD_VALUE, BLANK_PROMPT, EMPTY_VALUE, EXCLUSIVE_KEYS, GLOBAL_ONLY, NOT_SUPPORTED_YET, UNKNOWN_ADAPTER,
};
use super::keys::HARNESS_KEYS;
use super::raw::RawHarness;
use super::scope::Scope;
use super::{Context, FileKind};
use crate::adapter::Adapter;
use crate::base::{Diagnostic, Place, nearest, quoted};

mod paths;
mod program;
mod strings;

pub(super) use program::program;
pub(super) use strings::elements;

use paths::{env_file, path, prompt_file, skill_paths};
use program::shell_line;
use strings::{nul, variables};

/// Checks all values of one table.
pub(super) fn check(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    later_keys(scope, raw);
    strings(scope, raw);
    exclusions(scope);
    agent(scope, raw, context);
    schedule(scope, raw, context);
    elements(scope, "args", raw.args.as_deref());
    program(scope, "check", raw.check.as_ref());
    elements(scope, "skill_paths", raw.skill_paths.as_deref());
    skill_paths(scope, raw, context);
    variables(scope, raw);
    path(scope, "workdir", raw.workdir.as_deref(), context);
    prompt_file(scope, raw, context);
    env_file(scope, raw, context);
}

fn later_keys(scope: &mut Scope<'_>, raw: &RawHarness) {
    for key in HARNESS_KEYS.iter().filter(|key| key.later) {
        if !scope.has(key.name) {
            continue;
        }
        let place = scope.key(&[key.name]);
        if key.name == "mcp_allow" && scope.file.kind == FileKind::Project {
            scope.note(
                Diagnostic::error(GLOBAL_ONLY, place, "`mcp_allow` may stand in the global file only").help(
                    "what a project may do to other harnesses is not the project's to say: remove it here",
                ),
            );
        } else if key.name == "mcp_allow" && !permissions(scope, raw) || scope.broken(key.name) {
            // Its own mistake has been reported.
        } else {
            scope.note(not_supported_yet(key.name, place));
        }
    }
}

/// Whether `mcp_allow` lists nothing but permissions.
fn permissions(scope: &mut Scope<'_>, raw: &RawHarness) -> bool {
    elements(scope, "mcp_allow", raw.mcp_allow.as_deref());
    let words = raw.mcp_allow.iter().flatten().enumerate();
    let wrong: Vec<(String, &str)> = words
        .filter_map(|(at, word)| Some((at.to_string(), word.text()?)))
        .filter(|(_, word)| !matches!(*word, "read" | "write"))
        .collect();
    for (at, word) in &wrong {
        let message = format!("`mcp_allow`: `{}` is no permission", quoted(word));
        let place = scope.value(&["mcp_allow", at]);
        scope
            .spoil("mcp_allow", Diagnostic::error(BAD_VALUE, place, message).help("write `read` or `write`"));
    }
    wrong.is_empty() && !scope.broken("mcp_allow")
}

/// The refusal of a key whose behaviour does not exist yet.
pub(super) fn not_supported_yet(key: &str, place: Place) -> Diagnostic {
    Diagnostic::error(NOT_SUPPORTED_YET, place, format!("not supported yet: {key}"))
        .help("remove it: this version would not do what it says")
}

fn strings(scope: &mut Scope<'_>, raw: &RawHarness) {
    let all = [
        ("cmd", raw.cmd.as_deref()),
        ("agent", raw.agent.as_deref()),
        ("prompt", raw.prompt.as_deref()),
        ("model", raw.model.as_deref()),
    ];
    for (key, text) in all {
        let Some(text) = text.filter(|_| scope.says(key)) else { continue };
        if text.contains('\0') {
            nul(scope, key, key, &[key]);
        } else if text.trim().is_empty() && key == "prompt" {
            let place = scope.key(&[key]);
            let diagnostic =
                Diagnostic::error(BLANK_PROMPT, place, "the prompt holds nothing but white space");
            scope.spoil(key, diagnostic.help("say what the agent is to do, or leave `prompt` out"));
        } else if text.trim().is_empty() {
            let place = scope.value(&[key]);
            let diagnostic = Diagnostic::error(EMPTY_VALUE, place, format!("`{key}` is empty"));
            scope.spoil(key, diagnostic.help(format!("give it a value, or leave `{key}` out")));
        }
    }
    if let Some(cmd) = raw.cmd.as_deref().filter(|_| scope.says("cmd")) {
        shell_line(scope, "cmd", cmd, |program, args| format!("`cmd = {program}` and `args = [{args}]`"));
    }
}

/// `prompt`, `prompt_file` and `args` exclude each other within one table.
fn exclusions(scope: &mut Scope<'_>) {
    let pairs = [("prompt", "prompt_file"), ("prompt", "args"), ("prompt_file", "args")];
    for (one, other) in pairs {
        // With all three, the third pair says nothing new.
        if !scope.has(one) || !scope.has(other) || (one == "prompt_file" && scope.has("prompt")) {
            continue;
        }
        let (one_place, other_place) = (scope.key(&[one]), scope.key(&[other]));
        let start = |place: &Place| place.span.as_ref().map(|span| span.start);
        let one_is_first = start(&one_place) < start(&other_place);
        let (first, first_name, second) =
            if one_is_first { (one_place, one, other_place) } else { (other_place, other, one_place) };
        let help = if other == "args" {
            "with a prompt the agent's own template makes the arguments: remove one of the two"
        } else {
            "remove one of the two"
        };
        let message = format!("`{one}` and `{other}` exclude each other");
        scope.note(
            Diagnostic::error(EXCLUSIVE_KEYS, second, message)
                .help(help)
                .related(first, format!("`{first_name}` stands here")),
        );
    }
}

fn agent(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    let Some(agent) = raw.agent.as_deref().filter(|_| scope.says("agent")) else { return };
    if context.registry.find(agent).is_some() {
        return;
    }
    if context.spoilt_adapters.iter().any(|name| name.eq_ignore_ascii_case(agent.trim())) {
        scope.broken.insert("agent".to_owned());
        return;
    }
    let ids = context.registry.ids();
    let near = near_agents(agent, context);
    let ticked = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    let help = if near.is_empty() {
        format!("known agents: {}", ticked(&ids).join(", "))
    } else {
        format!("did you mean {}?", ticked(&near).join(" or "))
    };
    let whose = scope.harness.as_ref().map_or("`[defaults]`".to_owned(), |name| format!("harness `{name}`"));
    let message = format!("{whose} names an unknown agent: `{}`", quoted(agent));
    let place = scope.value(&["agent"]);
    scope.spoil("agent", Diagnostic::error(UNKNOWN_ADAPTER, place, message).help(help));
}

fn schedule(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) {
    let Some(text) = raw.schedule.as_deref().filter(|_| scope.says("schedule")) else { return };
    let Err(error) = context.schedule(text) else { return };
    let help = error.help().unwrap_or_else(|| "for example `schedule = \"30 6 * * 1-5\"`".to_owned());
    let place = scope.file.part(&scope.below(&["schedule"]), error.span());
    scope.spoil("schedule", Diagnostic::error(BAD_VALUE, place, format!("`schedule`: {error}")).help(help));
}

/// The ids of agents with a name like `text`; a further name is understood, but
/// the id is what is advised.
fn near_agents<'a>(text: &str, context: &Context<'a>) -> Vec<&'a str> {
    let all = context.registry.all();
    let names = |adapter: &'a Arc<Adapter>| {
        std::iter::once(adapter.id()).chain(adapter.aliases().iter().map(String::as_str))
    };
    let mut ids = Vec::new();
    for near in nearest(&text.trim().to_lowercase(), all.iter().flat_map(names)) {
        let id = all.iter().find(|adapter| names(adapter).any(|name| name == near)).map(|one| one.id());
        ids.extend(id.filter(|id| !ids.contains(id)));
    }
    ids
}
