//! `probe-handover`, hidden: asked by a daemon before it executes this program (CTL-11).

use std::io::{self, Read};
use std::process::ExitCode;

use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::daemon;
use crate::wire::{ErrorBody, ErrorCode};

pub(in crate::cli) fn perform(out: &mut Output) -> Result<ExitCode, Failure> {
    let mut document = Vec::new();
    let failed = |cause| Failure::File { what: "standard input".to_owned(), cause };
    io::stdin().lock().read_to_end(&mut document).map_err(failed)?;
    let ready = daemon::probe(&document).map_err(|cause| ErrorBody::new(ErrorCode::NotReexecuted, cause))?;
    out.line(&serde_json::json!(ready).to_string())?;
    Ok(ExitCode::SUCCESS)
}
