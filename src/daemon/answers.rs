//! The way of workers' answers into the loop.
//!
//! calloop's own channel panics where no descriptor is left to wake the loop by; here that is an
//! error. Invariant: whoever sends has then woken the loop.

use std::io;
use std::sync::mpsc;

use calloop::ping::{Ping, PingSource, make_ping};

/// The end of a worker.
#[derive(Debug)]
pub(super) struct Sender<T> {
    answers: mpsc::Sender<T>,
    wake: Ping,
}

/// The end of the loop: the answers, and what it is woken by.
#[derive(Debug)]
pub(super) struct Answers<T> {
    pub(super) answers: mpsc::Receiver<T>,
    pub(super) source: PingSource,
}

/// A way for answers.
///
/// # Errors
/// If no descriptor is left.
pub(super) fn channel<T>() -> io::Result<(Sender<T>, Answers<T>)> {
    let (sender, answers) = mpsc::channel();
    let (wake, source) = make_ping()?;
    Ok((Sender { answers: sender, wake }, Answers { answers, source }))
}

impl<T> Sender<T> {
    /// Sends an answer.
    ///
    /// # Errors
    /// If the loop has gone; the answer comes back.
    pub(super) fn send(&self, answer: T) -> Result<(), mpsc::SendError<T>> {
        self.answers.send(answer)?;
        self.wake.ping();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self { answers: self.answers.clone(), wake: self.wake.clone() }
    }
}
