//! What a projection would do (SKL-13).
//!
//! Invariant: nothing is written and no lock is taken, and the comparison with the target is the
//! projection's own.

use std::fs;
use std::io;

use camino::Utf8Path;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use super::assess::Assessment;
use super::manifest::FILE;
use super::plan::changes;
use super::{Job, Merged, Preview, SkillError, Target, target};
use crate::host::cause;

/// What [`super::project`] would do now with the same arguments.
///
/// # Errors
/// If the target could not be written.
pub fn preview(job: &Job, merged: &Merged) -> Result<Preview, SkillError> {
    let mut warnings = merged.warnings.clone();
    let Some(target) = &job.target else {
        warnings.extend(merged.skills.iter().flat_map(|skill| skill.warnings.clone()));
        return Ok(Preview { warnings, ..Preview::default() });
    };
    if is_idle(target, merged) {
        return Ok(Preview { warnings, ..Preview::default() });
    }
    let failed = |error: io::Error| not_writable(job, target, &error);
    may_write(&target.dir).map_err(failed)?;
    let loaded = &merged.loaded;
    warnings.extend(loaded.warning.clone());
    let listing = target::list(&target.dir).map_err(failed)?;
    let assessed = Assessment::make(job, target, merged, &loaded.manifest, &listing, None);
    warnings.extend(merged.skills.iter().flat_map(|skill| assessed.notes(skill).iter().cloned()));
    Ok(Preview { warnings, changes: changes(&assessed.actions, &[]) })
}

/// Whether nothing is to be done: to have nothing to write is no reason to leave anything in somebody's
/// directory.
pub(super) fn is_idle(target: &Target, merged: &Merged) -> bool {
    let unused = || fs::symlink_metadata(target.dir.join(FILE)).is_err();
    !target.private && merged.skills.is_empty() && unused()
}

pub(super) fn not_writable(job: &Job, target: &Target, error: &io::Error) -> SkillError {
    SkillError::TargetNotWritable {
        adapter: job.adapter.clone(),
        target: target.dir.clone(),
        cause: cause(error),
    }
}

/// Whether this user may write into a directory, or make it.
fn may_write(dir: &Utf8Path) -> io::Result<()> {
    for place in dir.ancestors() {
        match fs::metadata(place) {
            Ok(found) if found.is_dir() => {
                return Ok(access(place.as_std_path(), AccessFlags::W_OK | AccessFlags::X_OK)?);
            }
            // Its own name is taken, or something on the way to it is no directory.
            Ok(_) => return Err(if place == dir { Errno::EEXIST } else { Errno::ENOTDIR }.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
