//! `run`: the daemon (CTL-1).

use std::process::ExitCode;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use crate::cli::args::{LogFormat, RunArgs};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::journal::Journal;
use crate::daemon;
use crate::host::console::Console;
use crate::host::notify;

/// How long a reader of the daemon's log may stall at the end.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(in crate::cli) fn perform(context: &Context, args: &RunArgs) -> Result<ExitCode, Failure> {
    let console = Console::stderr()?;
    let writer = console.clone();
    let builder = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::INFO)
        .with_writer(move || writer.clone())
        .with_target(false);
    match args.log_format {
        LogFormat::Text if notify::stderr_is_journal() => {
            builder.with_ansi(false).event_format(Journal::new()).init();
        }
        LogFormat::Text => builder.with_ansi(false).init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    let ended = daemon::run(&context.options(), &console);
    console.finish(LAST_WORDS);
    ended?;
    Ok(ExitCode::SUCCESS)
}
