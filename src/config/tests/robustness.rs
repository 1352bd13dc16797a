//! Whatever stands in a file, there is an answer.

use std::fmt::Write;

use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};

use super::{Input, global, loaded, project};
use crate::base::{Format, render};
use crate::config::{TableKind, known_keys};

/// Every diagnostic can be shown, and points into its file.
fn survives(inputs: &[Input]) {
    let loaded = loaded(inputs);
    for one in &loaded.diagnostics {
        let text = loaded.sources.get(&one.place.file).unwrap().as_str();
        if let Some(span) = &one.place.span {
            assert!(text.get(span.clone()).is_some(), "{one:?}");
        }
    }
    for format in [Format::Human { color: false }, Format::Short, Format::Json] {
        let _ = render(&loaded.diagnostics, &loaded.sources, format);
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| format!("{number:?}")),
        any::<bool>().prop_map(|switch| switch.to_string()),
        "[ -~äß]{0,12}".prop_map(|text| format!("{text:?}")),
        prop::sample::select(vec![
            "2026-01-01",
            "[]",
            "[1, \"x\"]",
            "{}",
            "{ a = 1 }",
            "\"@daily\"",
            "\"~\"",
            "\"1h\"",
            "\"claude\"",
            "\"always\"",
            "[[\"x\"]]",
            "\"\"\"\nx\ny\"\"\"",
            "'\u{e9}'",
            "\"\\u0000\"",
        ])
        .prop_map(str::to_owned),
    ]
}

fn table() -> impl Strategy<Value = String> {
    let names: Vec<&str> = [TableKind::Harness, TableKind::Notify, TableKind::Profile]
        .into_iter()
        .flat_map(known_keys)
        .map(|key| key.name)
        .chain(["x", "env.A"])
        .collect();
    let headers = vec![
        "[defaults]",
        "[harness.a]",
        "[harness.b]",
        "[[harness.c]]",
        "[project]",
        "[daemon]",
        "[notify]",
        "[profile.p]",
        "[x.y]",
    ];
    let lines = prop::collection::vec((prop::sample::select(names), value()), 0..12);
    (prop::sample::select(headers), lines).prop_map(|(header, lines)| {
        lines.iter().fold(format!("{header}\n"), |mut text, (name, value)| {
            writeln!(text, "{name} = {value}").unwrap();
            text
        })
    })
}

proptest! {
    /// CFG-8: arbitrary text is answered, never with a panic.
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        survives(&[global(&text), project(&text)]);
    }

    /// CFG-8: so are tables with known keys and any values.
    #[test]
    fn arbitrary_tables_never_panic(tables in prop::collection::vec(table(), 0..5)) {
        let text = tables.concat();
        survives(&[global(&text), project(&text)]);
    }

    /// CFG-8: and good files that were damaged at one place.
    #[test]
    fn damaged_files_never_panic(at in 0..1000_usize, with in any::<char>()) {
        let good = "[harness.a]\r\ncmd = \"sérve\"\nenv = { A = \"1\" }\n[harness.b]\nagent = \"pi\"\nprompt = \"\"\"\nx\n\"\"\"\n";
        let mut text: Vec<char> = good.chars().collect();
        let at = at % text.len();
        text[at] = with;
        survives(&[global(&text.into_iter().collect::<String>())]);
    }
}

/// CFG-8: ten thousand mistakes in one table are all told.
#[test]
fn a_table_full_of_mistakes_is_told_whole() {
    let keys = (0..10_000).fold(String::from("[harness.a]\ncmd = \"x\"\n"), |mut text, at| {
        writeln!(text, "key{at} = {at}").unwrap();
        text
    });
    assert_eq!(loaded(&[global(&keys)]).diagnostics.len(), 10_000);
    let values =
        (0..10_000).fold(String::from("[harness.a]\ncmd = \"x\"\n[harness.a.env]\n"), |mut text, at| {
            writeln!(text, "KEY{at} = {at}").unwrap();
            text
        });
    assert_eq!(loaded(&[global(&values)]).diagnostics.len(), 10_000);
}
