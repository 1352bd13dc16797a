//! Whether the daemon outlives its user's session.

use super::Sight;
use crate::host::service::UserService;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    vec![match UserService::of_this_process() {
        None if sight.patient.daemon.is_some() => {
            Finding::note("the daemon is no service of a user's manager")
        }
        None => Finding::note("this is no service of a user's manager"),
        Some(UserService { user, lingers: true }) => {
            Finding::ok(format!("a service of `{user}`, whose manager stays after a logout"))
        }
        Some(UserService { user, lingers: false }) => {
            let text = format!("a service of `{user}`: it ends, with all runs, when `{user}` logs out");
            Finding::warning(text).help(format!("`loginctl enable-linger {user}`"))
        }
    }]
}
