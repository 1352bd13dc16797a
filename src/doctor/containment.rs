//! Whether runs get control groups of their own (LIF-5).

use super::Sight;
use crate::host::cgroup::Containment;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let group = match &sight.patient.daemon {
        Some(daemon) => daemon.group.clone(),
        None => Containment::delegated().map_err(|cause| cause.to_string()),
    };
    let cause = match group {
        Ok(group) => return vec![Finding::ok(format!("each run gets a group of its own below `{group}`"))],
        Err(cause) => cause,
    };
    let limited: Vec<String> = sight
        .said
        .harnesses
        .values()
        .filter(|harness| harness.memory_max.is_some() || harness.cpu_weight.is_some())
        .map(|harness| format!("`{}`", harness.name))
        .collect();
    let help = "start harnessd as a service with `Delegate=yes`; `examples/systemd` has both kinds";
    vec![if limited.is_empty() {
        Finding::note(format!("runs get no groups of their own: {cause}")).help(help)
    } else {
        let text = format!("the limits of {} cannot be put in force: {cause}", limited.join(", "));
        Finding::error(text).help(help)
    }]
}
