//! Executing a program in a new process, without copying this one.
//!
//! A `fork` copies the page tables, and every page that the daemon writes to afterwards is copied
//! once more: with a thousand children that was most of the cost of a start. Here the child borrows
//! the memory of its parent, which waits until the child has its own program (`vfork`), as the C
//! library's `posix_spawn` does; that one cannot set limits or mark descriptors.
//!
//! Invariant: between `clone` and `exec` the child makes system calls only, on a guarded stack of
//! its own, with every handler of the parent out of reach. How much stack it needs does not depend on
//! what it executes.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr::{self, NonNull};

use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::{SpawnSpec, child};
use crate::host::cgroup::Entry;
use crate::host::limits::InheritedLimits;

/// The shell that a script without an interpreter's line is given to.
const SHELL: &CStr = c"/bin/sh";

/// Bytes of the child's stack.
const STACK: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();

/// Bytes below the stack that nobody may touch: whole pages on every machine, the largest being 64 KiB.
const GUARD: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();

/// A stack for the child. One that overflows hits its guard and ends the child, not its parent's heap.
struct Stack {
    low: NonNull<c_void>,
}

impl Stack {
    const LENGTH: NonZeroUsize = STACK.checked_add(GUARD.get()).unwrap();

    fn new() -> nix::Result<Self> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_STACK | MapFlags::MAP_NORESERVE;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, at a place of the kernel's choice, that nobody else knows.
        let stack = Self { low: unsafe { mmap_anonymous(None, Self::LENGTH, access, flags) }? };
        // SAFETY: the first bytes of the mapping just made, which hold nothing yet.
        unsafe { mprotect(stack.low, GUARD.get(), ProtFlags::PROT_NONE) }?;
        Ok(stack)
    }

    /// Where it begins: its upper end, from which it grows down.
    fn top(&self) -> *mut c_void {
        // SAFETY: one past the end of the mapping, which is `LENGTH` bytes long.
        unsafe { self.low.as_ptr().byte_add(Self::LENGTH.get()) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping of `new`; the child has left this memory before `clone` returns.
        // It cannot fail on a mapping that stands; if it did, one stack would be lost.
        let _ = unsafe { munmap(self.low, Self::LENGTH.get()) };
    }
}

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
    /// What [`SHELL`] is given if the program is a script without an interpreter's line.
    shell_argv: *const *const c_char,
    env: *const *const c_char,
    cwd: *const c_char,
    standard: [RawFd; 3],
    has_terminal: bool,
    limits: InheritedLimits,
    /// The door of its control group, if it is to have one.
    group: Option<RawFd>,
    /// Whether it may not go on outside of that group.
    inside_only: bool,
    /// Why it could not enter the group; 0 if it could.
    outside: c_int,
    /// Why it could not execute the program; 0 until then.
    failed: c_int,
}

/// A child that executes its program.
pub(super) struct Executed {
    pub(super) pid: i32,
    /// Why it is not in its control group.
    pub(super) outside: Option<io::Error>,
}

/// Why there is none.
pub(super) enum Refusal {
    /// It had to be in its control group and could not enter.
    Outside(io::Error),
    /// Anything else.
    Other(io::Error),
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Self::Other(errno.into())
    }
}

