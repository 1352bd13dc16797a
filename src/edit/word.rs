//! Keys and values as TOML writes them.

use toml_edit::{Document, Item, Value};

/// A text as a TOML string on one line: in double quotes, or in single ones where that saves escapes.
#[must_use]
pub fn string(text: &str) -> String {
    let plain = !text.contains(|c: char| c.is_control() || c == '\'');
    if plain && text.contains(['"', '\\']) {
        return format!("'{text}'");
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What a text says if it is exactly one TOML value, with nothing before or behind it.
#[must_use]
pub fn value(text: &str) -> Option<Value> {
    const BEFORE: &str = "x = ";
    let document = Document::parse(format!("{BEFORE}{text}")).ok()?;
    let mut entries = document.iter();
    let (Some(("x", Item::Value(value))), None) = (entries.next(), entries.next()) else { return None };
    let whole = BEFORE.len()..BEFORE.len() + text.len();
    (value.span()? == whole).then(|| value.clone())
}

/// A key, quoted if need be.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { string(name) }
}

/// A dotted key.
pub(super) fn dotted(path: &[&str]) -> String {
    path.iter().map(|name| key(name)).collect::<Vec<_>>().join(".")
}
