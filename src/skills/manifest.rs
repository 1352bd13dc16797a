//! What a target's `.harnessd.json` says (SKL-8): pure.
//!
//! Invariant: a name in a manifest is one path segment and none of our own
//! files, whoever wrote the file; nothing outside the target is ever named.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::warning::Warning;

/// All our own entries in a target begin so.
pub(super) const OURS: &str = ".harnessd";
/// The manifest's name in the target.
pub(super) const FILE: &str = ".harnessd.json";
/// The lock's name in the target.
pub(super) const LOCK: &str = ".harnessd.lock";
/// What is being built lies in a directory that is named so and numbered.
pub(super) const SCRATCH: &str = ".harnessd-tmp-";

const VERSION: u32 = 1;

/// The copies in one target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    version: u32,
    pub(super) skills: BTreeMap<String, Entry>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self { version: VERSION, skills: BTreeMap::new() }
    }
}

/// One copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The directory that it was copied from.
    pub(super) source: String,
    /// Of its contents.
    pub(super) hash: String,
    /// Of what it replaces, from before the replacement until after it; empty
    /// if nothing was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) previous: Option<String>,
    /// The harnesses that want it.
    pub(super) owners: BTreeSet<String>,
    /// Everything in it in the order of the stamps, directories included.
    pub(super) paths: Vec<String>,
    /// Sums up the source's metadata when it was copied.
    pub(super) source_stamp: String,
    /// Sums up the copy's metadata.
    pub(super) copy_stamp: String,
    /// Whether an equal source stamp proves equal contents.
    pub(super) settled: bool,
    /// What was odd about the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<Warning>,
}

/// Whether `name` may be the name of a copy.
pub(super) fn is_copy_name(name: &str) -> bool {
    !(name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) || name.starts_with(OURS))
}

impl Manifest {
    /// Reads a manifest; names that no copy can have are dropped.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut manifest: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if manifest.version != VERSION {
            return Err(format!("version {} is unknown", manifest.version));
        }
        manifest.skills.retain(|name, _| is_copy_name(name));
        Ok(manifest)
    }

    /// Its text: a line a skill, so that a person can read it.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        let mut text = format!("{{\"version\":{},\"skills\":{{", self.version);
        for (number, (name, entry)) in self.skills.iter().enumerate() {
            text.push_str(if number == 0 { "\n" } else { ",\n" });
            text.push_str(&serde_json::to_string(name)?);
            text.push(':');
            text.push_str(&serde_json::to_string(entry)?);
        }
        text.push_str("\n}}\n");
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Manifest, is_copy_name};

    /// SKL-8: a manifest comes back as it was written.
    #[test]
    fn a_manifest_survives_its_text() {
        let mut manifest = Manifest::default();
        assert_eq!(Manifest::parse(manifest.text().unwrap().as_bytes()), Ok(manifest.clone()));
        let entry = Entry { hash: "h".to_owned(), owners: ["a".to_owned()].into(), ..Entry::default() };
        manifest.skills.insert("new\nline".to_owned(), entry.clone());
        manifest.skills.insert("b".to_owned(), Entry { previous: Some(String::new()), ..entry });
        assert_eq!(Manifest::parse(manifest.text().unwrap().as_bytes()), Ok(manifest));
    }

    /// SKL-8: a forged manifest cannot name anything outside the target, nor our own files.
    #[test]
    fn a_forged_name_is_dropped() {
        for bad in ["", ".", "..", "../x", "a/b", "/etc", ".harnessd.json", ".harnessd-tmp-0", "a\0"] {
            assert!(!is_copy_name(bad), "{bad:?}");
            let mut forged = Manifest::default();
            forged.skills.insert(bad.to_owned(), Entry::default());
            assert_eq!(Manifest::parse(forged.text().unwrap().as_bytes()), Ok(Manifest::default()));
        }
    }

    /// SKL-8: a manifest of an unknown version is not guessed at.
    #[test]
    fn an_unknown_version_is_refused() {
        assert_eq!(Manifest::parse(b"{\"version\":2,\"skills\":{}}"), Err("version 2 is unknown".to_owned()));
        assert!(Manifest::parse(b"{").is_err());
    }
}
