//! The capture of a run on its way to a successor (CTL-11).
//!
//! Invariant: what was read stands in the log before the hand-over, what was not read is still in the
//! kernel's buffer: no byte is lost, none comes twice.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::{Output, Reading};
use crate::base::RunId;
use crate::host::handover::inherit;
use crate::host::logs::LogWriter;
use crate::host::terminal::Responder;
use crate::host::zone;
use crate::report::Decoder;

/// See [`Output`].
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedOutput {
    pub(in crate::daemon) descriptor: RawFd,
    log: LogWriter,
    #[serde(default)]
    responder: Option<Responder>,
    #[serde(default)]
    reading: Option<HandedReading>,
    #[serde(default)]
    told: bool,
}

/// See [`Reading`]. Nobody watches a run of the daemon itself, so nothing is rendered.
#[derive(Debug, Serialize, Deserialize)]
struct HandedReading {
    decoder: Decoder,
    zone: String,
}

impl HandedOutput {
    pub(in crate::daemon) fn of(output: &Output) -> Self {
        Self {
            descriptor: output.fd.as_raw_fd(),
            log: output.log.at_rest(),
            responder: output.responder.clone(),
            reading: output.reading.as_ref().map(|reading| HandedReading {
                decoder: reading.decoder.clone(),
                zone: reading.zone.name().to_owned(),
            }),
            told: output.told,
        }
    }

    pub(in crate::daemon) fn resume(self, run: RunId) -> io::Result<Output> {
        let fd = Rc::new(inherit(self.descriptor)?);
        let reading = self.reading.map(|handed| Reading {
            decoder: handed.decoder,
            renderer: None,
            zone: handed.zone.parse().unwrap_or_else(|_| zone::system()),
            session: None,
        });
        let Self { log, responder, told, .. } = self;
        Ok(Output { run, fd, log, responder, reading, told, token: None })
    }
}
