//! `once`: one run in the foreground, by the daemon's own machinery (RUN-4).

use std::process::ExitCode;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;

use crate::base::Outcome;
use crate::cli::args::NameArgs;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::config::{Configuration, Harness, Mode};
use crate::daemon::{self, Foreground};
use crate::lifecycle::RestartPolicy;
use crate::wire::{ErrorBody, ErrorCode, Run};

pub(in crate::cli) fn perform(
    context: &Context,
    args: &NameArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::ERROR)
        .with_writer(std::io::stderr)
        .with_target(false)
        .init();
    let configuration = context.configuration()?;
    let harness = context.harness(&configuration, &args.name)?;
    let name = harness.name.clone();
    let alone = Arc::new(just_once(&harness));
    let state = context.options().state_path(&configuration.daemon);
    let configuration = Configuration { harnesses: [(name.clone(), alone)].into(), ..configuration };
    let quiet = out.is_json();
    let run = daemon::foreground(&context.options(), &state, Foreground { configuration, name, quiet })?;
    if quiet {
        out.json(&run)?;
    } else if let (Some(outcome @ (Outcome::SpawnFailed | Outcome::Skipped)), Some(cause)) =
        (run.outcome, &run.cause)
    {
        let code = match outcome {
            Outcome::Skipped => ErrorCode::AlreadyRunning,
            _ => ErrorCode::SpawnFailed,
        };
        let message = format!("harness `{}` could not be started: {cause}", run.harness);
        return Err(ErrorBody::new(code, message).into());
    }
    Ok(exit_code(&run))
}

/// The harness without what would start it again.
fn just_once(harness: &Harness) -> Harness {
    let mode = match harness.mode {
        Mode::Resident { .. } => Mode::Resident { restart: RestartPolicy::No },
        Mode::OneShot { timeout, .. } => {
            Mode::OneShot { restart: RestartPolicy::No, schedule: None, timeout }
        }
    };
    Harness { mode, enabled: false, ..harness.clone() }
}

/// 0 only on `ok`, else the agent's own non-zero status, else 1.
fn exit_code(run: &Run) -> ExitCode {
    if run.outcome == Some(Outcome::Ok) {
        return ExitCode::SUCCESS;
    }
    let own = run.exit_code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    ExitCode::from(own.unwrap_or(1))
}
