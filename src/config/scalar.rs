//! Values that are written as text: durations, sizes, signals, words.
//!
//! Invariant: a value of these types is in range. What is wrong with a text is
//! said in the error's message; a line feed parts the message from its help.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use chrono_tz::Tz;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};

use crate::base::{
    Word, nearest, parse_duration, parse_size, quoted, signal_names, signal_number, size_text,
};
use crate::schedule::parse_zone;

mod written;

/// No duration of a configuration is longer, so that sums with clocks cannot overflow.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 86_400);

/// A value that can be read from a string, and perhaps from an integer.
pub(super) trait FromText: Sized {
    /// Reads a string.
    fn from_text(text: &str) -> Result<Self, String>;
    /// Reads an integer; none: integers are of the wrong type.
    fn from_integer(_: i64) -> Option<Result<Self, String>> {
        None
    }
}

/// A value that is read by its [`FromText`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parsed<T>(pub(super) T);

impl<'de, T: FromText> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<T: FromText> Visitor<'_> for Reader<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
                T::from_text(text).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
                match T::from_integer(number) {
                    Some(read) => read.map_err(E::custom),
                    None => Err(E::invalid_type(Unexpected::Signed(number), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reader(PhantomData)).map(Self)
    }
}

/// An element of a list or table whose elements are strings; what it is instead
/// is found in the document, so that all wrong elements can be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Element {
    /// A string.
    Text(String),
    /// Anything else.
    Other,
}

impl Element {
    /// The string.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other => None,
        }
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Element;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Element, E> {
                Ok(Element::Text(text.to_owned()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Element, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Element::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Element, A::Error> {
                while table.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Element::Other)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a table and nothing else: serde would take a list of a structure's values for it too.
pub(super) fn table<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    struct Reader<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }
        fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(table))
        }
    }
    deserializer.deserialize_any(Reader(PhantomData)).map(Some)
}

/// A program with its arguments, or a program alone as one string (`check`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Words {
    /// One string.
    Alone(String),
    /// A list.
    List(Vec<Element>),
}

impl Words {
    /// The program and its arguments, as far as they are strings.
    pub(super) fn command(&self) -> Vec<String> {
        match self {
            Self::Alone(program) => vec![program.clone()],
            Self::List(words) => words.iter().filter_map(Element::text).map(str::to_owned).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of strings")
            }
            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words::Alone(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(Words::List(words))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A duration that may be zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause(pub(super) Duration);

impl FromText for Pause {
    fn from_text(text: &str) -> Result<Self, String> {
        let duration = parse_duration(text).map_err(|error| error.to_string())?;
        if duration > LONGEST {
            return Err(format!("`{text}` is longer than 10 years"));
        }
        Ok(Self(duration))
    }
}

/// A duration that may be zero, or a number of seconds (`restart_delay`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delay(pub(super) Duration);

impl FromText for Delay {
    fn from_text(text: &str) -> Result<Self, String> {
        Pause::from_text(text).map(|pause| Self(pause.0))
    }
    fn from_integer(seconds: i64) -> Option<Result<Self, String>> {
        let duration = u64::try_from(seconds).ok().map(Duration::from_secs);
        Some(match duration {
            Some(duration) if duration <= LONGEST => Ok(Self(duration)),
            Some(_) => Err(format!("`{seconds}` seconds are longer than 10 years")),
            None => Err(format!("`{seconds}` is no number of seconds: it is below zero")),
        })
    }
}

/// A duration above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound(pub(super) Duration);

impl FromText for Bound {
    fn from_text(text: &str) -> Result<Self, String> {
        match Pause::from_text(text)?.0 {
            Duration::ZERO => Err(format!("`{text}` is no time at all")),
            duration => Ok(Self(duration)),
        }
    }
}

/// A number of bytes above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

impl FromText for Size {
    fn from_text(text: &str) -> Result<Self, String> {
        match parse_size(text).map_err(|error| error.to_string())? {
            0 => Err(format!("`{text}` is no size: it must be above zero")),
            bytes => Ok(Self(bytes)),
        }
    }
    fn from_integer(bytes: i64) -> Option<Result<Self, String>> {
        Some(match u64::try_from(bytes) {
            Ok(bytes) if bytes > 0 => Ok(Self(bytes)),
            _ => Err(format!("`{bytes}` is no size: it must be above zero")),
        })
    }
}

/// A bound of memory: below a mebibyte no program even starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory(pub(super) u64);

impl Memory {
    const LEAST: u64 = 1 << 20;

    fn at_least(size: Size, written: impl fmt::Display) -> Result<Self, String> {
        match size.0 {
            bytes if bytes >= Self::LEAST => Ok(Self(bytes)),
            _ => Err(format!("`{written}` is too little: the least is {}", size_text(Self::LEAST))),
        }
    }
}

impl FromText for Memory {
    fn from_text(text: &str) -> Result<Self, String> {
        Self::at_least(Size::from_text(text)?, text)
    }
    fn from_integer(bytes: i64) -> Option<Result<Self, String>> {
        Size::from_integer(bytes).map(|size| Self::at_least(size?, bytes))
    }
}

/// The number of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signal(pub(super) i32);

impl FromText for Signal {
    fn from_text(text: &str) -> Result<Self, String> {
        signal_number(text).map(Self).ok_or_else(|| {
            let upper = text.trim().to_ascii_uppercase();
            let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
            unknown_word(text, "signal", bare, signal_names())
        })
    }
}

impl FromText for Tz {
    fn from_text(text: &str) -> Result<Self, String> {
        parse_zone(text).map_err(|error| format!("{error}\n{}", error.help()))
    }
}

impl<T: Word> FromText for T {
    fn from_text(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| unknown_word(text, T::KIND, text, T::WORDS.iter().copied()))
    }
}

/// Message and help for a word that is none of a few.
fn unknown_word<'a>(
    text: &str,
    what: &str,
    like: &str,
    words: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    let message = format!("`{}` is no {what}", quoted(text));
    let mut near = nearest(like, words.clone());
    if near.first() == Some(&like) {
        near.truncate(1);
    }
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    if near.is_empty() {
        let few = if words.clone().into_iter().count() > 16 { 8 } else { 16 };
        let all: Vec<&str> = words.into_iter().take(few).collect();
        format!("{message}\nwrite one of {}", quoted(&all).join(", "))
    } else {
        format!("{message}\ndid you mean {}?", quoted(&near).join(" or "))
    }
}

/// An integer of at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Positive(pub(super) u32);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            0 => Err(D::Error::invalid_value(Unexpected::Signed(0), &"a number above zero")),
            number => Ok(Self(number)),
        }
    }
}

/// A share of the processors, as cgroups take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weight(pub(super) u32);

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            weight @ 1..=10_000 => Ok(Self(weight)),
            other => {
                Err(D::Error::invalid_value(Unexpected::Unsigned(other.into()), &"a number from 1 to 10000"))
            }
        }
    }
}

/// An amount of money: a number, not below zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount(pub(super) f64);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        if amount.is_finite() && amount >= 0.0 {
            Ok(Self(amount))
        } else {
            Err(D::Error::invalid_value(Unexpected::Float(amount), &"an amount"))
        }
    }
}
