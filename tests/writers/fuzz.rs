//! WRT-1, WRT-3: whatever a file holds, a writer answers: it changes what was asked, or nothing.
//!
//! 2,000 executions by default, 1,000,000 with `HARNESSD_FULL=1`, as many as wanted with `HARNESSD_ROUNDS=N`;
//! `HARNESSD_SEED=N` looks at that one alone. The same each time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use harnessd::config::{TableKind, known_keys, written};
use harnessd::edit;

use crate::dice::Dice;
use crate::files::sample;
use crate::meaning::meaning;
use crate::properties::{steps, with};
use crate::seeds::seeds;

const PIECES: [&str; 22] = [
    "[harness.a]\n",
    "[[harness.a]]\n",
    "[harness]\n",
    "harness.a.",
    "[harness.a.env]\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    "=",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "#",
    "\n",
    "\r",
    "\u{feff}",
    "é\u{202e}",
    "\\",
];
const VALUES: [&str; 14] = [
    "x",
    "",
    "1",
    "-0",
    "nan",
    "true",
    "[1, 2]",
    "[\n1, # c\n]",
    "{ A = \"1\" }",
    "2026-01-01",
    "a\"b'c\\d",
    "\u{1b}[2J\u{9b}",
    "é\u{202e}",
    "two\nlines",
];

/// Each execution is one edit of one file, most of them damaged.
#[test]
fn a_writer_answers_whatever_a_file_holds() {
    let (mut tried, mut edited) = (0_u64, 0_u64);
    for seed in seeds(2_000, 1_000_000) {
        let mut dice = Dice::new(seed);
        let run = catch_unwind(AssertUnwindSafe(|| execution(&mut dice)));
        edited += u64::from(run.unwrap_or_else(|_| panic!("HARNESSD_SEED={seed}, as said above")));
        tried += 1;
    }
    println!("{tried} executions, {edited} files edited");
    assert!(tried < 100 || edited > tried / 20, "nearly all was refused");
}

/// Whether an edit was made.
fn execution(dice: &mut Dice) -> bool {
    let sample = sample(dice);
    let mut text = sample.text;
    for _ in 0..dice.below(4) {
        damage(&mut text, dice);
    }
    let known = known_keys(TableKind::Harness);
    let key = match dice.below(8) {
        0 => dice.pick(&["", "a b", "é", "\"", "x\ny", "harness"]).to_owned(),
        _ => known[dice.below(known.len())].name.to_owned(),
    };
    let mut path = vec!["harness".to_owned(), dice.pick(&["a", "b-1", "new"]).to_owned(), key];
    match dice.below(6) {
        0 => path.push(dice.pick(&["A", "max_tokens", "é"]).to_owned()),
        1 => path.truncate(2),
        2 if !sample.keys.is_empty() => path.clone_from(&sample.keys[dice.below(sample.keys.len())]),
        _ => {}
    }
    let at = steps(&path);
    let value = written(&at[2..], dice.pick(&VALUES));
    assert!(edit::value(&value).is_some(), "{value:?} is no value");
    let before = meaning(&text);
    let (result, wanted) = match dice.below(3) {
        0 => (edit::unset(&text, &at), None),
        1 if path.len() == 2 => {
            (edit::add(&text, &at, &[(vec!["cmd"], value.clone())]), Some(format!("{{ cmd = {value} }}")))
        }
        _ => (edit::set(&text, &at, &value), Some(value.clone())),
    };
    let _shown = edit::place(&text, &at);
    let Ok(new) = result else { return false };
    let before = before.unwrap_or_else(|| panic!("no TOML was edited:\n{text}"));
    let after = meaning(&new).unwrap_or_else(|| panic!("an edit left no TOML:\n{text}\n---\n{new}"));
    assert_eq!(after, with(before, &path, wanted.as_deref()), "{path:?} in\n{text}\n---\n{new}");
    let diff = edit::diff("f", &text, &new);
    assert_eq!(diff.is_empty(), text == new);
    true
}

/// One change of some characters: a removed, repeated or foreign piece, or an end.
fn damage(text: &mut String, dice: &mut Dice) {
    let floor = |text: &str, at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let at = floor(text, dice.below(text.len() + 1));
    let to = floor(text, (at + dice.below(40)).min(text.len())).max(at);
    match dice.below(5) {
        0 => text.replace_range(at..to, ""),
        1 => {
            let piece = text[at..to].to_owned();
            text.insert_str(at, &piece);
        }
        2 => text.replace_range(at..to, dice.pick(&PIECES)),
        3 => text.insert_str(at, dice.pick(&PIECES)),
        _ => text.truncate(at),
    }
}
