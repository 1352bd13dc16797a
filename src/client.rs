//! Layer 4: the client's side of the control socket.
//!
//! Invariant: one request is under way at a time, and its reply is awaited
//! however long the daemon works on it; only the greeting has a deadline.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::base;
use crate::host::socket::LONGEST_PATH;
use crate::wire::{ErrorBody, ErrorCode, Event, Frames, MAX_LINE, Op, PROTOCOL, Reply, Request, Welcome};

mod error;

pub use error::ConnectError;

/// How long a daemon may take to greet; its loop never waits, so a healthy one takes milliseconds.
const GREETING: Duration = Duration::from_secs(10);

/// A connection to the daemon.
#[derive(Debug)]
pub struct Client {
    path: Utf8PathBuf,
    stream: UnixStream,
    frames: Frames,
    /// Events that came while a reply was awaited.
    events: VecDeque<Event>,
    last_id: u64,
    version: String,
}

impl Client {
    /// Connects to the daemon that listens at `path` and greets it.
    ///
    /// # Errors
    /// If none listens there, or it is of another version, or it does not want us.
    pub fn connect(path: &Utf8Path) -> Result<Self, ConnectError> {
        Self::connect_within(path, GREETING)
    }

    fn connect_within(path: &Utf8Path, patience: Duration) -> Result<Self, ConnectError> {
        let owned = || path.to_owned();
        let other = |error: &io::Error| ConnectError::Other { path: owned(), cause: error.to_string() };
        if path.as_str().len() > LONGEST_PATH {
            return Err(ConnectError::PathTooLong { path: owned() });
        }
        let stream = UnixStream::connect(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::ConnectionRefused => {
                ConnectError::NoDaemon { path: owned() }
            }
            ErrorKind::PermissionDenied => ConnectError::NotPermitted { path: owned() },
            _ => other(&error),
        })?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(&stream, Some(patience)).map_err(|error| other(&error))?;
        }
        let mut client = Self {
            path: owned(),
            stream,
            frames: Frames::default(),
            events: VecDeque::new(),
            last_id: 0,
            version: String::new(),
        };
        client.greet()?;
        for set in [UnixStream::set_read_timeout, UnixStream::set_write_timeout] {
            set(&client.stream, None).map_err(|error| other(&error))?;
        }
        Ok(client)
    }

    fn greet(&mut self) -> Result<(), ConnectError> {
        let path = self.path.clone();
        let hello = Op::Hello { protocol: PROTOCOL, version: base::version().to_owned() };
        let value = match self.ask(hello) {
            Ok(value) => value,
            Err(Failure::Said(error)) => return Err(ConnectError::Refused { path, error }),
            Err(Failure::TimedOut) => return Err(ConnectError::Silent { path }),
            Err(Failure::Gone) => return Err(ConnectError::NoDaemon { path }),
            Err(Failure::Broken(cause)) => return Err(ConnectError::Other { path, cause }),
        };
        match serde_json::from_value::<Welcome>(value) {
            Ok(welcome) if welcome.protocol == PROTOCOL => {
                self.version = welcome.version;
                Ok(())
            }
            Ok(Welcome { protocol: theirs, version }) => {
                Err(ConnectError::VersionMismatch { path, version, theirs })
            }
            Err(error) => Err(ConnectError::Other { path, cause: format!("no greeting: {error}") }),
        }
    }

    /// The version of the daemon.
    #[must_use]
    pub fn daemon_version(&self) -> &str {
        &self.version
    }

    /// Asks, and waits for the answer as long as it takes.
    ///
    /// # Errors
    /// The daemon's own; `no_daemon` if it went away; `too_large` if the request is.
    pub fn call(&mut self, op: Op) -> Result<Value, ErrorBody> {
        self.ask(op).map_err(|failure| self.told(failure))
    }

    /// Events from now on, until the daemon goes away.
    ///
    /// # Errors
    /// As for [`Client::call`].
    pub fn subscribe(&mut self) -> Result<Events<'_>, ErrorBody> {
        self.call(Op::Subscribe)?;
        Ok(Events { client: self, over: false })
    }

    fn told(&self, failure: Failure) -> ErrorBody {
        match failure {
            Failure::Said(error) => error,
            Failure::Gone => {
                ErrorBody::new(ErrorCode::NoDaemon, format!("the daemon at `{}` went away", self.path))
                    .help("`harnessd status` tells whether it is back")
            }
            Failure::TimedOut => {
                ErrorBody::new(ErrorCode::NoDaemon, format!("the daemon at {} does not answer", self.path))
            }
            Failure::Broken(cause) => {
                ErrorBody::new(ErrorCode::Internal, format!("the socket {}: {cause}", self.path))
            }
        }
    }

    fn ask(&mut self, op: Op) -> Result<Value, Failure> {
        self.last_id += 1;
        let id = self.last_id;
        let request = serde_json::to_vec(&Request { id, op });
        let mut line = request.map_err(|error| Failure::Broken(error.to_string()))?;
        line.push(b'\n');
        if line.len() > MAX_LINE {
            let message = format!("the request has {} bytes, {MAX_LINE} are allowed", line.len());
            return Err(Failure::Said(ErrorBody::new(ErrorCode::TooLarge, message)));
        }
        let sent = self.stream.write_all(&line).map_err(Failure::from);
        loop {
            let line = match (self.line(), &sent) {
                (Ok(line), _) => line,
                // Whoever refused to read on may have said why before.
                (Err(Failure::Gone), Err(unsent)) => return Err(unsent.clone()),
                (Err(failure), _) => return Err(failure),
            };
            match line {
                Line::Event(event) => self.events.push_back(*event),
                Line::Reply(Reply { error: Some(error), id: about, .. }) if about == id || about == 0 => {
                    return Err(Failure::Said(error));
                }
                Line::Reply(Reply { ok: Some(value), id: about, .. }) if about == id => return Ok(value),
                Line::Reply(_) => return Err(Failure::Broken("a reply to nothing that was asked".into())),
            }
        }
    }

    fn line(&mut self) -> Result<Line, Failure> {
        let mut chunk = [0; 8192];
        loop {
            match self.frames.next_line() {
                Ok(Some(line)) => return Line::read(&line),
                Ok(None) => {}
                Err(error) => return Err(Failure::Broken(error.to_string())),
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(Failure::Gone),
                Ok(count) => self.frames.push(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone)]
enum Failure {
    /// The daemon's own words.
    Said(ErrorBody),
    Gone,
    TimedOut,
    Broken(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof => Self::Gone,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::TimedOut,
            _ => Self::Broken(error.to_string()),
        }
    }
}

/// What the daemon sends.
enum Line {
    Reply(Reply),
    Event(Box<Event>),
}

impl Line {
    fn read(line: &[u8]) -> Result<Self, Failure> {
        let broken = |error: serde_json::Error| Failure::Broken(format!("a line that is no reply: {error}"));
        let value: Value = serde_json::from_slice(line).map_err(broken)?;
        if value.get("event").is_some() {
            serde_json::from_value(value).map(Self::Event).map_err(broken)
        } else {
            serde_json::from_value(value).map(Self::Reply).map_err(broken)
        }
    }
}

/// The events of a subscription; ends after the first error.
#[derive(Debug)]
pub struct Events<'c> {
    client: &'c mut Client,
    over: bool,
}

impl Iterator for Events<'_> {
    type Item = Result<Event, ErrorBody>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(event) = self.client.events.pop_front() {
            return Some(Ok(event));
        }
        if self.over {
            return None;
        }
        let failure = match self.client.line() {
            Ok(Line::Event(event)) => return Some(Ok(*event)),
            Ok(Line::Reply(Reply { error: Some(error), .. })) => Failure::Said(error),
            Ok(Line::Reply(_)) => Failure::Broken("a reply to nothing that was asked".into()),
            Err(failure) => failure,
        };
        self.over = true;
        Some(Err(self.client.told(failure)))
    }
}

#[cfg(test)]
mod tests;