/// Starts the program with these descriptors as 0, 1 and 2, in a control group if it is to have one;
/// its pid, once `exec` has succeeded.
pub(super) fn execute(
    image: &Image,
    standard: [&OwnedFd; 3],
    has_terminal: bool,
    limits: InheritedLimits,
    group: Option<&Entry>,
) -> Result<Executed, Refusal> {
    let pointers = |list: &[CString]| -> Vec<*const c_char> {
        list.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(&image.argv), pointers(&image.env));
    // Made here, since the child may not allocate; `argv[1..]` ends with the null pointer.
    let shell_argv = [&[SHELL.as_ptr(), image.program.as_ptr()], &argv[1..]].concat();
    let mut plan = Plan {
        program: image.program.as_ptr(),
        argv: argv.as_ptr(),
        shell_argv: shell_argv.as_ptr(),
        env: env.as_ptr(),
        cwd: image.cwd.as_ptr(),
        standard: standard.map(AsRawFd::as_raw_fd),
        has_terminal,
        limits,
        group: group.map(|entry| entry.procs.as_raw_fd()),
        inside_only: group.is_some_and(|entry| entry.required),
        outside: 0,
        failed: 0,
    };
    let stack = Stack::new()?;
    let mut before = SigSet::empty();
    // A handler of ours must not run in the child, which would run it in our memory.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    // SAFETY: `begin` gets a stack of its own, from whose upper end it grows down, and a plan that
    // outlives it: with CLONE_VFORK this thread goes on only after the child has left our memory, by
    // `exec` or by any death. The other threads do not know the plan or the stack. Without CLONE_FILES,
    // CLONE_FS and CLONE_SIGHAND its descriptors, directory, umask and dispositions are copies. What
    // the child calls is listed at `begin`.
    let pid = Errno::result(unsafe {
        libc::clone(
            begin,
            stack.top(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            ptr::from_mut(&mut plan).cast(),
        )
    });
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    let pid = pid?;
    // SAFETY: the plan is ours; the reads are volatile because the child wrote to it behind the
    // compiler's back.
    let (failed, outside) =
        unsafe { (ptr::read_volatile(&raw const plan.failed), ptr::read_volatile(&raw const plan.outside)) };
    let outside = (outside != 0).then(|| io::Error::from_raw_os_error(outside));
    // A child that was killed before its `exec` counts as started: its death is reaped like any other.
    if failed == 0 {
        return Ok(Executed { pid, outside });
    }
    while waitpid(Pid::from_raw(pid), None) == Err(Errno::EINTR) {}
    match outside {
        Some(error) if plan.inside_only => Err(Refusal::Outside(error)),
        _ => Err(Refusal::Other(io::Error::from_raw_os_error(failed))),
    }
}

/// The child. System calls only: `write`, `dup2`, `fcntl`, `chdir`, those of [`child::begin`], `execve`,
/// `_exit`; nothing allocates, locks or panics. `errno` is the waiting parent's, who does not read it.
extern "C" fn begin(plan: *mut c_void) -> c_int {
    let plan = plan.cast::<Plan>();
    // SAFETY: the pointer is the plan of `execute`, which waits and does not touch it meanwhile.
    let outside = enter_group(unsafe { &*plan });
    // SAFETY: as above, and the shared borrow has ended.
    unsafe { ptr::write_volatile(&raw mut (*plan).outside, outside) };
    // SAFETY: as above.
    let error = take_over(unsafe { &*plan });
    // SAFETY: as above, and the shared borrow has ended; 0 would read as success.
    unsafe { ptr::write_volatile(&raw mut (*plan).failed, error.raw_os_error().unwrap_or(libc::EIO)) };
    // SAFETY: ends the child without running anything that its parent has registered.
    unsafe { libc::_exit(127) }
}

/// Goes into its control group; the number of the error if it cannot, else 0. The very first thing
/// that it does, so that nothing of it is ever elsewhere.
fn enter_group(plan: &Plan) -> c_int {
    let Some(door) = plan.group else { return 0 };
    // SAFETY: one byte of a constant, to a descriptor that is open in this copy of the table. `0`
    // stands for whoever writes it.
    match Errno::result(unsafe { libc::write(door, c"0".as_ptr().cast(), 1) }) {
        Ok(_) => 0,
        Err(errno) => errno as c_int,
    }
}

/// Becomes the program; comes back only with the reason why not.
fn take_over(plan: &Plan) -> io::Error {
    if plan.outside != 0 && plan.inside_only {
        return io::Error::from_raw_os_error(plan.outside);
    }
    match prepare(plan) {
        // SAFETY: all are terminated as `execve` wants them and live in the waiting parent. A script
        // without an interpreter's line is given to `sh`, as every shell does; not by `execvpe`, which
        // copies the arguments to the stack for that.
        Ok(()) => unsafe {
            libc::execve(plan.program, plan.argv, plan.env);
            if Errno::last() == Errno::ENOEXEC {
                libc::execve(SHELL.as_ptr(), plan.shell_argv, plan.env);
            }
            Errno::last().into()
        },
        Err(error) => error,
    }
}

fn prepare(plan: &Plan) -> io::Result<()> {
    // None is overwritten before its turn, even where the parent had 0 to 2 closed: the standard
    // input goes first, the output is never 0 (its other end was opened before it), and the copy that
    // is the error output is above 2.
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
