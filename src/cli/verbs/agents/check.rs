//! `agents --check`: whether the agents that are here are those that their adapters were last tried with.
//!
//! Invariant: an agent is called verified only where the version that it states is the one that its adapter names.

use std::cmp::Ordering;
use std::process::ExitCode;

use crate::adapter::{Registry, Release};
use crate::cli::failure::Failure;
use crate::cli::output::{Output, or_dash};
use crate::wire::{AgentState, AgentsView, Verdict, VersionCheck};

/// The same with what is to be said of each agent that is installed.
pub(super) fn judged(view: AgentsView) -> AgentsView {
    let agents = view.agents.into_iter().map(|one| {
        let check = one.installed.then(|| judge(&one));
        AgentState { check, ..one }
    });
    AgentsView { agents: agents.collect(), ..view }
}

/// Success where each agent that is installed is the verified one.
pub(super) fn status(view: &AgentsView) -> ExitCode {
    let mut checks = view.agents.iter().filter_map(|one| one.check.as_ref());
    if checks.all(|one| one.verdict == Verdict::Same) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A table of the installed ones, and for each that is not the verified one what to do.
pub(super) fn print(view: &AgentsView, out: &mut Output) -> Result<(), Failure> {
    let checked: Vec<(&AgentState, &VersionCheck)> =
        view.agents.iter().filter_map(|one| Some((one, one.check.as_ref()?))).collect();
    if checked.is_empty() {
        return out.line("no known agent is installed");
    }
    let row = |(one, check): &(&AgentState, &VersionCheck)| {
        vec![
            one.agent.id.clone(),
            or_dash(check.version.as_ref()),
            or_dash(one.agent.verified.as_ref()),
            words(check),
        ]
    };
    let rows: Vec<Vec<String>> = checked.iter().map(row).collect();
    out.table(&["AGENT", "VERSION", "LAST VERIFIED", "IT IS"], &rows)?;
    checked.iter().filter_map(|(one, check)| advice(one, check)).try_for_each(|line| out.line(&line))
}

fn judge(agent: &AgentState) -> VersionCheck {
    let stated = agent.version.as_deref().and_then(Release::stated);
    let version = stated.as_ref().map(|one| one.as_str().to_owned());
    let check = |verdict| VersionCheck { verdict, version: version.clone(), why: None };
    let unknown = |why: String| VersionCheck { why: Some(why), ..check(Verdict::Unknown) };
    let Some(verified) = agent.agent.verified.as_deref().and_then(Release::parse) else {
        return check(Verdict::Unverified);
    };
    match (stated, &agent.version, &agent.version_trouble) {
        (Some(stated), _, _) => check(match stated.order(&verified) {
            Some(Ordering::Equal) => Verdict::Same,
            Some(Ordering::Greater) => Verdict::Newer,
            Some(Ordering::Less) => Verdict::Older,
            None => Verdict::Other,
        }),
        (None, Some(line), _) => unknown(format!("it states no version, but says `{line}`")),
        (None, None, Some(trouble)) => unknown(trouble.clone()),
        (None, None, None) => unknown("a program of another name is not asked".to_owned()),
    }
}

fn words(check: &VersionCheck) -> String {
    let word = match check.verdict {
        Verdict::Same => "the last one verified",
        Verdict::Newer => "newer than the last one verified",
        Verdict::Older => "older than the last one verified",
        Verdict::Other => "another than the last one verified",
        Verdict::Unknown => "of unknown version",
        Verdict::Unverified => "not verified at all",
    };
    check.why.as_ref().map_or_else(|| word.to_owned(), |why| format!("{word}: {why}"))
}

/// What to do about an agent that is not the verified one. What was seen of an agent is written down for the
/// version that the adapter names which comes with this program.
fn advice(agent: &AgentState, check: &VersionCheck) -> Option<String> {
    let id = &agent.agent.id;
    let seen = Registry::builtin().find(id).and_then(|one| one.verified().map(str::to_owned));
    let version = check.version.as_deref().unwrap_or("VERSION");
    Some(match (check.verdict, seen) {
        (Verdict::Same, _) => return None,
        (Verdict::Unknown, _) => {
            let path = agent.path.as_deref().unwrap_or(id);
            format!("{id}: ask `{path}` for its version by hand, in the same environment")
        }
        (_, Some(seen)) => format!(
            "{id}: docs/agents.md says what {seen} did; to try {version}, set `verified` in \
             src/adapter/builtin/{id}.toml to it and run `python3 tests/agents/run.py {id}` in a checkout of harnessd"
        ),
        (_, None) => format!(
            "{id}: try it with a harness of yours, then say so with `verified = \"{version}\"` in `[adapter.{id}]`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::{advice, judge, words};
    use crate::adapter::Registry;
    use crate::wire::{AgentState, Login};

    fn found(id: &str, version: Result<&str, Option<&str>>) -> AgentState {
        AgentState {
            agent: Registry::builtin().find(id).unwrap().view(),
            installed: true,
            path: Some(format!("/bin/{id}")),
            version: version.ok().map(str::to_owned),
            version_trouble: version.err().flatten().map(str::to_owned),
            login: Login::Unknown,
            login_files: Vec::new(),
            retention: None,
            check: None,
        }
    }

    /// ADP-5: what is said of a version is what its comparison with the verified one comes to.
    #[test]
    fn a_version_is_compared_with_the_verified_one() {
        let say = |id: &str, version| {
            let agent = found(id, version);
            let check = judge(&agent);
            (check.version.clone(), words(&check), advice(&agent, &check).is_some())
        };
        let is = |version: &str, words: &str, advised| (Some(version.to_owned()), words.to_owned(), advised);
        let of_none = |words: &str| (None, words.to_owned(), true);
        assert_eq!(say("codex", Ok("codex-cli 0.171.0")), is("0.171.0", "the last one verified", false));
        assert_eq!(
            say("codex", Ok("codex-cli 0.1710.0")),
            is("0.1710.0", "newer than the last one verified", true)
        );
        assert_eq!(
            say("codex", Ok("codex-cli 0.99.0")),
            is("0.99.0", "older than the last one verified", true)
        );
        assert_eq!(
            say("codex", Ok("0.171.0+dirty")),
            is("0.171.0+dirty", "another than the last one verified", true)
        );
        assert_eq!(
            say("codex", Ok("codex of today")),
            of_none("of unknown version: it states no version, but says `codex of today`")
        );
        assert_eq!(say("codex", Err(Some("exit status 3"))), of_none("of unknown version: exit status 3"));
        assert_eq!(
            say("codex", Err(None)),
            of_none("of unknown version: a program of another name is not asked")
        );
        assert_eq!(say("crush", Ok("crush 1.0.0")), is("1.0.0", "not verified at all", true));
        assert_eq!(say("antigravity", Err(Some("it says nothing"))), of_none("not verified at all"));
    }

    /// ADP-5: each difference comes with what to do, which is another thing for agents that nobody has tried.
    #[test]
    fn each_difference_says_what_to_do() {
        let say = |id: &str, version| {
            let agent = found(id, version);
            advice(&agent, &judge(&agent)).unwrap_or_default()
        };
        assert_eq!(say("pi", Ok("1.6.0")), "");
        assert_eq!(
            say("pi", Ok("1.7.0")),
            "pi: docs/agents.md says what 1.6.0 did; to try 1.7.0, set `verified` in \
             src/adapter/builtin/pi.toml to it and run `python3 tests/agents/run.py pi` in a checkout of harnessd"
        );
        assert_eq!(
            say("pi", Err(None)),
            "pi: ask `/bin/pi` for its version by hand, in the same environment"
        );
        assert_eq!(
            say("crush", Ok("crush 1.0.0")),
            "crush: try it with a harness of yours, then say so with `verified = \"1.0.0\"` in `[adapter.crush]`"
        );
    }
}
