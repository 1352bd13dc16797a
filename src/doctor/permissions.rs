//! Who may read and change what the daemon keeps and what it is told by.

use camino::Utf8Path;

use super::Sight;
use crate::config::FileKind;
use crate::host::cause;
use crate::host::files::Access;
use crate::wire::Finding;

/// The bits of others, and of the group and others, that may write.
const OTHERS: u32 = 0o077;
const WRITERS: u32 = 0o022;

pub(super) fn look(sight: &Sight<'_>) -> Vec<Finding> {
    let patient = sight.patient;
    let mut found = vec![private(&patient.state, true)];
    found.extend(patient.daemon.as_ref().map(|_| private(&patient.socket, false)));
    found.extend(sight.said.files.iter().filter_map(|(file, kind)| told_by(file, *kind)));
    // What `up` has accepted is not read from its file again.
    let listed = sight.said.projects.iter().filter(|project| project.listed);
    found.extend(listed.filter_map(|project| told_by(&project.file, FileKind::Project)));
    found
}

/// What the daemon keeps is its user's alone.
fn private(path: &Utf8Path, needed: bool) -> Finding {
    match Access::to(path) {
        Err(error) => Finding::error(format!("`{path}`: {}", cause(&error))),
        Ok(None) if needed => Finding::note(format!("`{path}` is not there yet")),
        Ok(None) => Finding::error(format!("`{path}` is not there any more: nobody can reach the daemon"))
            .help("restart the daemon, which makes it anew; what removed it may do so again"),
        Ok(Some(access)) if needed && !access.directory => {
            Finding::error(format!("`{path}` is no directory"))
                .help("remove it, or choose another place with `--state-dir`")
        }
        Ok(Some(access)) if !access.own => {
            Finding::warning(format!("`{path}` is owned by `{}`, not by this user", access.owner))
                .help("run harnessd as that user, or choose another place")
        }
        Ok(Some(access)) if !access.writable => Finding::error(format!("`{path}` cannot be written"))
            .help(format!("`chmod u+w {path}`, or see whether its file system is mounted read-only")),
        Ok(Some(access)) if access.mode & OTHERS != 0 => {
            Finding::warning(format!("`{path}` has mode {:04o}: others may look into it", access.mode))
                .help(format!("`chmod go= {path}`"))
        }
        Ok(Some(access)) => Finding::ok(format!("`{path}` has mode {:04o}", access.mode)),
    }
}

/// Whoever may write a configuration file decides what is run.
fn told_by(file: &Utf8Path, kind: FileKind) -> Option<Finding> {
    let access = Access::to(file).ok()??;
    if access.mode & WRITERS != 0 {
        let text = format!("`{file}` has mode {:04o}: others may change what is run", access.mode);
        return Some(Finding::warning(text).help(format!("`chmod go-w {file}`")));
    }
    let foreign = kind == FileKind::Global && !access.own && access.owner != "root";
    foreign.then(|| {
        Finding::warning(format!("`{file}` is owned by `{}`, who decides what is run", access.owner))
    })
}
