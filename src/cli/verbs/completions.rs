//! `completions`: a script that completes the command line, made of its definition (CTL-10).

use std::process::ExitCode;

use crate::cli;
use crate::cli::args::CompletionsArgs;
use crate::cli::failure::Failure;
use crate::cli::output::Output;

pub(in crate::cli) fn perform(args: &CompletionsArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "harnessd", &mut script);
    if out.is_json() {
        let script = String::from_utf8_lossy(&script);
        out.json(&serde_json::json!({ "shell": args.shell.to_string(), "script": script }))?;
    } else {
        out.bytes(&script)?;
    }
    Ok(ExitCode::SUCCESS)
}
