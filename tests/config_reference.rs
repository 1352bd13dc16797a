//! `docs/configuration.md` names every key, and the two example files hold every key.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "sources/uncommented.rs"]
mod uncommented;

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::config::{
    EnvFile, FileKind, Input, Key, Lookup, PromptFile, Surroundings, TableKind, known_keys, load,
};
use uncommented::uncommented;

const TABLES: [(TableKind, &str); 5] = [
    (TableKind::Harness, "## `[harness.NAME]` and `[defaults]`"),
    (TableKind::Daemon, "## `[daemon]`"),
    (TableKind::Notify, "## `[notify]`"),
    (TableKind::Profile, "## `[profile.NAME]`"),
    (TableKind::Project, "## `[project]`"),
];
const GLOBAL: &str = "harness.toml.example";
const PROJECT: &str = "examples/project/harness.toml";

fn root() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// What the examples name must lie beside them; what stands behind a comment sign is in somebody's home.
struct Files;

impl Lookup for Files {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        if path.starts_with("/home/u") || path.is_file() { PromptFile::Good } else { PromptFile::Missing }
    }
    fn env_file(&self, path: &Utf8Path) -> EnvFile {
        if path.is_file() { EnvFile::Good } else { EnvFile::Missing }
    }
}

/// Everything that is said of an example file.
fn complaints(path: &str, kind: FileKind, text: &str) -> Vec<String> {
    let input = Input { file: root().join(path), kind, text: text.to_owned() };
    let home = Utf8PathBuf::from("/home/u");
    let surroundings = Surroundings { home, zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
    let loaded = load(&[input], &surroundings, &Files);
    loaded.diagnostics.into_iter().map(|one| one.message).collect()
}

/// CFG-11: each key of each table has its line in the reference, the refused ones are named as such, and
/// the reference names no other.
#[test]
fn the_reference_names_every_key() {
    let reference = read("docs/configuration.md");
    for (table, heading) in TABLES {
        let section = reference.split_once(heading).unwrap().1.split("\n## ").next().unwrap();
        let documented: BTreeSet<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let known = |later: bool| {
            known_keys(table).iter().filter(move |key| key.later == later).map(|key: &Key| key.name)
        };
        assert_eq!(documented, known(false).collect(), "{heading}");
        let refused = section.lines().find(|line| line.starts_with("Known and refused so far"));
        let refused: BTreeSet<&str> = refused.unwrap_or_default().split('`').skip(1).step_by(2).collect();
        assert_eq!(refused, known(true).collect(), "{heading}");
    }
}

/// CFG-11: the examples are accepted as they stand and with their comment signs removed, and together
/// hold every key that is not refused.
#[test]
fn the_examples_are_legal_and_hold_every_key() {
    let mut held: BTreeSet<(String, String)> = BTreeSet::new();
    for (path, kind) in [(GLOBAL, FileKind::Global), (PROJECT, FileKind::Project)] {
        let text = read(path);
        let whole = uncommented(&text);
        assert_eq!(complaints(path, kind, &text), [""; 0], "{path}");
        assert_eq!(complaints(path, kind, &whole), [""; 0], "{path} without its comment signs");
        let document: toml_edit::DocumentMut = whole.parse().unwrap();
        for (table, item) in document.iter() {
            let inner: Vec<(&str, &dyn toml_edit::TableLike)> = match table {
                "harness" | "profile" => item
                    .as_table()
                    .unwrap()
                    .iter()
                    .map(|(_, one)| (table, one.as_table_like().unwrap()))
                    .collect(),
                "defaults" => vec![("harness", item.as_table_like().unwrap())],
                _ => vec![(table, item.as_table_like().unwrap())],
            };
            for (table, keys) in inner {
                held.extend(keys.iter().map(|(key, _)| (table.to_owned(), key.to_owned())));
            }
        }
    }
    let mut expected = BTreeSet::new();
    for (kind, name) in [
        (TableKind::Harness, "harness"),
        (TableKind::Daemon, "daemon"),
        (TableKind::Notify, "notify"),
        (TableKind::Profile, "profile"),
        (TableKind::Project, "project"),
    ] {
        let keys = known_keys(kind).iter().filter(|key| !key.later);
        expected.extend(keys.map(|key| (name.to_owned(), key.name.to_owned())));
    }
    assert_eq!(held, expected);
}
