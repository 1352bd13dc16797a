//! Where the control group of this process is, and whether it was handed over to it.
//!
//! Invariant: being allowed to write is no permission. Root may write to every group, and a user to
//! all those of the user's own manager; what counts is the mark `delegate` that systemd sets on the
//! groups that it hands over, and that whoever else manages groups can set too.

use std::ffi::CString;
use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::libc;
use thiserror::Error;

use super::OWN;
use crate::host;

/// The marks of a group that was handed over: the first one anybody may read, the second one is all
/// that an older systemd sets, and only root can read it.
const MARKS: [&str; 2] = ["user.delegate", "trusted.delegate"];

/// Why this process has no control group of its own to divide.
#[derive(Debug, Error)]
pub enum Undelegated {
    /// The kernel has no control groups of version 2, or they are not to be seen.
    #[error("no control groups of version 2 are mounted here")]
    Absent,
    /// It stands outside of what is mounted.
    #[error("its control group `{path}` is not in the part that is mounted here")]
    OutOfSight {
        /// The group.
        path: Utf8PathBuf,
    },
    /// Nobody has handed it over.
    #[error(
        "its control group `{path}` was not delegated to it (`Delegate=yes` in a systemd unit does that)"
    )]
    NotMarked {
        /// The group.
        path: Utf8PathBuf,
    },
    /// It was handed over and is of no use all the same.
    #[error("the delegated control group `{root}` cannot be used: {}", host::cause(cause))]
    Refused {
        /// Its directory.
        root: Utf8PathBuf,
        /// What the system says.
        cause: io::Error,
    },
}

/// A delegated group.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) root: Utf8PathBuf,
    pub(super) path: Utf8PathBuf,
}

/// The delegated group of this process.
pub(super) fn find() -> Result<Place, Undelegated> {
    let read = |path: &str| fs::read(path).map_err(|_| Undelegated::Absent);
    find_in(&read("/proc/self/cgroup")?, &read("/proc/self/mountinfo")?, is_marked)
}

/// The same, from the texts that the kernel gives. The group above is looked at as well if ours is
/// one that we would have moved into: an earlier image of this process, or systemd, did that.
pub(super) fn find_in(
    cgroup: &[u8],
    mountinfo: &[u8],
    is_marked: impl Fn(&Utf8Path) -> bool,
) -> Result<Place, Undelegated> {
    let mount = mount(mountinfo).ok_or(Undelegated::Absent)?;
    let own = unified_path(cgroup).ok_or(Undelegated::Absent)?;
    let above = own.parent().filter(|_| own.file_name() == Some(OWN));
    for path in [Some(own.as_path()), above].into_iter().flatten() {
        let Ok(below) = path.strip_prefix(&mount.shows) else {
            return Err(Undelegated::OutOfSight { path: own.clone() });
        };
        // `join` with nothing would end in a slash.
        let root = if below.as_str().is_empty() { mount.at.clone() } else { mount.at.join(below) };
        if is_marked(&root) {
            return Ok(Place { root, path: path.to_owned() });
        }
    }
    Err(Undelegated::NotMarked { path: own })
}

/// The group of version 2 in a `/proc/PID/cgroup`: `0::PATH`.
pub(super) fn unified_path(cgroup: &[u8]) -> Option<Utf8PathBuf> {
    let line = cgroup.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"0::"))?;
    Some(std::str::from_utf8(line).ok()?.into())
}

/// A mounted hierarchy: where it is, and from which group on it shows it.
struct Mount {
    at: Utf8PathBuf,
    shows: Utf8PathBuf,
}

/// The hierarchy of version 2 in a `/proc/PID/mountinfo`; beside those of version 1 it stands
/// anywhere. Fields: id, parent, device, root, place, options, optional ones, `-`, type, …
fn mount(mountinfo: &[u8]) -> Option<Mount> {
    String::from_utf8_lossy(mountinfo).lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (shows, at) = (fields.next()?, fields.next()?);
        let is_unified = after.split(' ').next() == Some("cgroup2");
        is_unified.then(|| Mount { at: unescaped(at).into(), shows: unescaped(shows).into() })
    })
}

/// Blanks, line breaks and backslashes are written as `\ooo` there.
fn unescaped(field: &str) -> String {
    let known = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    known.iter().fold(field.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// Whether a group carries a mark of having been handed over.
fn is_marked(directory: &Utf8Path) -> bool {
    MARKS.iter().any(|mark| attribute(directory, mark).is_ok_and(|value| value == b"1"))
}

/// A short extended attribute.
fn attribute(path: &Utf8Path, name: &str) -> io::Result<Vec<u8>> {
    let (path, name) = (CString::new(path.as_str())?, CString::new(name)?);
    let mut value = [0_u8; 16];
    // SAFETY: both texts are terminated, and the kernel writes at most `value.len()` bytes to `value`.
    let length =
        unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len()) };
    let length = usize::try_from(Errno::result(length)?).map_err(io::Error::other)?;
    Ok(value[..length].to_vec())
}
