//! Telling somebody that a run has ended (RUN-5).
//!
//! Invariant: a notice that fails is said in the daemon's log and is never tried again.

use tracing::warn;

use super::errands::{End, Purpose};
use super::state::Daemon;
use crate::base::{HarnessName, RunId};
use crate::config::Notify;
use crate::launch::notice_spec;
use crate::wire::Run;

/// So much of what a command says about its failure is repeated.
const WORDS: usize = 300;

impl Daemon {
    /// Has the command told of the run.
    pub(super) fn notify(&mut self, notify: &Notify, run: &Run) {
        match notice_spec(&notify.command, run, &self.around) {
            Ok(spec) => {
                let purpose = Purpose::Notice { run: run.id, harness: run.harness.clone() };
                self.send_errand(purpose, spec, notify.timeout);
            }
            Err(cause) => {
                warn!(harness = %run.harness, run = %run.id, %cause, "the notice of its end cannot be given");
                self.show(&format!("the notice of its end cannot be given: {cause}"));
            }
        }
    }

    /// A notice has come to an end.
    pub(super) fn notice_over(&self, run: RunId, harness: &HarnessName, end: &End) {
        let Some(cause) = &end.trouble else { return };
        let said = last_line(&end.last);
        warn!(%harness, %run, cause, said, "the notice of its end has failed");
        let said = said.map_or_else(String::new, |said| format!(": {said}"));
        self.show(&format!("the notice of its end has failed: {cause}{said}"));
    }

    /// Says something in the foreground, where nobody reads a daemon's log.
    fn show(&self, text: &str) {
        if let Some(echo) = &self.echo {
            echo.write(format!("[harnessd: {text}]\n").as_bytes());
        }
    }
}

/// The last line that says something, without what a terminal would obey.
fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|one| !one.is_control()).take(WORDS).collect())
}

#[cfg(test)]
mod tests {
    use super::last_line;

    /// RUN-5: what a failed command said last is repeated.
    #[test]
    fn the_last_line_that_says_something_is_repeated() {
        assert_eq!(last_line(b"one\ntwo \n\n  \n"), Some("two".to_owned()));
        assert_eq!(last_line(b"\xff\x1b[31mred\n"), Some("\u{fffd}[31mred".to_owned()));
        assert_eq!(last_line(b"\n \n"), None);
        assert_eq!(last_line(b""), None);
        assert_eq!(last_line("é".repeat(1000).as_bytes()).unwrap().chars().count(), 300);
    }
}
