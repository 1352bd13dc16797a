//! The arguments of the verbs that write configuration files.
//!
//! Invariant: the flags of `add` are the keys of the table of keys, so that none is listed twice.

use std::sync::LazyLock;

use camino::Utf8PathBuf;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{Key, TableKind, known_keys};

const VALUES: &str = "A VALUE is read as TOML where the key takes a switch, a number, a list or a table and the \
VALUE is one (`true`, `40`, `[\"-c\", \"date\"]`, `{ RUST_LOG = \"info\" }`). Anything else is the text itself: no quotes \
are needed, none are taken off, and `~` and relative paths are written as given. A VALUE that begins with `-` \
stands behind `--`, and that of a flag behind `=`.";

/// What every writer takes.
#[derive(Debug, Args)]
pub(in crate::cli) struct WriteArgs {
    /// The file to edit: a drop-in or another project's, say; none: the one that declares the harness, for `add`
    /// the enclosing project's, else the global one
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) file: Option<Utf8PathBuf>,
    /// Print the difference that it would make, and write nothing
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
}

/// Arguments of `add`.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(in crate::cli) struct AddArgs {
    /// The new harness: inside a project one of the project's, else a global one
    pub(in crate::cli) name: String,
    #[command(flatten)]
    pub(in crate::cli) write: WriteArgs,
    #[command(flatten)]
    pub(in crate::cli) keys: KeyFlags,
}

/// Arguments of `set`.
#[derive(Debug, Args)]
#[command(after_help = VALUES)]
pub(in crate::cli) struct SetArgs {
    /// The harness
    pub(in crate::cli) name: String,
    /// The key; `env.NAME` and `budget.max_tokens` name what is in a table
    pub(in crate::cli) key: String,
    /// Its value
    pub(in crate::cli) value: String,
    #[command(flatten)]
    pub(in crate::cli) write: WriteArgs,
}

/// Arguments of `unset`.
#[derive(Debug, Args)]
pub(in crate::cli) struct UnsetArgs {
    /// The harness
    pub(in crate::cli) name: String,
    /// The key, which goes with its line and the comment behind it
    pub(in crate::cli) key: String,
    #[command(flatten)]
    pub(in crate::cli) write: WriteArgs,
}

/// Arguments of `remove`, `enable` and `disable`.
#[derive(Debug, Args)]
pub(in crate::cli) struct EditArgs {
    /// The harness
    pub(in crate::cli) name: String,
    #[command(flatten)]
    pub(in crate::cli) write: WriteArgs,
}

/// Arguments of `schedule set`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScheduleSetArgs {
    /// The harness, a one-shot
    pub(in crate::cli) name: String,
    /// When it is due: `30 6 * * 1-5`, `@daily`, `@every 90m`
    #[arg(value_name = "EXPR")]
    pub(in crate::cli) expression: String,
    #[command(flatten)]
    pub(in crate::cli) write: WriteArgs,
}

/// One flag for each key of a harness: the keys that were given, with their values.
#[derive(Debug)]
pub(in crate::cli) struct KeyFlags(pub(in crate::cli) Vec<(&'static str, String)>);

/// The keys that have flags, with their names there.
static FLAGS: LazyLock<Vec<(&Key, String)>> = LazyLock::new(|| {
    let known = known_keys(TableKind::Harness).iter().filter(|key| !key.later);
    known.map(|key| (key, key.name.replace('_', "-"))).collect()
});

impl Args for KeyFlags {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(|(key, name)| {
            let flag = Arg::new(key.name).long(name.as_str()).value_name("VALUE");
            let flag = flag.help(format!("Takes {}", key.takes)).help_heading("Keys of the harness");
            // A switch alone is on.
            if key.is_switch() {
                flag.num_args(0..=1).require_equals(true).default_missing_value("true")
            } else {
                flag
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for KeyFlags {
    fn from_arg_matches(found: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |name: &'static str| Some((name, found.get_one::<String>(name)?.clone()));
        Ok(Self(FLAGS.iter().filter_map(|(key, _)| value(key.name)).collect()))
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(found)?;
        Ok(())
    }
}
