//! The agents that are there: program, version, login.

use super::Sight;
use crate::wire::{AgentState, Finding, Login};

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    judge(&sight.patient.agents)
}

fn judge(agents: &[AgentState]) -> Vec<Finding> {
    let (installed, absent): (Vec<_>, Vec<_>) = agents.iter().partition(|agent| agent.installed);
    let mut found: Vec<Finding> = installed.into_iter().map(one).collect();
    // One without a command of its own is no program.
    let named = absent.iter().filter(|agent| !agent.agent.commands.is_empty());
    let ids: Vec<&str> = named.map(|agent| agent.agent.id.as_str()).collect();
    if !ids.is_empty() {
        found.push(Finding::note(format!("not installed: {}", ids.join(", "))));
    }
    found
}

fn one(agent: &AgentState) -> Finding {
    let AgentState { version, version_trouble, login, login_files, .. } = agent;
    let name = &agent.agent.id;
    let path = agent.path.as_deref().unwrap_or_default();
    let version = match (version, version_trouble) {
        (Some(version), _) => version.clone(),
        (None, Some(trouble)) => {
            let text = format!("{name} at `{path}` does not tell its version: {trouble}");
            return Finding::warning(text).help(format!("run `{path}` by hand, in the same environment"));
        }
        (None, None) => "its version is not asked for".to_owned(),
    };
    let login = match (login, login_files.first()) {
        (Login::Yes, Some(file)) => format!("logged in (`{file}`)"),
        (Login::Yes, None) => "logged in".to_owned(),
        (Login::Unknown, Some(file)) => {
            format!("login unknown (no `{file}`; a key in its environment shows in no file)")
        }
        (Login::Unknown, None) => "login unknown (no file of it shows one)".to_owned(),
    };
    Finding::ok(format!("{name} at `{path}`: {version}; {login}"))
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::adapter::Registry;
    use crate::wire::{AgentState, Finding, Login};

    /// CTL-9: what is no program of its own is not missed, nor is nothing listed as missing.
    #[test]
    fn only_programs_are_missed() {
        let absent = |id: &str| AgentState {
            agent: Registry::builtin().find(id).unwrap().view(),
            installed: false,
            path: None,
            version: None,
            version_trouble: None,
            login: Login::Unknown,
            login_files: Vec::new(),
            retention: None,
            check: None,
        };
        assert_eq!(judge(&[absent("generic")]), []);
        let missed = Finding::note("not installed: codex");
        assert_eq!(judge(&[absent("codex"), absent("generic")]), [missed]);
    }
}
