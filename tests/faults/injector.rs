//! A process whose system calls are answered here.
//!
//! Invariant: only calls of `harnessd` itself are counted and refused; those of its children, which
//! inherit the filter, always happen. A child of the daemon is `harnessd` until its `exec`.

use std::cell::OnceCell;
use std::fs::read_link;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::points::{Class, Fault, Point};

/// What the descriptor of a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    File,
    /// What the daemon itself has to say.
    Log,
    /// A pipe, a socket, a terminal.
    Stream,
    /// A counter, a timer, a queue of changes.
    Event,
}

/// One call, as the filter tells it.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) pid: u32,
    pub(crate) number: i64,
    pub(crate) args: [u64; 6],
    target: OnceCell<Target>,
}

impl Call {
    /// Of a call about a record lock: whether one is taken or given up.
    pub(crate) fn lock_kind(&self) -> Option<i32> {
        let mut kind = [0; 2];
        copy(self.pid, self.args[2], &mut kind).ok()?;
        Some(i32::from(i16::from_ne_bytes(kind)))
    }

    /// What the descriptor is that is its first argument.
    pub(crate) fn target(&self) -> Target {
        *self.target.get_or_init(|| {
            let link = read_link(format!("/proc/{}/fd/{}", self.pid, self.args[0])).unwrap_or_default();
            let name = link.to_string_lossy();
            if name.starts_with("anon_inode:") {
                Target::Event
            } else if name.ends_with("/daemon.log") {
                Target::Log
            } else if name.starts_with('/') && !name.starts_with("/dev/pt") {
                Target::File
            } else {
                Target::Stream
            }
        })
    }
}

#[derive(Debug, Default)]
struct State {
    /// What is to fail; the count of calls of its class that were seen since it was armed.
    armed: Option<(Point, usize)>,
    refused: usize,
    /// How often each class was called, while counting.
    counts: Vec<usize>,
}

/// The one who answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Injector {
    state: Arc<Mutex<State>>,
}

impl Injector {
    /// From now on the calls of this point fail.
    pub(crate) fn arm(&self, point: Point) {
        let mut state = self.state.lock().unwrap();
        state.armed = Some((point, 0));
        state.refused = 0;
    }

    /// Nothing fails any more; tells how many calls did.
    pub(crate) fn disarm(&self) -> usize {
        let mut state = self.state.lock().unwrap();
        state.armed = None;
        state.refused
    }

    /// How often each class was called since the last time.
    pub(crate) fn take_counts(&self) -> Vec<usize> {
        let mut counts = std::mem::take(&mut self.state.lock().unwrap().counts);
        counts.resize(Class::ALL.len(), 0);
        counts
    }

    fn answer(&self, call: &Call) -> Option<Fault> {
        let mut state = self.state.lock().unwrap();
        let state = &mut *state;
        state.counts.resize(Class::ALL.len(), 0);
        for (class, count) in Class::ALL.iter().zip(&mut state.counts) {
            *count += usize::from(class.is(call));
        }
        let (point, seen) = state.armed.as_mut()?;
        if !point.class.is(call) {
            return None;
        }
        *seen += 1;
        let hit = (point.nth..point.nth + point.times).contains(seen);
        state.refused += usize::from(hit);
        hit.then_some(point.fault)
    }

    /// Starts a program whose calls are answered from here; its file is `program`.
    ///
    /// The filter is a thread's and is inherited, so a thread takes it, starts the program and ends.
    /// Its own calls are answered like all others: they happen.
    pub(crate) fn start(&self, mut command: Command, program: &Path) -> io::Result<Child> {
        let (send, receive) = channel();
        let starter = thread::spawn(move || {
            let listener = listen();
            let listening = listener.is_ok();
            send.send(listener).unwrap();
            listening.then(|| command.spawn())
        });
        let listener = receive.recv().unwrap()?;
        let injector = self.clone();
        let program = program.to_owned();
        thread::spawn(move || injector.serve(&listener, &program));
        starter.join().unwrap().unwrap()
    }

