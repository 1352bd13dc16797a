//! `skills`: the merged set of harnesses: who won, who is shadowed (SKL-3).

mod check;
mod sync;

use std::process::ExitCode;

use super::read;
use crate::cli::args::{SkillsArgs, SkillsVerb};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::launch::skills_view;
use crate::wire::{Op, ProjectionView, SkillsView};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &SkillsArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    match &args.verb {
        None => {}
        Some(SkillsVerb::Sync(args)) => return sync::perform(context, args, out),
        Some(SkillsVerb::Check(args)) => return check::perform(context, args, out),
    }
    let views = match &args.name {
        Some(name) => vec![one(context, name)?],
        None => all(context)?,
    };
    if out.is_json() {
        match (&args.name, views.as_slice()) {
            (Some(_), [view]) => out.json(view)?,
            _ => out.json(&serde_json::json!({ "harnesses": views }))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    for (number, view) in views.iter().enumerate() {
        if number > 0 {
            out.line("")?;
        }
        out.line(&format!("{} ({})", view.harness, view.adapter))?;
        print_skills(view, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The daemon's view where there is one that knows the harness, else made from the files.
fn one(context: &Context, name: &str) -> Result<SkillsView, Failure> {
    if let Some(answer) = context.look_if_known(name, |name| Op::Skills { name })? {
        return read(answer);
    }
    let configuration = context.whole_configuration()?;
    let harness = context.harness(&configuration, name)?;
    Ok(skills_view(&harness, &context.surroundings_of(&configuration)))
}

fn all(context: &Context) -> Result<Vec<SkillsView>, Failure> {
    let configuration = context.whole_configuration()?;
    let around = context.surroundings_of(&configuration);
    Ok(configuration.harnesses.values().map(|harness| skills_view(harness, &around)).collect())
}

/// Prints for people what a projection does, or would do.
pub(super) fn print_changes(skills: &ProjectionView, out: &mut Output) -> Result<(), Failure> {
    let whose = if skills.private { "private" } else { "shared" };
    out.line(&format!("  skills go to {} ({whose})", skills.target))?;
    let changes = &skills.changes;
    let lists = [
        ("written", &changes.written),
        ("kept", &changes.kept),
        ("removed", &changes.removed),
        ("occupied", &changes.occupied),
        ("left out", &skills.left_out),
    ];
    for (word, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        out.line(&format!("    {word}: {}", names.join(", ")))?;
    }
    for winner in &skills.shadowed {
        for copy in &winner.copies {
            let rank = word(&copy.rank);
            let text = format!("    {}: {} shadows {} [{rank}]", winner.name, winner.source, copy.source);
            out.line(&text)?;
        }
    }
    Ok(())
}

/// Prints the merged set for people.
pub(super) fn print_skills(view: &SkillsView, out: &mut Output) -> Result<(), Failure> {
    match &view.target {
        Some(target) => {
            let whose = if view.private { "private" } else { "shared" };
            out.line(&format!("skills go to {target} ({whose})"))?;
        }
        None => out.line("skills: this agent takes none")?,
    }
    for root in &view.roots {
        out.line(&format!("  root {} [{}] {}", root.path, word(&root.rank), word(&root.state)))?;
    }
    for skill in &view.skills {
        out.line(&format!(
            "  {} ({}) from {} [{}]",
            skill.name,
            word(&skill.state),
            skill.source,
            word(&skill.rank)
        ))?;
        for copy in &skill.shadowed {
            out.line(&format!("    shadows {} [{}]", copy.source, word(&copy.rank)))?;
        }
        for warning in &skill.warnings {
            out.line(&format!("    warning: {warning}"))?;
        }
    }
    for native in view.native.iter().filter(|native| native.visible) {
        let shadowed = if native.shadowed { ", though another copy won" } else { "" };
        out.line(&format!("  native {} at {}: the agent sees it{shadowed}", native.name, native.source))?;
    }
    for warning in &view.warnings {
        out.line(&format!("  warning: {warning}"))?;
    }
    Ok(())
}

/// The word that JSON has for a value.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
