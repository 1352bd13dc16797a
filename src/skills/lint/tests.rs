//! SKL-13: each public rule for `SKILL.md`, and what each finding says.

use camino::Utf8Path;

use super::{CODES, lint};
use crate::base::{Format, SourceText, Sources, render};

/// `line:column: code: message` of each finding about a skill called `alpha`.
fn findings(text: &str) -> Vec<String> {
    let file = Utf8Path::new("alpha/SKILL.md");
    let found = lint(file, "alpha", text);
    for one in &found {
        assert!(one.help.is_some(), "no help for `{}`", one.message);
        assert!(CODES.iter().any(|(code, _)| *code == one.code), "{} is not in the table", one.code);
        let span = one.place.span.clone().unwrap();
        assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}");
    }
    let mut sources = Sources::default();
    sources.insert(file.to_owned(), SourceText::new(text));
    let short = render(&found, &sources, Format::Short);
    short.lines().map(|line| line.replace("alpha/SKILL.md:", "").replace("harnessd::skill::", "")).collect()
}

/// The findings where `line` stands beside a right name and description.
fn beside(line: &str) -> Vec<String> {
    findings(&format!("---\nname: alpha\ndescription: does it\n{line}\n---\nbody\n"))
}

/// SKL-13: what the public validator takes has no finding, CRLF and long characters included.
#[test]
fn what_the_rules_allow_is_silent() {
    let long = "é".repeat(1024);
    for good in [
        "---\nname: alpha\ndescription: does it\n---\n".to_owned(),
        "---\r\nname: alpha\r\ndescription: does it\r\n---\r\nbody --- [x]\r\n".to_owned(),
        format!("---\nname: alpha\ndescription: {long}\n---\n"),
        "---\nname: 'alpha'\ndescription: >-\n  does\n  it\nlicense: MIT\ncompatibility: needs git\n\
         metadata:\n  version: 1.0\n  author: me\nallowed-tools: Read Bash(git:*)\n---\n"
            .to_owned(),
    ] {
        assert_eq!(findings(&good), Vec::<String>::new(), "{good}");
    }
}

/// SKL-13: a frontmatter that is not there or no table is one finding, with its place.
#[test]
fn a_frontmatter_that_cannot_be_read_is_one_finding() {
    assert_eq!(findings(""), ["1:1: frontmatter: the file is empty"]);
    assert_eq!(findings("# alpha\n"), ["1:1: frontmatter: no `---` on the first line"]);
    assert_eq!(findings("\n---\nname: alpha\n---\n"), ["1:1: frontmatter: no `---` on the first line"]);
    assert_eq!(findings("---\nname: alpha\n"), ["1:1: frontmatter: no closing `---`"]);
    for (text, line) in [
        ("---\nname: alpha\ndescription: a: b\n---\n", "3:"),
        ("---\nname: alpha\nname: alpha\ndescription: b\n---\n", "3:"),
        ("---\n- name\n---\n", "2:"),
    ] {
        let found = findings(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(line) && found[0].contains(": yaml: "), "{found:?}");
    }
}

/// SKL-13: a byte-order mark is a finding, and hides none of the others.
#[test]
fn a_byte_order_mark_is_an_error() {
    assert_eq!(
        findings("\u{feff}---\nname: beta\ndescription: x\n---\n"),
        [
            "1:1: encoding: the file begins with a byte-order mark, and so not with `---`",
            "2:7: name_mismatch: the name `beta` is not that of the directory, `alpha`"
        ]
    );
}

/// SKL-13: `name` and `description` must be there, and say something.
#[test]
fn name_and_description_are_needed() {
    assert_eq!(
        findings("---\nlicense: MIT\n---\n"),
        [
            "2:1: missing_key: the frontmatter has no `name`",
            "2:1: missing_key: the frontmatter has no `description`"
        ]
    );
    assert_eq!(
        findings("---\nname:\ndescription: ' '\n---\n"),
        ["2:1: empty_value: `name` is empty", "3:14: empty_value: `description` is empty"]
    );
}

