//! Whether a resident agent goes on with its own last session (TRJ-8).

use camino::Utf8Path;

use crate::adapter::Adapter;
use crate::base::Diagnostic;
use crate::config::codes::{NEEDS_RESIDENT, NEEDS_WORKDIR, UNFULFILLABLE};
use crate::config::raw::RawHarness;
use crate::config::scope::Scope;

/// `resume`, where the harness can. A restart of a one-shot would run its prompt once more; and which
/// sessions are a harness's own is told by its working directory.
pub(in crate::config) fn resume(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    adapter: &Adapter,
    oneshot: bool,
    workdir: Option<&Utf8Path>,
) -> bool {
    if raw.resume != Some(true) {
        return false;
    }
    let wrong = if oneshot {
        let help = "remove it: a one-shot's prompt never runs twice by a restart. \
                    `harnessd start NAME --resume` goes on with a session once";
        Some((NEEDS_RESIDENT, "`resume` needs a resident harness, this one is a one-shot".to_owned(), help))
    } else if !adapter.resumes(true) {
        let message = format!("agent `{}` cannot go on with a session in its terminal mode", adapter.id());
        Some((UNFULFILLABLE, message, "remove `resume`: each start begins a new session"))
    } else if workdir.is_none() {
        let help = "add a `workdir`: by it the harness's own sessions are told from all others";
        Some((NEEDS_WORKDIR, "`resume` needs a `workdir`".to_owned(), help))
    } else {
        None
    };
    let Some((code, message, help)) = wrong else { return true };
    if scope.says("resume") {
        let place = scope.key(&["resume"]);
        scope.note(Diagnostic::error(code, place, message).help(help));
    }
    false
}
