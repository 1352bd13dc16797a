//! Every setting of the daemon, with who says so (CFG-6).

use super::Sight;
use crate::config::Setting;
use crate::host::files::Places;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let places = Places::of_this_process();
    sight.said.told.iter().map(|setting| one(sight, &places, setting)).collect()
}

fn one(sight: &Sight<'_>, places: &Places, setting: &Setting) -> Finding {
    let patient = sight.patient;
    let (in_use, by_flag, flag) = match setting.key {
        "state_dir" => (Some(patient.state.as_str()), patient.state_by_flag, "--state-dir"),
        "socket" => (Some(patient.socket.as_str()), patient.socket_by_flag, "--socket"),
        _ => (None, false, ""),
    };
    let value = in_use.or(setting.value.as_deref()).unwrap_or("not set");
    let state_named = patient.state_by_flag
        || sight.said.told.iter().any(|one| one.key == "state_dir" && one.value.is_some());
    let source = match setting.key {
        _ if by_flag => flag,
        "state_dir" if setting.value.is_none() => places.state_by.unwrap_or(&setting.source),
        "socket" if setting.value.is_none() && state_named => "in the state directory that was named",
        "socket" if setting.value.is_none() => places.runtime_by.unwrap_or(&setting.source),
        _ => setting.source.as_str(),
    };
    Finding::note(format!("{} = {value} ({source})", setting.key))
}
