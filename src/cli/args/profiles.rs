//! Arguments of the verb that works with profiles.

use clap::Args;

/// Arguments of `use-profile`.
#[derive(Debug, Args)]
pub(in crate::cli) struct UseProfileArgs {
    /// The profile, declared as `[profile.NAME]` in the global file
    pub(in crate::cli) name: String,
    /// Stop what other profiles name and this one does not
    #[arg(long)]
    pub(in crate::cli) exclusive: bool,
    /// Wait until what is started runs (a one-shot: until its run has ended) and nothing of what is stopped is alive
    #[arg(long)]
    pub(in crate::cli) wait: bool,
}
