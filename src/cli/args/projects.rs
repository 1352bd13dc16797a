//! The arguments of the verbs about projects.

use camino::Utf8PathBuf;
use clap::Args;

/// Arguments of `up`.
#[derive(Debug, Args)]
pub(in crate::cli) struct UpArgs {
    /// The project's directory; none: that of the enclosing project
    pub(in crate::cli) dir: Option<Utf8PathBuf>,
}

/// Arguments of `down`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DownArgs {
    /// The project's name; none: the enclosing project
    pub(in crate::cli) name: Option<String>,
    /// Stop its harnesses first, and wait until nothing of them is alive
    #[arg(long)]
    pub(in crate::cli) wait: bool,
}
