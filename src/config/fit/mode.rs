//! When a harness runs: for ever or once, by a schedule or at boot.
//!
//! Invariant: a schedule, a timeout and their options end up on one-shots only,
//! and nothing that is scheduled starts at boot.

use std::time::Duration;

use crate::base::{Diagnostic, duration_text};
use crate::config::Context;
use crate::config::codes::{
    BAD_VALUE, ENABLED_WITH_SCHEDULE, NEEDS_CHECK, NEEDS_ONESHOT, NEEDS_SCHEDULE, RESTART_WITH_SCHEDULE,
};
use crate::config::model::{Check, Mode, Timetable, Watch};
use crate::config::raw::RawHarness;
use crate::config::scalar::{Bound, Parsed};
use crate::config::scope::Scope;
use crate::lifecycle::RestartPolicy;
use crate::schedule::Schedule;

/// The timeout of a scheduled one-shot that says none.
pub(in crate::config) const SCHEDULED_TIMEOUT: Duration = Duration::from_secs(3600);

/// The time that a `check` may take where nothing is said.
const CHECK_TIMEOUT: Duration = Duration::from_secs(600);
/// The keys that make no sense on what is meant to run for ever.
const ONESHOT_KEYS: [&str; 7] =
    ["schedule", "timeout", "first_output_timeout", "idle_timeout", "check", "linger_timeout", "exclusive"];

/// Resident or one-shot with its schedule, and whether it starts at boot.
pub(in crate::config) fn mode(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    oneshot: Option<bool>,
    context: &Context<'_>,
) -> (Mode, bool) {
    let resident = oneshot == Some(false);
    if resident {
        for key in wants_oneshot(scope, raw) {
            let place = scope.key(&[key]);
            let message = format!("`{key}` needs a one-shot, this harness is resident");
            let help = if scope.has("oneshot") {
                "remove `oneshot = false`"
            } else {
                "give it a `prompt` or `prompt_file`, or say `oneshot = true`"
            };
            scope.note(Diagnostic::error(NEEDS_ONESHOT, place, message).help(help));
        }
    }
    let own_schedule = scope.has("schedule");
    let starts_itself = scope.says("enabled") && raw.enabled == Some(true);
    if own_schedule && starts_itself {
        let place = scope.key(&["enabled"]);
        let message = "`enabled = true` and `schedule` exclude each other";
        let help =
            "a scheduled harness starts when it is due: remove `enabled`, or `schedule` to start it at boot";
        let schedule = scope.key(&["schedule"]);
        scope.note(
            Diagnostic::error(ENABLED_WITH_SCHEDULE, place, message)
                .help(help)
                .related(schedule, "`schedule` stands here"),
        );
    }
    // A default schedule does not fit what starts at boot, a default `enabled` not what has a schedule.
    let fitting = raw.schedule.as_deref().filter(|_| !resident && (own_schedule || !starts_itself));
    let expression = fitting.and_then(|text| context.schedule(text).ok());
    let unknown = scope.broken("schedule");
    let scheduled = expression.is_some() || unknown;
    for key in ["timezone", "jitter", "overlap", "catch_up", "catch_up_window"] {
        if !scheduled && scope.has(key) && !(resident && own_schedule) {
            let place = scope.key(&[key]);
            let message = format!("`{key}` needs a `schedule`");
            let help = format!("add a `schedule`, or remove `{key}`");
            scope.note(Diagnostic::error(NEEDS_SCHEDULE, place, message).help(help));
        }
    }
    if scope.has("check_timeout") && raw.check.is_none() && !scope.broken("check") {
        let place = scope.key(&["check_timeout"]);
        let diagnostic = Diagnostic::error(NEEDS_CHECK, place, "`check_timeout` needs a `check`");
        scope.note(diagnostic.help("add a `check`, or remove `check_timeout`"));
    }
    let restart = restart(scope, raw, scheduled && !resident);
    let enabled = raw.enabled == Some(true) && !scheduled;
    if resident {
        return (Mode::Resident { restart: restart.unwrap_or(RestartPolicy::Always) }, enabled);
    }
    let schedule = expression.map(|expression| timetable(scope, raw, expression, context));
    let usual = schedule.as_ref().map(|_| SCHEDULED_TIMEOUT);
    let timeout = raw.timeout.as_ref().map(|bound| bound.0.0).or(usual);
    let watch = watch(raw);
    (Mode::OneShot { restart: restart.unwrap_or(RestartPolicy::No), schedule, timeout, watch }, enabled)
}

