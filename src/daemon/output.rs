//! From a child's terminal or pipe into its run's log, without ever waiting (RUN-3).

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;

use calloop::generic::Generic;
use calloop::{Interest, Mode, PostAction, RegistrationToken};
use tracing::warn;

use super::state::Daemon;
use crate::base::RunId;
use crate::host::console::Console;
use crate::host::logs::LogWriter;
use crate::host::process::{Output as Read, read_output, write_some};
use crate::host::terminal::Responder;
use crate::host::terminal::{COLUMNS, ROWS};

/// Bytes taken from one child before others get their turn.
const TURN: usize = 1 << 20;
/// What a pipe can hold at most after its writers are gone.
const REST: usize = 4 << 20;

/// The capture of one run.
pub(super) struct Output {
    run: RunId,
    fd: Rc<OwnedFd>,
    log: LogWriter,
    responder: Option<Responder>,
    token: Option<RegistrationToken>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("run", &self.run)
            .field("fd", &self.fd.as_raw_fd())
            .finish_non_exhaustive()
    }
}

/// What a read from a child came to.
enum Progress {
    /// Nothing more at present, or enough for one turn.
    Later,
    /// Every writer is gone.
    End,
}

impl Output {
    pub(super) fn new(run: RunId, fd: OwnedFd, log: LogWriter, tty: bool) -> Self {
        Self { run, fd: Rc::new(fd), log, responder: tty.then(|| Responder::new(COLUMNS, ROWS)), token: None }
    }

    /// Bytes that the log could not take.
    pub(super) fn dropped(&self) -> u64 {
        self.log.dropped()
    }

    /// Moves what is there, at most `bound` bytes, into the log.
    fn pump(&mut self, buffer: &mut [u8], bound: usize, echo: Option<&Console>) -> io::Result<Progress> {
        let mut moved = 0;
        while moved < bound {
            let count = match read_output(&*self.fd, buffer)? {
                Read::Bytes(count) => count,
                Read::Nothing => return Ok(Progress::Later),
                Read::Ended => return Ok(Progress::End),
            };
            moved += count;
            let bytes = &buffer[..count];
            self.log.append(bytes);
            if let Some(echo) = echo {
                echo.write(bytes);
            }
            if let Some(responder) = &mut self.responder {
                answer(&self.fd, &responder.feed(bytes));
            }
        }
        Ok(Progress::Later)
    }
}

/// Answers the terminal queries of a child. An answer that does not fit is dropped: a child that
/// does not read its terminal does not wait for one either.
fn answer(fd: &OwnedFd, bytes: &[u8]) {
    if !bytes.is_empty() {
        let _sent = write_some(fd, bytes);
    }
}

impl Daemon {
    /// Registers a run's output with the loop.
    pub(super) fn watch_output(&mut self, run: RunId, output: Output) {
        if let Err(cause) = self.try_watch_output(run, output) {
            warn!(%run, %cause, "the output cannot be watched; it is looked at now and then");
        }
    }

    fn try_watch_output(&mut self, run: RunId, mut output: Output) -> Result<(), calloop::Error> {
        let source = Generic::new(SharedFd(Rc::clone(&output.fd)), Interest::READ, Mode::Level);
        let registered =
            self.handle.insert_source(source, move |_, _, daemon: &mut Self| Ok(daemon.read_from(run)));
        let registered = registered.map(|token| output.token = Some(token)).map_err(calloop::Error::from);
        if registered.is_err() {
            self.unwatched.insert(run);
        }
        if let Some(live) = self.live.get_mut(&run) {
            live.output = Some(output);
        }
        registered
    }

    /// Reads outputs that the loop did not take, lest their writers wait, and offers them again.
    pub(super) fn read_unwatched(&mut self) {
        for run in std::mem::take(&mut self.unwatched) {
            if matches!(self.read_from(run), PostAction::Continue)
                && let Some(output) = self.live.get_mut(&run).and_then(|live| live.output.take())
            {
                // It was said when it failed for the first time.
                let _again = self.try_watch_output(run, output);
            }
        }
    }

    fn read_from(&mut self, run: RunId) -> PostAction {
        let echo = self.echo.clone();
        let Some(output) = self.live.get_mut(&run).and_then(|live| live.output.as_mut()) else {
            return PostAction::Remove;
        };
        match output.pump(&mut self.buffer, TURN, echo.as_ref()) {
            Ok(Progress::Later) => PostAction::Continue,
            Ok(Progress::End) => {
                output.token = None;
                PostAction::Remove
            }
            Err(cause) => {
                warn!(%run, %cause, "the output cannot be read any more");
                output.token = None;
                PostAction::Remove
            }
        }
    }

    /// Takes what is left of a run's output and closes its log.
    pub(super) fn close_output(&mut self, run: RunId) {
        let echo = self.echo.clone();
        let Some(mut output) = self.live.get_mut(&run).and_then(|live| live.output.take()) else { return };
        if let Err(cause) = output.pump(&mut self.buffer, REST, echo.as_ref()) {
            warn!(%run, %cause, "the last output cannot be read");
        }
        if let Some(token) = output.token.take() {
            self.handle.remove(token);
        }
        output.log.finish();
        let dropped = output.log.dropped();
        if dropped > 0 {
            warn!(%run, dropped, "bytes of output were not written to the log");
        }
    }
}

/// The descriptor is shared between the loop's registration and the reader.
#[derive(Debug)]
struct SharedFd(Rc<OwnedFd>);

impl AsFd for SharedFd {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}
