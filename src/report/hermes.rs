//! Hermes: `chat -Q`, which has no machine-readable output.
//!
//! Its exit status decides; another one than 0 says that the turn failed, and then it prints the error
//! in place of an answer. With 0 the same words are the model's.

use super::told::Told;

/// What its own errors begin with.
const ERRORS: [&str; 8] = [
    "API call failed after ",
    "Billing or credits exhausted",
    "Context length exceeded",
    "Error: ",
    "First response truncated",
    "HTTP ",
    "Invalid API response after ",
    "Request payload too large",
];

/// Tells what a line may be; false: all of them are shown as they are.
pub(super) fn plain(line: &str, tell: &mut dyn FnMut(Told)) -> bool {
    if ERRORS.iter().any(|error| line.starts_with(error)) {
        tell(Told::Perhaps(line.to_owned()));
    }
    false
}
