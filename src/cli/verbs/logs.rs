//! `logs`: what runs printed, byte for byte (RUN-2, RUN-3). Reads the files itself.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::{runs::known, show};
use crate::base::{HarnessName, RunId};
use crate::cli::args::LogsArgs;
use crate::cli::context::{Context, since};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::host::logs::{LogReader, Start};
use crate::store::{RunLookupError, RunQuery, Store};
use crate::wire::{ErrorBody, ErrorCode, Run};

/// How often a followed log is looked at; only this client waits, never the daemon.
const LOOK: Duration = Duration::from_millis(100);

/// What is followed.
enum Target {
    Harness(HarnessName),
    Run,
}

pub(in crate::cli) fn perform(
    context: &Context,
    args: &LogsArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let (target, runs) = select(context, args)?;
    let Some((last, earlier)) = runs.split_last() else {
        let Target::Harness(name) = &target else { return Ok(ExitCode::SUCCESS) };
        if !args.follow {
            let message = format!("harness `{name}` has no run yet");
            return Err(ErrorBody::new(ErrorCode::UnknownRun, message)
                .help("`harnessd start` it, or `--follow` to wait")
                .into());
        }
        return follow(context, &target, None, out);
    };
    for run in earlier {
        print_whole(run, out)?;
    }
    let whole = args.all || args.since.is_some();
    let start = if whole { Start::Oldest } else { Start::LastLines(args.lines) };
    let mut reader = open(last, start)?;
    if let Some(reader) = &mut reader {
        pour(reader, last.id, out)?;
    }
    if args.follow {
        return follow(context, &target, Some((last.id, reader)), out);
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs whose logs are printed, oldest first.
fn select(context: &Context, args: &LogsArgs) -> Result<(Target, Vec<Run>), Failure> {
    let store = Store::open_read(&context.state_dir())?;
    let name = match known(context, store.as_ref(), &args.target) {
        Ok(name) => name,
        Err(unknown) => {
            // Not a harness: a run then, or the first error, which names the nearest harnesses.
            let run = show::find(context, &args.target);
            return run.map(|run| (Target::Run, vec![run])).map_err(|_| unknown);
        }
    };
    let since = args.since.as_deref().map(since).transpose()?;
    let query = RunQuery { harness: Some(name.clone()), limit: usize::MAX, failed: false, since: None };
    let runs = store.map(|store| store.runs(&query)).transpose()?.unwrap_or_default();
    let with_log = runs.into_iter().filter(|run| run.log.is_some());
    let mut chosen: Vec<Run> = match since {
        None => with_log.take(1).collect(),
        Some(since) => with_log.filter(|run| run.ended_at.is_none_or(|end| end >= since)).collect(),
    };
    chosen.reverse();
    Ok((Target::Harness(name), chosen))
}

/// The log of a run; none if it is gone (pruned while we looked) or the run has none.
fn open(run: &Run, start: Start) -> Result<Option<LogReader>, Failure> {
    let Some(path) = &run.log else { return Ok(None) };
    match LogReader::open(path.as_str().into(), start) {
        Ok(reader) => Ok(Some(reader)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(file_failure(run.id, cause)),
    }
}

fn file_failure(run: RunId, cause: io::Error) -> Failure {
    Failure::File { what: format!("log of run {run}"), cause }
}

/// Prints what is there and tells whether that was anything.
fn pour(reader: &mut LogReader, run: RunId, out: &mut Output) -> Result<bool, Failure> {
    let mut piece = Vec::new();
    let mut moved = false;
    while reader.read(&mut piece).map_err(|cause| file_failure(run, cause))? > 0 {
        out.bytes(&piece)?;
        piece.clear();
        moved = true;
    }
    Ok(moved)
}

fn print_whole(run: &Run, out: &mut Output) -> Result<(), Failure> {
    match open(run, Start::Oldest)? {
        Some(mut reader) => pour(&mut reader, run.id, out).map(drop),
        None => Ok(()),
    }
}

/// Prints what is added, until the run has ended; of a harness, on into its next runs.
fn follow(
    context: &Context,
    target: &Target,
    mut current: Option<(RunId, Option<LogReader>)>,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut store = None;
    loop {
        if store.is_none() {
            store = Store::open_read(&context.state_dir())?;
        }
        // Asked before the last read: what an ended run wrote is complete when it is read after.
        let ended = match (&store, &current) {
            (Some(store), Some((id, _))) => has_ended(store, *id)?,
            _ => true,
        };
        let moved = match &mut current {
            Some((id, Some(reader))) => pour(reader, *id, out)?,
            _ => false,
        };
        if ended && !moved {
            match target {
                Target::Run => return Ok(ExitCode::SUCCESS),
                Target::Harness(name) => {
                    if let Some(next) = next_run(store.as_ref(), name, current.as_ref().map(|(id, _)| *id))? {
                        current = Some((next.id, open(&next, Start::Oldest)?));
                        continue;
                    }
                }
            }
        }
        if !moved {
            thread::sleep(LOOK);
        }
    }
}

/// Whether a run is over; one that is pruned is.
fn has_ended(store: &Store, run: RunId) -> Result<bool, Failure> {
    match store.run(&run.to_string()) {
        Ok(run) => Ok(run.outcome.is_some()),
        Err(RunLookupError::Store(cause)) => Err(cause.into()),
        Err(_) => Ok(true),
    }
}

/// The oldest run with a log after `after`.
fn next_run(store: Option<&Store>, name: &HarnessName, after: Option<RunId>) -> Result<Option<Run>, Failure> {
    let Some(store) = store else { return Ok(None) };
    let query = RunQuery { harness: Some(name.clone()), limit: usize::MAX, failed: false, since: None };
    let runs = store.runs(&query)?;
    let newer = runs.into_iter().take_while(|run| after.is_none_or(|after| run.id > after));
    Ok(newer.filter(|run| run.log.is_some()).last())
}
