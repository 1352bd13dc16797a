//! The text of a configuration file to begin with.
//!
//! Invariant: it is valid as it stands, and also when the `# ` is taken off each line of its examples.

use crate::wire::AgentView;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user's.
    Global,
    /// A project's.
    Project,
}

/// What stands for an agent where none was found.
const EXAMPLE: &str = "claude-code";

/// The file, with examples for these agents.
pub(super) fn starter(kind: Kind, agents: &[AgentView]) -> String {
    let ids: Vec<&str> = agents.iter().map(|one| one.id.as_str()).collect();
    let head = match kind {
        Kind::Global => {
            "# The harnesses of this user: which agents run, and when.\n\
             # `harnessd validate` checks this file and starts nothing; `harnessd run` is the daemon.\n"
        }
        Kind::Project => {
            "# The harnesses of this project: which agents run in it, and when.\n\
             # `harnessd validate` checks this file; nothing of it runs before `harnessd up`.\n"
        }
    };
    let found = match ids.as_slice() {
        [] => "# No agent was found when this was written; `harnessd agents` shows which are known.\n"
            .to_owned(),
        ids => format!("# Found when this was written: {}. `harnessd agents` says more.\n", ids.join(", ")),
    };
    let about =
        "# `harnessd add --help` lists every key of a harness. Take the `# ` off the lines that you want.\n";
    let mut text = format!("{head}{found}{about}\n");
    text.push_str(match kind {
        Kind::Global => {
            "# The daemon itself; each of these is what holds anyway.\n\
             # [daemon]\n\
             # watch = true\n\
             # max_attempts = 10\n\n"
        }
        Kind::Project => {
            "# The project's name is its directory's, unless it says so here.\n\
             # [project]\n\
             # name = \"app\"\n\n"
        }
    });
    text.push_str(
        "# What every harness below has, unless it says otherwise.\n\
         # [defaults]\n\
         # stop_timeout = \"10s\"\n\n",
    );
    let prompted: Vec<&AgentView> = agents.iter().filter(|one| one.supports.prompt).collect();
    if prompted.is_empty() {
        text.push_str(&sweep(kind, EXAMPLE, true, true));
        text.push_str(&resident(kind, EXAMPLE));
    }
    for (at, agent) in prompted.iter().enumerate() {
        let can = &agent.supports;
        let may = |how: &str| how != "never";
        text.push_str(&sweep(kind, &agent.id, may(&can.auto_accept), may(&can.max_turns)));
        if at == 0 {
            text.push_str(&resident(kind, &agent.id));
        }
    }
    text.push_str(&plain());
    text
}

/// A scheduled one-shot.
fn sweep(kind: Kind, agent: &str, accepts: bool, turns: bool) -> String {
    let mut lines = vec![
        format!("# A run of {agent} on a schedule: a prompt makes a harness a one-shot."),
        format!("# [harness.sweep-{agent}]"),
        format!("# agent = \"{agent}\""),
        "# prompt = \"Look through yesterday's changes for mistakes and list them.\"".to_owned(),
    ];
    lines.extend((kind == Kind::Global).then(|| "# workdir = \"~\"".to_owned()));
    lines.push("# schedule = \"30 2 * * mon-fri\"".to_owned());
    lines.push("# exclusive = true    # runs in one workdir wait for one another".to_owned());
    lines.push("# timeout = \"45m\"".to_owned());
    lines.extend(turns.then(|| "# max_turns = 40".to_owned()));
    let unasked = "# auto_accept = false    # true: it asks nobody before it writes or executes";
    lines.extend(accepts.then(|| unasked.to_owned()));
    lines.join("\n") + "\n\n"
}

/// A resident agent.
fn resident(kind: Kind, agent: &str) -> String {
    let mut lines = vec![
        format!("# {agent} in its terminal, started with the daemon and started again when it ends."),
        format!("# [harness.{agent}]"),
        format!("# agent = \"{agent}\""),
    ];
    lines.extend((kind == Kind::Global).then(|| "# workdir = \"~\"".to_owned()));
    lines.push("# enabled = true".to_owned());
    lines.push("# restart = \"on-failure\"".to_owned());
    lines.join("\n") + "\n\n"
}

/// Any program.
fn plain() -> String {
    "# Any other program.\n\
     # [harness.ticker]\n\
     # cmd = \"sh\"\n\
     # args = [\"-c\", \"while :; do date; sleep 60; done\"]\n"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Kind, starter};
    use crate::adapter::Registry;
    use crate::config::{AllGood, FileKind, Input, Surroundings, load};
    use crate::wire::AgentView;

    /// The examples in force: `# ` is taken off every line of TOML.
    fn uncommented(text: &str) -> String {
        let is_toml = |line: &str| {
            line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
        };
        let line = |line: &str| match line.strip_prefix("# ") {
            Some(rest) if is_toml(rest) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    fn judge(kind: Kind, text: String) -> (usize, Vec<String>) {
        let (file, kind) = match kind {
            Kind::Global => ("/home/u/.config/harnessd/harness.toml", FileKind::Global),
            Kind::Project => ("/home/u/src/app/harness.toml", FileKind::Project),
        };
        let surroundings =
            Surroundings { home: "/home/u".into(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
        let loaded = load(&[Input { file: file.into(), kind, text }], &surroundings, &AllGood);
        let harnesses = loaded.configuration.map_or(0, |one| one.harnesses.len());
        (harnesses, loaded.diagnostics.into_iter().map(|one| one.message).collect())
    }

    /// What `init` writes is valid as it stands and with all of its examples in force, whichever agents
    /// there are.
    #[test]
    fn a_starter_is_valid_with_and_without_its_examples() {
        let all: Vec<AgentView> = Registry::builtin().all().iter().map(|one| one.view()).collect();
        let sets = all.iter().map(|one| vec![one.clone()]).chain([Vec::new(), all.clone()]);
        for agents in sets {
            for kind in [Kind::Global, Kind::Project] {
                let text = starter(kind, &agents);
                assert_eq!(judge(kind, text.clone()), (0, Vec::new()), "{text}");
                let (harnesses, said) = judge(kind, uncommented(&text));
                assert_eq!(said, [""; 0], "{text}");
                let prompted = agents.iter().filter(|one| one.supports.prompt).count().max(1);
                assert_eq!(harnesses, prompted + 2, "{text}");
            }
        }
    }
}
