//! The daemon: its process, its lock, its socket, and what it says is wrong with it.

use super::Sight;
use crate::host::lock::DirLock;
use crate::wire::Finding;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let patient = sight.patient;
    match &patient.daemon {
        Some(daemon) => {
            let since = daemon.started_at.rfc3339();
            let text = format!("version {}, process {}, since {since}", daemon.version, daemon.pid);
            found.push(Finding::ok(text));
            found.push(Finding::ok(format!("it listens at `{}`", patient.socket)));
            found.extend(daemon.trouble.iter().map(Finding::warning));
        }
        None => found.push(patient.unreached.clone().unwrap_or_else(|| {
            Finding::warning(format!("no daemon answers at `{}`", patient.socket))
                .help("`harnessd run` starts one; until then nothing is started, restarted or fired")
        })),
    }
    let path = patient.state.join("lock");
    found.push(match (DirLock::holder(&path), &patient.daemon) {
        (Err(cause), _) => Finding::warning(cause.to_string()),
        (Ok(Some(holder)), Some(daemon)) if holder.pid == i32::try_from(daemon.pid).ok() => {
            Finding::ok(format!("it holds the lock `{path}`"))
        }
        (Ok(Some(holder)), Some(_)) => {
            Finding::error(format!("the lock `{path}` is held by {holder}, not by this daemon"))
                .help("end one of the two: a state directory is for one daemon")
        }
        (Ok(Some(holder)), None) => Finding::error(format!(
            "{holder} holds the lock `{path}` and does not answer"
        ))
        .help("it may listen elsewhere: name its socket by `--socket`; or it is stuck: its log says at what"),
        (Ok(None), Some(_)) => Finding::error(format!("nobody holds the lock `{path}`"))
            .help("it was removed or replaced while the daemon ran: restart the daemon"),
        (Ok(None), None) => Finding::note(format!("nobody holds the lock `{path}`")),
    });
    found
}
