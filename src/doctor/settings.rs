//! Every setting of the daemon, with who says so (CFG-6).

use super::Sight;
use crate::config::Setting;
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
    let source = if by_flag { flag } else { setting.source.as_str() };
    Finding::note(format!("{} = {value} ({source})", setting.key))
}
