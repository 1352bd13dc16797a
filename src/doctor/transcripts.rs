//! How long the agents that are there keep their transcripts: what they remove, nobody can read.

use super::Sight;
use crate::wire::{AgentState, Finding, RetentionView};

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    sight.patient.agents.iter().filter(|one| one.installed).filter_map(one).collect()
}

fn one(agent: &AgentState) -> Option<Finding> {
    let name = &agent.agent.id;
    if !agent.agent.supports.trajectory {
        return None;
    }
    let Some(RetentionView { file, key, value, default, trouble }) = &agent.retention else {
        return Some(Finding::note(format!("{name}: nothing is known of how long it keeps them")));
    };
    if let Some(trouble) = trouble {
        let text = format!("{name}: `{file}` cannot be read for `{key}`: {trouble}");
        return Some(Finding::note(text));
    }
    let text = match (value, default) {
        (Some(value), _) => format!("{name}: `{key}` is {value}, says `{file}`"),
        (None, Some(default)) => format!("{name}: {default}, since `{file}` does not set `{key}`"),
        (None, None) => format!("{name}: `{file}` does not set `{key}`"),
    };
    Some(Finding::note(text))
}
