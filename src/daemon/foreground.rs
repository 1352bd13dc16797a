//! One run in the foreground (RUN-4), by the daemon's own machinery: no socket, no watched files, and
//! the reply about the run ends the loop.

use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;

use super::assembly::{assemble, make_state_dir, new_loop, register, turn_until_finished};
use super::boot::Options;
use super::containment;
use super::errands::errand_owner;
use super::error::DaemonError;
use super::state::Asker;
use crate::base::{HarnessName, Outcome};
use crate::config::Configuration;
use crate::host::console::Console;
use crate::host::run_lock::RunLocks;
use crate::host::{files, tree};
use crate::store::Store;
use crate::supervisor::{Event, Remembered};
use crate::wire::{ErrorBody, ErrorCode, Record, Run};

/// How long a reader of a foreground run's output may stall at the end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How to mend what keeps a run from being recorded.
const UNRECORDED: &str = "make room on the disk, or end what holds the store; a damaged one is moved aside by the \
                          next `harnessd run`";

/// One run in the foreground.
#[derive(Debug)]
pub struct Foreground {
    /// A configuration that holds just the harness.
    pub configuration: Configuration,
    /// The harness.
    pub name: HarnessName,
    /// Whether its output goes to the log alone.
    pub quiet: bool,
}

/// Does one run of one harness and tells its record (RUN-4).
///
/// # Errors
/// [`DaemonError`], when it could not be tried; how it ended is in the record.
pub fn foreground(options: &Options, state: &Utf8Path, what: Foreground) -> Result<Run, DaemonError> {
    let mut event_loop = new_loop()?;
    make_state_dir(state)?;
    let store = Store::open(state)?;
    let locks = RunLocks::open(state).map_err(DaemonError::system("run locks"))?;
    if let Some(pid) = locks.holder(&what.name) {
        let message = format!("harness `{}` runs already, under process {pid}", what.name);
        return Err(ErrorBody::new(ErrorCode::AlreadyRunning, message).into());
    }
    let settings = what.configuration.daemon.clone();
    let mut daemon =
        assemble(&event_loop, options, files::home_directory(), state.to_owned(), &settings, store, locks)?;
    daemon.foreground = true;
    if let Some(owner) = errand_owner(state) {
        // Those of one that was killed; where there is no daemon nobody else ends them.
        let _killed = tree::end_lost_errands(&owner, false);
        daemon.errands.owner = tree::passing_owner(&owner);
    }
    daemon.contain(containment::establish());
    if !what.quiet {
        daemon.echo = Some(Console::stdout().map_err(DaemonError::system("standard output"))?);
    }
    register(&mut daemon)?;
    daemon.take_over(&what.configuration);
    let remembered = Remembered::default();
    daemon.feed(Event::Boot { configuration: Arc::new(what.configuration), remembered });
    let ticket = daemon.ticket(Asker::Foreground);
    daemon.feed(Event::Once { ticket, name: what.name });
    if let Err(cause) = turn_until_finished(&mut event_loop, &mut daemon) {
        daemon.end_everything();
        daemon.write_backlog()?;
        return Err(cause);
    }
    if let Some(echo) = &daemon.echo {
        echo.finish(LAST_WORDS);
    }
    let reply = daemon.foreground_reply.take();
    let run = told(reply);
    if let Ok(run) = &run
        && matches!(daemon.backlog.first(), Some(Record::RunStarted(start)) if start.id == run.id)
        && run.outcome == Some(Outcome::SpawnFailed)
    {
        // Nothing ran, so nothing is lost; why it did not is in the error.
        let cause = run.cause.as_deref().unwrap_or_default();
        let message = format!("harness `{}` could not be started: {cause}", run.harness);
        return Err(ErrorBody::new(ErrorCode::Internal, message).help(UNRECORDED).into());
    }
    daemon.write_backlog()?;
    run
}

/// The record of a run, out of the reply about it.
fn told(reply: Option<Result<serde_json::Value, ErrorBody>>) -> Result<Run, DaemonError> {
    let reply =
        reply.unwrap_or_else(|| Err(ErrorBody::new(ErrorCode::Internal, "the run gave no record")))?;
    let run: Result<Run, _> = serde_json::from_value(reply);
    run.map_err(|cause| DaemonError::Setting(format!("the run's record: {cause}")))
}
