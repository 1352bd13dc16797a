//! Versions of agents' programs: how one is told from other words, and how two compare.
//!
//! Invariant: what is no version as a whole is none, and of two that cannot be ordered none is called the newer.

use std::cmp::Ordering;

/// A version like `1.2`, `0.171.0` or `1.2.3-beta.1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    text: String,
    numbers: Vec<u64>,
    /// Where the numbers end.
    rest: String,
}

impl Release {
    /// The version that a text is, as a whole: at least two numbers with `.` between them, and what follows of
    /// letters, digits and `.-+_`. A `v` before it is no part of it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = Vec::new();
        let mut rest = text;
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = rest.split_at(digits);
            numbers.push(number.parse().ok()?);
            rest = after;
            match after.strip_prefix('.') {
                Some(next) if next.starts_with(|one: char| one.is_ascii_digit()) => rest = next,
                _ => break,
            }
        }
        let follows = |one: char| one.is_ascii_alphanumeric() || ".-+_".contains(one);
        let whole = numbers.len() > 1 && rest.chars().all(follows) && !rest.ends_with('.');
        whole.then(|| Self { text: text.to_owned(), numbers, rest: rest.to_owned() })
    }

    /// The first word of a line that is a version, the full stop or comma after it left out.
    #[must_use]
    pub fn stated(line: &str) -> Option<Self> {
        line.split_whitespace().find_map(|word| Self::parse(word.trim_end_matches(['.', ',', ';', ':'])))
    }

    /// As it was written, without a `v` before it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Which is the newer by its numbers, or as a release after its `-pre`; none: that cannot be told.
    #[must_use]
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        let places = self.numbers.len().max(other.numbers.len());
        let number = |of: &Self, at| of.numbers.get(at).copied().unwrap_or(0);
        let by_numbers =
            (0..places).map(|at| number(self, at).cmp(&number(other, at))).find(|order| order.is_ne());
        match (by_numbers, self.rest.as_str(), other.rest.as_str()) {
            (Some(order), _, _) => Some(order),
            (None, one, another) if one == another => Some(Ordering::Equal),
            (None, one, "") if one.starts_with('-') => Some(Ordering::Less),
            (None, "", another) if another.starts_with('-') => Some(Ordering::Greater),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{self, Equal, Greater, Less};

    use super::Release;
    use crate::adapter::Registry;

    fn stated(line: &str) -> Option<String> {
        Release::stated(line).map(|one| one.as_str().to_owned())
    }

    /// ADP-5: what the real agents print, each in the version that it was last tried in.
    #[test]
    fn every_agents_own_line_states_its_version() {
        let lines = [
            ("claude-code", "2.1.332 (Claude Code)"),
            ("codex", "codex-cli 0.171.0"),
            ("copilot", "GitHub Copilot CLI 1.0.102."),
            ("gemini", "0.61.0"),
            ("goose", " 1.52.0"),
            ("grok", "grok 1.0.41 (4220f3b224a6)"),
            ("hermes", "Hermes Agent v0.19.0 (2026.7.20)"),
            ("kimi", "2.1.0"),
            ("opencode", "1.18.33"),
            ("pi", "1.6.0"),
            ("qwen", "0.24.4"),
            ("vibe", "vibe 3.0.2"),
        ];
        let registry = Registry::builtin();
        let verified: Vec<(&str, Option<String>)> = registry
            .all()
            .iter()
            .filter_map(|one| one.verified().map(|version| (one.id(), Some(version.to_owned()))))
            .collect();
        let mut found: Vec<(&str, Option<String>)> = lines.map(|(id, line)| (id, stated(line))).to_vec();
        found.sort();
        let mut verified = verified;
        verified.sort();
        assert_eq!(found, verified);
    }

    /// ADP-5: a version is a word of its own, and nothing that only looks like a part of one.
    #[test]
    fn nothing_else_is_a_version() {
        for (line, version) in [
            ("v1.2.3-beta.1+7, of today", Some("1.2.3-beta.1+7")),
            ("a 0.19.0rc1", Some("0.19.0rc1")),
            ("two: 1.2 3.4", Some("1.2")),
            ("build 77", None),
            ("see /tmp/v1.0 or (1.0)", None),
            ("1. 2.x 3..4 5.6/7 .8", None),
            ("99999999999999999999.1", None),
            ("", None),
        ] {
            assert_eq!(stated(line).as_deref(), version, "{line}");
        }
    }

    /// ADP-5: by numbers, not by letters; what has no order is given none.
    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let order = |one: &str, other: &str| -> Option<Ordering> {
            Release::parse(one).unwrap().order(&Release::parse(other).unwrap())
        };
        for (one, other, expected) in [
            ("1.10.0", "1.9.9", Some(Greater)),
            ("2.1.332", "2.1.332", Some(Equal)),
            ("v1.0", "1.0.0", Some(Equal)),
            ("1.0.41", "1.0.102", Some(Less)),
            ("1.2.3-rc.1", "1.2.3", Some(Less)),
            ("1.2.3", "1.2.3-rc.1", Some(Greater)),
            ("1.2.4-rc.1", "1.2.3", Some(Greater)),
            ("1.2.3-a", "1.2.3-b", None),
            ("1.2.3+5", "1.2.3", None),
            ("1.2.3rc1", "1.2.3", None),
        ] {
            assert_eq!(order(one, other), expected, "{one} {other}");
        }
    }
}
