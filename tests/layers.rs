//! The layers hold: a module imports only from lower ones, and the pure ones touch nothing.
//!
//! The table of layers is read from `docs/architecture.md`, so that the document cannot drift
//! from the code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that use no clock, file, process, thread or environment.
const PURE: &[&str] = &[
    "base",
    "edit",
    "lifecycle",
    "schedule",
    "report",
    "trajectory",
    "wire",
    "adapter",
    "correlate",
    "config",
    "supervisor",
];

/// Files of `skills` that are pure.
const PURE_FILES: &[&str] = &["src/skills/merge.rs", "src/skills/plan.rs"];

/// What a pure module may not name.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::os",
    "SystemTime",
    "Instant::now",
    "Utc::now",
    "Local::now",
    "nix::",
    "rusqlite::",
    "calloop::",
    "env::var",
    "std::io::stdin",
];

fn sources() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("src"), &mut found);
    found.sort();
    assert!(found.len() > 50, "the walk finds the sources");
    found
}

/// `| 2 | `wire` | … |` rows of the document.
fn layers() -> BTreeMap<String, u32> {
    let text = fs::read_to_string("docs/architecture.md").unwrap();
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let layer: u32 = cells.next()?.parse().ok()?;
        let module = cells.next()?.trim_matches('`').to_owned();
        Some((module, layer))
    });
    let layers: BTreeMap<String, u32> = rows.collect();
    assert!(layers.len() >= 14, "the table of layers is found: {layers:?}");
    layers
}

/// The top module that a source file belongs to.
fn module_of(path: &Path) -> String {
    let inside = path.strip_prefix("src").unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// Code without its comment lines and without what follows `#[cfg(test)]`.
fn code(text: &str) -> String {
    let product = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The top modules that `crate::…` paths in `code` lead to, also inside `use crate::{…}`.
fn imports(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let names: Vec<&str> = match rest.strip_prefix('{') {
            Some(group) => top_names(group),
            None => vec![rest],
        };
        for name in names {
            let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
            found.push(name[..end].to_owned());
        }
    }
    found
}

/// The beginnings of the entries of a brace group, nested groups skipped.
fn top_names(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(group[start..at].trim());
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(group[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn a_module_imports_only_from_lower_layers() {
    let layers = layers();
    let mut wrong = Vec::new();
    for path in sources() {
        let module = module_of(&path);
        if module == "main" || module == "lib" {
            continue;
        }
        let Some(own) = layers.get(&module) else {
            wrong.push(format!("{}: module `{module}` is in no layer", path.display()));
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        for import in imports(&code(&text)) {
            match layers.get(&import) {
                Some(layer) if import == module || layer < own => {}
                Some(layer) => wrong.push(format!(
                    "{}: `{module}` (layer {own}) imports `{import}` (layer {layer})",
                    path.display()
                )),
                None => wrong.push(format!("{}: `crate::{import}` is in no layer", path.display())),
            }
        }
        if text.contains("super::super") {
            wrong.push(format!("{}: `super::super`", path.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn pure_modules_touch_nothing() {
    let mut wrong = Vec::new();
    for path in sources() {
        let named = path.to_str().unwrap();
        if !PURE.contains(&module_of(&path).as_str()) && !PURE_FILES.contains(&named)
            || named.ends_with("tests.rs")
        {
            continue;
        }
        let code = code(&fs::read_to_string(&path).unwrap());
        let found = IMPURE.iter().filter(|word| code.contains(**word));
        wrong.extend(found.map(|word| format!("{named}: `{word}`")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn only_base_knows_miette_and_only_host_is_unsafe() {
    let mut wrong = Vec::new();
    for path in sources() {
        let (module, code) = (module_of(&path), code(&fs::read_to_string(&path).unwrap()));
        if code.contains("miette") && module != "base" {
            wrong.push(format!("{}: miette", path.display()));
        }
        if code.contains("unsafe") && module != "host" {
            wrong.push(format!("{}: unsafe", path.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Each source opens with its purpose, and none grows into two nouns.
#[test]
fn files_open_with_their_purpose_and_stay_short() {
    let mut wrong = Vec::new();
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with("//!") {
            wrong.push(format!("{}: opens without a purpose", path.display()));
        }
        let lines = text.lines().count();
        if lines > 450 {
            wrong.push(format!("{}: {lines} lines", path.display()));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The checks above can fail: they see what they look for.
#[test]
fn the_reader_of_imports_sees_groups_and_paths() {
    let text = "use crate::{base::{A, B}, host};\nlet x = crate::store::open();";
    assert_eq!(imports(text), ["base", "host", "store"]);
}
