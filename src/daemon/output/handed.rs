//! The capture of a run on its way to a successor (CTL-11).
//!
//! Invariant: what was read stands in the log before the hand-over, what was not read is still in the
//! kernel's buffer: no byte is lost, none comes twice.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::Output;
use crate::base::RunId;
use crate::host::handover::inherit;
use crate::host::logs::LogWriter;
use crate::host::terminal::Responder;

/// See [`Output`].
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedOutput {
    pub(in crate::daemon) descriptor: RawFd,
    log: LogWriter,
    #[serde(default)]
    responder: Option<Responder>,
}

impl HandedOutput {
    pub(in crate::daemon) fn of(output: &Output) -> Self {
        Self {
            descriptor: output.fd.as_raw_fd(),
            log: output.log.at_rest(),
            responder: output.responder.clone(),
        }
    }

    pub(in crate::daemon) fn resume(self, run: RunId) -> io::Result<Output> {
        let fd = Rc::new(inherit(self.descriptor)?);
        Ok(Output { run, fd, log: self.log, responder: self.responder, token: None })
    }
}
