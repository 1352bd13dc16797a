//! The harnesses: whether the program that each would execute is there.

use std::collections::BTreeMap;

use super::Sight;
use crate::launch::program;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let own = sight.loaded.configuration.iter().flat_map(|one| &one.harnesses);
    let elsewhere = sight.reading.configuration.harnesses.iter().filter(|(name, _)| name.project().is_some());
    // The enclosing project is as its file is now, not as it was accepted.
    let all: BTreeMap<_, _> = elsewhere.chain(own).collect();
    let mut found = Vec::new();
    let mut sound = 0;
    for (name, harness) in &all {
        match program(harness, sight.around) {
            Ok(_) => sound += 1,
            Err(cause) => {
                found.push(Finding::error(format!("`{name}` cannot start: {cause}")).help(
                    "install it, set `cmd` to its path, or mend the PATH that harnessd is started with",
                ))
            }
        }
    }
    if sound > 0 {
        found.insert(0, Finding::ok(format!("{sound} of {} have their program", all.len())));
    }
    found
}
