//! The daemon's signals, as a descriptor that becomes readable.
//!
//! Invariants: a signal that hits a forked child before its `exec` is not
//! taken for one of ours; no storm of one signal hides another; a second TERM
//! is told from the first.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal as Number, signal, sigprocmask};
use signal_hook::SigId;
use signal_hook::low_level::{register, unregister};

use super::process::{Output, make_nonblocking, read_output};

/// Leaves all signals to the other threads. Called by each thread but the loop's, so that none is taken
/// by a handler after the loop has looked for the last time (CTL-11).
pub fn leave_to_the_loop() {
    // It fails for a wrong argument only.
    let _masked = SigSet::all().thread_block();
}

/// Blocks all signals in this thread; what comes waits, across `execve` too.
///
/// # Errors
/// What the system says.
pub fn hold() -> io::Result<Held> {
    let mut before = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    Ok(Held(before))
}

/// Lets signals through that a predecessor has blocked, once handlers stand for them.
///
/// # Errors
/// What the system says.
pub fn let_through() -> io::Result<()> {
    Ok(sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?)
}

/// The signals are blocked until this is dropped.
#[derive(Debug)]
pub struct Held(SigSet);

impl Drop for Held {
    fn drop(&mut self) {
        // It fails for a wrong argument only.
        let _restored = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.0), None);
    }
}

/// A signal that the daemon acts on (CTL-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// A child has ended, at least one.
    Child,
    /// TERM: stop everything.
    Terminate,
    /// INT: the same.
    Interrupt,
    /// HUP: reload.
    HangUp,
    /// USR2: re-execute.
    Reexecute,
}

const WANTED: [(Signal, Number); 5] = [
    (Signal::Child, Number::SIGCHLD),
    (Signal::Terminate, Number::SIGTERM),
    (Signal::Interrupt, Number::SIGINT),
    (Signal::HangUp, Number::SIGHUP),
    (Signal::Reexecute, Number::SIGUSR2),
];

/// The handlers, which stand until this is dropped.
#[derive(Debug)]
pub struct Signals {
    wake: PipeReader,
    shared: Arc<Shared>,
    handlers: Vec<SigId>,
    hangup_was_ignored: bool,
}

/// What the handlers write to; a count a signal, for a pipe may be full.
#[derive(Debug)]
struct Shared {
    pid: u32,
    wake: PipeWriter,
    counts: [AtomicU32; WANTED.len()],
}

impl Signals {
    /// Installs the handlers, ignores PIPE, and unblocks what this process may
    /// have been started with blocked. Children undo all of it for themselves.
    ///
    /// # Errors
    /// What the system says.
    pub fn install() -> io::Result<Self> {
        let (wake, writer) = io::pipe()?;
        make_nonblocking(&wake)?;
        make_nonblocking(&writer)?;
        let counts = [const { AtomicU32::new(0) }; WANTED.len()];
        let shared = Arc::new(Shared { pid: std::process::id(), wake: writer, counts });
        let hangup_was_ignored = is_ignored(Number::SIGHUP);
        let mut installed = Self { wake, shared, handlers: Vec::new(), hangup_was_ignored };
        let mut unblocked = SigSet::empty();
        for (at, (_, number)) in WANTED.into_iter().enumerate() {
            let shared = Arc::clone(&installed.shared);
            // SAFETY: the handler calls `getpid`, an atomic addition and `write`, all of them
            // async-signal-safe; it neither allocates, locks nor panics, and keeps `errno`,
            // which signal-hook saves around it.
            let id = unsafe { register(number as libc::c_int, move || shared.note(at)) }?;
            installed.handlers.push(id);
            unblocked.add(number);
        }
        // SAFETY: ignoring a signal installs no handler that could do anything unsafe.
        unsafe { signal(Number::SIGPIPE, SigHandler::SigIgn) }?;
        sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&unblocked), None)?;
        Ok(installed)
    }

    /// Whether this process was started so that HUP does not end it (`nohup`).
    #[must_use]
    pub const fn hangup_was_ignored(&self) -> bool {
        self.hangup_was_ignored
    }

    /// The signals that came since the last call, each as often as it came,
    /// but [`Signal::Child`] at most once: the kernel merges those anyway.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self) -> io::Result<Vec<Signal>> {
        let mut buffer = [0; 512];
        // Emptied first: a signal that comes after this wakes again.
        while let Output::Bytes(_) = read_output(&self.wake, &mut buffer)? {}
        let mut came = Vec::new();
        for ((which, _), count) in WANTED.iter().zip(&self.shared.counts) {
            let count = count.swap(0, Ordering::AcqRel);
            let count = if *which == Signal::Child { count.min(1) } else { count };
            came.extend((0..count).map(|_| *which));
        }
        Ok(came)
    }
}

fn is_ignored(signal: Number) -> bool {
    let mut present = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a null new action only asks; on success the kernel has filled the old one.
    let asked = unsafe { libc::sigaction(signal as libc::c_int, std::ptr::null(), present.as_mut_ptr()) };
    // SAFETY: as above: it is read only after success.
    asked == 0 && unsafe { present.assume_init() }.sa_sigaction == libc::SIG_IGN
}

impl Shared {
    /// Runs in the handler, and in a forked child until it has reset its dispositions.
    fn note(&self, at: usize) {
        if std::process::id() != self.pid {
            return;
        }
        self.counts[at].fetch_add(1, Ordering::AcqRel);
        // SAFETY: one byte of a constant is written to a descriptor that lives as long as `self`.
        // A full pipe refuses it, but then it is readable already.
        unsafe { libc::write(self.wake.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.handlers.drain(..) {
            unregister(id);
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.wake.as_raw_fd()
    }
}
