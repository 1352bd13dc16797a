//! Closed sets whose members are words in files, JSON and the store.
//!
//! Invariant: a member has one word everywhere, and what is no word of the set is refused.

use std::str::FromStr;

use thiserror::Error;

/// A text that names no member of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is no {kind}")]
pub struct UnknownWord {
    kind: &'static str,
    text: String,
}

impl UnknownWord {
    pub(crate) fn new(kind: &'static str, text: &str) -> Self {
        Self { kind, text: text.to_owned() }
    }
}

/// A closed set whose members are words.
pub trait Word: FromStr<Err = UnknownWord> {
    /// What one of its members is called.
    const KIND: &'static str;
    /// Every word, in the order of declaration.
    const WORDS: &'static [&'static str];
}

/// Declares an enum whose members are words.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident as $kind:literal { $($(#[$doc:meta])* $member:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        pub enum $name { $($(#[$doc])* #[serde(rename = $word)] $member,)+ }

        impl $name {
            /// Every member, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$member,)+];

            /// The word for it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$member => $word,)+ }
            }
        }

        impl $crate::base::Word for $name {
            const KIND: &'static str = $kind;
            const WORDS: &'static [&'static str] = &[$($word,)+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::base::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$member),)+
                    _ => Err($crate::base::UnknownWord::new($kind, text)),
                }
            }
        }
    };
}
pub(crate) use words;
