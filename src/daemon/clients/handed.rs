//! Connections on their way to a successor (CTL-11).
//!
//! Invariant: what a client has sent and what waits to be sent to it cross with its connection, so that
//! it notices nothing.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::{Client, Clients, forget_soon};
use crate::daemon::source::readable;
use crate::daemon::state::Daemon;
use crate::host::handover::inherit;
use crate::wire::Frames;

/// See [`Client`].
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedClient {
    id: u64,
    pub(in crate::daemon) descriptor: RawFd,
    /// The beginning of a line whose end has not come.
    #[serde(default)]
    unread: Bytes,
    /// What waits to be sent.
    #[serde(default)]
    unsent: Vec<Bytes>,
    /// How much of its first line is sent.
    #[serde(default)]
    sent: usize,
    #[serde(default)]
    greeted: bool,
    #[serde(default)]
    subscribed: bool,
    #[serde(default)]
    closing: bool,
}

/// Bytes, which mostly are text.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Raw(bytes.to_vec()),
        }
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Text(text) => text.into_bytes(),
            Bytes::Raw(bytes) => bytes,
        }
    }
}

impl Clients {
    /// All connections as a successor needs them, and the last number that was given to one.
    pub(in crate::daemon) fn handed(&self) -> (Vec<HandedClient>, u64) {
        let handed = self.open.iter().map(|(id, client)| HandedClient {
            id: *id,
            descriptor: client.stream.as_raw_fd(),
            unread: client.frames.rest().into(),
            unsent: client.queue.iter().map(|line| line.as_slice().into()).collect(),
            sent: client.sent,
            greeted: client.greeted,
            subscribed: client.subscribed,
            closing: client.closing,
        });
        (handed.collect(), self.last)
    }
}

impl HandedClient {
    fn resume(self) -> io::Result<Client> {
        let mut frames = Frames::default();
        frames.push(&Vec::from(self.unread));
        let queue: std::collections::VecDeque<Vec<u8>> = self.unsent.into_iter().map(Vec::from).collect();
        let waiting = queue.iter().map(Vec::len).sum::<usize>().saturating_sub(self.sent);
        Ok(Client {
            stream: UnixStream::from(inherit(self.descriptor)?),
            reader: None,
            writer: None,
            frames,
            greeted: self.greeted,
            subscribed: self.subscribed,
            queue,
            sent: self.sent,
            waiting,
            closing: self.closing,
        })
    }
}

impl Daemon {
    /// Goes on with the connections of a predecessor.
    pub(in crate::daemon) fn take_clients(&mut self, handed: Vec<HandedClient>, last: u64) {
        self.clients.last = last;
        for one in handed {
            let id = one.id;
            match one.resume() {
                Ok(client) => self.take_client(id, client),
                Err(cause) => {
                    warn!(%cause, "a client is lost");
                    self.clients.gone.push(id);
                }
            }
        }
    }

    fn take_client(&mut self, id: u64, mut client: Client) {
        if client.closing {
            if !forget_soon(&self.handle, id) {
                return self.clients.gone.push(id);
            }
        } else {
            let heard = readable(&client.stream).map(|source| {
                self.handle.insert_source(source, move |_, _, daemon: &mut Self| Ok(daemon.hear(id)))
            });
            client.reader = heard.ok().and_then(Result::ok);
        }
        self.clients.open.insert(id, client);
        let handle = self.handle.clone();
        self.clients.flush(&handle, id);
    }
}
