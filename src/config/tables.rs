//! The tables of a file: which may stand there, and `[project]` and `[adapter.*]`.
//!
//! Invariant: what a project file may not say (CFG-4) is refused by name, and
//! nothing in it is looked at.

use std::sync::Arc;

use figment::Figment;
use serde_json::Value;
use toml_edit::{Item, TableLike};

use super::FileKind;
use super::checks::not_supported_yet;
use super::codes::{
    BAD_ADAPTER, BAD_NAME, DROP_IN_ONLY, GLOBAL_ONLY, PROJECT_ONLY, UNKNOWN_KEY, UNKNOWN_TABLE,
};
use super::discover::sanitise;
use super::document::File;
use super::harness::not_a_table;
use super::keys::{HARNESS_KEYS, PROJECT_KEYS};
use super::layers::{dict_of, extract};
use super::model::Project;
use super::raw::RawProject;
use crate::adapter::Registry;
use crate::base::{Diagnostic, NAME_RULE, is_name, nearest, quoted};

const BOTH: [&str; 2] = ["defaults", "harness"];
const GLOBAL: [&str; 5] = ["daemon", "adapter", "profile", "gateway", "notify"];
/// Tables of the global file whose behaviour does not exist yet.
const LATER: [&str; 1] = ["gateway"];

/// The tables that a file of a kind may hold, those without behaviour among them.
fn tables_of(kind: FileKind) -> Vec<&'static str> {
    match kind {
        FileKind::Global => [BOTH.as_slice(), &GLOBAL].concat(),
        FileKind::DropIn => vec!["harness"],
        FileKind::Project => [BOTH.as_slice(), &["project"]].concat(),
    }
}

/// The tables that do something in a file of a kind, in the order of the alphabet.
#[cfg(test)]
pub(super) fn root_tables(kind: FileKind) -> Vec<&'static str> {
    let mut tables = tables_of(kind);
    tables.retain(|name| !LATER.contains(name));
    tables.sort_unstable();
    tables
}

/// Checks the names at the root of a file.
pub(super) fn root(file: &File) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let elsewhere = |name| BOTH.contains(&name) || GLOBAL.contains(&name) || name == "project";
    for (name, item) in file.root() {
        let place = file.header(&[name]);
        if file.kind == FileKind::DropIn && name != "harness" && elsewhere(name) {
            found.push(
                Diagnostic::error(DROP_IN_ONLY, place, format!("`[{name}]` may not stand in a drop-in"))
                    .help("a drop-in holds `[harness.NAME]` tables only: move it to the global file"),
            );
        } else if BOTH.contains(&name) || (name == "project" && file.kind == FileKind::Project) {
            // Read in its own place.
        } else if GLOBAL.contains(&name) && file.kind == FileKind::Project {
            found.extend(headers(file, name, item).into_iter().map(|(shown, place)| {
                let message = format!("`[{shown}]` may stand in the global file only");
                Diagnostic::error(GLOBAL_ONLY, place, message)
                    .help("a project file holds `[project]`, `[defaults]` and `[harness.NAME]`: move it to the global file")
            }));
        } else if LATER.contains(&name) {
            match item.as_table_like() {
                Some(_) => {
                    let all = headers(file, name, item).into_iter();
                    found.extend(all.map(|(shown, place)| not_supported_yet(&shown, place)));
                }
                None => found.extend(file.node(&[name]).map(|node| not_a_table(file, &[name], node.kind()))),
            }
        } else if GLOBAL.contains(&name) {
            let node = file.node(&[name]).filter(|_| item.as_table_like().is_none());
            found.extend(node.map(|node| not_a_table(file, &[name], node.kind())));
        } else if name == "project" {
            found.push(
                Diagnostic::error(PROJECT_ONLY, place, "`[project]` may stand in a project file only")
                    .help("a project file is a `harness.toml` in the project's own directory"),
            );
        } else {
            found.push(unknown(file, name, item));
        }
    }
    found
}

/// A table's own header, or those of the tables in it if it has none.
fn headers(file: &File, name: &str, item: &Item) -> Vec<(String, crate::base::Place)> {
    let implicit = item.as_table().filter(|table| table.is_implicit() && !table.is_empty());
    match implicit {
        Some(table) => {
            table.iter().map(|(inner, _)| (format!("{name}.{inner}"), file.header(&[name, inner]))).collect()
        }
        None => vec![(name.to_owned(), file.header(&[name]))],
    }
}

