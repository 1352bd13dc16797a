//! The words of good answers, which are known when the program is built.

use serde::{Deserialize, Deserializer, Serializer, de};

/// One of them. By a name of its own, since serde takes a `&str` for one that is borrowed from the document.
pub(in crate::supervisor) type Word = &'static str;

/// Every word that somebody may wait to hear; the empty one: the run itself.
const WORDS: &[&str] = &["", "already-running", "started", "restarted", "stopped"];

pub(in crate::supervisor) fn serialize<S: Serializer>(
    word: &&'static str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(word)
}

pub(in crate::supervisor) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<&'static str, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = WORDS.iter().copied().find(|word| *word == text);
    known.ok_or_else(|| de::Error::custom(format!("`{text}` is no word of an answer")))
}
