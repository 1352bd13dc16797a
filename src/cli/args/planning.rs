//! The arguments of `plan` and `skills`.

use camino::Utf8PathBuf;
use clap::{Args, Subcommand};

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlanArgs {
    /// The harness; none: all
    pub(in crate::cli) name: Option<String>,
}

/// Arguments of `skills`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct SkillsArgs {
    /// The harness; none: all
    pub(in crate::cli) name: Option<String>,
    #[command(subcommand)]
    pub(in crate::cli) verb: Option<SkillsVerb>,
}

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SkillsVerb {
    /// Copy the merged skills of a harness to where its agent looks, now instead of at its next start
    Sync(SyncArgs),
    /// Check skills against the public rules for SKILL.md; needs no configuration and no daemon
    Check(CheckArgs),
}

/// Arguments of `skills sync`.
#[derive(Debug, Args)]
pub(in crate::cli) struct SyncArgs {
    /// The harness
    pub(in crate::cli) name: String,
    /// Tell what would change, and do nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}

/// Arguments of `skills check`.
#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    /// Skills, SKILL.md files, or directories that hold skills
    #[arg(required = true, value_name = "PATH")]
    pub(in crate::cli) paths: Vec<Utf8PathBuf>,
}
