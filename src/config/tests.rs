//! Tests of rules that a sample file does not show by itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use chrono_tz::Tz;

use super::{EnvFile, FileKind, Harness, Input, Loaded, Lookup, PromptFile, Surroundings, load};
use crate::base::HarnessName;

mod daemon;
mod discovery;
mod hashes;
mod keys;
mod layers;
mod notify;
mod paths;
mod profiles;
mod robustness;
mod scenarios;

const GLOBAL: &str = "/home/u/.config/harnessd/harness.toml";
const PROJECT: &str = "/home/u/src/app/harness.toml";

/// Every file is as it should be, but those whose names say otherwise.
struct Files;

impl Lookup for Files {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        match path.file_name() {
            Some("missing.md") => PromptFile::Missing,
            Some("empty.md") => PromptFile::Blank,
            Some("secret.md") => PromptFile::Unreadable("permission denied".into()),
            _ => PromptFile::Good,
        }
    }
    fn env_file(&self, _: &Utf8Path) -> EnvFile {
        EnvFile::Good
    }
}

fn surroundings() -> Surroundings {
    Surroundings { home: "/home/u".into(), zone: Tz::Europe__Berlin, env: BTreeMap::new() }
}

fn global(text: &str) -> Input {
    Input { file: GLOBAL.into(), kind: FileKind::Global, text: text.to_owned() }
}

fn project(text: &str) -> Input {
    Input { file: PROJECT.into(), kind: FileKind::Project, text: text.to_owned() }
}

fn loaded(inputs: &[Input]) -> Loaded {
    load(inputs, &surroundings(), &Files)
}

/// The harness of that name in files that hold no error.
fn harness(inputs: &[Input], name: &str) -> Arc<Harness> {
    let loaded = loaded(inputs);
    let messages: Vec<&String> = loaded.diagnostics.iter().map(|one| &one.message).collect();
    let configuration = loaded.configuration.unwrap_or_else(|| panic!("{messages:?}"));
    configuration.harnesses[&HarnessName::parse(name).unwrap()].clone()
}

/// Every diagnostic as `line:column harness: message`.
fn complaints(inputs: &[Input]) -> Vec<String> {
    let loaded = loaded(inputs);
    let shown = |one: &crate::base::Diagnostic| {
        let text = loaded.sources.get(&one.place.file).unwrap();
        let (line, column) = text.line_column(one.place.span.as_ref().map_or(0, |span| span.start));
        format!("{line}:{column} {}: {}", one.harness.as_deref().unwrap_or("-"), one.message)
    };
    loaded.diagnostics.iter().map(shown).collect()
}
