//! `once`: one run in the foreground, by the daemon's own machinery (RUN-4).

use std::collections::BTreeMap;
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
        .with_ansi(false)
        .init();
    let configuration = context.configuration()?;
    let harness = context.harness(&configuration, &args.name)?;
    let name = harness.name.clone();
    let alone = Arc::new(just_once(&harness));
    let state = context.options().state_path(&configuration.daemon);
    let harnesses = [(name.clone(), alone)].into();
    let configuration = Configuration { harnesses, profiles: BTreeMap::new(), ..configuration };
    let quiet = out.is_json();
    let run = daemon::foreground(&context.options(), &state, Foreground { configuration, name, quiet })?;
    if quiet {
        out.json(&run)?;
        return Ok(ExitCode::from(exit_status(&run)));
    }
    match (run.outcome, &run.cause) {
        (Some(Outcome::Ok), _) => Ok(ExitCode::SUCCESS),
        (Some(outcome @ (Outcome::SpawnFailed | Outcome::Skipped)), Some(cause)) => {
            let code = match outcome {
                Outcome::Skipped => ErrorCode::AlreadyRunning,
                _ => ErrorCode::SpawnFailed,
            };
            let message = format!("harness `{}` could not be started: {cause}", run.harness);
            Err(ErrorBody::new(code, message).into())
        }
        (outcome, cause) => {
            let outcome = outcome.map_or("unknown", Outcome::as_str);
            let cause = cause.as_deref().unwrap_or("no cause is known");
            let message = format!("the run of harness `{}` ended `{outcome}`: {cause}", run.harness);
            let body = ErrorBody::new(ErrorCode::RunFailed, message);
            Err(Failure::Ended { body, status: exit_status(&run) })
        }
    }
}

/// The harness without what would start it again.
fn just_once(harness: &Harness) -> Harness {
    let mode = match &harness.mode {
        Mode::Resident { .. } => Mode::Resident { restart: RestartPolicy::No },
        Mode::OneShot { timeout, watch, .. } => Mode::OneShot {
            restart: RestartPolicy::No,
            schedule: None,
            timeout: *timeout,
            watch: watch.clone(),
        },
    };
    Harness { mode, enabled: false, ..harness.clone() }
}

/// 0 only on `ok`, else the agent's own non-zero status, else 1.
fn exit_status(run: &Run) -> u8 {
    if run.outcome == Some(Outcome::Ok) {
        return 0;
    }
    let own = run.exit_code.and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
    own.unwrap_or(1)
}
