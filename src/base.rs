//! Layer 1: the vocabulary that every other layer speaks.
//!
//! Ids with their grammar, time as plain values, the states and outcomes that
//! a run can have, and located diagnostics. Invariant: nothing here reads a
//! clock, a file or the environment.

mod diagnostic;
mod name;
mod nearest;
mod quantity;
mod random;
mod render;
mod report;
mod run;
mod sarif;
mod schema;
mod shown;
mod signal;
mod time;
mod version;
mod word;

pub use diagnostic::{Diagnostic, Place, Related, Severity, SourceText, Sources};
pub use name::{HarnessName, NAME_PATTERN, NAME_RULE, NameError, is_name};
pub use nearest::nearest;
pub use quantity::{QuantityError, duration_text, parse_duration, parse_size, size_text};
pub use random::Random;
pub use render::{Format, json_one, render};
pub use report::Report;
pub use run::{ExitStatus, Outcome, RunId, RunIds, State, Trigger};
pub use schema::schema_generator;
pub use shown::{harmless, quoted, shortened};
pub use signal::{signal_name, signal_names, signal_number};
pub use time::{Mono, Now, Wall, micros};
pub use version::{same_minor, version};
pub(crate) use word::words;
pub use word::{UnknownWord, Word};
