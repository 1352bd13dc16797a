//! The JSON Schemas of configuration files against the parser (CFG-11).

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod checker;
mod defaults;
#[path = "../sources/uncommented.rs"]
mod uncommented;

use std::fs;
use std::path::Path;

use checker::misfits;
use harnessd::config::{FileKind, TableKind, known_keys, schema};
use serde_json::{Map, Value};
use toml_edit::{Item, TableLike};
use uncommented::uncommented;

/// The folders of samples, and the names of the files in them.
const FILES: [(&str, FileKind); 4] = [
    ("harness.toml", FileKind::Global),
    ("drop-in.toml", FileKind::Global),
    ("project.toml", FileKind::Project),
    ("other.toml", FileKind::Project),
];

/// A TOML document as what a schema judges; none: it is no TOML.
fn value_of(text: &str) -> Option<Value> {
    fn of_table(table: &dyn TableLike) -> Value {
        Value::Object(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect::<Map<_, _>>())
    }
    fn of_item(item: &Item) -> Value {
        match item {
            Item::None => Value::Null,
            Item::Table(table) => of_table(table),
            Item::ArrayOfTables(tables) => tables.iter().map(|table| of_table(table)).collect(),
            Item::Value(value) => of_value(value),
        }
    }
    fn of_value(value: &toml_edit::Value) -> Value {
        match value {
            toml_edit::Value::String(text) => text.value().as_str().into(),
            toml_edit::Value::Integer(number) => (*number.value()).into(),
            toml_edit::Value::Float(number) => (*number.value()).into(),
            toml_edit::Value::Boolean(switch) => (*switch.value()).into(),
            // No key takes a date.
            toml_edit::Value::Datetime(_) => Value::Null,
            toml_edit::Value::Array(list) => list.iter().map(of_value).collect(),
            toml_edit::Value::InlineTable(table) => of_table(table),
        }
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    toml_edit::Document::parse(text).ok().map(|document| of_table(document.as_table()))
}

/// The samples of a kind: the file and its text.
fn samples(folder: &str) -> Vec<(String, FileKind, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/config").join(folder);
    let mut found = Vec::new();
    for case in fs::read_dir(root).unwrap() {
        let case = case.unwrap().path();
        for (name, kind) in FILES {
            if let Ok(text) = fs::read_to_string(case.join(name)) {
                found.push((case.join(name).display().to_string(), kind, text));
            }
        }
    }
    assert!(found.len() > 10, "the samples are found");
    found
}

/// CFG-11: the examples, also with their comment signs removed, fit their schemas.
#[test]
fn the_examples_fit_their_schemas() {
    for (file, kind) in
        [("harness.toml.example", FileKind::Global), ("examples/project/harness.toml", FileKind::Project)]
    {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        for text in [uncommented(&text), text] {
            assert_eq!(misfits(&schema(kind), "", &value_of(&text).unwrap()), [""; 0], "{file}");
        }
    }
}

/// CFG-11: what is accepted fits.
#[test]
fn every_good_sample_fits_its_schema() {
    for (file, kind, text) in samples("valid") {
        assert_eq!(misfits(&schema(kind), "", &value_of(&text).unwrap()), [""; 0], "{file}");
    }
}

/// CFG-11: an unknown key or table, a value of a wrong type and a table that only the other kind of file may
/// hold fit no schema. What one key demands of another is not for schemas.
#[test]
fn samples_of_wrong_forms_do_not_fit() {
    let codes = ["unknown_key", "unknown_table", "wrong_type", "global_only", "project_only"];
    let (mut refused, mut wrong) = (0, Vec::new());
    for (file, kind, text) in samples("invalid") {
        let path = Path::new(&file);
        let (folder, name) = (path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap());
        let said = fs::read_to_string(folder.join("expected.short")).unwrap();
        // In the expectations a file stands where it would lie.
        let place = match name {
            "harness.toml" => "/home/u/.config/harnessd/harness.toml:",
            "drop-in.toml" => "/home/u/.config/harnessd/harness.d/10.toml:",
            "project.toml" => "/home/u/src/app/harness.toml:",
            _ => "/home/u/app/harness.toml:",
        };
        let of_form = |line: &str| {
            line.starts_with(place) && codes.iter().any(|code| line.contains(&format!("config::{code}:")))
        };
        let Some(value) = value_of(&text).filter(|_| said.lines().any(of_form)) else { continue };
        refused += 1;
        if misfits(&schema(kind), "", &value).is_empty() {
            wrong.push(file);
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(refused > 20, "{refused}");
}

/// Values in many forms.
const ODD: &[&str] = &[
    r#""""#,
    r#""x""#,
    r#"" 1h ""#,
    r#""1h30m""#,
    r#""1.5h""#,
    r#""1 day 2 hours""#,
    r#""5µs""#,
    r#""0s""#,
    r#""0""#,
    "0",
    "1",
    "-1",
    "4294967296",
    "1.5",
    "1.0",
    "inf",
    "nan",
    "true",
    "false",
    "[]",
    r#"["a"]"#,
    "[1]",
    "{}",
    r#"{ A = "b" }"#,
    "{ a = 1 }",
    r#""1024""#,
    r#""1.5 GiB""#,
    r#""64MiB""#,
    r#"".5MB""#,
    r#"" 2 gb ""#,
    r#""TERM""#,
    r#""SIGINT""#,
    r#""sigint""#,
    r#""no""#,
    r#""Always""#,
    r#""all""#,
    r#""queue""#,
    r#""Europe/Berlin""#,
    r#"["read"]"#,
    r#"["failed", "timeout"]"#,
    "{ max_tokens = 1 }",
    "{ max_cost_usd = 1 }",
    "1979-05-27",
    "0x10",
    "1_000",
];

/// CFG-11: no schema refuses a value that the parser takes, in whatever form.
#[test]
fn whatever_is_accepted_fits() {
    let tables = [
        ("Harness", "[defaults]\n", TableKind::Harness),
        ("Daemon", "[daemon]\n", TableKind::Daemon),
        ("Notify", "[notify]\ncommand = \"true\"\n", TableKind::Notify),
        ("Profile", "[profile.a]\n", TableKind::Profile),
    ];
    let schema = schema(FileKind::Global);
    let mut accepted = 0;
    for (table, header, kind) in tables {
        let keys =
            known_keys(kind).iter().filter(|key| !key.later && (table, key.name) != ("Notify", "command"));
        for key in keys {
            for odd in ODD {
                let text = format!("{header}{} = {odd}\n", key.name);
                if defaults::read(FileKind::Global, &text).configuration.is_some() {
                    accepted += 1;
                    assert_eq!(misfits(&schema, "", &value_of(&text).unwrap()), [""; 0], "{text}");
                }
            }
        }
    }
    assert!(accepted > 200, "{accepted}");
}
