//! Pseudo-terminals for children that want one.
//!
//! Invariant: a child that asks its terminal something gets an answer, though
//! no terminal emulator is there (see [`Responder`]).

mod parser;
mod plain;
mod responder;

pub use plain::Plain;
pub use responder::Responder;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open as open_file};
use nix::libc;
use nix::pty::{grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::stat::Mode;
use nix::sys::termios::{InputFlags, SetArg, tcgetattr, tcsetattr};

/// Columns of a harness's terminal.
pub const COLUMNS: u16 = 120;
/// Rows of a harness's terminal.
pub const ROWS: u16 = 40;
/// Pixels of a character cell, for programs that ask.
const CELL: (u16, u16) = (8, 16);

/// A new terminal of this size: its master, not blocking, and its slave.
///
/// # Errors
/// If the system has no terminal left.
pub fn open(columns: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let master = posix_openpt(flags | OFlag::O_NONBLOCK)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = open_file(ptsname_r(&master)?.as_str(), flags, Mode::empty())?;
    // As terminal emulators do: erasing removes a character, not a byte.
    let mut settings = tcgetattr(&slave)?;
    settings.input_flags.insert(InputFlags::IUTF8);
    tcsetattr(&slave, SetArg::TCSANOW, &settings)?;
    resize(&slave, columns, rows)?;
    Ok((OwnedFd::from(master), slave))
}

/// Gives a terminal another size; its foreground programs get SIGWINCH.
///
/// # Errors
/// If `terminal` is none.
pub fn resize(terminal: impl AsFd, columns: u16, rows: u16) -> io::Result<()> {
    let size = libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: columns.saturating_mul(CELL.0),
        ws_ypixel: rows.saturating_mul(CELL.1),
    };
    // SAFETY: TIOCSWINSZ reads one `winsize` from the address, which outlives the call.
    let done = unsafe { libc::ioctl(terminal.as_fd().as_raw_fd(), libc::TIOCSWINSZ, &raw const size) };
    Errno::result(done)?;
    Ok(())
}
