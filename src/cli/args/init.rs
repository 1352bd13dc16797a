//! Arguments of `init`.

use clap::Args;

/// Arguments of `init`.
#[derive(Debug, Args)]
pub(in crate::cli) struct InitArgs {
    /// Write a project's `harness.toml` into the current directory instead of the global file
    #[arg(long)]
    pub(in crate::cli) project: bool,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}
