//! The tables of keys in `docs/configuration.md`, between marks; the prose around them is written by hand.

use crate::reference::{Row, adapter, rows};

const END: &str = "<!-- end -->";

/// The document with its tables made anew. What stands behind `<!-- generated: TABLE FIRST LAST -->` are the keys
/// of the table from the first to the last of the two, else all.
pub(crate) fn renewed(document: &str) -> String {
    let mut text = String::new();
    let mut inside = false;
    for line in document.lines() {
        inside &= line != END;
        if !inside {
            text.push_str(line);
            text.push('\n');
        }
        if let Some(mark) = line.strip_prefix("<!-- generated: ").and_then(|rest| rest.strip_suffix(" -->")) {
            inside = true;
            text.push_str(&made(&mark.split(' ').collect::<Vec<_>>()));
        }
    }
    assert!(!inside, "a table has no `{END}`");
    text
}

fn made(mark: &[&str]) -> String {
    match mark {
        ["Adapter"] => {
            let tables = adapter().into_iter().map(|(name, rows)| match name.as_str() {
                "Adapter" => table(&rows),
                _ => format!("\n*{name}*:\n\n{}", table(&rows)),
            });
            tables.collect()
        }
        [name] => table(&rows(name)),
        [name, first, last] => {
            let rows = rows(name);
            let place =
                |key: &str| rows.iter().position(|row| row.key == key).unwrap_or_else(|| panic!("`{key}`"));
            table(&rows[place(first)..=place(last)])
        }
        other => panic!("{other:?}"),
    }
}

fn table(rows: &[Row]) -> String {
    let head = "| key | takes | default | meaning |\n|---|---|---|---|\n".to_owned();
    let lines = rows.iter().map(|row| {
        format!("| `{}` | {} | {} | {} |\n", row.key, row.takes, row.default, linked(&row.meaning))
    });
    head + &lines.collect::<String>()
}

/// `docs/trajectories.md` as a link from a neighbour.
fn linked(text: &str) -> String {
    let name = regex_lite::Regex::new(r"docs/([a-z]+\.md)").unwrap();
    name.replace_all(text, "[$1]($1)").into_owned()
}
