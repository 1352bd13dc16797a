//! From a child's terminal or pipe into its run's log, without ever waiting (RUN-3).
//!
//! On the way it is read for what the agent states about its own end (RUN-0).

mod handed;

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;

use calloop::generic::Generic;
use calloop::{Interest, Mode, PostAction, RegistrationToken};
use chrono_tz::Tz;
use tracing::warn;

use super::state::Daemon;
use crate::base::RunId;
use crate::config::{Harness, Watch};
use crate::host::console::Console;
use crate::host::logs::LogWriter;
use crate::host::process::{Output as Read, read_output, write_some};
use crate::host::terminal::Responder;
use crate::host::terminal::{COLUMNS, ROWS};
use crate::host::zone;
use crate::report::{Decoder, Renderer};
use crate::supervisor::{Event, Rest};

pub(super) use handed::HandedOutput;

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
    /// Reads what its agent states, where that is asked for machine-readable output.
    reading: Option<Reading>,
    /// Whether its silence is bounded, so that the core wants to hear of its output.
    told: bool,
    token: Option<RegistrationToken>,
}

/// How machine-readable output is read.
struct Reading {
    decoder: Decoder,
    /// Makes text of it for the one who watches the run.
    renderer: Option<Renderer>,
    /// The zone of a time of day that the agent states.
    zone: Tz,
    /// The session that it named last.
    session: Option<String>,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("run", &self.run)
            .field("fd", &self.fd.as_raw_fd())
            .finish_non_exhaustive()
    }
}

/// What was read from a child.
struct Pumped {
    progress: Progress,
    /// So many bytes.
    moved: usize,
    /// Its agent has stated its end, or another one than before, or goes on after one.
    turned: bool,
}

/// Whether there is more to come.
#[derive(Clone, Copy)]
enum Progress {
    /// Nothing more at present, or enough for one turn.
    Later,
    /// Every writer is gone.
    End,
}

impl Output {
    /// The output of a run of `harness`. `format`: of what its agent was asked for; `shown`: it is
    /// also echoed to somebody.
    pub(super) fn new(
        run: RunId,
        fd: OwnedFd,
        log: LogWriter,
        harness: &Harness,
        format: Option<&str>,
        shown: bool,
    ) -> Self {
        let reading = format.and_then(|name| name.parse().ok()).map(|format| Reading {
            decoder: Decoder::new(format),
            renderer: shown.then(|| Renderer::new(format, harness.quiet())),
            zone: harness.timetable().map_or_else(zone::system, |timetable| timetable.timezone),
            session: None,
        });
        let bounded = |watch: &Watch| watch.first_output_timeout.or(watch.idle_timeout).is_some();
        Self {
            run,
            fd: Rc::new(fd),
            log,
            responder: harness.tty.then(|| Responder::new(COLUMNS, ROWS)),
            reading,
            told: harness.watch().is_some_and(bounded),
            token: None,
        }
    }

    /// Bytes that the log could not take.
    pub(super) fn dropped(&self) -> u64 {
        self.log.dropped()
    }

    /// A line of ours in the log, and in what is shown.
    pub(super) fn note(&mut self, text: &str, echo: Option<&Console>) {
        self.log.note(text);
        if let Some(echo) = echo {
            echo.write(format!("[harnessd: {text}]\n").as_bytes());
        }
    }

    /// The output of what follows in the same run: it goes on in the log, and states nothing for the agent.
    pub(super) fn follow(self, fd: OwnedFd) -> Self {
        let (fd, log) = (Rc::new(fd), self.log);
        Self { run: self.run, fd, log, responder: None, reading: None, told: false, token: None }
    }

    /// Moves what is there, at most `bound` bytes, into the log.
    fn pump(&mut self, buffer: &mut [u8], bound: usize, echo: Option<&Console>) -> io::Result<Pumped> {
        let mut moved = 0;
        let mut turned = false;
        let progress = loop {
            if moved >= bound {
                break Progress::Later;
            }
            let count = match read_output(&*self.fd, buffer)? {
                Read::Bytes(count) => count,
                Read::Nothing => break Progress::Later,
                Read::Ended => break Progress::End,
            };
            moved += count;
            let bytes = &buffer[..count];
            self.log.append(bytes);
            let text = self.reading.as_mut().and_then(|reading| {
                turned |= reading.take(bytes);
                reading.renderer.as_mut().map(|renderer| renderer.feed(bytes))
            });
            if let Some(echo) = echo {
                echo.write(text.as_deref().unwrap_or(bytes));
            }
            if let Some(responder) = &mut self.responder {
                answer(&self.fd, &responder.feed(bytes));
            }
        };
        Ok(Pumped { progress, moved, turned })
    }
}

