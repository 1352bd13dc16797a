//! `completions`: a script that completes the command line, made of its definition (CTL-10).

use std::process::ExitCode;

use clap::Command;

use crate::base::version;
use crate::cli;
use crate::cli::args::CompletionsArgs;
use crate::cli::failure::Failure;
use crate::cli::output::Output;

pub(in crate::cli) fn perform(args: &CompletionsArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&cli::command()), "harnessd", &mut script);
    if out.is_json() {
        let script = String::from_utf8_lossy(&script);
        out.json(&serde_json::json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        out.bytes(&script)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The command without its hidden verbs, which the scripts would offer.
fn shown(command: &Command) -> Command {
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned();
    Command::new("harnessd")
        .version(version())
        .propagate_version(true)
        .args(command.get_arguments().cloned())
        .subcommands(verbs)
}
