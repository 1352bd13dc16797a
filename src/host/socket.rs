//! The control socket (CTL-3).
//!
//! Invariants: a socket that somebody serves is never replaced; only the
//! user itself and root are let in; what is removed at the end is the inode
//! that was made here, never a successor's.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, getsockopt, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::cause;
use super::files::any_descriptor;
use super::flock::{Flock, Wait, reason};
use super::handover::inherit;

/// The longest path that fits into a socket address, its end mark left out.
pub const LONGEST_PATH: usize = 107;

/// Why a socket cannot be listened on or connected to.
#[derive(Debug, Error)]
pub enum SocketError {
    /// Its path does not fit into a socket address.
    #[error("socket path `{path}` is {} bytes long, the system allows {LONGEST_PATH}", path.as_str().len())]
    PathTooLong {
        /// The path.
        path: Utf8PathBuf,
    },
    /// Somebody serves it.
    #[error("another process serves `{path}`")]
    Live {
        /// The socket.
        path: Utf8PathBuf,
    },
    /// Something else has that name.
    #[error("`{path}` is there and is no socket")]
    NotSocket {
        /// The path.
        path: Utf8PathBuf,
    },
    /// Anything else.
    #[error("socket `{path}`: {}", cause(source))]
    Unusable {
        /// The socket.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// What `accept` found.
#[derive(Debug)]
pub enum Accepted {
    /// A client of our own user or of root; its stream does not block.
    Client(UnixStream),
    /// A client of somebody else; it was hung up on.
    Refused {
        /// Its user.
        uid: u32,
    },
    /// A client that came when no descriptor was left; it was hung up on.
    NoDescriptor,
}

/// The listening socket, removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: Utf8PathBuf,
    identity: (u64, u64),
    /// Given up for a moment when no descriptor is left, so that clients do not wait in vain.
    reserve: Option<File>,
}

/// A listening socket on its way to a successor (CTL-11).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedListener {
    /// Its number.
    pub descriptor: RawFd,
    path: Utf8PathBuf,
    device: u64,
    inode: u64,
}

/// Whether `path` fits into a socket address.
///
/// # Errors
/// [`SocketError::PathTooLong`] if it does not.
pub fn check_path(path: &Utf8Path) -> Result<(), SocketError> {
    if path.as_str().len() > LONGEST_PATH {
        return Err(SocketError::PathTooLong { path: path.to_owned() });
    }
    Ok(())
}

/// Connects to a daemon.
///
/// # Errors
/// `NotFound` and `ConnectionRefused` inside [`SocketError::Unusable`] mean that there is none.
pub fn connect(path: &Utf8Path) -> Result<UnixStream, SocketError> {
    check_path(path)?;
    UnixStream::connect(path).map_err(|source| SocketError::Unusable { path: path.to_owned(), source })
}

impl Listener {
    /// Listens on `path`: its directory is made (0700) if need be, a stale
    /// socket is replaced, the new one is for its owner alone (0600).
    ///
    /// # Errors
    /// See [`SocketError`].
    pub fn bind(path: &Utf8Path) -> Result<Self, SocketError> {
        check_path(path)?;
        let unusable = |source: io::Error| SocketError::Unusable { path: path.to_owned(), source };
        let directory = directory_of(path);
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unusable)?;
        // Looking, removing and binding are one step against others who do the same.
        let _alone = lock_directory(directory).map_err(unusable)?;
        remove_stale(path)?;
        let socket = listen_on(path).map_err(|errno| unusable(errno.into()))?;
        let found = fs::symlink_metadata(path).map_err(unusable)?;
        let reserve = any_descriptor().ok();
        Ok(Self { socket, path: path.to_owned(), identity: (found.dev(), found.ino()), reserve })
    }

    /// What a successor needs beside the descriptor to go on listening.
    #[must_use]
    pub fn handed(&self) -> HandedListener {
        HandedListener {
            descriptor: self.as_raw_fd(),
            path: self.path.clone(),
            device: self.identity.0,
            inode: self.identity.1,
        }
    }

    /// The socket that this process listened on before it executed another program.
    ///
    /// # Errors
    /// If it was not handed over.
    pub fn resume(handed: &HandedListener) -> io::Result<Self> {
        let socket = UnixListener::from(inherit(handed.descriptor)?);
        let reserve = any_descriptor().ok();
        let identity = (handed.device, handed.inode);
        Ok(Self { socket, path: handed.path.clone(), identity, reserve })
    }

    /// Where it listens.
    #[must_use]
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// The next client, if one waits.
    ///
    /// # Errors
    /// What the system says.
    pub fn accept(&mut self) -> io::Result<Option<Accepted>> {
        loop {
            match self.socket.accept() {
                Ok((stream, _)) => return let_in(stream).map(Some),
                Err(error) => match error.raw_os_error().map(Errno::from_raw) {
                    Some(Errno::EAGAIN) => return Ok(None),
                    Some(Errno::EINTR | Errno::ECONNABORTED) => {}
                    Some(Errno::EMFILE | Errno::ENFILE) if self.reserve.is_some() => {
                        return Ok(self.hang_up().then_some(Accepted::NoDescriptor));
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Takes the next client off the queue by means of the reserve, and lets it go.
    fn hang_up(&mut self) -> bool {
        self.reserve = None;
        let taken = self.socket.accept().is_ok();
        self.reserve = any_descriptor().ok();
        taken
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _alone = lock_directory(directory_of(&self.path));
        let ours = fs::symlink_metadata(&self.path).is_ok_and(|now| (now.dev(), now.ino()) == self.identity);
        if ours {
            // A socket that stays behind is stale and will be replaced.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

fn directory_of(path: &Utf8Path) -> &Utf8Path {
    path.parent().filter(|one| !one.as_str().is_empty()).unwrap_or(Utf8Path::new("."))
}

fn lock_directory(directory: &Utf8Path) -> io::Result<Flock> {
    Flock::lock(File::open(directory)?, Wait::Long).map_err(reason)
}

/// Makes way where nobody listens any more.
fn remove_stale(path: &Utf8Path) -> Result<(), SocketError> {
    let unusable = |source: io::Error| SocketError::Unusable { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(SocketError::NotSocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(unusable)
        }
        // Its queue may be full: that is somebody too.
        Ok(_) => Err(SocketError::Live { path: path.to_owned() }),
        Err(error) if error.raw_os_error() == Some(Errno::EAGAIN as i32) => {
            Err(SocketError::Live { path: path.to_owned() })
        }
        Err(error) => Err(unusable(error)),
    }
}

fn listen_on(path: &Utf8Path) -> nix::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let made = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // Before it is bound: the file gets this mode at once and is never open to others.
    fchmod(&made, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(made.as_raw_fd(), &UnixAddr::new(path.as_std_path())?)?;
    listen(&made, Backlog::new(128)?)?;
    Ok(UnixListener::from(made))
}

fn let_in(stream: UnixStream) -> io::Result<Accepted> {
    let uid = getsockopt(&stream, PeerCredentials)?.uid();
    if !is_welcome(uid, geteuid().as_raw()) {
        return Ok(Accepted::Refused { uid });
    }
    stream.set_nonblocking(true)?;
    Ok(Accepted::Client(stream))
}

/// The daemon's own user, or root, and nobody else.
const fn is_welcome(uid: u32, own: u32) -> bool {
    uid == own || uid == 0
}

#[cfg(test)]
mod tests;
