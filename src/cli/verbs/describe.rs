//! `describe`: one harness in full.

use std::process::ExitCode;

use super::read;
use super::skills::print_skills;
use crate::cli::args::NameArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::wire::{Description, Op};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &NameArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let answer = context.call(Op::Describe { name: context.name_at_daemon(&args.name)? })?;
    if out.is_json() {
        out.json(&answer)?;
        return Ok(ExitCode::SUCCESS);
    }
    let found: Description = read(answer)?;
    let view = &found.harness;
    out.line(&format!("{} ({}) is {}", view.name, view.adapter, view.state))?;
    if let Some(text) = &view.description {
        out.line(&format!("  {text}"))?;
    }
    out.line(&format!("declared in {}:{}", found.source.file, found.source.line))?;
    out.line(&format!("command: {}", words(&found.command)))?;
    if let Some(next) = view.next_firing {
        out.line(&format!("next firing: {}", out.time(next)))?;
    }
    out.line("definition:")?;
    for (key, value) in found.definition.as_object().into_iter().flatten() {
        out.line(&format!("  {key} = {value}"))?;
    }
    print_skills(&found.skills, out)?;
    Ok(ExitCode::SUCCESS)
}

/// An argument vector as a person can read it: words with blanks are quoted.
pub(super) fn words(command: &[String]) -> String {
    let plain =
        |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c));
    let quoted = command.iter().map(|word| if plain(word) { word.clone() } else { format!("{word:?}") });
    quoted.collect::<Vec<_>>().join(" ")
}
