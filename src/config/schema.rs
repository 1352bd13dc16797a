//! The JSON Schemas of the configuration files (CFG-11), for editors.
//!
//! Invariant: they are made of the structures that read the tables and of the lists of keys, and refuse nothing
//! that `validate` accepts. What one key demands of another is for `validate` alone.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::FileKind;
use super::daemon::built_in_values;
use super::keys::{DAEMON_KEYS, HARNESS_KEYS, Key, NOTIFY_KEYS, PROFILE_KEYS, PROJECT_KEYS};
use super::raw::{RawDaemon, RawHarness, RawNotify, RawProfile, RawProject};
use super::tables::json_of_item;
use crate::adapter::Adapter;
use crate::base::{NAME_PATTERN, schema_generator};

/// The JSON Schema of files of one kind, as draft 7, which editors of TOML know.
#[must_use]
pub fn schema(kind: FileKind) -> Value {
    let generator = schema_generator(SchemaSettings::draft07());
    let schema = match kind {
        FileKind::Global | FileKind::DropIn => generator.into_root_schema_for::<GlobalFile>(),
        FileKind::Project => generator.into_root_schema_for::<ProjectFile>(),
    };
    schema.to_value()
}

/// The global configuration of harnessd, or a drop-in beside it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "harnessd: global configuration")]
#[expect(dead_code, reason = "it only has a schema")]
struct GlobalFile {
    /// Settings of the daemon itself.
    daemon: Option<Table<RawDaemon>>,
    /// The command that hears of ended runs.
    notify: Option<Table<RawNotify>>,
    /// What every harness of this file has, unless it says otherwise.
    defaults: Option<Table<RawHarness>>,
    /// The harnesses by their names.
    harness: Option<Named<Table<RawHarness>>>,
    /// Groups of harnesses that are started together.
    profile: Option<Named<Table<RawProfile>>>,
    /// Further agents, or changed fields of the built-in ones.
    adapter: Option<BTreeMap<String, Adapter>>,
}

/// The configuration of a project for harnessd.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, title = "harnessd: project configuration")]
#[expect(dead_code, reason = "it only has a schema")]
struct ProjectFile {
    /// The project itself.
    project: Option<Table<RawProject>>,
    /// What every harness of this file has, unless it says otherwise.
    defaults: Option<Table<RawHarness>>,
    /// The harnesses by their names.
    harness: Option<Named<Table<RawHarness>>>,
}

/// Tables by names of harnesses or the like.
struct Named<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Named_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<T>();
        let tables = BTreeMap::from([(NAME_PATTERN, table)]);
        json_schema!({"type": "object", "patternProperties": tables, "additionalProperties": false})
    }
}

/// A table that one of the lists of keys belongs to.
trait Listed: JsonSchema {
    const NAME: &'static str;
    const KEYS: &'static [Key];

    /// What its structure does not say.
    fn complete(_: &mut Schema) {}
}

impl Listed for RawHarness {
    const NAME: &'static str = "Harness";
    const KEYS: &'static [Key] = HARNESS_KEYS;
}

impl Listed for RawDaemon {
    const NAME: &'static str = "Daemon";
    const KEYS: &'static [Key] = DAEMON_KEYS;

    /// The structure is read from the file's table over the built-in one, which has all that is required.
    fn complete(schema: &mut Schema) {
        schema.remove("required");
        for (key, value) in built_in_values() {
            schema.ensure_object()["properties"][key]["default"] = json!(value);
        }
    }
}

impl Listed for RawNotify {
    const NAME: &'static str = "Notify";
    const KEYS: &'static [Key] = NOTIFY_KEYS;

    fn complete(schema: &mut Schema) {
        schema.insert("required".to_owned(), json!(["command"]));
    }
}

impl Listed for RawProfile {
    const NAME: &'static str = "Profile";
    const KEYS: &'static [Key] = PROFILE_KEYS;
}

impl Listed for RawProject {
    const NAME: &'static str = "Project";
    const KEYS: &'static [Key] = PROJECT_KEYS;
}

/// The table of a structure with the examples of its list, without the keys that this version refuses.
struct Table<T>(PhantomData<T>);

impl<T: Listed> JsonSchema for Table<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        T::complete(&mut schema);
        // What the structure says of itself is for readers of the code.
        schema.remove("description");
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            for key in T::KEYS {
                if key.later {
                    properties.remove(key.name);
                } else if let Some(Value::Object(property)) = properties.get_mut(key.name) {
                    property.insert("examples".to_owned(), example(key).into_iter().collect());
                }
            }
        }
        schema
    }
}

/// The value in a key's line.
fn example(key: &Key) -> Option<Value> {
    let line = toml_edit::Document::parse(key.example).ok()?;
    line.get(key.name).map(json_of_item)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::schema;
    use crate::config::FileKind;
    use crate::config::tables::root_tables;

    /// CFG-4, CFG-11: the schemas know exactly the tables that a file may hold.
    #[test]
    fn the_schemas_know_the_tables_of_a_file() {
        for kind in [FileKind::Global, FileKind::Project] {
            let schema = schema(kind);
            let mut known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            known.sort();
            assert_eq!(known, root_tables(kind));
        }
    }

    /// CFG-11: whatever may be written is described.
    #[test]
    fn every_key_is_described() {
        fn undescribed(path: &str, schema: &Value, found: &mut Vec<String>) {
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{key}");
                if property["description"].as_str().is_none_or(str::is_empty) {
                    found.push(path.clone());
                }
                undescribed(&path, property, found);
            }
        }
        let mut found = Vec::new();
        for kind in [FileKind::Global, FileKind::Project] {
            let schema = schema(kind);
            undescribed("", &schema, &mut found);
            for (name, definition) in schema["definitions"].as_object().unwrap() {
                undescribed(name, definition, &mut found);
            }
        }
        assert_eq!(found, [""; 0]);
    }
}
