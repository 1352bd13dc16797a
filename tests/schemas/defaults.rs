//! The defaults that the schemas state are those that hold.

use std::collections::BTreeMap;

use harnessd::config::{AllGood, FileKind, Input, Loaded, Surroundings, definition_json, load, schema};
use serde_json::Value;

pub(crate) fn read(kind: FileKind, text: &str) -> Loaded {
    let input = Input { file: "/home/u/src/app/harness.toml".into(), kind, text: text.to_owned() };
    let surroundings =
        Surroundings { home: "/home/u".into(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
    load(&[input], &surroundings, &AllGood)
}

/// The only harness of a file, with each key.
fn resolved(text: &str) -> Option<Value> {
    let configuration = read(FileKind::Global, text).configuration?;
    configuration.harnesses.values().next().map(|harness| definition_json(harness))
}

/// A line that says what the schema states; none: it states nothing.
fn line(key: &str, property: &Value) -> Option<String> {
    let default = property.get("default")?;
    let value = if default.as_object().is_some_and(serde_json::Map::is_empty) {
        "{}".to_owned()
    } else {
        default.to_string()
    };
    Some(format!("{key} = {value}\n"))
}

/// Harnesses in which the keys may stand.
const LEGAL: [&str; 3] = [
    "[harness.a]\nagent = \"claude-code\"\nprompt = \"p\"\nschedule = \"@daily\"\ncheck = \"true\"\nworkdir = \"~\"\n",
    "[harness.a]\nagent = \"claude-code\"\nworkdir = \"~\"\n",
    "[harness.a]\ncmd = \"true\"\n",
];

/// CFG-6, CFG-11: to write a default into a harness changes nothing.
#[test]
fn the_defaults_of_harnesses_are_true() {
    let schema = schema(FileKind::Global);
    let properties = schema["definitions"]["Harness"]["properties"].as_object().unwrap();
    let mut tried = 0;
    for (key, property) in properties {
        let Some(line) = line(key, property) else { continue };
        tried += 1;
        let legal = LEGAL.iter().filter_map(|text| Some((text, resolved(&format!("{text}{line}"))?)));
        let legal: Vec<_> = legal.collect();
        assert!(!legal.is_empty(), "{line} is legal nowhere");
        for (text, said) in legal {
            assert_eq!(Some(said), resolved(text), "{text}{line}");
        }
    }
    assert!(tried > 20, "{tried}");
}

/// CFG-6, CFG-11: the same for the other tables.
#[test]
fn the_defaults_of_other_tables_are_true() {
    let global = schema(FileKind::Global);
    let lines = |schema: &Value, table: &str| -> String {
        let properties = schema["definitions"][table]["properties"].as_object().unwrap();
        properties.iter().filter_map(|(key, property)| line(key, property)).collect()
    };
    let daemon = lines(&global, "Daemon");
    assert_eq!(daemon.lines().count(), 7, "{daemon}");
    assert_eq!(
        read(FileKind::Global, &format!("[daemon]\n{daemon}")).settings,
        read(FileKind::Global, "").settings
    );

    let notify = |lines: &str| {
        let text = format!("[notify]\ncommand = \"true\"\n{lines}");
        read(FileKind::Global, &text).configuration.unwrap().notify
    };
    assert_eq!(notify(&lines(&global, "Notify")), notify(""));

    let profile = |lines: &str| {
        let text = format!("[profile.a]\n{lines}");
        read(FileKind::Global, &text).configuration.unwrap().profiles
    };
    assert_eq!(profile(&lines(&global, "Profile")), profile(""));

    let project = |lines: &str| {
        let text = format!("[project]\n{lines}[harness.a]\ncmd = \"true\"\n");
        let configuration = read(FileKind::Project, &text).configuration.unwrap();
        configuration.harnesses.into_values().map(|harness| harness.project.clone()).collect::<Vec<_>>()
    };
    assert_eq!(project(&lines(&schema(FileKind::Project), "Project")), project(""));
}
