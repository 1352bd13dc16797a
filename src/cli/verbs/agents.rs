//! `agents`: the registry, and what each agent supports.

use std::ffi::OsStr;
use std::process::ExitCode;

use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::host::process::find_program;

pub(in crate::cli) fn perform(context: &Context, out: &mut Output) -> Result<ExitCode, Failure> {
    // A mistake in the configuration must not hide the built-in agents.
    let registry = match context.load().configuration {
        Some(configuration) => configuration.registry,
        None => crate::adapter::Registry::builtin(),
    };
    let path = context.env.get("PATH").map(OsStr::new);
    let mut views = Vec::new();
    for adapter in registry.all() {
        let words = adapter.command_words(None, &context.env, &context.home);
        let found = words.iter().find_map(|word| find_program(word, path, &context.home).ok());
        views.push((adapter.view(), found));
    }
    views.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
    if out.is_json() {
        let list: Vec<serde_json::Value> =
            views.iter().map(|(view, path)| with_path(view, path.as_deref())).collect();
        out.json(&serde_json::json!({ "agents": list }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = views
        .iter()
        .map(|(view, path)| {
            let place = path.as_ref().map_or("-".to_owned(), ToString::to_string);
            vec![view.id.clone(), supports(view), place]
        })
        .collect();
    out.table(&["AGENT", "SUPPORTS", "INSTALLED AT"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn with_path(view: &crate::adapter::AgentView, path: Option<&camino::Utf8Path>) -> serde_json::Value {
    let mut value = serde_json::json!(view);
    if let Some(path) = path {
        value["path"] = path.as_str().into();
    }
    value["installed"] = path.is_some().into();
    value
}

/// What an agent can be asked for, in words.
fn supports(view: &crate::adapter::AgentView) -> String {
    let can = &view.supports;
    let options = [
        ("model", &can.model),
        ("auto_accept", &can.auto_accept),
        ("max_turns", &can.max_turns),
        ("quiet", &can.quiet),
    ];
    let prompt = can.prompt.then_some("prompt");
    let skills = (can.skills != "none").then_some("skills");
    let options =
        options.iter().filter(|(_, how)| can.prompt && how.as_str() != "never").map(|(name, _)| *name);
    let resume = match (can.resume, can.resident_resume) {
        (true, true) => Some("resume"),
        (true, false) => Some("resume (one-shots)"),
        (false, true) => Some("resume (resident)"),
        (false, false) => None,
    };
    let sessions = resume.into_iter().chain(can.fork.then_some("fork"));
    let words: Vec<&str> = prompt.into_iter().chain(options).chain(skills).chain(sessions).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}