/// SKL-13: the grammar of names, and that the name is the directory's.
#[test]
fn a_name_is_that_of_the_directory_and_of_the_grammar() {
    let named = |name: &str| findings(&format!("---\nname: {name}\ndescription: x\n---\n"));
    for bad in ["Alpha", "-alpha", "alpha-", "al--pha", "al_pha", "al pha"] {
        assert_eq!(
            named(bad),
            [
                format!("2:7: name: `{bad}` is no name of a skill"),
                format!("2:7: name_mismatch: the name `{bad}` is not that of the directory, `alpha`")
            ]
        );
    }
    let long = "a".repeat(65);
    assert_eq!(named(&long)[0], "2:7: too_long: `name` has 65 characters, at most 64 are allowed");
    assert_eq!(
        named("技能")[0],
        "2:7: name: warning: some readers take only `a` to `z`, digits and hyphens in a name like `技能`"
    );
    // As it is written, not as the number that YAML reads.
    assert_eq!(named("1e3"), ["2:7: name_mismatch: the name `1e3` is not that of the directory, `alpha`"]);
}

/// SKL-13: a key that the public rules do not know is an error with the nearest one.
#[test]
fn other_keys_are_errors() {
    assert_eq!(beside("licence: MIT"), ["4:1: unknown_key: the public rules know no key `licence`"]);
    assert_eq!(
        beside("disable-model-invocation: true"),
        ["4:1: unknown_key: the public rules know no key `disable-model-invocation`"]
    );
}

/// SKL-13: types and lengths of the other keys.
#[test]
fn values_have_their_types_and_lengths() {
    assert_eq!(
        beside("license: {a: b}")[0],
        "4:1: strict_yaml: warning: readers of strict YAML refuse a list or table in brackets"
    );
    assert_eq!(beside("license:\n  - MIT"), ["5:3: wrong_type: `license` takes a text, not a list"]);
    assert_eq!(beside("metadata: x"), ["4:11: wrong_type: `metadata` takes a table of texts, not a text"]);
    assert_eq!(
        beside("metadata:\n  a:\n    - b"),
        ["4:1: wrong_type: warning: `metadata` holds more than texts"]
    );
    assert_eq!(
        beside("allowed-tools:\n  - Read"),
        ["4:1: wrong_type: warning: `allowed-tools` is one text by the public rules, not a list"]
    );
    assert_eq!(
        beside(&format!("compatibility: {}", "x".repeat(501))),
        ["4:16: too_long: `compatibility` has 501 characters, at most 500 are allowed"]
    );
    assert_eq!(
        findings(&format!("---\nname: alpha\ndescription: {}\n---\n", "é".repeat(1025))),
        ["3:14: too_long: `description` has 1025 characters, at most 1024 are allowed"]
    );
}

/// SKL-13: what the public validator and other readers trip over is a warning.
#[test]
fn what_only_some_readers_refuse_is_a_warning() {
    let described = |text: &str| findings(&format!("---\nname: alpha\ndescription: {text}\n---\n"));
    assert_eq!(
        described("for <x> files"),
        ["3:14: markup: warning: some readers refuse `<` and `>` in a description"]
    );
    assert_eq!(
        described("a --- b"),
        ["3:16: fence: warning: some readers end the frontmatter at this `---`"]
    );
    assert_eq!(
        described("&a does it"),
        ["3:1: strict_yaml: warning: readers of strict YAML refuse an anchor"]
    );
    assert_eq!(described("!!str it"), ["3:1: strict_yaml: warning: readers of strict YAML refuse a tag"]);
}

/// SKL-13: whatever stands in the file, the answer is findings within the text.
#[test]
fn hostile_text_is_answered() {
    let mut bomb = String::from("---\na0: &a0 [x, x]\n");
    for n in 1..40 {
        bomb.push_str(&format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1));
    }
    bomb.push_str("---\n");
    let nested = format!("---\nname: {}\n---\n", "[".repeat(60_000));
    let blank = format!("---\n{}", "é\n".repeat(60_000));
    for text in [
        bomb.as_str(),
        &nested,
        &blank,
        "---\n\u{202e}: \u{1b}[2J\n---\n",
        "---\n? [a]\n: b\n---\n",
        "---\n&a\n---",
    ] {
        assert!(!findings(text).is_empty());
    }
}
