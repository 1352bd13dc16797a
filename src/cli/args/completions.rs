//! Arguments of `completions`.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Where the shell looks for the script, for example:\n  \
                        harnessd completions bash > ~/.local/share/bash-completion/completions/harnessd")]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
    pub(in crate::cli) shell: Shell,
}
