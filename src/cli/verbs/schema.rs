//! `schema`: a JSON Schema, for editors and clients (CFG-11).

use std::process::ExitCode;

use crate::cli::args::{SchemaArgs, SchemaOf};
use crate::cli::failure::Failure;
use crate::cli::output::Output;
use crate::config::{self, FileKind};
use crate::wire;

pub(in crate::cli) fn perform(args: &SchemaArgs, out: &mut Output) -> Result<ExitCode, Failure> {
    out.json(&match args.of {
        SchemaOf::Global => config::schema(FileKind::Global),
        SchemaOf::Project => config::schema(FileKind::Project),
        SchemaOf::Protocol => wire::schema(),
    })?;
    Ok(ExitCode::SUCCESS)
}
