//! Whether a budget can be held (USE-5): it goes by what the agent's own transcripts say.

use camino::Utf8Path;

use crate::adapter::Adapter;
use crate::base::Diagnostic;
use crate::config::codes::{NEEDS_WORKDIR, UNFULFILLABLE};
use crate::config::raw::RawHarness;
use crate::config::scope::Scope;

/// A `budget` that would bound nothing is worth a warning: whoever wrote it relies on it.
pub(in crate::config) fn budget(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    adapter: &Adapter,
    workdir: Option<&Utf8Path>,
) {
    if raw.budget.is_none() || !scope.says("budget") {
        return;
    }
    let (code, message, help) = if adapter.transcript_format().is_none() {
        let message = format!(
            "`budget` bounds nothing: agent `{}` keeps no transcript that is understood",
            adapter.id()
        );
        (UNFULFILLABLE, message, "a `timeout` bounds the run")
    } else if workdir.is_none() {
        let help = "add a `workdir`: by it the harness's own sessions are told from all others";
        (NEEDS_WORKDIR, "`budget` bounds nothing without a `workdir`".to_owned(), help)
    } else {
        return;
    };
    let place = scope.key(&["budget"]);
    scope.note(Diagnostic::warning(code, place, message).help(help));
}
