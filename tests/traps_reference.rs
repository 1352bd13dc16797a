//! `docs/traps.md` names tests that exist.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All Rust sources below a directory, as one text.
fn sources(directory: &Path, into: &mut String) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// The names of the functions that are tests.
fn tests(sources: &str) -> BTreeSet<&str> {
    let mut lines = sources.lines().map(str::trim);
    let mut found = BTreeSet::new();
    while lines.any(|line| line == "#[test]") {
        // Attributes may stand between.
        let function = lines.find_map(|line| line.strip_prefix("fn "));
        found.extend(function.and_then(|rest| rest.split_once('(')).map(|(name, _)| name));
    }
    found
}

/// Each test that the page names, and each file, is there.
#[test]
fn the_traps_have_their_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/traps.md")).unwrap();
    let mut all = String::new();
    for directory in ["src", "tests"] {
        sources(&root.join(directory), &mut all);
    }
    let known = tests(&all);
    let mut named = 0;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let Some(tests) = line.rsplit('|').nth(1).filter(|cell| !cell.trim().is_empty()) else { continue };
        for name in tests.split('`').skip(1).step_by(2) {
            named += 1;
            let there = if name.contains('/') { root.join(name).exists() } else { known.contains(name) };
            assert!(there, "{name}: {line}");
        }
        for file in tests.split([',', ';']).map(str::trim).filter(|word| word.ends_with(".rs")) {
            assert!(root.join(file).exists(), "{file}: {line}");
        }
    }
    assert!(named > 50, "{named}");
}
