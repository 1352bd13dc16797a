//! Arguments of `schema`.

use clap::{Args, ValueEnum};

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(after_help = "Put the schema beside a file and say so in the file's first line, for editors:\n  \
                        harnessd schema project > harness.schema.json\n  #:schema ./harness.schema.json")]
pub(in crate::cli) struct SchemaArgs {
    /// What it describes
    pub(in crate::cli) of: SchemaOf,
}

/// What a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum SchemaOf {
    /// The global file and its drop-ins
    Global,
    /// A project's `harness.toml`
    Project,
    /// The lines of the control socket: requests, replies and events
    Protocol,
}
