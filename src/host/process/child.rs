//! What happens in the child between clone and exec, and the file it reads.
//!
//! Invariant: [`begin`] makes system calls only. It runs in the memory of its
//! parent, whose other threads go on: a lock could wait for ever, an
//! allocation would be the parent's.

use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::libc;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::stat::{Mode, umask};
use nix::unistd::setsid;

use crate::host::limits::InheritedLimits;

/// The highest signal number of Linux on the machines that Rust's `std` knows, MIPS apart.
const LAST_SIGNAL: libc::c_int = 64;

/// Makes the new child a clean one.
pub(super) fn begin(has_terminal: bool, limits: InheritedLimits) -> io::Result<()> {
    setsid()?;
    if has_terminal {
        // SAFETY: TIOCSCTTY takes an integer; descriptor 1 is the terminal that was just put there.
        Errno::result(unsafe { libc::ioctl(1, libc::TIOCSCTTY, 0) })?;
    }
    default_dispositions();
    umask(Mode::S_IWGRP | Mode::S_IWOTH);
    limits.restore()?;
    close_all_at_exec()?;
    // Last: a signal that waited until now meets the default disposition, not a handler of the parent.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
    Ok(())
}

/// `exec` resets handlers by itself but keeps what is ignored; the kernel is
/// asked directly because the C library refuses to touch its own two signals,
/// which a parent may have left ignored all the same.
fn default_dispositions() {
    // The kernel's structure: handler, flags, restorer, mask. All zero is SIG_DFL.
    let default = [0_u64; 8];
    for signal in 1..=LAST_SIGNAL {
        // SAFETY: the kernel reads one `struct sigaction`, smaller than `default`, and writes
        // nothing since the old action is not asked for. KILL and STOP are refused, harmlessly.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null_mut::<u64>(),
                size_of::<u64>(),
            );
        }
    }
}

/// Marks every descriptor above 2 to be closed by `exec`. The child's table is
/// a copy of its own, so the parent's marks stay as they are.
fn close_all_at_exec() -> io::Result<()> {
    // SAFETY: CLOSE_RANGE_CLOEXEC only sets a flag on descriptors; none is closed under its owner.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    match Errno::result(done) {
        Ok(_) => Ok(()),
        // Older kernels, and sandboxes that forbid what they do not know.
        Err(Errno::ENOSYS | Errno::EINVAL | Errno::EPERM) => {
            close_each_at_exec();
            Ok(())
        }
        Err(errno) => Err(errno.into()),
    }
}

/// The slow way to the same end.
fn close_each_at_exec() {
    for descriptor in 3..1 << 16 {
        // SAFETY: F_SETFD on a number that is no descriptor fails without any effect.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// The bytes as an unnamed regular file, at its start, that nobody can change any more.
pub(super) fn sealed(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let mut file = std::fs::File::from(memfd_create(c"harnessd-stdin", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals =
        SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(file.into())
}
