//! The YAML head of a `SKILL.md`.
//!
//! Invariant: whatever stands there, the answer is a list of warnings; a skill
//! is never refused for its frontmatter (SKL-1).

use serde::Deserialize;

use super::warning::{Warning, WarningKind, plain};

/// So much of a `SKILL.md` is read to find its frontmatter.
pub(super) const HEAD: usize = 64 * 1_024;

/// The keys that we look at; the rest is the agent's.
#[derive(Deserialize)]
struct Head {
    name: Option<String>,
}

/// What is odd about the frontmatter in `head`, the first [`HEAD`] bytes of
/// the `SKILL.md` of the skill `name`.
pub(super) fn warnings(name: &str, head: &[u8]) -> Vec<Warning> {
    match declared_name(head) {
        Ok(None) => Vec::new(),
        Ok(Some(declared)) if declared == name => Vec::new(),
        Ok(Some(declared)) => vec![Warning::new(
            WarningKind::NameMismatch,
            format!(
                "skill `{}`: its frontmatter calls it `{}`, agents expect the directory's name",
                plain(name),
                plain(declared)
            ),
        )],
        Err(cause) => vec![Warning::new(
            WarningKind::Frontmatter,
            format!("skill `{}`: its frontmatter does not parse: {}", plain(name), plain(cause)),
        )],
    }
}

fn declared_name(head: &[u8]) -> Result<Option<String>, String> {
    let parsed: Result<Option<Head>, _> = parse(block(head)?);
    parsed.map(|found| found.and_then(|head| head.name)).map_err(|error| first_line(&error))
}

/// Reads YAML within bounds.
pub(super) fn parse<'a, T: Deserialize<'a>>(yaml: &'a str) -> Result<T, serde_saphyr::Error> {
    let budget = serde_saphyr::budget! { max_depth: 64, max_aliases: 64, max_nodes: 10_000 };
    let options = serde_saphyr::options! { with_snippet: false, budget: budget };
    serde_saphyr::from_str_with_options(yaml, options)
}

/// What is wrong with YAML, on one line.
pub(super) fn first_line(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or("unknown cause").to_owned()
}

/// The text between the two `---` lines.
pub(super) fn block(head: &[u8]) -> Result<&str, String> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut from = None;
    let mut at = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let fence = line.trim_ascii_end() == b"---";
        match from {
            None if fence => from = Some(at + line.len()),
            None => return Err("no `---` on the first line".to_owned()),
            Some(from) if fence => {
                return std::str::from_utf8(&head[from..at]).map_err(|_| "not UTF-8".to_owned());
            }
            Some(_) => {}
        }
        at += line.len();
    }
    Err(match from {
        None => "the file is empty".to_owned(),
        Some(_) if head.len() >= HEAD - 3 => format!("no closing `---` in the first {} KiB", HEAD / 1_024),
        Some(_) => "no closing `---`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{HEAD, warnings};

    fn messages(head: &[u8]) -> Vec<String> {
        warnings("alpha", head).iter().map(ToString::to_string).collect()
    }

    /// SKL-1: names that match say nothing; CRLF, a BOM and a missing name are no fault.
    #[test]
    fn matching_frontmatter_is_silent() {
        for good in [
            "---\nname: alpha\ndescription: x\n---\nbody\n",
            "\u{feff}---\r\nname: alpha\r\n---\r\n",
            "---\nname: \"alpha\"\nmetadata: {a: [1, 2]}\n---",
            "---\ndescription: x\n---\n",
            "---\n---\n",
        ] {
            assert_eq!(messages(good.as_bytes()), Vec::<String>::new(), "{good:?}");
        }
    }

    /// SKL-1: a name is text even where YAML would read a number or a truth.
    #[test]
    fn a_name_is_text() {
        for name in ["123", "true", "1e3", "0x10"] {
            let head = format!("---\nname: {name}\n---\n");
            assert_eq!(warnings(name, head.as_bytes()), [], "{name}");
        }
    }

    /// SKL-1: a frontmatter `name` that differs is a warning.
    #[test]
    fn a_name_that_differs_is_a_warning() {
        assert_eq!(
            messages(b"---\nname: be\\ta\n---\n"),
            ["skill `alpha`: its frontmatter calls it `be\\ta`, agents expect the directory's name"]
        );
    }

    /// SKL-1: what does not parse is a warning with its cause on one line.
    #[test]
    fn frontmatter_that_does_not_parse_is_a_warning() {
        let cause = |head: &[u8]| {
            let mut found = messages(head);
            assert_eq!(found.len(), 1, "{found:?}");
            let message = found.remove(0);
            assert!(!message.contains('\n'), "{message:?}");
            message.strip_prefix("skill `alpha`: its frontmatter does not parse: ").unwrap().to_owned()
        };
        assert_eq!(cause(b""), "the file is empty");
        assert_eq!(cause(b"# a title\n"), "no `---` on the first line");
        assert_eq!(cause(b"---\nname: alpha\n"), "no closing `---`");
        assert_eq!(cause(b"---\nname: \xff\n---\n"), "not UTF-8");
        assert_eq!(
            cause(&[b"---\n", vec![b'a'; HEAD - 4].as_slice()].concat()),
            "no closing `---` in the first 64 KiB"
        );
        assert!(!cause(b"---\nname: [a, b]\n---\n").is_empty());
        assert!(!cause(b"---\ndescription: a: b: c\n---\n").is_empty());
    }

    /// SKL-1: aliases that multiply are refused, not expanded.
    #[test]
    fn a_yaml_bomb_is_a_warning() {
        let mut bomb = String::from("---\na0: &a0 [x, x]\n");
        for n in 1..40 {
            let before = n - 1;
            bomb.push_str(&format!("a{n}: &a{n} [*a{before}, *a{before}]\n"));
        }
        bomb.push_str("---\n");
        assert_eq!(messages(bomb.as_bytes()).len(), 1);
    }
}
