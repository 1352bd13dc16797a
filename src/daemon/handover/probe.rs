//! Trying the new program on a copy of the state before it is executed (CTL-11).
//!
//! Invariant: it touches nothing of what is there. After `execve` there is no way back, so only one that
//! has read the state, the configuration and the store, and says so, is executed.

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::document::Document;
use crate::base::version;
use crate::daemon::errands::End;
use crate::host::{clock, entropy};
use crate::loader::{Request, read_units};
use crate::store::Store;
use crate::supervisor::Supervisor;

/// The hidden verb that the new program is asked by.
pub(super) const VERB: &str = "probe-handover";

/// So much of what a program says about its refusal is repeated.
const WORDS: usize = 500;

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
    let registered = Store::registered(&document.state).map_err(|cause| cause.to_string())?;
    let request = Request::first(document.options.selection, registered);
    let reading = read_units(request, &document.home, clock::now().wall);
    if !reading.global_accepted {
        let errors = reading.errors();
        return Err(format!("the configuration has {errors} errors: `harnessd validate` shows them"));
    }
    let lost = |key: &&Utf8PathBuf| reading.projects.iter().any(|one| one.key == **key && !one.accepted);
    if let Some(key) = document.projects.keys().find(lost) {
        return Err(format!(
            "{key} has errors, so that its last good definition would be lost: mend it first"
        ));
    }
    let _fleet = Supervisor::restore(document.fleet, &reading.configuration, entropy::seed());
    rehearse(&document.state)?;
    Ok(Ready { takes_over: version().to_owned() })
}

fn rehearse(state: &Utf8Path) -> Result<(), String> {
    Store::rehearse(state).map_err(|cause| cause.to_string())
}

/// What came of a trial: the version that takes over, or why none does.
pub(super) fn verdict(end: &End) -> Result<String, String> {
    let said = String::from_utf8_lossy(&end.last);
    let ready = said.lines().find_map(|line| serde_json::from_str::<Ready>(line).ok());
    let trouble = match (&end.trouble, ready) {
        (None, Some(ready)) => return Ok(ready.takes_over),
        (None, None) => "it does not say that it can take over",
        (Some(trouble), _) => trouble,
    };
    let words = said.lines().find_map(|line| line.strip_prefix("error: "));
    let words = words.or_else(|| said.lines().map(str::trim).rfind(|line| !line.is_empty()));
    Err(words.map_or_else(
        || trouble.to_owned(),
        |words| {
            let words: String = words.chars().filter(|one| !one.is_control()).take(WORDS).collect();
            format!("{trouble}: {words}")
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::verdict;
    use crate::daemon::errands::End;

    fn judged(said: &str, trouble: Option<&str>) -> Result<String, String> {
        verdict(&End { trouble: trouble.map(ToOwned::to_owned), first: Vec::new(), last: said.into() })
    }

    /// CTL-11: only a program that ends well and says that it can is executed; else its words are told.
    #[test]
    fn only_a_program_that_says_so_takes_over() {
        let ready = "a warning\n{\"takes_over\":\"0.1.9\"}\n";
        assert_eq!(judged(ready, None), Ok("0.1.9".to_owned()));
        let told = |said, trouble| judged(said, trouble).unwrap_err();
        assert_eq!(told(ready, Some("exit status 1")), "exit status 1: {\"takes_over\":\"0.1.9\"}");
        assert_eq!(told("", None), "it does not say that it can take over");
        assert_eq!(told("", Some("killed by SIGKILL")), "killed by SIGKILL");
        assert_eq!(told("error: no\n  help: x\n", Some("exit status 1")), "exit status 1: no");
        assert_eq!(told("one\ntwo\x1b[0m\n\n", Some("exit status 2")), "exit status 2: two[0m");
    }
}
