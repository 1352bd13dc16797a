//! Connections to the control socket (CTL-3, CTL-4).
//!
//! Invariant: what waits to be sent to a client is bounded; one that does not
//! read is told so and dropped.

mod handed;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use calloop::generic::Generic;
use calloop::timer::{TimeoutAction, Timer};
use calloop::{Interest, LoopHandle, Mode, PostAction, RegistrationToken};
use serde::Serialize;
use tracing::{debug, warn};

use super::error::DaemonError;
use super::source::{loop_error, readable};
use super::state::Daemon;
use crate::host::socket::{Accepted, Listener};
use crate::wire::{ErrorBody, ErrorCode, Event, Frames, Reply};

pub(super) use handed::HandedClient;

/// At most so many connections.
const MOST: usize = 64;
/// At most so many bytes wait for a client that does not read; a single longer reply passes.
const MOST_WAITING: usize = 1 << 20;

/// How long a client that was given up may take to read the notice.
const NOTICE: Duration = Duration::from_secs(5);

/// One connection.
struct Client {
    stream: UnixStream,
    reader: Option<RegistrationToken>,
    writer: Option<RegistrationToken>,
    frames: Frames,
    greeted: bool,
    subscribed: bool,
    queue: VecDeque<Vec<u8>>,
    sent: usize,
    waiting: usize,
    closing: bool,
}

/// All connections.
#[derive(Default)]
pub(super) struct Clients {
    open: BTreeMap<u64, Client>,
    last: u64,
    /// Clients that were dropped in this turn: what they asked for is nobody's any more.
    gone: Vec<u64>,
}

/// What writing to a client came to.
enum Sent {
    All,
    Blocked,
    Gone,
}

impl Clients {
    fn enqueue(&mut self, handle: &LoopHandle<'static, Daemon>, id: u64, line: &impl Serialize) {
        let Some(client) = self.open.get_mut(&id).filter(|client| !client.closing) else { return };
        let mut bytes = match serde_json::to_vec(line) {
            Ok(bytes) => bytes,
            Err(cause) => return warn!(%cause, "a reply cannot be written as JSON"),
        };
        bytes.push(b'\n');
        if client.waiting > MOST_WAITING {
            warn!(waiting = client.waiting, "a client that does not read is dropped");
            client.give_up();
            // It is not heard any more, and has a moment to read why.
            if let Some(reader) = client.reader.take() {
                handle.remove(reader);
            }
            if !forget_soon(handle, id) {
                return self.drop_client(handle, id);
            }
        } else {
            client.waiting += bytes.len();
            client.queue.push_back(bytes);
        }
        self.flush(handle, id);
    }

    /// Sends a reply.
    pub(super) fn send(&mut self, handle: &LoopHandle<'static, Daemon>, id: u64, reply: &Reply) {
        self.enqueue(handle, id, reply);
    }

    /// Sends an event to every subscriber.
    pub(super) fn broadcast(&mut self, handle: &LoopHandle<'static, Daemon>, event: &Event) {
        let subscribers = self.open.iter().filter(|(_, client)| client.subscribed);
        let subscribers: Vec<u64> = subscribers.map(|(id, _)| *id).collect();
        for id in subscribers {
            self.enqueue(handle, id, event);
        }
    }

    /// From now on `id` is told events.
    pub(super) fn subscribe(&mut self, id: u64) {
        if let Some(client) = self.open.get_mut(&id) {
            client.subscribed = true;
        }
    }

    /// Whether anybody is told events.
    pub(super) fn are_subscribed(&self) -> bool {
        self.open.values().any(|client| client.subscribed && !client.closing)
    }

    /// Whether `id` has exchanged versions.
    pub(super) fn greeted(&self, id: u64) -> bool {
        self.open.get(&id).is_some_and(|client| client.greeted)
    }

    /// `id` has exchanged versions.
    pub(super) fn greet(&mut self, id: u64) {
        if let Some(client) = self.open.get_mut(&id) {
            client.greeted = true;
        }
    }

    /// Closes `id` when what waits for it is sent.
    pub(super) fn close(&mut self, handle: &LoopHandle<'static, Daemon>, id: u64) {
        if let Some(client) = self.open.get_mut(&id) {
            client.closing = true;
        }
        self.flush(handle, id);
    }

    fn flush(&mut self, handle: &LoopHandle<'static, Daemon>, id: u64) {
        let Some(client) = self.open.get_mut(&id) else { return };
        match client.write() {
            Sent::Gone => self.drop_client(handle, id),
            Sent::All if client.closing => self.drop_client(handle, id),
            Sent::All => {
                if let Some(writer) = client.writer.take() {
                    handle.remove(writer);
                }
            }
            Sent::Blocked if client.writer.is_some() => {}
            Sent::Blocked => match client.stream.try_clone() {
                Ok(stream) => {
                    let source = Generic::new(stream, Interest::WRITE, Mode::Level);
                    let inserted = handle.insert_source(source, move |_, _, daemon: &mut Daemon| {
                        let handle = daemon.handle.clone();
                        daemon.clients.flush(&handle, id);
                        Ok(PostAction::Continue)
                    });
                    match inserted {
                        Ok(token) => client.writer = Some(token),
                        Err(cause) => {
                            warn!(%cause, "a client that cannot be waited for is dropped");
                            self.drop_client(handle, id);
                        }
                    }
                }
                Err(cause) => {
                    warn!(%cause, "a client is dropped");
                    self.drop_client(handle, id);
                }
            },
        }
    }

    fn drop_client(&mut self, handle: &LoopHandle<'static, Daemon>, id: u64) {
        if let Some(client) = self.open.remove(&id) {
            self.gone.push(id);
            [client.reader, client.writer].into_iter().flatten().for_each(|token| handle.remove(token));
        }
    }
}

