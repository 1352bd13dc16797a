//! Locks between processes: one daemon a state directory, one run a harness.
//!
//! Invariant: the kernel's lock decides and dies with its holder; the pid in
//! the file is for people and is never believed (traps 22 and 23). The file is
//! never removed, since that would let two holders in.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use thiserror::Error;

use super::cause;
use super::flock::{Flock, Wait};
use super::tree::facts;

/// How long a lock whose holder is not to be seen may take to come free.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is tried meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub struct DirLock {
    file: Flock,
}

/// Who holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The process, as the lock's file says; none if that names nobody who lives.
    pub pid: Option<i32>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&holder(self.pid))
    }
}

/// Why a lock could not be had.
#[derive(Debug, Error)]
pub enum LockError {
    /// Somebody holds it.
    #[error("`{path}` is locked by {}", holder(*pid))]
    Held {
        /// The lock's file.
        path: Utf8PathBuf,
        /// Who, as the file says; none if it names nobody who lives.
        pid: Option<i32>,
    },
    /// Its file cannot be used.
    #[error("lock `{path}`: {}", cause(source))]
    Unusable {
        /// The lock's file.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl LockError {
    /// The pid of the holder, where the file tells it.
    #[must_use]
    pub const fn pid(&self) -> Option<i32> {
        match self {
            Self::Held { pid, .. } => *pid,
            Self::Unusable { .. } => None,
        }
    }
}

fn holder(pid: Option<i32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl DirLock {
    /// Takes the lock whose file is `path` and writes the pid of this process inside.
    ///
    /// A living holder is not waited for. One that was killed may have left a child on its way to
    /// `exec`, which shares the lock for a moment; so while the file names nobody who lives, it is
    /// tried again for up to two seconds.
    ///
    /// # Errors
    /// [`LockError::Held`] if somebody has it, this process included.
    pub fn acquire(path: &Utf8Path) -> Result<Self, LockError> {
        Self::acquire_within(path, PATIENCE)
    }

    /// The lock that this process has taken before it executed another program.
    ///
    /// # Errors
    /// [`LockError`], if it is not ours after all.
    pub fn resume(path: &Utf8Path, descriptor: OwnedFd) -> Result<Self, LockError> {
        match Flock::lock(File::from(descriptor), Wait::Never) {
            Ok(file) => Ok(Self { file }),
            Err((mut file, Errno::EWOULDBLOCK)) => {
                Err(LockError::Held { path: path.to_owned(), pid: living_pid(&mut file) })
            }
            Err((_, errno)) => Err(LockError::Unusable { path: path.to_owned(), source: errno.into() }),
        }
    }

    /// Who holds the lock at present, as far as its file tells; none: nobody. It is not taken, nor is
    /// its file made.
    ///
    /// # Errors
    /// [`LockError::Unusable`].
    pub fn holder(path: &Utf8Path) -> Result<Option<Holder>, LockError> {
        let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(unusable)?,
        };
        // Shared, and given up at once: somebody who wants it at this very moment tries again.
        match Flock::lock(file, Wait::NeverShared) {
            Ok(_) => Ok(None),
            Err((mut file, Errno::EWOULDBLOCK)) => Ok(Some(Holder { pid: living_pid(&mut file) })),
            Err((_, errno)) => Err(unusable(errno.into())),
        }
    }

    fn acquire_within(path: &Utf8Path, patience: Duration) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(path).map_err(unusable)?;
        let begun = Instant::now();
        loop {
            file = match Flock::lock(file, Wait::Never) {
                Ok(mut file) => {
                    write_pid(&mut file).map_err(unusable)?;
                    return Ok(Self { file });
                }
                Err((file, Errno::EWOULDBLOCK)) => file,
                Err((_, errno)) => return Err(unusable(errno.into())),
            };
            let pid = living_pid(&mut file);
            if pid.is_some() || begun.elapsed() >= patience {
                return Err(LockError::Held { path: path.to_owned(), pid });
            }
            thread::sleep(PAUSE);
        }
    }
}

impl AsRawFd for DirLock {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        // A pid that stays behind misleads nobody but a reader of the file; the lock itself is released.
        let _ = self.file.set_len(0);
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    // It may have been read before.
    file.rewind()?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// The process that the file names, if it lives. The holder may not have written its pid yet, or
/// the file may still hold that of one that was killed.
fn living_pid(file: &mut File) -> Option<i32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).ok()?;
    let pid = text.trim().parse().ok()?;
    facts(pid).filter(|facts| !facts.zombie).map(|facts| facts.pid)
}

