//! Every setting of the daemon, with who says so (CFG-6).

use super::Sight;
use crate::config::Setting;
use crate::host::files::Places;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    sight.loaded.told.iter().map(|setting| one(sight, setting)).collect()
}

fn one(sight: &Sight<'_>, setting: &Setting) -> Finding {
    let patient = sight.patient;
    let (in_use, by_flag, flag) = match setting.key {
        "state_dir" => (Some(patient.state.as_str()), patient.state_by_flag, "--state-dir"),
        "socket" => (Some(patient.socket.as_str()), patient.socket_by_flag, "--socket"),
        _ => (None, false, ""),
    };
    let value = in_use.or(setting.value.as_deref()).unwrap_or("not set");
    let state_named = patient.state_by_flag
        || sight.loaded.told.iter().any(|one| one.key == "state_dir" && one.value.is_some());
    // Where nothing names them they lie where the variables of a service manager or a session say.
    let places = Places::of_this_process();
    let by_variable = match setting.key {
        "state_dir" => places.state_by,
        "socket" => places.runtime_by.or(places.state_by),
        _ => None,
    };
    let source = match setting.key {
        _ if by_flag => flag,
        "socket" if setting.value.is_none() && state_named => "in the state directory that was named",
        _ if setting.value.is_none() => by_variable.unwrap_or(&setting.source),
        _ => setting.source.as_str(),
    };
    Finding::note(format!("{} = {value} ({source})", setting.key))
}
