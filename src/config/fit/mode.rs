//! When a harness runs: for ever or once, by a schedule or at boot.
//!
//! Invariant: a schedule, a timeout and their options end up on one-shots only,
//! and nothing that is scheduled starts at boot.

use std::time::Duration;

use crate::base::Diagnostic;
use crate::config::Context;
use crate::config::codes::{ENABLED_WITH_SCHEDULE, NEEDS_ONESHOT, NEEDS_SCHEDULE, RESTART_WITH_SCHEDULE};
use crate::config::model::{Mode, Timetable, Watch};
use crate::config::raw::RawHarness;
use crate::config::scope::Scope;
use crate::lifecycle::RestartPolicy;

/// The timeout of a scheduled one-shot that says none.
pub(in crate::config) const SCHEDULED_TIMEOUT: Duration = Duration::from_secs(3600);

/// Resident or one-shot with its schedule, and whether it starts at boot.
pub(in crate::config) fn mode(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    oneshot: Option<bool>,
    context: &Context<'_>,
) -> (Mode, bool) {
    let resident = oneshot == Some(false);
    for key in ["schedule", "timeout"] {
        if resident && scope.has(key) {
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
    for key in ["timezone", "overlap"] {
        if !scheduled && scope.has(key) && !(resident && own_schedule) {
            let place = scope.key(&[key]);
            let message = format!("`{key}` needs a `schedule`");
            let help = format!("add a `schedule`, or remove `{key}`");
            scope.note(Diagnostic::error(NEEDS_SCHEDULE, place, message).help(help));
        }
    }
    let restart = restart(scope, raw, scheduled && !resident);
    let enabled = raw.enabled == Some(true) && !scheduled;
    if resident {
        return (Mode::Resident { restart: restart.unwrap_or(RestartPolicy::Always) }, enabled);
    }
    let schedule = expression.map(|expression| Timetable {
        overlap: raw.overlap.as_ref().map(|overlap| overlap.0).unwrap_or_default(),
        ..Timetable::new(expression, raw.timezone.as_ref().map_or(context.zone, |zone| zone.0))
    });
    let usual = schedule.as_ref().map(|_| SCHEDULED_TIMEOUT);
    let timeout = raw.timeout.as_ref().map(|bound| bound.0.0).or(usual);
    let watch = Watch::default();
    (Mode::OneShot { restart: restart.unwrap_or(RestartPolicy::No), schedule, timeout, watch }, enabled)
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
