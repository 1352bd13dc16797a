//! The projects that a daemon has: listed ones and registered ones, as their files are now (CFG-5).

use super::Sight;
use crate::loader::UnitState;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    sight.said.projects.iter().map(|unit| one(sight, unit)).collect()
}

fn one(sight: &Sight<'_>, unit: &UnitState) -> Finding {
    let UnitState { file, listed, .. } = unit;
    let dir = file.parent().unwrap_or(file);
    let name = unit.name.as_deref().unwrap_or(dir.file_name().unwrap_or(dir.as_str()));
    let how = if *listed { "listed" } else { "up" };
    let forget = if *listed {
        format!("remove `{dir}` from `[daemon] projects`")
    } else {
        format!("`harnessd down {name}` ends it")
    };
    if !unit.accepted {
        let known = sight.patient.daemon.iter().flat_map(|daemon| &daemon.projects);
        let goes_on = known.filter(|known| known.key == unit.key).any(|known| known.in_force);
        let told = sight.said.diagnostics.iter().find(|one| one.place.file == *file);
        let cause = told.map_or_else(String::new, |one| format!(": {}", one.message));
        let text = format!("`{name}` ({how}): `{file}` is refused{cause}");
        return if goes_on {
            Finding::warning(format!("{text}; its last good definition is in force"))
        } else {
            Finding::error(format!("{text}; nothing of it is in force"))
        }
        .help(format!("`harnessd validate '{file}'` shows each mistake with its place; {forget}"));
    }
    if !listed && matches!(file.try_exists(), Ok(false)) {
        let text = format!("`{name}` (up): `{file}` is gone; what `up` accepted is in force");
        return Finding::warning(text).help(forget);
    }
    if unit.changed {
        let text = format!("`{name}` (up): `{file}` has changed since `up`; what that accepted is in force");
        return Finding::note(text).help(format!("`harnessd up '{dir}'` applies the change"));
    }
    Finding::ok(format!("`{name}` ({how}): `{file}`"))
}
