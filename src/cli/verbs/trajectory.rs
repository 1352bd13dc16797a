//! `trajectory`: what was said and done in one session (TRJ-7). Reads the agent's files itself, in constant
//! memory, as they are printed.

use std::process::ExitCode;

use crate::base::version;
use crate::cli::account::Account;
use crate::cli::args::{TrajectoryArgs, TrajectoryFormat};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, plain};
use crate::trajectory::{Event, Spans, envelope, text};
use crate::transcripts::Telling;
use crate::wire::{ErrorBody, ErrorCode};

/// So much is written at once.
const PIECE: usize = 64 * 1024;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &TrajectoryArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let configuration = context.whole_configuration()?;
    let Some(account) = Account::open(context, Some(&configuration), true)? else {
        let message = format!("no trajectory has the id `{}`", args.session.escape_debug());
        return Err(ErrorBody::new(ErrorCode::UnknownSession, message).help("nothing has run yet").into());
    };
    let telling = account.inquiry().trajectory(&args.session)?;
    let usual = if out.is_json() { TrajectoryFormat::Json } else { TrajectoryFormat::Text };
    let mut page = Page { out, text: String::new(), failure: None };
    match args.format.unwrap_or(usual) {
        TrajectoryFormat::Text => as_text(&telling, &mut page)?,
        TrajectoryFormat::Json => as_json(&telling, &mut page)?,
        TrajectoryFormat::Jsonl => {
            telling.events(&mut |event| page.push(&format!("{}\n", json(&event))))?;
        }
        TrajectoryFormat::Otlp => as_otlp(&telling, &mut page)?,
    }
    page.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// What is to be printed, in pieces.
struct Page<'a> {
    out: &'a mut Output,
    text: String,
    /// Why nothing can be printed any more.
    failure: Option<Failure>,
}

impl Page<'_> {
    fn push(&mut self, text: &str) {
        if self.failure.is_none() {
            self.text.push_str(text);
            if self.text.len() > PIECE {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.failure = self.out.bytes(self.text.as_bytes()).err();
        self.text.clear();
    }

    fn finish(mut self) -> Result<(), Failure> {
        if self.failure.is_none() {
            self.flush();
        }
        self.failure.map_or(Ok(()), Err)
    }
}

fn as_text(telling: &Telling, page: &mut Page<'_>) -> Result<(), Failure> {
    let view = &telling.view;
    let times = page.out.times();
    let session = view.native_id.as_deref().map(|id| format!(", session {id}")).unwrap_or_default();
    let run = view.run.map(|run| format!(", run {run}")).unwrap_or_default();
    let known = view.evidence.map(|evidence| format!(" ({evidence})")).unwrap_or_default();
    let head = format!("{} of harness {}{session}{run}{known}", view.agent, view.harness);
    page.push(&format!("{}\n\n", crate::base::harmless(&head)));
    telling.events(&mut |event| page.push(&text(&event, &times)))?;
    Ok(())
}

fn as_json(telling: &Telling, page: &mut Page<'_>) -> Result<(), Failure> {
    page.push(&format!("{{\"session\":{},\"events\":[", json(&telling.view)));
    let mut first = true;
    let told = telling.events(&mut |event: Event| {
        page.push(if std::mem::take(&mut first) { "\n" } else { ",\n" });
        page.push(&json(&event));
    });
    page.push("\n]}\n");
    Ok(told?)
}

fn as_otlp(telling: &Telling, page: &mut Page<'_>) -> Result<(), Failure> {
    let view = &telling.view;
    let run = view.run.map(|run| run.to_string()).unwrap_or_default();
    let resource = [
        ("service.name", view.agent.as_str()),
        ("harnessd.harness", view.harness.as_str()),
        ("harnessd.run.id", &run),
    ];
    let (head, tail) = envelope(&resource, version());
    page.push(&head);
    let mut first = true;
    let mut spans = Spans::new(telling.trace(), view.started_at);
    let mut print = |span: &serde_json::Value, page: &mut Page<'_>| {
        page.push(if std::mem::take(&mut first) { "\n" } else { ",\n" });
        page.push(&plain(span.to_string()));
    };
    let told = telling.events(&mut |event| spans.event(&event, &mut |span| print(span, page)));
    spans.finish(&mut |span| print(span, page));
    page.push(&format!("\n{tail}\n"));
    Ok(told?)
}

/// A value in one line.
fn json(value: &impl serde::Serialize) -> String {
    plain(serde_json::to_string(value).unwrap_or_default())
}
