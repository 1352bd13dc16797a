//! What can fail, and how.

use nix::errno::Errno;
use nix::errno::Errno::{
    EACCES, EAGAIN, ECONNABORTED, EDQUOT, EINTR, EIO, EMFILE, ENFILE, ENOLCK, ENOMEM, ENOSPC, EPERM, EPIPE,
};
use nix::libc;

use crate::injector::{Call, Target};

/// A kind of call, with the errors that it is documented to give and that an exhausted or broken
/// machine does give.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) number: i64,
    /// Which of the calls with that number, where they differ in kind.
    only: fn(&Call) -> bool,
    errors: &'static [Errno],
    /// Whether it may write less than it was asked to.
    short: bool,
    /// Whether there is no other way, so that a failure must be told.
    loud: bool,
}

impl Class {
    pub(crate) fn is(&self, call: &Call) -> bool {
        self.number == call.number && (self.only)(call)
    }
}

/// What comes instead of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Fails(Errno),
    /// It happens, with the first half of its bytes.
    Short,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fails(errno) => write!(f, "{errno:?}"),
            Self::Short => f.write_str("short"),
        }
    }
}

/// A fault at the `nth` call of a class and at those after it, so many `times`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) class: &'static Class,
    pub(crate) fault: Fault,
    pub(crate) nth: usize,
    pub(crate) times: usize,
}

impl Point {
    /// Whether the daemon may overcome it without a word: because it asks again, or in another way.
    pub(crate) fn may_be_silent(&self) -> bool {
        !self.class.loud || matches!(self.fault, Fault::Short | Fault::Fails(EINTR))
    }
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} #{} x{}", self.class.name, self.fault, self.nth, self.times)
    }
}

const fn class(name: &'static str, number: i64, errors: &'static [Errno]) -> Class {
    Class { name, number, only: |_| true, errors, short: false, loud: false }
}

impl Class {
    const fn may_be_short(mut self) -> Self {
        self.short = true;
        self
    }

    const fn loud(mut self) -> Self {
        self.loud = true;
        self
    }

    fn faults(&self) -> Vec<Fault> {
        let errors = self.errors.iter().map(|errno| Fault::Fails(*errno));
        errors.chain(self.short.then_some(Fault::Short)).collect()
    }

    const fn only(mut self, only: fn(&Call) -> bool) -> Self {
        self.only = only;
        self
    }

