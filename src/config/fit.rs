//! Rules between the keys of one harness.
//!
//! Invariant: only a key of the harness's own table can be an error; a key of
//! `[defaults]` that does not fit is left out for this harness (CFG-6).

use std::sync::Arc;

use camino::Utf8Path;

use super::Context;
use super::codes::{
    CANNOT_LAUNCH, MISSING_COMMAND, NEEDS_PROMPT, PROMPT_NOT_TAKEN, PROMPT_TOO_LONG, UNFULFILLABLE,
};
use super::document::File;
use super::model::{PromptSource, Work};
use super::path::resolve;
use super::raw::RawHarness;
use super::scalar::Element;
use super::scope::Scope;
use crate::adapter::{Adapter, Fulfilment, Invocation, OptionKey, PromptOptions, SynthesisError};
use crate::base::{Diagnostic, size_text};

mod budget;
mod mode;
mod resume;

pub(super) use budget::budget;
pub(super) use mode::{SCHEDULED_TIMEOUT, mode};
pub(super) use resume::resume;

/// Which agent is run, and by which program.
pub(super) struct Chosen {
    /// The adapter; none if it cannot be known.
    pub(super) adapter: Option<Arc<Adapter>>,
    /// `cmd`.
    pub(super) program: Option<String>,
}

/// The adapter (`agent`, else by `cmd`) and the program.
pub(super) fn choose(scope: &mut Scope<'_>, raw: &RawHarness, context: &Context<'_>) -> Chosen {
    let (mut agent, mut cmd) = (raw.agent.as_deref(), raw.cmd.as_deref());
    let named = agent.and_then(|agent| context.registry.find(agent));
    let inferred = cmd.map(|cmd| context.registry.infer(cmd));
    if let (Some(named), Some(inferred)) = (&named, &inferred) {
        // One of the two is a default for another agent than the one that the harness names.
        if inferred.takes_prompt() && inferred.id() != named.id() {
            match (scope.has("agent"), scope.has("cmd")) {
                (true, false) => cmd = None,
                (false, true) => agent = None,
                _ => {}
            }
        }
    }
    let program = cmd.map(str::to_owned);
    if scope.broken("agent") || (agent.is_none() && scope.broken("cmd")) {
        return Chosen { adapter: None, program };
    }
    let adapter = if agent.is_some() { named } else { inferred.filter(|_| cmd.is_some()) };
    let Some(adapter) = adapter else {
        let header = scope.header();
        let diagnostic =
            Diagnostic::error(MISSING_COMMAND, header, "neither `cmd` nor `agent` says what to execute");
        scope.note(diagnostic.help("add `cmd = \"PROGRAM\"`, or `agent` with the name of an agent"));
        return Chosen { adapter: None, program };
    };
    if program.is_none() && adapter.commands().is_empty() && !scope.broken("cmd") {
        let place = if scope.has("agent") { scope.value(&["agent"]) } else { scope.header() };
        let message = format!("agent `{}` has no command of its own", adapter.id());
        scope.note(Diagnostic::error(MISSING_COMMAND, place, message).help("add `cmd = \"PROGRAM\"`"));
        return Chosen { adapter: None, program };
    }
    // A table that could not be read may have been the one that this command infers.
    let unsure = agent.is_none() && !adapter.takes_prompt() && !context.spoilt_adapters.is_empty();
    Chosen { adapter: Some(adapter).filter(|_| !unsure), program }
}

/// The prompt that a harness is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    /// None.
    Nothing,
    /// One, but what it is cannot be known.
    Unknown,
    /// `prompt`.
    Text(String),
    /// `prompt_file`, as it is written.
    File(String),
}

impl Given {
    const fn some(&self) -> bool {
        !matches!(self, Self::Nothing)
    }
}

/// The harness's own prompt, else the default one where it fits.
pub(super) fn prompt(scope: &Scope<'_>, raw: &RawHarness, chosen: &Chosen) -> Given {
    let text = |text: &Option<String>| text.clone().map_or(Given::Unknown, Given::Text);
    let file = |path: &Option<String>| path.clone().map_or(Given::Unknown, Given::File);
    if scope.has("prompt") {
        return if scope.broken("prompt") { Given::Unknown } else { text(&raw.prompt) };
    }
    if scope.has("prompt_file") {
        return if scope.broken("prompt_file") { Given::Unknown } else { file(&raw.prompt_file) };
    }
    if scope.has("args") || chosen.adapter.as_ref().is_some_and(|adapter| !adapter.takes_prompt()) {
        return Given::Nothing;
    }
    if scope.broken("prompt") || scope.broken("prompt_file") {
        return Given::Unknown;
    }
    match (&raw.prompt, &raw.prompt_file) {
        (Some(_), _) => text(&raw.prompt),
        (None, Some(_)) => file(&raw.prompt_file),
        (None, None) => Given::Nothing,
    }
}

/// Whether the harness is a one-shot; none if that cannot be known.
pub(super) fn oneshot(scope: &Scope<'_>, raw: &RawHarness, given: &Given) -> Option<bool> {
    if scope.broken("oneshot") {
        return None;
    }
    let wants_one = !mode::wants_oneshot(scope, raw).is_empty();
    match raw.oneshot {
        // A default that does not fit a harness with a prompt and a schedule.
        Some(false) if !scope.has("oneshot") && given.some() && wants_one => Some(true),
        Some(oneshot) => Some(oneshot),
        None => Some(given.some()),
    }
}

