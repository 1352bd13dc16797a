//! The names of signals, as records show them.

use crate::base;

/// The name of signal `number`, like `SIGTERM`; one without a name is `SIG` with its number.
#[must_use]
pub fn signal_name(number: i32) -> String {
    base::signal_name(number).map_or_else(|| format!("SIG{number}"), |name| format!("SIG{name}"))
}
