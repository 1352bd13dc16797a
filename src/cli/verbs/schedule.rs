//! `schedule next`: when a harness or an expression is due (SCH-2); `schedule set` (WRT-1).

use std::process::ExitCode;

use chrono::SecondsFormat;
use chrono_tz::Tz;

use crate::base::Wall;
use crate::cli::args::{NextArgs, ScheduleArgs, ScheduleVerb};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::cli::writing;
use crate::config::Timetable;
use crate::host::{clock, zone};
use crate::schedule::{Schedule, parse_zone};
use crate::wire::FiringsView;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &ScheduleArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    match &args.verb {
        ScheduleVerb::Next(args) => next(context, args, out),
        ScheduleVerb::Set(args) => {
            writing::set(context, (&args.name, "schedule", &args.expression), &args.write, out)
        }
    }
}

fn next(context: &Context, args: &NextArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    let (expression, own_zone) = resolve(context, &args.what)?;
    let named = args.timezone.as_deref().map(parse_zone).transpose();
    let timezone =
        named.map_err(|cause| Failure::Usage(cause.to_string()))?.or(own_zone).unwrap_or_else(zone::system);
    let from = match &args.from {
        None => clock::now().wall,
        Some(text) => Wall::parse_rfc3339(text).map_err(|_| {
            Failure::Usage(format!("`{text}` is no time: write one like `2026-11-30T08:00:00Z`"))
        })?,
    };
    let firings = expression.firings(from, timezone, args.count);
    let firings: Vec<String> = firings
        .map(|at| at.utc().with_timezone(&timezone).to_rfc3339_opts(SecondsFormat::Secs, true))
        .collect();
    if out.is_json() {
        let view = FiringsView {
            expression: expression.as_str().to_owned(),
            timezone: timezone.name().to_owned(),
            firings,
        };
        out.json(&view)?;
    } else {
        for firing in firings {
            out.line(&firing)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A harness of that name with a schedule, else an expression.
fn resolve(context: &Context, what: &str) -> Result<(Schedule, Option<Tz>), Failure> {
    let configuration = context.whole()?;
    let harness = configuration.as_ref().and_then(|found| context.harness(found, what).ok());
    if let Some(harness) = harness {
        let none = || Failure::Usage(format!("harness `{}` has no schedule", harness.name));
        let Timetable { expression, timezone, .. } = harness.timetable().ok_or_else(none)?;
        return Ok((expression.clone(), Some(*timezone)));
    }
    let parsed = Schedule::parse(what);
    parsed.map(|expression| (expression, None)).map_err(|cause| {
        Failure::Usage(format!("`{}` is neither a harness nor an expression: {cause}", what.escape_debug()))
    })
}