fn unknown(file: &File, name: &str, item: &Item) -> Diagnostic {
    let shown = quoted(name);
    let place = file.header(&[name]);
    let known = tables_of(file.kind);
    if item.is_table_like() || item.is_array_of_tables() {
        let near = nearest(name, known.iter().copied());
        let help = match near.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "a harness stands in `[harness.NAME]`".to_owned(),
        };
        return Diagnostic::error(UNKNOWN_TABLE, place, format!("unknown table `{shown}`")).help(help);
    }
    let message = format!("unknown key `{shown}`");
    let near = nearest(name, HARNESS_KEYS.iter().map(|key| key.name));
    let help = match near.first() {
        Some(near) => format!("`{near}` belongs below a header like `[harness.NAME]` or `[defaults]`"),
        None => "keys belong below a header like `[harness.NAME]`".to_owned(),
    };
    Diagnostic::error(UNKNOWN_KEY, file.key(&[name]), message).help(help)
}

/// The project that a file declares; its name is always usable, so that the
/// harnesses of a wrongly named project are checked all the same.
pub(super) fn project(file: &File) -> (Project, Vec<Diagnostic>) {
    let directory = sanitise(file.dir.file_name().unwrap_or_default());
    let mut project = Project { name: directory, root: file.dir.clone(), skills: false };
    let path = ["project"];
    let Some(table) = file.table(&path) else {
        let wrong = file.node(&path).map(|node| not_a_table(file, &path, node.kind()));
        return (project, wrong.into_iter().collect());
    };
    let read = extract::<RawProject>(&Figment::new(), file, &path, dict_of(table), PROJECT_KEYS);
    let (raw, mut found) = (read.value.unwrap_or_default(), read.found);
    project.skills = raw.skills.unwrap_or(false);
    match raw.name {
        Some(name) if is_name(&name) => project.name = name,
        Some(name) => {
            let message = format!("`{}` is no name for a project", quoted(&name));
            project.name = sanitise(&name);
            let help = format!("{NAME_RULE}, for example `{}`", project.name);
            found.push(Diagnostic::error(BAD_NAME, file.value(&["project", "name"]), message).help(help));
        }
        None => {}
    }
    (project, found)
}

/// The built-in adapters with the tables of the global files over them, the
/// names of tables that are wrong, and what is wrong with them.
pub(super) fn registry(files: &[Option<File>]) -> (Arc<Registry>, Vec<String>, Vec<(usize, Diagnostic)>) {
    let builtin = Registry::builtin();
    let mut tables: Vec<(usize, String, Value)> = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let Some(file) = file.as_ref().filter(|file| file.kind == FileKind::Global) else { continue };
        for (name, item) in file.table(&["adapter"]).into_iter().flat_map(|table| table.iter()) {
            tables.push((at, name.to_owned(), json_of_item(item)));
        }
    }
    let (mut spoilt, mut found) = (Vec::new(), Vec::new());
    loop {
        let good: Vec<(String, Value)> = tables
            .iter()
            .filter(|(_, name, _)| !spoilt.contains(name))
            .map(|(_, name, table)| (name.clone(), table.clone()))
            .collect();
        if good.is_empty() {
            return (builtin, spoilt, found);
        }
        let problems = match builtin.overlay(&good) {
            Ok(registry) => return (Arc::new(registry), spoilt, found),
            Err(problems) => problems,
        };
        let before = spoilt.len();
        for problem in problems {
            let Some((at, _, _)) = tables.iter().find(|(_, name, _)| *name == problem.adapter) else {
                continue;
            };
            let Some(file) = &files[*at] else { continue };
            let mut path = vec!["adapter", problem.adapter.as_str()];
            path.extend(problem.path.iter().map(String::as_str));
            let place = if problem.path.is_empty() { file.header(&path) } else { file.key(&path) };
            let mut one = Diagnostic::error(BAD_ADAPTER, place, problem.message);
            one.help = problem
                .help
                .or_else(|| Some("an adapter's table has the form of the built-in ones".to_owned()));
            found.push((*at, one));
            spoilt.push(problem.adapter);
        }
        if spoilt.len() == before {
            return (builtin, spoilt, found);
        }
    }
}

fn json_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(switch) => (*switch.value()).into(),
        toml_edit::Value::Datetime(at) => at.value().to_string().into(),
        toml_edit::Value::Array(list) => list.iter().map(json_of).collect(),
        toml_edit::Value::InlineTable(table) => json_of_table(table),
    }
}

pub(super) fn json_of_item(item: &Item) -> Value {
    match item {
        Item::Value(value) => json_of(value),
        Item::Table(table) => json_of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| json_of_table(table)).collect(),
        Item::None => Value::Null,
    }
}

fn json_of_table(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(key, item)| (key.to_owned(), json_of_item(item))).collect())
}