#[cfg(test)]
mod tests {
    use super::{DirLock, LockError, PATIENCE};
    use crate::host::flock::{Flock, Wait};
    use crate::host::tree::facts;
    use camino::{Utf8Path, Utf8PathBuf};
    use std::fs::File;
    use std::process::Command;
    use std::sync::Barrier;
    use std::thread;
    use std::time::{Duration, Instant};

    fn place(directory: &tempfile::TempDir) -> Utf8PathBuf {
        Utf8Path::from_path(directory.path()).unwrap().join("lock")
    }

    fn own_pid() -> i32 {
        i32::try_from(std::process::id()).unwrap()
    }

    /// Trap 22, CTL-3: of 20 that start at once exactly one gets the lock, the others are told whose it is.
    #[test]
    fn of_twenty_at_once_exactly_one_wins() {
        let directory = tempfile::tempdir().unwrap();
        let path = place(&directory);
        let (start, end) = (Barrier::new(20), Barrier::new(20));
        let won: Vec<bool> = thread::scope(|scope| {
            let racers: Vec<_> = (0..20)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let lock = DirLock::acquire(&path);
                        if let Err(error) = &lock {
                            assert_eq!(error.pid(), Some(own_pid()));
                        }
                        // Nobody lets go before everybody has tried.
                        end.wait();
                        lock.is_ok()
                    })
                })
                .collect();
            racers.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        drop(DirLock::acquire(&path).unwrap());
    }

    /// Trap 23: a file that names a living process, our own even, keeps nobody out.
    #[test]
    fn a_stale_pid_does_not_matter() {
        let directory = tempfile::tempdir().unwrap();
        let path = place(&directory);
        for stale in ["1\n", &format!("{}\n", own_pid()), "99999999999999\n", "nonsense", ""] {
            std::fs::write(&path, stale).unwrap();
            let lock = DirLock::acquire(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", own_pid()));
            let error = DirLock::acquire(&path).unwrap_err();
            assert_eq!(error.to_string(), format!("`{path}` is locked by process {}", own_pid()));
            drop(lock);
        }
    }

    /// The lock as another process would hold it, with this text in its file.
    fn held_elsewhere(path: &Utf8Path, text: &str) -> Flock {
        std::fs::write(path, text).unwrap();
        Flock::lock(File::open(path).unwrap(), Wait::Never).unwrap()
    }

    /// Trap 22: what a killed daemon's child still holds on its way to `exec` comes free soon.
    #[test]
    fn a_lock_that_outlives_its_holder_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = place(&directory);
        let mut ended = Command::new("/bin/true").spawn().unwrap();
        let zombie = i32::try_from(ended.id()).unwrap();
        while !facts(zombie).unwrap().zombie {
            thread::sleep(Duration::from_millis(1));
        }
        for text in [format!("{}\n", i32::MAX), format!("{zombie}\n"), String::new()] {
            let other = held_elsewhere(&path, &text);
            let begun = Instant::now();
            let freer = thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                drop(other);
            });
            let lock = DirLock::acquire(&path).unwrap();
            assert!(begun.elapsed() >= Duration::from_millis(50));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n", own_pid()));
            freer.join().unwrap();
            drop(lock);
        }
        ended.wait().unwrap();
    }

    #[test]
    fn a_living_holder_is_not_waited_for_and_nobody_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let path = place(&directory);
        let other = held_elsewhere(&path, "1\n");
        let begun = Instant::now();
        assert_eq!(DirLock::acquire(&path).unwrap_err().pid(), Some(1));
        assert!(begun.elapsed() < PATIENCE / 2);
        drop(other);
        let _other = held_elsewhere(&path, &format!("{}\n", i32::MAX));
        let begun = Instant::now();
        let error = DirLock::acquire_within(&path, Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.to_string(), format!("`{path}` is locked by another process"));
        assert!(begun.elapsed() >= Duration::from_millis(50));
    }

    /// CTL-9: to ask who holds a lock changes nothing.
    #[test]
    fn a_look_at_a_lock_leaves_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = place(&directory);
        assert_eq!(DirLock::holder(&path).unwrap(), None);
        assert!(!path.exists());
        let lock = DirLock::acquire(&path).unwrap();
        assert_eq!(DirLock::holder(&path).unwrap().map(|one| one.pid), Some(Some(own_pid())));
        drop(lock);
        assert_eq!(DirLock::holder(&path).unwrap(), None);
        drop(DirLock::acquire(&path).unwrap());
    }

    #[test]
    fn a_lock_that_cannot_be_made_says_why() {
        let error = DirLock::acquire(Utf8Path::new("/nowhere/lock")).unwrap_err();
        assert_eq!(error.to_string(), "lock `/nowhere/lock`: no such file or directory");
        let held = LockError::Held { path: "/x/lock".into(), pid: None };
        assert_eq!(held.to_string(), "`/x/lock` is locked by another process");
    }
}
