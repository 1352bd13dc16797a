//! What a scratch directory leaves behind, after a crash too (SKL-8, SKL-9).
//!
//! Invariant: of a scratch directory only what we wrote ourselves, or what was
//! to be deleted, is ever deleted.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::build::content_hash;
use super::displace::{displace, is_directory, remove};
use super::manifest::{FILE, Manifest};
use super::target::Listing;
use super::tree::{Links, walk};
use super::warning::{Warning, WarningKind, plain, shown};
use super::{Job, Target};
use crate::host::cause;

/// The part of a scratch directory in which copies are built.
pub(super) const NEW: &str = "new";
/// The part for what is to be deleted.
pub(super) const OLD: &str = "old";
/// The part for what is to be kept.
pub(super) const KEEP: &str = "keep";

/// Puts right what an interrupted projection left: work that was to be kept is
/// kept now, the rest of its scratch goes. Nothing here stops a start.
pub(super) fn salvage(
    job: &Job,
    target: &Target,
    manifest: &Manifest,
    listing: &Listing,
    warnings: &mut Vec<Warning>,
) {
    let known = |name: &str, path: &Utf8Path| {
        let Some(entry) = manifest.skills.get(name) else { return false };
        let hash = walk(path, Links::Refuse, job.bounds).and_then(|tree| content_hash(&tree, job.bounds));
        hash.is_ok_and(|hash| hash == entry.hash || entry.previous.as_ref() == Some(&hash))
    };
    for scratch in &listing.scratch {
        let kept = fs::read_dir(scratch.join(KEEP)).into_iter().flatten().flatten();
        for entry in kept {
            let Ok(path) = Utf8PathBuf::from_path_buf(entry.path()) else { continue };
            let name = path.file_name().unwrap_or_default();
            if !known(name, &path) {
                warnings.push(put_aside(job, &path, name));
            }
        }
        warnings.extend(clear(scratch));
    }
    if target.private {
        for path in &listing.odd {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Ok(to) = displace(path, &name, &shelf(job), job.bounds) {
                warnings.push(moved(&name, &to));
            }
        }
    }
    let manifest = target.dir.join(FILE);
    if is_directory(manifest.as_std_path()) {
        warnings.push(put_aside(job, &manifest, FILE));
    }
}

/// Where this harness's displaced work lies.
fn shelf(job: &Job) -> Utf8PathBuf {
    job.displaced.join(job.harness.file_name())
}

fn moved(name: &str, to: &Utf8Path) -> Warning {
    let text =
        format!("`{}` in the target was not as harnessd wrote it: it is kept at {}", plain(name), shown(to));
    Warning::new(WarningKind::Displaced, text)
}

/// Displaces `path` and says so. Where that fails it stays for the next time.
pub(super) fn put_aside(job: &Job, path: &Utf8Path, name: &str) -> Warning {
    match displace(path.as_std_path(), name, &shelf(job), job.bounds) {
        Ok(to) => moved(name, &to),
        Err(error) => Warning::new(
            WarningKind::Displaced,
            format!(
                "`{}` in the target was not as harnessd wrote it: it stays at {}, for it cannot be moved to {}: {}",
                plain(name),
                shown(path),
                shown(&shelf(job)),
                cause(&error)
            ),
        ),
    }
}

/// Deletes a scratch directory, except for what is still to be kept.
pub(super) fn clear(scratch: &Utf8Path) -> Option<Warning> {
    let keeps = fs::read_dir(scratch.join(KEEP)).is_ok_and(|mut kept| {
        kept.any(|entry| entry.is_ok_and(|entry| entry.path().symlink_metadata().is_ok()))
    });
    let removed = if keeps {
        remove(scratch.join(NEW).as_std_path()).and_then(|()| remove(scratch.join(OLD).as_std_path()))
    } else {
        remove(scratch.as_std_path())
    };
    removed.err().map(|error| {
        let text = format!("{} cannot be removed: {}", shown(scratch), cause(&error));
        Warning::new(WarningKind::Target, text)
    })
}