/// The keys of the table itself that only a one-shot may have.
pub(super) fn wants_oneshot(scope: &Scope<'_>, raw: &RawHarness) -> Vec<&'static str> {
    let waits = raw.exclusive == Some(true);
    let wanted = |key: &&str| scope.has(key) && (*key != "exclusive" || waits);
    ONESHOT_KEYS.into_iter().filter(wanted).collect()
}

/// A schedule with its options.
fn timetable(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    expression: Schedule,
    context: &Context<'_>,
) -> Timetable {
    let usual = Timetable::new(expression, raw.timezone.as_ref().map_or(context.zone, |zone| zone.0));
    let jitter = raw.jitter.as_ref().map_or(usual.jitter, |pause| pause.0.0);
    Timetable {
        overlap: raw.overlap.as_ref().map_or(usual.overlap, |overlap| overlap.0),
        jitter: if jitter_fits(scope, &usual.expression, jitter) { jitter } else { usual.jitter },
        catch_up: raw.catch_up.as_ref().map_or(usual.catch_up, |rule| rule.0),
        catch_up_window: raw.catch_up_window.as_ref().map_or(usual.catch_up_window, |pause| pause.0.0),
        ..usual
    }
}

/// Firings of an interval that are delayed by more than it would overtake one another. How close two
/// instants of a calendar come depends on the season: there the firing that is due next waits its turn.
fn jitter_fits(scope: &mut Scope<'_>, expression: &Schedule, jitter: Duration) -> bool {
    let Some(interval) = expression.interval().filter(|interval| jitter >= *interval) else { return true };
    if scope.says("jitter") {
        let place = scope.value(&["jitter"]);
        let message =
            format!("`jitter` must be less than the interval of the schedule, {}", duration_text(interval));
        let help = "a firing may be delayed until just before the next one: write a shorter time";
        scope.note(Diagnostic::error(BAD_VALUE, place, message).help(help));
    }
    false
}

/// What is watched of a one-shot's run.
fn watch(raw: &RawHarness) -> Watch {
    let usual = Watch::default();
    let bound = |bound: &Option<Parsed<Bound>>| bound.as_ref().map(|bound| bound.0.0);
    Watch {
        first_output_timeout: bound(&raw.first_output_timeout),
        idle_timeout: bound(&raw.idle_timeout),
        linger_timeout: raw.linger_timeout.as_ref().map_or(usual.linger_timeout, |pause| pause.0.0),
        check: raw.check.as_ref().map(|words| Check {
            command: words.command(),
            timeout: bound(&raw.check_timeout).unwrap_or(CHECK_TIMEOUT),
        }),
    }
}

/// A schedule admits `no` and `on-failure` only.
fn restart(scope: &mut Scope<'_>, raw: &RawHarness, scheduled: bool) -> Option<RestartPolicy> {
    let restart = raw.restart.as_ref().map(|restart| restart.0)?;
    if !scheduled || matches!(restart, RestartPolicy::No | RestartPolicy::OnFailure) {
        return Some(restart);
    }
    if scope.says("restart") {
        let place = scope.value(&["restart"]);
        let message = format!("a `schedule` does not admit `restart = \"{restart}\"`");
        let help = "write `no`, or `on-failure` to retry until the next firing";
        scope.note(Diagnostic::error(RESTART_WITH_SCHEDULE, place, message).help(help));
    }
    None
}