impl Reading {
    /// The session that the agent names, if it is another one than before.
    fn renamed(&mut self) -> Option<String> {
        let named = self.decoder.session()?;
        if self.session.as_deref() == Some(named) {
            return None;
        }
        self.session = Some(named.to_owned());
        self.session.clone()
    }

    /// Reads on; whether the agent has stated an end, or another one than before, or goes on after one.
    fn take(&mut self, bytes: &[u8]) -> bool {
        let before = self.decoder.stated().cloned();
        self.decoder.feed(bytes);
        self.decoder.stated() != before.as_ref()
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

    /// Reads the outputs whose silence is bounded, or that state a result, before anybody is ended for want of it.
    pub(super) fn hear_watched(&mut self) {
        let matters = |output: &Output| output.told || output.reading.is_some();
        let told = self.live.iter().filter(|(_, live)| live.output.as_ref().is_some_and(matters));
        for run in told.map(|(run, _)| *run).collect::<Vec<_>>() {
            let token = self.live.get(&run).and_then(|live| live.output.as_ref()?.token);
            // In its place the loop would remove what has nothing more to say.
            if matches!(self.read_from(run), PostAction::Remove)
                && let Some(token) = token
            {
                self.handle.remove(token);
            }
        }
    }

    fn read_from(&mut self, run: RunId) -> PostAction {
        let echo = self.echo.clone();
        let Some(output) = self.live.get_mut(&run).and_then(|live| live.output.as_mut()) else {
            return PostAction::Remove;
        };
        let (action, event) = match output.pump(&mut self.buffer, TURN, echo.as_ref()) {
            Ok(Pumped { progress, moved, turned }) => {
                let action = match progress {
                    Progress::Later => PostAction::Continue,
                    Progress::End => PostAction::Remove,
                };
                let turned = output.reading.as_ref().filter(|_| turned).map(|one| {
                    let report = one.decoder.so_far(Self::now().wall, one.zone);
                    report.map_or(Event::Resumed { run }, |report| Event::Reported { run, report })
                });
                if let Some(session) = output.reading.as_mut().and_then(Reading::renamed) {
                    self.following.named(run, &session);
                }
                if moved > 0 {
                    self.following.heard(run);
                }
                let told = (output.told && moved > 0).then_some(Event::Output { run });
                (action, [told, turned])
            }
            Err(cause) => {
                warn!(%run, %cause, "the output cannot be read any more");
                (PostAction::Remove, [None, None])
            }
        };
        if matches!(action, PostAction::Remove) {
            output.token = None;
        }
        event.into_iter().flatten().for_each(|event| self.feed(event));
        action
    }

    /// Takes what is left of a run's output, and tells what the output and the status of the main
    /// process come to.
    pub(super) fn drain_output(&mut self, run: RunId) -> Rest {
        let echo = self.echo.clone();
        let Some(live) = self.live.get_mut(&run) else { return Rest::default() };
        let (Some(output), status) = (live.output.as_mut(), live.status) else { return Rest::default() };
        if let Err(cause) = output.pump(&mut self.buffer, REST, echo.as_ref()) {
            warn!(%run, %cause, "the last output cannot be read");
        }
        if let Some(token) = output.token.take() {
            self.handle.remove(token);
        }
        let report = output.reading.as_mut().and_then(|reading| {
            reading.decoder.finish();
            if let Some(session) = reading.renamed() {
                self.following.named(run, &session);
            }
            let text = reading.renderer.as_mut().map(Renderer::finish);
            if let (Some(echo), Some(text)) = (&echo, text) {
                echo.write(&text);
            }
            reading.decoder.report(status, Self::now().wall, reading.zone)
        });
        Rest { report, git_after: None, dropped_bytes: output.log.dropped() }
    }

    /// Closes the log of a run.
    pub(super) fn close_output(&mut self, run: RunId) {
        let Some(mut output) = self.live.get_mut(&run).and_then(|live| live.output.take()) else { return };
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
