//! Executing a newer program in place of this one, and what it inherits (CTL-11).
//!
//! Invariants: exactly the descriptors that are named survive, and the new program marks them again
//! before it starts anything; a failed `execve` leaves this process as it was.

use std::convert::Infallible;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::execve;

use super::files;
use super::process::find_program;

/// Tells the new program which descriptor holds the document. No child gets variables of this prefix.
const VARIABLE: &str = "HARNESSD_HANDOVER";

/// The file that this process executes, by the path that it was called by, made absolute. An upgrade
/// replaces that file, while `/proc/self/exe` goes on to mean the one that is gone.
///
/// # Errors
/// If it cannot be told.
pub fn own_program() -> io::Result<Utf8PathBuf> {
    let running = fs::read_link("/proc/self/exe")?;
    let cwd = files::current_dir().unwrap_or_else(|| "/".into());
    let path = std::env::var_os("PATH");
    let called = std::env::args_os().next().and_then(|word| word.into_string().ok());
    let called = called.and_then(|word| find_program(&word, path.as_deref(), &cwd).ok());
    let is_this = |found: &Utf8PathBuf| files::same_file(found, Utf8Path::new("/proc/self/exe"));
    // Whoever started us may have given any name for `argv[0]`.
    match called.filter(is_this) {
        Some(found) => Ok(found),
        None => Utf8PathBuf::from_path_buf(running)
            .map_err(|path| io::Error::other(format!("the path {} is not UTF-8", path.display()))),
    }
}

/// The environment of this process without what it was handed itself.
#[must_use]
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| name != VARIABLE).collect()
}

/// Becomes `program`, with the arguments that this process was started with, the descriptors in
/// `keep`, and `document` to read. The caller has blocked all signals. Returns only if that failed;
/// then nothing has changed.
///
/// # Errors
/// What the system says.
pub fn execute(program: &Utf8Path, document: &[u8], keep: &[RawFd]) -> io::Result<Infallible> {
    let mut paper = File::from(memfd_create(c"harnessd-handover", MFdFlags::MFD_CLOEXEC)?);
    paper.write_all(document)?;
    paper.rewind()?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&paper);
    let image = terminated(program.as_str().as_bytes().to_vec())?;
    let arguments = std::env::args_os().map(|word| terminated(word.into_vec()));
    let arguments = arguments.collect::<io::Result<Vec<_>>>()?;
    let handed = (OsString::from(VARIABLE), OsString::from(number.to_string()));
    let pair = |(name, value): (OsString, OsString)| {
        terminated([name.as_bytes(), b"=", OsStr::as_bytes(&value)].concat())
    };
    let variables = environment().into_iter().chain([handed]).map(pair).collect::<io::Result<Vec<_>>>()?;
    let handed: Vec<RawFd> = keep.iter().copied().chain([number]).collect();
    let executed = handed
        .iter()
        .try_for_each(|one| mark(*one, 0))
        .and_then(|()| Ok(execve(&image, &arguments, &variables)?));
    for one in handed {
        // One that cannot be marked is no descriptor any more.
        let _gone = mark(one, libc::FD_CLOEXEC);
    }
    executed
}

/// The document that this process was handed, if it was executed by a predecessor.
///
/// # Errors
/// If there is none where the predecessor says it is.
pub fn document() -> io::Result<Option<Vec<u8>>> {
    let Some(told) = std::env::var_os(VARIABLE) else { return Ok(None) };
    let number = told.to_str().and_then(|text| text.parse().ok()).filter(|number| *number > 2);
    let number = number.ok_or_else(|| io::Error::other(format!("`{VARIABLE}` names no descriptor")))?;
    let mut bytes = Vec::new();
    File::from(inherit(number)?).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// A descriptor that the predecessor has left open, closed at the next `exec` again.
///
/// # Errors
/// If it is none.
pub fn inherit(number: RawFd) -> io::Result<OwnedFd> {
    if number <= 2 {
        return Err(io::Error::other("a standard descriptor is not handed over"));
    }
    mark(number, libc::FD_CLOEXEC)?;
    // SAFETY: it is open, or marking it would have failed. A predecessor of this program left it for us
    // alone: nothing here has opened it, so nothing else owns it. Each number is asked for once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn mark(descriptor: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: F_SETFD on a number changes a flag; on one that is no descriptor it fails without effect.
    Errno::result(unsafe { libc::fcntl(descriptor, libc::F_SETFD, flags) })?;
    Ok(())
}

fn terminated(text: Vec<u8>) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::{execute, inherit, own_program};
    use crate::host::files::Stamp;
    use camino::Utf8Path;
    use nix::fcntl::{FcntlArg, fcntl};
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// CTL-11: a program that cannot be executed costs nothing: the marks are as they were.
    #[test]
    fn a_failed_execution_changes_nothing() {
        let kept = File::open("/dev/null").unwrap();
        let refused = execute(Utf8Path::new("/nowhere/harnessd"), b"{}", &[kept.as_raw_fd()]).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(nix::libc::ENOENT));
        assert_eq!(fcntl(&kept, FcntlArg::F_GETFD), Ok(nix::libc::FD_CLOEXEC));
    }

    #[test]
    fn what_is_no_descriptor_is_not_taken() {
        assert_eq!(inherit(1 << 30).unwrap_err().raw_os_error(), Some(nix::libc::EBADF));
        assert!(inherit(2).is_err());
    }

    #[test]
    fn the_own_program_is_found_and_known_again() {
        let own = own_program().unwrap();
        assert!(own.is_absolute());
        assert_eq!(Stamp::of(&own), Stamp::of(Utf8Path::new("/proc/self/exe")));
    }
}