/// Gives a client that is being closed a moment to read why. False: it has none.
fn forget_soon(handle: &LoopHandle<'static, Daemon>, id: u64) -> bool {
    let forgotten = handle.insert_source(Timer::from_duration(NOTICE), move |_, (), daemon: &mut Daemon| {
        daemon.forget_client(id);
        TimeoutAction::Drop
    });
    forgotten.is_ok()
}

impl Client {
    fn write(&mut self) -> Sent {
        while let Some(line) = self.queue.front() {
            match self.stream.write(&line[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    self.waiting -= count;
                    if self.sent == line.len() {
                        self.queue.pop_front();
                        self.sent = 0;
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Sent::Blocked,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Sent::Gone,
            }
        }
        Sent::All
    }

    /// Drops what waits, all but a line that is half sent, and closes with a notice.
    fn give_up(&mut self) {
        let half = if self.sent > 0 { self.queue.pop_front() } else { None };
        let error = ErrorBody::new(ErrorCode::TooLarge, "this client does not read what it asked for")
            .help("read the socket faster, or subscribe again");
        let mut notice = serde_json::to_vec(&Reply::error(0, error)).unwrap_or_default();
        notice.push(b'\n');
        self.queue = half.into_iter().chain([notice]).collect();
        self.waiting = self.queue.iter().map(Vec::len).sum::<usize>() - self.sent;
        self.closing = true;
    }
}

impl Daemon {
    /// Takes connections from the listening socket as they come.
    pub(super) fn listen(&mut self, listener: Listener) -> Result<(), DaemonError> {
        let source = readable(&listener).map_err(DaemonError::system("control socket"))?;
        self.listener = Some(listener);
        let inserted = self.handle.insert_source(source, |_, _, daemon: &mut Self| {
            daemon.accept_all();
            Ok(PostAction::Continue)
        });
        inserted.map_err(loop_error).map(drop)
    }

    fn accept_all(&mut self) {
        while let Some(listener) = &mut self.listener {
            match listener.accept() {
                Ok(Some(Accepted::Client(stream))) => self.accept(stream),
                Ok(Some(Accepted::Refused { uid })) => warn!(uid, "a client of another user was refused"),
                Ok(Some(Accepted::NoDescriptor)) => warn!("a client was refused: no descriptor is left"),
                Ok(None) => return,
                Err(cause) => return warn!(%cause, "a connection cannot be accepted"),
            }
        }
    }

    fn accept(&mut self, mut stream: UnixStream) {
        let heard = self.clients.open.values().filter(|client| !client.closing);
        if heard.count() >= MOST {
            let error = ErrorBody::new(ErrorCode::TooLarge, format!("{MOST} clients are connected already"));
            let mut line = serde_json::to_vec(&Reply::error(0, error)).unwrap_or_default();
            line.push(b'\n');
            // It is being turned away: whether it reads the reason is its own affair.
            let _told = stream.write_all(&line);
            return;
        }
        self.clients.last += 1;
        let id = self.clients.last;
        let source = match readable(&stream) {
            Ok(source) => source,
            Err(cause) => return warn!(%cause, "a connection cannot be taken"),
        };
        let inserted = self.handle.insert_source(source, move |_, _, daemon: &mut Self| Ok(daemon.hear(id)));
        let reader = match inserted {
            Ok(token) => token,
            // It is hung up on: one that waited for an answer would wait for ever.
            Err(cause) => return warn!(%cause, "a client cannot be heard"),
        };
        let client = Client {
            stream,
            reader: Some(reader),
            writer: None,
            frames: Frames::default(),
            greeted: false,
            subscribed: false,
            queue: VecDeque::new(),
            sent: 0,
            waiting: 0,
            closing: false,
        };
        self.clients.open.insert(id, client);
    }

    /// Reads what a client sends and answers each line.
    fn hear(&mut self, id: u64) -> PostAction {
        let mut over = false;
        if let Some(client) = self.clients.open.get_mut(&id) {
            match client.stream.read(&mut self.buffer) {
                Ok(0) => over = true,
                Ok(count) => client.frames.push(&self.buffer[..count]),
                Err(cause)
                    if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(cause) => {
                    debug!(%cause, "a client is gone");
                    over = true;
                }
            }
        }
        while let Some(client) = self.clients.open.get_mut(&id).filter(|client| !client.closing) {
            match client.frames.next_line() {
                Ok(Some(line)) => self.hear_line(id, &line),
                Ok(None) => break,
                Err(cause) => {
                    let error = ErrorBody::new(ErrorCode::TooLarge, cause.to_string());
                    let handle = self.handle.clone();
                    self.clients.send(&handle, id, &Reply::error(0, error));
                    self.clients.close(&handle, id);
                }
            }
        }
        if over {
            self.forget_client(id);
        }
        PostAction::Continue
    }

    fn forget_client(&mut self, id: u64) {
        let handle = self.handle.clone();
        self.clients.drop_client(&handle, id);
    }

    /// Drops what clients that are gone had asked for.
    pub(super) fn forget_gone(&mut self) {
        for id in std::mem::take(&mut self.clients.gone) {
            self.forget_tickets(id);
        }
    }

    fn forget_tickets(&mut self, id: u64) {
        let asked = self.tickets.iter().filter(|(_, asker)| asker.is_client(id));
        let asked: Vec<u64> = asked.map(|(ticket, _)| *ticket).collect();
        for ticket in asked {
            self.tickets.remove(&ticket);
            self.feed(crate::supervisor::Event::Forget(crate::supervisor::Ticket(ticket)));
        }
    }
}