    /// Answers until nobody is left who could ask.
    fn serve(&self, listener: &OwnedFd, program: &Path) {
        let mut known = None;
        loop {
            let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ready, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                asked => assert_eq!(asked, Ok(1)),
            }
            let events = ready[0].revents().unwrap();
            if !events.contains(PollFlags::POLLIN) {
                return;
            }
            let Some((id, call)) = receive(listener) else { continue };
            let pid = call.pid;
            let ours = known == Some(pid) || is_of(pid, program);
            // The daemon's main thread is the first that asks as the program; it never becomes another.
            if ours && known.is_none() {
                known = Some(pid);
            }
            let answer = match ours.then(|| self.answer(&call)).flatten() {
                Some(Fault::Fails(errno)) => Some(-i64::from(errno as i32)),
                // What cannot be done in its place happens whole.
                Some(Fault::Short) => do_half(&call).ok(),
                None => None,
            };
            respond(listener, id, answer);
        }
    }
}

fn is_of(pid: u32, program: &Path) -> bool {
    read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe: PathBuf| exe == program)
}

/// Puts the filter on this thread.
fn listen() -> io::Result<OwnedFd> {
    let mut numbers: Vec<i64> = Class::ALL.iter().map(|class| class.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let statement = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let (load, equal, give) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET,
    );
    // The number stands at the beginning of what a filter sees. This program runs on one architecture,
    // so the one that is asked for need not be looked at.
    let mut filter = vec![statement(load, 0, 0)];
    let count = numbers.len();
    for (at, number) in numbers.into_iter().enumerate() {
        let over = u8::try_from(count - at).unwrap();
        filter.push(statement(equal, u32::try_from(number).unwrap(), over));
    }
    filter.push(statement(give, libc::SECCOMP_RET_ALLOW, 0));
    filter.push(statement(give, libc::SECCOMP_RET_USER_NOTIF, 0));
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the first call takes integers, the second one reads the program, which outlives it; the
    // descriptor that it returns is new and nobody else's.
    unsafe {
        Errno::result(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        let listener =
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program);
        Ok(OwnedFd::from_raw_fd(i32::try_from(Errno::result(listener)?).unwrap()))
    }
}

/// The next call and its number. None: its caller was killed meanwhile.
fn receive(listener: &OwnedFd) -> Option<(u64, Call)> {
    // SAFETY: plain integers, for all of which zero is a value; the kernel wants zeroes.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one such structure to `asked`.
    let got = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) };
    Errno::result(got).ok()?;
    let (number, args) = (i64::from(asked.data.nr), asked.data.args);
    Some((asked.id, Call { pid: asked.pid, number, args, target: OnceCell::new() }))
}

/// Copies from the memory of a process.
fn copy(pid: u32, address: u64, bytes: &mut [u8]) -> io::Result<()> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: the kernel copies from the other process to `bytes`, at most as many as there are.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    Ok(Errno::result(read).map(drop)?)
}

/// Writes the first half of what the call would write, in its place; how much that was.
fn do_half(call: &Call) -> io::Result<i64> {
    let [descriptor, address, length, last, ..] = call.args;
    let pid = i32::try_from(call.pid).map_err(io::Error::other)?;
    let mut bytes = vec![0_u8; usize::try_from(length / 2).map_err(io::Error::other)?];
    copy(call.pid, address, &mut bytes)?;
    // SAFETY: the two descriptors are new and closed here; the writes take what was copied.
    unsafe {
        let holder = Errno::result(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        let holder = OwnedFd::from_raw_fd(i32::try_from(holder).map_err(io::Error::other)?);
        let taken = Errno::result(libc::syscall(libc::SYS_pidfd_getfd, holder.as_raw_fd(), descriptor, 0))?;
        let taken = OwnedFd::from_raw_fd(i32::try_from(taken).map_err(io::Error::other)?);
        let (to, from, count) = (taken.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
        let written = match call.number {
            libc::SYS_pwrite64 => libc::pwrite(to, from, count, last.cast_signed()),
            libc::SYS_sendto => libc::send(to, from, count, i32::try_from(last).map_err(io::Error::other)?),
            _ => libc::write(to, from, count),
        };
        i64::try_from(Errno::result(written)?).map_err(io::Error::other)
    }
}

/// Lets a call happen, or says what came of it: a count, or an error as a negative number.
fn respond(listener: &OwnedFd, id: u64, answer: Option<i64>) {
    let happens = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap();
    let error = answer.filter(|value| *value < 0).map_or(0, |value| i32::try_from(value).unwrap());
    let (val, flags) = (answer.unwrap_or(0).max(0), if answer.is_none() { happens } else { 0 });
    let mut answer = libc::seccomp_notif_resp { id, val, error, flags };
    // SAFETY: the kernel reads one such structure. One who was killed meanwhile needs no answer.
    let _gone = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}
