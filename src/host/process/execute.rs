//! Executing a program in a new process, without copying this one.
//!
//! A `fork` copies the page tables, and every page that the daemon writes to afterwards is copied
//! once more: with a thousand children that was most of the cost of a start. Here the child borrows
//! the memory of its parent, which waits until the child has its own program (`vfork`), as the C
//! library's `posix_spawn` does; that one cannot set limits or mark descriptors.
//!
//! Invariant: between `clone` and `exec` the child makes system calls only, on a stack of its own,
//! with every handler of the parent out of reach.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::{SpawnSpec, child};
use crate::host::limits::InheritedLimits;

/// 16-byte units of the child's stack: 64 KiB.
const STACK: usize = 4096;

/// A program, its arguments, environment and directory as the kernel takes them.
pub(super) struct Image {
    program: CString,
    argv: Vec<CString>,
    env: Vec<CString>,
    cwd: CString,
}

impl Image {
    /// Fails only on a NUL byte.
    pub(super) fn of(spec: &SpawnSpec) -> io::Result<Self> {
        let program = terminated(spec.program.as_str())?;
        let mut argv =
            spec.argv.iter().map(|word| terminated(word.as_bytes())).collect::<io::Result<Vec<_>>>()?;
        if argv.is_empty() {
            argv.push(program.clone());
        }
        let last: BTreeMap<&OsStr, &OsStr> =
            spec.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();
        let variable =
            |(name, value): (&OsStr, &OsStr)| terminated([name.as_bytes(), b"=", value.as_bytes()].concat());
        let env = last.into_iter().map(variable).collect::<io::Result<_>>()?;
        Ok(Self { program, argv, env, cwd: terminated(spec.cwd.as_str())? })
    }
}

fn terminated(text: impl Into<Vec<u8>>) -> io::Result<CString> {
    CString::new(text)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "nul byte found in provided data"))
}

/// What the child reads, and the one place that it writes to.
struct Plan {
    program: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    cwd: *const c_char,
    standard: [RawFd; 3],
    has_terminal: bool,
    limits: InheritedLimits,
    /// Why it could not execute the program; 0 until then.
    failed: c_int,
}

/// Starts the program with these descriptors as 0, 1 and 2; its pid, once `exec` has succeeded.
pub(super) fn execute(
    image: &Image,
    standard: [&OwnedFd; 3],
    has_terminal: bool,
    limits: InheritedLimits,
) -> io::Result<i32> {
    let pointers = |list: &[CString]| -> Vec<*const c_char> {
        list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    let mut plan = Plan {
        program: image.program.as_ptr(),
        argv: argv.as_ptr(),
        env: env.as_ptr(),
        cwd: image.cwd.as_ptr(),
        standard: standard.map(AsRawFd::as_raw_fd),
        has_terminal,
        limits,
        failed: 0,
    };
    let mut stack: Vec<u128> = Vec::with_capacity(STACK);
    let mut before = SigSet::empty();
    // A handler of ours must not run in the child, which would run it in our memory.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    // SAFETY: `begin` gets a stack of its own, from whose upper end it grows down, and a plan that
    // outlives it: with CLONE_VFORK this thread goes on only after the child has left our memory.
    // The other threads do not know the plan or the stack. What the child calls is listed at `begin`.
    let pid = Errno::result(unsafe {
        libc::clone(
            begin,
            stack.as_mut_ptr().add(STACK).cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ptr::from_mut(&mut plan).cast(),
        )
    });
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    let pid = pid?;
    // SAFETY: the plan is ours; the read is volatile because the child wrote to it behind the
    // compiler's back.
    let failed = unsafe { ptr::read_volatile(&raw const plan.failed) };
    if failed == 0 {
        return Ok(pid);
    }
    while waitpid(Pid::from_raw(pid), None) == Err(Errno::EINTR) {}
    Err(io::Error::from_raw_os_error(failed))
}

/// The child. System calls only: `dup2`, `fcntl`, `chdir`, those of [`child::begin`], `execve`,
/// `_exit`; nothing allocates, locks or panics. `errno` is the waiting parent's, who does not read it.
extern "C" fn begin(plan: *mut c_void) -> c_int {
    let plan = plan.cast::<Plan>();
    // SAFETY: the pointer is the plan of `execute`, which waits and does not touch it meanwhile.
    let error = take_over(unsafe { &*plan });
    // SAFETY: as above, and the shared borrow has ended; 0 would read as success.
    unsafe { ptr::write_volatile(&raw mut (*plan).failed, error.raw_os_error().unwrap_or(libc::EIO)) };
    // SAFETY: ends the child without running anything that its parent has registered.
    unsafe { libc::_exit(127) }
}

/// Becomes the program; comes back only with the reason why not.
fn take_over(plan: &Plan) -> io::Error {
    match prepare(plan) {
        // SAFETY: all three are terminated as `execvpe` wants them and live in the waiting parent.
        // A script without an interpreter's line is given to `sh`, as every shell does.
        Ok(()) => unsafe {
            libc::execvpe(plan.program, plan.argv, plan.env);
            Errno::last().into()
        },
        Err(error) => error,
    }
}

fn prepare(plan: &Plan) -> io::Result<()> {
    for (number, descriptor) in (0..).zip(plan.standard) {
        // SAFETY: both are plain numbers; `descriptor` is open in this copy of the table. One that
        // has its number already only loses the mark that would close it.
        Errno::result(unsafe {
            if descriptor == number {
                libc::fcntl(descriptor, libc::F_SETFD, 0)
            } else {
                libc::dup2(descriptor, number)
            }
        })?;
    }
    // SAFETY: a terminated path in the memory of the waiting parent.
    Errno::result(unsafe { libc::chdir(plan.cwd) })?;
    child::begin(plan.has_terminal, plan.limits)
}