/// The agent must take a prompt, and one of this length.
pub(super) fn prompt_fits(scope: &mut Scope<'_>, chosen: &Chosen, given: &Given, oneshot: Option<bool>) {
    let Some(adapter) = &chosen.adapter else { return };
    if !adapter.takes_prompt() {
        for key in ["prompt", "prompt_file"] {
            if scope.has(key) {
                let id = adapter.id();
                let message = if scope.has("agent") {
                    format!("agent `{id}` takes no `{key}`")
                } else {
                    format!("`cmd` stands for agent `{id}`, which takes no `{key}`")
                };
                let help = "name an `agent` that does, or pass the words in `args`";
                let place = scope.key(&[key]);
                scope.spoil(key, Diagnostic::error(PROMPT_NOT_TAKEN, place, message).help(help));
            }
        }
        return;
    }
    let bound = if oneshot == Some(false) { adapter.resident_prompt_bound() } else { adapter.prompt_bound() };
    if let (Given::Text(text), Some(bound)) = (given, bound)
        && text.len() > bound
        && scope.says("prompt")
    {
        let (size, most) = (text.len(), bound);
        let message = format!(
            "the prompt is {size} bytes ({}), agent `{}` can be handed at most {most} ({})",
            size_text(size as u64),
            adapter.id(),
            size_text(most as u64)
        );
        let help = "shorten it, or let it name a file that the agent reads";
        let place = scope.key(&["prompt"]);
        scope.spoil("prompt", Diagnostic::error(PROMPT_TOO_LONG, place, message).help(help));
    }
}

/// `model`, `auto_accept`, `max_turns`, `quiet`: they need a prompt, and an
/// agent that can do what they ask.
pub(super) fn options(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    chosen: &Chosen,
    given: &Given,
    oneshot: Option<bool>,
) -> PromptOptions {
    let mut options = PromptOptions {
        model: raw.model.clone(),
        auto_accept: raw.auto_accept.unwrap_or(false),
        max_turns: raw.max_turns.filter(|turns| *turns > 0),
        quiet: raw.quiet.unwrap_or(true),
    };
    let adapter = chosen.adapter.as_ref().filter(|adapter| adapter.takes_prompt());
    for &key in OptionKey::ALL {
        let name = key.as_str();
        if !given.some() && scope.has(name) {
            let message = format!("`{name}` needs a prompt");
            let help = format!(
                "add `prompt` or `prompt_file`, or pass the agent's own flag in `args` instead of `{name}`"
            );
            let place = scope.key(&[name]);
            scope.note(Diagnostic::error(NEEDS_PROMPT, place, message).help(help));
        }
        let asked = match key {
            OptionKey::Model => options.model.is_some(),
            OptionKey::AutoAccept => options.auto_accept,
            OptionKey::MaxTurns => options.max_turns.is_some(),
            OptionKey::Quiet => options.quiet,
        };
        let (Some(adapter), true) = (adapter, asked && given.some()) else { continue };
        let resident = oneshot == Some(false);
        let means = if resident { adapter.resident_fulfils(key) } else { adapter.fulfils(key) };
        if means != Fulfilment::Never {
            continue;
        }
        if scope.says(name) {
            let how = if resident { " in its terminal mode" } else { "" };
            let message = format!("agent `{}` has no means for `{name}`{how}", adapter.id());
            let place = scope.key(&[name]);
            let help = format!("remove `{name}`: this agent cannot be asked for it");
            scope.note(Diagnostic::error(UNFULFILLABLE, place, message).help(help));
        }
        match key {
            OptionKey::Model => options.model = None,
            OptionKey::AutoAccept => options.auto_accept = false,
            OptionKey::MaxTurns => options.max_turns = None,
            OptionKey::Quiet => options.quiet = false,
        }
    }
    options
}

/// What is executed; none if the prompt cannot be known.
pub(super) fn work(
    raw: &RawHarness,
    chosen: Chosen,
    given: Given,
    options: PromptOptions,
    file: &File,
    home: &Utf8Path,
) -> Option<Work> {
    let program = chosen.program;
    let prompt = match given {
        Given::Unknown => return None,
        Given::Text(text) => PromptSource::Text(text),
        Given::File(path) => PromptSource::File(resolve(&path, &file.dir, home).ok()?),
        Given::Nothing => {
            let words = raw.args.iter().flatten().filter_map(Element::text);
            return Some(Work::Command { program, args: words.map(str::to_owned).collect() });
        }
    };
    Some(Work::Prompt { program, prompt, options })
}

/// Makes the command once, so that what would fail each start fails the load.
pub(super) fn rehearse(
    scope: &mut Scope<'_>,
    adapter: &Adapter,
    work: &Work,
    resident: bool,
    workdir: Option<&Utf8Path>,
) {
    if scope.failed() {
        return;
    }
    let none = PromptOptions::default();
    let (program, args, prompt, options, key) = match work {
        Work::Command { program, args } => (program, args.as_slice(), None, &none, "args"),
        Work::Prompt { program, prompt: PromptSource::Text(text), options } => {
            (program, &[][..], Some(text.as_str()), options, "prompt")
        }
        Work::Prompt { program, options, .. } => (program, &[][..], Some("x"), options, "prompt_file"),
    };
    let program = program.as_deref();
    let wanted =
        Invocation { program, args, prompt, resident, options, workdir, skills: None, session: None };
    if let Err(error) = adapter.synthesize(&wanted) {
        let place = if scope.has(key) { scope.key(&[key]) } else { scope.header() };
        let help = match error {
            SynthesisError::NoWorkdir { .. } => "add a `workdir`",
            SynthesisError::PromptMisread { .. } => "begin the prompt with another word",
            SynthesisError::NoResidentPrompt { .. } => "remove `oneshot = false`",
            _ => "every start would fail like this",
        };
        scope.note(Diagnostic::error(CANNOT_LAUNCH, place, error.to_string()).help(help));
    }
}
