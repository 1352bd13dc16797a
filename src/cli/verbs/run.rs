//! `run`: the daemon (CTL-1).

use std::process::ExitCode;

use tracing::level_filters::LevelFilter;

use crate::cli::args::{LogFormat, RunArgs};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::daemon;

pub(in crate::cli) fn perform(context: &Context, args: &RunArgs) -> Result<ExitCode, Failure> {
    let builder = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_writer(std::io::stderr)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    daemon::run(&context.options())?;
    Ok(ExitCode::SUCCESS)
}
