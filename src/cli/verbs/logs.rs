//! `logs`: what runs printed (RUN-2, RUN-3). Reads the files itself.
//!
//! Machine-readable output is shown as text for people; everything else, and with `--raw` that
//! too, byte for byte.

use std::io;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use super::{runs::known, show};
use crate::base::{HarnessName, Outcome, RunId};
use crate::cli::args::LogsArgs;
use crate::cli::context::{Context, since};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::config::Configuration;
use crate::host::logs::{LogReader, Start};
use crate::report::{Format, Renderer};
use crate::store::{RunLookupError, RunQuery, Store};
use crate::wire::{ErrorBody, ErrorCode, Run};

/// How often a followed log is looked at; only this client waits, never the daemon.
const LOOK: Duration = Duration::from_millis(100);

/// When so much text waits to be cut to its last lines, it is cut.
const WAITING: usize = 1 << 20;

/// What is followed.
enum Target {
    Harness(HarnessName),
    Run,
}

/// How logs are shown.
struct Show<'a> {
    context: &'a Context,
    /// As they are.
    raw: bool,
    /// Read when a first log needs it; none inside: it has errors.
    configuration: Option<Option<Configuration>>,
}

/// The log of one run while it is printed.
struct Print {
    run: RunId,
    /// None: it is gone (pruned while we looked), or the run has none.
    reader: Option<LogReader>,
    /// Makes text for people of it.
    renderer: Option<Renderer>,
}

pub(in crate::cli) fn perform(
    context: &Context,
    args: &LogsArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let (target, runs) = select(context, args)?;
    let mut show = Show { context, raw: args.raw, configuration: None };
    let Some((last, earlier)) = runs.split_last() else {
        let Target::Harness(name) = &target else { return Ok(ExitCode::SUCCESS) };
        if !args.follow {
            return Err(no_log(context, name, args.since.is_some())?.into());
        }
        return follow(&mut show, &target, None, out);
    };
    for run in earlier {
        let mut print = show.print(run, Start::Oldest)?;
        print.pour(out)?;
        print.finish(out)?;
    }
    let whole = args.all || args.since.is_some();
    let mut print = if whole {
        let mut print = show.print(last, Start::Oldest)?;
        print.pour(out)?;
        print
    } else {
        let mut print = show.print(last, Start::LastLines(args.lines))?;
        print.pour_last(args.lines, out)?;
        print
    };
    if args.follow {
        return follow(&mut show, &target, Some(print), out);
    }
    print.finish(out)?;
    Ok(ExitCode::SUCCESS)
}

/// Why there is nothing to print of a harness: it never ran, or its runs came to no output.
fn no_log(context: &Context, name: &HarnessName, since: bool) -> Result<ErrorBody, Failure> {
    let query = RunQuery { harness: Some(name.clone()), limit: 1, failed: false, since: None };
    let store = Store::open_read(&context.state_dir())?;
    let newest = store.map(|store| store.runs(&query)).transpose()?.unwrap_or_default().pop();
    let Some(run) = newest else {
        let message = format!("harness `{name}` has no run yet");
        return Ok(
            ErrorBody::new(ErrorCode::UnknownRun, message).help("`harnessd start` it, or `--follow` to wait")
        );
    };
    let (message, help) = if since {
        (format!("no run of harness `{name}` that has a log was active since then"), "go further back")
    } else {
        let outcome = run.outcome.map_or("is not started", Outcome::as_str);
        let cause = run.cause.iter().map(|cause| format!(": {cause}")).collect::<String>();
        (
            format!("no run of harness `{name}` has a log; its newest is `{outcome}`{cause}"),
            "see `harnessd runs`",
        )
    };
    Ok(ErrorBody::new(ErrorCode::UnknownRun, message).help(help))
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

impl Show<'_> {
    /// Opens the log of a run. What is rendered has other lines than the file, so all of it is read.
    fn print(&mut self, run: &Run, start: Start) -> Result<Print, Failure> {
        let format = run.report.as_deref().filter(|_| !self.raw).and_then(|name| name.parse::<Format>().ok());
        let renderer = format.map(|format| Renderer::new(format, self.quiet(&run.harness)));
        let start = if renderer.is_some() { Start::Oldest } else { start };
        let Some(path) = &run.log else { return Ok(Print { run: run.id, reader: None, renderer }) };
        let reader = match LogReader::open(path.as_str().into(), start) {
            Ok(reader) => Some(reader),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(file_failure(run.id, cause)),
        };
        Ok(Print { run: run.id, reader, renderer })
    }

    /// Whether only the answer of this harness's agent is wanted.
    fn quiet(&mut self, name: &HarnessName) -> bool {
        let context = self.context;
        // The bytes are shown in either case: what keeps a definition from being read is not this verb's to say.
        let configuration = self.configuration.get_or_insert_with(|| context.whole().unwrap_or_default());
        let harness = configuration.as_ref().and_then(|found| found.harnesses.get(name));
        harness.is_some_and(|harness| harness.quiet())
    }
}

