//! Diagnostics as a SARIF 2.1.0 log (CFG-9): the form that code-scanning services take.
//!
//! Invariant: every result's rule is among the rules of the log, and a URI holds no character that
//! RFC 3986 does not allow.

use camino::Utf8Path;
use serde_json::{Value, json};

use super::diagnostic::{Diagnostic, Place, Severity, Sources};
use super::render::{end, start};
use super::version;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of one run; `rules` are all codes with their meanings.
pub(super) fn sarif(diagnostics: &[Diagnostic], sources: &Sources, rules: &[(&str, &str)]) -> Value {
    let broken: Vec<(&str, &str)> =
        rules.iter().filter(|(code, _)| diagnostics.iter().any(|one| one.code == *code)).copied().collect();
    let described: Vec<Value> = broken
        .iter()
        .map(|(code, meaning)| json!({"id": code, "shortDescription": {"text": meaning}}))
        .collect();
    let results: Vec<Value> = diagnostics.iter().map(|one| result(one, sources)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "harnessd", "version": version(), "rules": described}},
            // `line_column` counts characters, the standard's default is units of UTF-16.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(one: &Diagnostic, sources: &Sources) -> Value {
    let level = match one.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let help = one.help.as_ref().map_or(String::new(), |help| format!(" (help: {help})"));
    let text = format!("{}{help}", one.whole_message());
    let mut result = json!({
        "ruleId": one.code,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location(&one.place, sources)}],
    });
    if !one.related.is_empty() {
        let related = one.related.iter().map(|other| {
            json!({"physicalLocation": location(&other.place, sources), "message": {"text": other.message}})
        });
        result["relatedLocations"] = related.collect();
    }
    result
}

/// A file that cannot be read has no region.
fn location(place: &Place, sources: &Sources) -> Value {
    let mut location = json!({"artifactLocation": {"uri": uri(&place.file)}});
    if place.span.is_some() {
        let (line, column) = start(place, sources);
        let (end_line, end_column) = end(place, sources);
        location["region"] =
            json!({"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column});
    }
    location
}

/// A relative name stays relative, as services that show a repository's files expect it. `./` keeps a
/// colon in its first part from being taken for the end of a scheme.
fn uri(file: &Utf8Path) -> String {
    let mut uri = String::from(if file.is_absolute() { "file://" } else { "" });
    let name = file.as_str();
    if name.split('/').next().is_some_and(|first| first.contains(':')) {
        uri.push_str("./");
    }
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:@!$&'()*+,;=".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn a_name_becomes_a_uri() {
        assert_eq!(uri("src/app/harness.toml".into()), "src/app/harness.toml");
        assert_eq!(
            uri("/home/u/ein ärger/a#b%.toml".into()),
            "file:///home/u/ein%20%C3%A4rger/a%23b%25.toml"
        );
        assert_eq!(uri("c:d/harness.toml".into()), "./c:d/harness.toml");
    }
}
