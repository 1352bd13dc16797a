//! The harnesses: whether the program that each would execute is there.

use super::Sight;
use crate::launch::program;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let harnesses = &sight.said.harnesses;
    let mut found = Vec::new();
    let mut sound = 0;
    for (name, harness) in harnesses {
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
        found.insert(0, Finding::ok(format!("{sound} of {} have their program", harnesses.len())));
    }
    found
}