fn file_failure(run: RunId, cause: io::Error) -> Failure {
    Failure::File { what: format!("log of run {run}"), cause }
}

impl Print {
    /// The next piece of text; none: nothing is there now.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let mut piece = Vec::new();
        if reader.read(&mut piece).map_err(|cause| file_failure(self.run, cause))? == 0 {
            return Ok(None);
        }
        Ok(Some(match &mut self.renderer {
            Some(renderer) => renderer.feed(&piece),
            None => piece,
        }))
    }

    /// Prints what is there and tells whether that was anything.
    fn pour(&mut self, out: &mut Output) -> Result<bool, Failure> {
        let mut moved = false;
        while let Some(text) = self.next()? {
            out.bytes(&text)?;
            moved = true;
        }
        Ok(moved)
    }

    /// Prints the last lines of what is there; a log that is not rendered begins with them.
    fn pour_last(&mut self, count: usize, out: &mut Output) -> Result<(), Failure> {
        if self.renderer.is_none() {
            return self.pour(out).map(drop);
        }
        let mut text = Vec::new();
        while let Some(piece) = self.next()? {
            text.extend(piece);
            if text.len() > WAITING {
                text = last_lines(&text, count).to_vec();
            }
        }
        out.bytes(last_lines(&text, count))
    }

    /// Prints what a renderer held back: nothing follows.
    fn finish(&mut self, out: &mut Output) -> Result<(), Failure> {
        match &mut self.renderer {
            Some(renderer) => out.bytes(&renderer.finish()),
            None => Ok(()),
        }
    }
}

/// The last `count` lines of whole lines.
fn last_lines(text: &[u8], count: usize) -> &[u8] {
    let whole = text.strip_suffix(b"\n").unwrap_or(text);
    let breaks = whole.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match (count, breaks.map(|(at, _)| at + 1).nth(count.saturating_sub(1))) {
        (0, _) => &[],
        (_, begin) => &text[begin.unwrap_or(0)..],
    }
}

/// Prints what is added, until the run has ended; of a harness, on into its next runs.
fn follow(
    show: &mut Show<'_>,
    target: &Target,
    mut current: Option<Print>,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let mut store = None;
    loop {
        if store.is_none() {
            store = Store::open_read(&show.context.state_dir())?;
        }
        // Asked before the last read: what an ended run wrote is complete when it is read after.
        let ended = match (&store, &current) {
            (Some(store), Some(print)) => has_ended(store, print.run)?,
            _ => true,
        };
        let moved = match &mut current {
            Some(print) => print.pour(out)?,
            None => false,
        };
        if ended && !moved {
            if let Some(print) = &mut current {
                print.finish(out)?;
            }
            match target {
                Target::Run => return Ok(ExitCode::SUCCESS),
                Target::Harness(name) => {
                    if let Some(next) =
                        next_run(store.as_ref(), name, current.as_ref().map(|print| print.run))?
                    {
                        current = Some(show.print(&next, Start::Oldest)?);
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

#[cfg(test)]
mod tests {
    use super::last_lines;

    /// RUN-2: `-n` counts the lines that are shown.
    #[test]
    fn the_last_lines_are_counted_from_the_end() {
        for (text, count, last) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc\n", 3, "a\nb\nc\n"),
            ("a\nb\nc\n", 9, "a\nb\nc\n"),
            ("a\nb", 1, "b"),
            ("a\nb\n", 0, ""),
            ("\n\n", 1, "\n"),
            ("", 3, ""),
        ] {
            assert_eq!(last_lines(text.as_bytes(), count), last.as_bytes(), "{text:?} {count}");
        }
    }
}
