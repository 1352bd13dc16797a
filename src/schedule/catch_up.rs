//! What becomes of firings that fell due while nobody was there to see (SCH-5).

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The rule for missed firings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CatchUp {
    /// At most one is made up for.
    #[default]
    One,
    /// None is.
    None,
    /// Each is, up to a bound.
    All,
}

impl CatchUp {
    /// Every rule, in the order of declaration.
    pub const ALL: &'static [Self] = &[Self::One, Self::None, Self::All];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::None => "none",
            Self::All => "all",
        }
    }
}

impl fmt::Display for CatchUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no rule for missed firings.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is no catch-up policy: allowed are `one`, `none` and `all`")]
pub struct CatchUpError(String);

impl FromStr for CatchUp {
    type Err = CatchUpError;

    fn from_str(text: &str) -> Result<Self, CatchUpError> {
        let found = Self::ALL.iter().copied().find(|rule| rule.as_str() == text);
        found.ok_or_else(|| CatchUpError(text.to_owned()))
    }
}
