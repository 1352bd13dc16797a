//! Trying the new program on a copy of the state before it is executed (CTL-11).
//!
//! Invariant: it touches nothing of what is there. After `execve` there is no way back, so only one that
//! has read the state, the configuration and the store, and says so, is executed.

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use super::document::Document;
use crate::base::{ExitStatus, Severity, version};
use crate::host::entropy;
use crate::loader;
use crate::store::Store;
use crate::supervisor::Supervisor;

/// The hidden verb that the new program is asked by.
pub(super) const VERB: &str = "probe-handover";

/// What a program answers that can take over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Its version.
    pub takes_over: String,
}

/// Whether this program could take the state over that is written in `document`.
///
/// # Errors
/// Why not, in words.
pub fn probe(document: &[u8]) -> Result<Ready, String> {
    let document = Document::read(document).map_err(|cause| cause.to_string())?;
    let loaded = loader::load_global(&document.options.selection, &document.home);
    let Some(configuration) = loaded.configuration else {
        let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
        return Err(format!("the configuration has {errors} errors: `harnessd validate` shows them"));
    };
    let _fleet = Supervisor::restore(document.fleet, &configuration, entropy::seed());
    rehearse(&document.state)?;
    Ok(Ready { takes_over: version().to_owned() })
}

fn rehearse(state: &Utf8Path) -> Result<(), String> {
    Store::rehearse(state).map_err(|cause| cause.to_string())
}

/// What a program that was tried has said and how it ended: its version, or why it is not executed.
pub(super) fn verdict(said: &[u8], status: ExitStatus) -> Result<String, String> {
    let said = String::from_utf8_lossy(said);
    let ready = said.lines().find_map(|line| serde_json::from_str::<Ready>(line).ok());
    let ended = match status {
        ExitStatus::Code(0) => match ready {
            Some(ready) => return Ok(ready.takes_over),
            None => "it does not say that it can take over".to_owned(),
        },
        ExitStatus::Code(code) => format!("exit status {code}"),
        ExitStatus::Signal(number) => format!("killed by {}", crate::lifecycle::signal_name(number)),
    };
    let words = said.lines().find_map(|line| line.strip_prefix("error: "));
    let words = words.or_else(|| said.lines().map(str::trim).rfind(|line| !line.is_empty()));
    Err(match words {
        Some(words) => words.chars().take(500).collect(),
        None => ended,
    })
}

#[cfg(test)]
mod tests {
    use super::verdict;
    use crate::base::ExitStatus;

    /// CTL-11: only a program that exits 0 and says that it can is executed; else its last words are told.
    #[test]
    fn only_a_program_that_says_so_takes_over() {
        let judged = |said: &str, status| verdict(said.as_bytes(), status);
        let ready = "a warning\n{\"takes_over\":\"0.1.9\"}\n";
        assert_eq!(judged(ready, ExitStatus::Code(0)), Ok("0.1.9".to_owned()));
        assert_eq!(judged(ready, ExitStatus::Code(1)), Err("{\"takes_over\":\"0.1.9\"}".to_owned()));
        assert_eq!(judged("", ExitStatus::Code(0)), Err("it does not say that it can take over".to_owned()));
        assert_eq!(judged("", ExitStatus::Code(3)), Err("exit status 3".to_owned()));
        assert_eq!(judged("", ExitStatus::Signal(9)), Err("killed by SIGKILL".to_owned()));
        assert_eq!(judged("error: no\n  help: x\n", ExitStatus::Code(1)), Err("no".to_owned()));
        assert_eq!(judged("one\ntwo\n\n", ExitStatus::Code(1)), Err("two".to_owned()));
    }
}
