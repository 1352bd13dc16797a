//! `agents`: which agents are there, and what each supports (ADP-5).

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

mod check;

use super::read;
use crate::adapter::Registry;
use crate::cli::args::AgentsArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::host::process::ask;
use crate::launch::{FoundAgent, Surroundings, agents, version_line};
use crate::wire::{AgentState, AgentView, AgentsView, Judge, Login, Op};

/// How long a program may think about its version.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many are asked at once.
const MOST: usize = 4;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &AgentsArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let view = match context.call_if_running(Op::Agents)? {
        Some(answer) => read(answer)?,
        None => {
            let (registry, around) = known(context);
            let agents = ask_all(agents(&registry, &around));
            AgentsView { judged_by: Judge::Caller, agents }
        }
    };
    let view = if args.check { check::judged(view) } else { view };
    if out.is_json() {
        out.json(&view)?;
    } else if args.check {
        check::print(&view, out)?;
        say_where(&view, out)?;
    } else {
        print(&view, out)?;
        say_where(&view, out)?;
    }
    // Without `--check` nothing is judged.
    Ok(check::status(&view))
}

fn print(view: &AgentsView, out: &mut Output) -> Result<(), Failure> {
    let row = |one: &AgentState| {
        let login = match one.login {
            Login::Yes => "yes",
            Login::Unknown => "unknown",
        };
        let trouble = || one.version_trouble.as_ref().map(|trouble| format!("unknown: {trouble}"));
        let version = one.version.clone().or_else(trouble);
        vec![
            one.agent.id.clone(),
            or_dash(version),
            login.to_owned(),
            or_dash(one.path.as_ref()),
            supports(&one.agent),
        ]
    };
    let rows: Vec<Vec<String>> = view.agents.iter().map(row).collect();
    out.table(&["AGENT", "VERSION", "LOGIN", "INSTALLED AT", "SUPPORTS"], &rows)
}

fn say_where(view: &AgentsView, out: &mut Output) -> Result<(), Failure> {
    if view.judged_by == Judge::Caller {
        out.line("looked for in this environment, since no daemon answers")?;
    }
    Ok(())
}

/// The agents that are known here, and what a run would find around it, were its daemon started so.
pub(super) fn known(context: &Context) -> (Arc<Registry>, Surroundings) {
    let loaded = context.load();
    // A mistake in the configuration must not hide the built-in agents.
    let registry = loaded.configuration.map_or_else(Registry::builtin, |one| one.registry);
    let around = context.surroundings(&registry, &loaded.settings);
    (registry, around)
}

/// The agents, their programs asked for their versions, a few at once.
pub(super) fn ask_all(found: Vec<FoundAgent>) -> Vec<AgentState> {
    let asked = |one: FoundAgent| {
        let said = one.question.map(|question| {
            ask(&question, PATIENCE)
                .and_then(|said| version_line(&said).ok_or_else(|| "it says nothing".to_owned()))
        });
        one.state.with_version(said)
    };
    let share = found.len().div_ceil(MOST).max(1);
    let mut found = found.into_iter();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        loop {
            let part: Vec<FoundAgent> = found.by_ref().take(share).collect();
            if part.is_empty() {
                break;
            }
            threads.push(scope.spawn(move || part.into_iter().map(asked).collect::<Vec<_>>()));
        }
        // A thread that panics has met a defect and said so; the agents of its share are missing then.
        threads.into_iter().flat_map(|one| one.join().unwrap_or_default()).collect()
    })
}

/// What an agent can be asked for, in words.
fn supports(view: &AgentView) -> String {
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