    /// Everything that is made to fail.
    pub(crate) const ALL: &'static [Self] = &[
        class("openat", libc::SYS_openat, &[EMFILE, ENFILE, ENOMEM, EIO, ENOSPC, EACCES, EINTR]),
        class("read a file", libc::SYS_read, &[EIO, EINTR]).only(|call| call.target() == Target::File),
        class("read a stream", libc::SYS_read, &[EAGAIN, EINTR]).only(|call| call.target() == Target::Stream),
        class("read an event", libc::SYS_read, &[EAGAIN, EINTR]).only(|call| call.target() == Target::Event),
        class("pread64", libc::SYS_pread64, &[EIO, EINTR]),
        class("pwrite64", libc::SYS_pwrite64, &[ENOSPC, EDQUOT, EIO, EINTR]).may_be_short().loud(),
        class("write a file", libc::SYS_write, &[ENOSPC, EDQUOT, EIO, EINTR])
            .only(|call| call.target() == Target::File)
            .may_be_short()
            .loud(),
        class("write a stream", libc::SYS_write, &[EAGAIN, EINTR])
            // A signal's handler writes one byte, to a pipe that has room or can be read already.
            .only(|call| call.args[2] > 1 && call.target() == Target::Stream),
        class("write the daemon's log", libc::SYS_write, &[ENOSPC, EIO, EAGAIN])
            .only(|call| call.target() == Target::Log)
            .may_be_short(),
        class("sendto", libc::SYS_sendto, &[EAGAIN, EPIPE, ENOMEM, EINTR]).may_be_short(),
        class("recvfrom", libc::SYS_recvfrom, &[EAGAIN, ENOMEM, EIO, EINTR]),
        class("fsync", libc::SYS_fsync, &[EIO, ENOSPC]),
        class("fdatasync", libc::SYS_fdatasync, &[EIO, ENOSPC]),
        class("ftruncate", libc::SYS_ftruncate, &[ENOSPC, EIO]),
        class("fcntl duplicate", libc::SYS_fcntl, &[EMFILE])
            .only(|call| is(call.args[1], libc::F_DUPFD_CLOEXEC))
            .loud(),
        class("fcntl lock", libc::SYS_fcntl, &[ENOLCK, EAGAIN, EINTR])
            // Giving a lock up needs nothing.
            .only(|call| is(call.args[1], libc::F_SETLK) && call.lock_kind() != Some(libc::F_UNLCK)),
        class("fcntl flags", libc::SYS_fcntl, &[EPERM]).only(|call| is(call.args[1], libc::F_SETFL)).loud(),
        class("statx", libc::SYS_statx, &[EIO, ENOMEM, EACCES]),
        class("newfstatat", libc::SYS_newfstatat, &[EIO, ENOMEM, EACCES]),
        class("mkdir", libc::SYS_mkdir, &[ENOSPC, EIO, EACCES]),
        class("unlink", libc::SYS_unlink, &[EIO, EACCES]),
        class("rename", libc::SYS_rename, &[ENOSPC, EIO]),
        class("fchmod", libc::SYS_fchmod, &[EIO, EPERM]),
        class("getdents64", libc::SYS_getdents64, &[EIO, ENOMEM]),
        class("readlink", libc::SYS_readlink, &[EIO, ENOMEM, EACCES]),
        class("pipe2", libc::SYS_pipe2, &[EMFILE, ENFILE]).loud(),
        class("memfd_create", libc::SYS_memfd_create, &[EMFILE, ENFILE, ENOMEM]).loud(),
        class("ioctl", libc::SYS_ioctl, &[EIO]),
        // Of what the allocator asks nothing can be refused without ending the program.
        class("mmap", libc::SYS_mmap, &[ENOMEM, ENFILE])
            .only(|call| !is(call.args[4], -1) || call.args[3] & flags(libc::MAP_STACK) != 0)
            .loud(),
        class("clone", libc::SYS_clone, &[EAGAIN, ENOMEM]).loud(),
        class("clone3", libc::SYS_clone3, &[EAGAIN, ENOMEM]),
        class("execve", libc::SYS_execve, &[ENOMEM, EIO, EMFILE, ENFILE, EAGAIN]).loud(),
        class("setsid", libc::SYS_setsid, &[EPERM]).loud(),
        class("dup2", libc::SYS_dup2, &[EMFILE, EINTR]).loud(),
        class("chdir", libc::SYS_chdir, &[EIO, ENOMEM, EACCES]).loud(),
        class("close_range", libc::SYS_close_range, &[ENOMEM, EMFILE]).loud(),
        class("prlimit64", libc::SYS_prlimit64, &[EPERM]).loud(),
        class("prctl", libc::SYS_prctl, &[ENOMEM]),
        class("epoll_create1", libc::SYS_epoll_create1, &[EMFILE, ENFILE, ENOMEM]),
        // What is registered already costs the kernel nothing.
        class("epoll_ctl add", libc::SYS_epoll_ctl, &[ENOMEM, ENOSPC])
            .only(|call| is(call.args[1], libc::EPOLL_CTL_ADD))
            .loud(),
        class("epoll_pwait", libc::SYS_epoll_pwait, &[EINTR]),
        class("eventfd2", libc::SYS_eventfd2, &[EMFILE, ENFILE, ENOMEM]),
        class("timerfd_create", libc::SYS_timerfd_create, &[EMFILE, ENFILE, ENOMEM]),
        class("inotify_init1", libc::SYS_inotify_init1, &[EMFILE, ENFILE, ENOMEM]),
        class("inotify_add_watch", libc::SYS_inotify_add_watch, &[ENOSPC, ENOMEM]),
        class("socket", libc::SYS_socket, &[EMFILE, ENFILE, ENOMEM]),
        class("bind", libc::SYS_bind, &[ENOSPC, EIO, EACCES]),
        class("listen", libc::SYS_listen, &[ENOMEM]),
        class("accept4", libc::SYS_accept4, &[EMFILE, ENFILE, ENOMEM, ECONNABORTED, EINTR]),
        class("getsockopt", libc::SYS_getsockopt, &[ENOMEM]),
        class("wait4", libc::SYS_wait4, &[EINTR]),
        class("waitid", libc::SYS_waitid, &[EINTR]),
        class("kill", libc::SYS_kill, &[EPERM]).loud(),
        class("flock", libc::SYS_flock, &[EINTR, ENOLCK]),
        class("getrandom", libc::SYS_getrandom, &[EINTR]),
        class("poll", libc::SYS_poll, &[EINTR, ENOMEM]),
        class("getxattr", libc::SYS_getxattr, &[EIO, ENOMEM]),
    ];
}

/// Whether an argument is this `int`.
fn is(argument: u64, number: i32) -> bool {
    argument as u32 == number.cast_unsigned()
}

fn flags(bits: i32) -> u64 {
    u64::from(bits.cast_unsigned())
}

/// The points for a scenario in which the classes are called so often. A sample has each fault for a
/// while from the first call on, and the first fault of each class at some later calls; else each fault
/// meets the first calls one by one and later ones at growing distances.
pub(crate) fn points(counts: &[usize], full: bool) -> Vec<Point> {
    let mut all = Vec::new();
    for (class, count) in Class::ALL.iter().zip(counts) {
        for (at, fault) in class.faults().into_iter().enumerate() {
            let point = |nth, times| Point { class, fault, nth, times };
            all.extend((*count > 0).then(|| point(1, 30)));
            if full || at == 0 {
                all.extend(occurrences(*count, full).into_iter().map(|nth| point(nth, 1)));
            }
        }
    }
    all
}

fn occurrences(count: usize, full: bool) -> Vec<usize> {
    let mut found = Vec::new();
    let mut nth = 1;
    while nth <= count {
        found.push(nth);
        nth += if !full { nth * 7 } else { 1.max(nth / 8) };
    }
    found
}
