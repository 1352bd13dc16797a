//! Templates: text with `{name}` placeholders.
//!
//! Invariant: one pass. What a placeholder expands to is never read again, so
//! a value cannot smuggle in another placeholder. A brace that does not
//! enclose a lower-case word is plain text, which lets JSON stand in a template.

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Hole(&'a str),
}

fn pieces(template: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = template[at..].find('{').map(|offset| at + offset) {
        let inner = &template[open + 1..];
        let word = inner.bytes().take_while(|c| c.is_ascii_lowercase() || *c == b'_').count();
        if word > 0 && inner.as_bytes().get(word) == Some(&b'}') {
            if from < open {
                found.push(Piece::Text(&template[from..open]));
            }
            found.push(Piece::Hole(&inner[..word]));
            from = open + word + 2;
            at = from;
        } else {
            at = open + 1;
        }
    }
    if from < template.len() {
        found.push(Piece::Text(&template[from..]));
    }
    found
}

/// The names of all placeholders, in order, repeated ones repeatedly.
pub(super) fn holes(template: &str) -> Vec<&str> {
    pieces(template)
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Hole(name) => Some(name),
            Piece::Text(_) => None,
        })
        .collect()
}

/// Fills in what `value` knows; an unknown placeholder stays as it stands.
pub(super) fn expand<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut text = String::with_capacity(template.len());
    for piece in pieces(template) {
        match piece {
            Piece::Text(plain) => text.push_str(plain),
            Piece::Hole(name) => match value(name) {
                Some(value) => text.push_str(value),
                None => {
                    text.push('{');
                    text.push_str(name);
                    text.push('}');
                }
            },
        }
    }
    text
}

/// [`expand`] with a single known placeholder.
pub(super) fn fill(template: &str, name: &str, value: &str) -> String {
    expand(template, |hole| (hole == name).then_some(value))
}

#[cfg(test)]
mod tests {
    use super::{expand, fill, holes};

    #[test]
    fn a_value_is_never_expanded_again() {
        let text = expand("{a}-{b}", |name| match name {
            "a" => Some("{b}"),
            "b" => Some("x"),
            _ => None,
        });
        assert_eq!(text, "{b}-x");
    }

    #[test]
    fn braces_of_json_and_toml_are_plain_text() {
        assert_eq!(fill(r#"{"k":{hidden}}"#, "hidden", r#"{"x":1}"#), r#"{"k":{"x":1}}"#);
        assert_eq!(fill("{path={path},enabled=false}", "path", "'p'"), "{path='p',enabled=false}");
        assert_eq!(holes("{{x}} {} {X} {a_b}{c"), ["x", "a_b"]);
        assert_eq!(fill("é{{x}}{y", "x", "ü"), "é{ü}{y");
    }
}
