//! The program's own version.
//!
//! Invariant: this is the only place that knows it. Before a daemon hands itself over, two versions
//! judge by it whether they understand each other (CTL-11).

use std::hint::black_box;

/// Stands in the program exactly once, so that a test can make another version out of a copy of it.
static MARK: &str = concat!("harnessd-version:", env!("CARGO_PKG_VERSION"));

/// The version of this program, like `0.1.0`.
#[must_use]
pub fn version() -> &'static str {
    // Not to be computed by the compiler, which would leave a second copy of the text.
    let mark: &'static str = black_box(MARK);
    mark.split_once(':').map_or(mark, |(_, version)| version)
}

/// Whether programs of these two versions understand each other's hand-over: those of one minor version.
#[must_use]
pub fn same_minor(one: &str, other: &str) -> bool {
    let minor = |text: &str| text.rsplit_once('.').map(|(minor, _)| minor.to_owned());
    minor(one).is_some() && minor(one) == minor(other)
}

#[cfg(test)]
mod tests {
    use super::{same_minor, version};

    /// CTL-11: in both directions within one minor version.
    #[test]
    fn versions_of_one_minor_understand_each_other() {
        assert_eq!(version(), env!("CARGO_PKG_VERSION"));
        assert!(same_minor("0.1.0", "0.1.9") && same_minor("0.1.9", "0.1.0"));
        assert!(!same_minor("0.1.0", "0.2.0") && !same_minor("1.1.0", "0.1.0") && !same_minor("", ""));
    }
}
