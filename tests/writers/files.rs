//! Random valid files: every form in which a harness can be written, with odd spacing.

use harnessd::config::{TableKind, known_keys};
use harnessd::edit;

use crate::dice::Dice;

/// A file and the harnesses and keys in it.
pub(crate) struct Sample {
    pub(crate) text: String,
    /// The paths of all keys.
    pub(crate) keys: Vec<Vec<String>>,
    /// Their values as they are written.
    pub(crate) values: Vec<String>,
}

const NAMES: [&str; 4] = ["a", "b-1", "c_c", "zz"];
const COMMENTS: [&str; 4] = ["# why", "#", "# [harness.x]", "# cmd = \"é\" 'x"];

/// The value of an example line of the table of keys.
pub(crate) fn example(key: &str) -> &'static str {
    let known = known_keys(TableKind::Harness).iter().find(|known| known.name == key).unwrap();
    known.example.split_once('=').unwrap().1.trim()
}

/// A value for a key, in one of several spellings.
fn value(key: &str, inline: bool, dice: &mut Dice) -> String {
    let plain = example(key);
    let lists = plain.starts_with('[');
    match dice.below(6) {
        0 if lists && !inline => plain.replace('[', "[ # one\n  ").replace(']', ",\n\n]"),
        1 if lists => plain.replace('[', "[  ").replace(']', " , ]"),
        2 if plain.starts_with('"') && !plain.contains('\'') => plain.replace('"', "'"),
        3 if plain.starts_with('"') => plain.replacen('"', "\"\\u00e9 # ", 1),
        4 if plain.starts_with('"') && !inline => format!("\"\"\"\nx {}\n\"\"\"", plain.trim_matches('"')),
        5 if plain.starts_with('{') => "{}".to_owned(),
        _ => plain.to_owned(),
    }
}

fn spaces(dice: &mut Dice) -> &'static str {
    dice.pick(&["", " ", " ", "  ", "\t"])
}

fn key(name: &str, dice: &mut Dice) -> String {
    let quoted = name.contains('.');
    match dice.below(6) {
        0 => format!("\"{name}\""),
        _ if quoted => format!("'{name}'"),
        1 => format!("'{name}'"),
        _ => name.to_owned(),
    }
}

fn dotted(names: &[&str], dice: &mut Dice) -> String {
    let parts: Vec<String> = names.iter().map(|name| key(name, dice)).collect();
    let space = if dice.chance(15) { spaces(dice) } else { "" };
    parts.join(&format!("{space}.{space}"))
}

fn comment(dice: &mut Dice) -> String {
    if dice.chance(25) { format!("{}{}", spaces(dice), dice.pick(&COMMENTS)) } else { String::new() }
}

/// A file.
pub(crate) fn sample(dice: &mut Dice) -> Sample {
    let mut whole = Sample { text: String::new(), keys: Vec::new(), values: Vec::new() };
    let form = dice.below(8);
    let mut tables = Vec::new();
    for name in &NAMES[..1 + dice.below(NAMES.len())] {
        tables.push(match form {
            0 => lines(&["harness", name], &["harness", name], dice, &mut whole),
            1 => lines(&[name], &["harness", name], dice, &mut whole),
            2 => format!("{} = {}", key(name, dice), braces(name, dice, &mut whole)),
            _ => table(name, dice, &mut whole),
        });
    }
    match form {
        1 => whole.text.push_str("[harness]\n"),
        2 => {
            let all = tables.join(", ");
            whole.text = format!("harness={{{}{all}{}}}{}\n", spaces(dice), spaces(dice), comment(dice));
            tables.clear();
        }
        3.. if dice.chance(30) => whole.text.push_str("# head\n\n[defaults]\nstop_timeout = \"5s\"\n\n"),
        _ => {}
    }
    whole.text.push_str(&tables.concat());
    if dice.chance(20) {
        whole.text.push_str("\n[notify] # who\ncommand = [\n  'mail',\n]\n# end\n");
    }
    if dice.chance(30) {
        whole.text = whole.text.replace('\n', "\r\n");
        whole.values.iter_mut().for_each(|value| *value = value.replace('\n', "\r\n"));
    }
    if dice.chance(30) {
        whole.text.truncate(whole.text.trim_end().len());
    }
    assert!(edit::place(&whole.text, &[]).is_some(), "{}", whole.text);
    whole
}

/// Some keys of a harness, each once.
fn some_keys(dice: &mut Dice) -> Vec<&'static str> {
    let known = known_keys(TableKind::Harness);
    let share = 3 + dice.below(40);
    known.iter().map(|key| key.name).filter(|_| dice.chance(share)).collect()
}

/// Entries in lines, each below `prefix`.
fn lines(prefix: &[&str], path: &[&str], dice: &mut Dice, whole: &mut Sample) -> String {
    let mut text = String::new();
    let indent = spaces(dice);
    for name in some_keys(dice) {
        if dice.chance(10) {
            text.push_str(&format!("{}\n", comment(dice)));
        }
        let inner: &[&str] = match name {
            "env" if dice.chance(60) => &["env", "A.B"],
            "budget" if dice.chance(60) => &["budget", "max_tokens"],
            _ => &[name],
        };
        let value = if inner.len() > 1 { "5".to_owned() } else { value(name, false, dice) };
        let key = dotted(&[prefix, inner].concat(), dice);
        text.push_str(&format!("{indent}{key}{}={}{value}{}\n", spaces(dice), spaces(dice), comment(dice)));
        whole.keys.push([path, inner].concat().into_iter().map(str::to_owned).collect());
        whole.values.push(value);
    }
    text
}

/// A table with a header, and tables of its own now and then.
fn table(name: &str, dice: &mut Dice, whole: &mut Sample) -> String {
    let path = ["harness", name];
    let mut text = format!("{}[{}]{}\n", spaces(dice), dotted(&path, dice), comment(dice));
    text.push_str(&lines(&[], &path, dice, whole));
    let has_env = whole.keys.iter().any(|key| key[1] == name && key[2] == "env");
    if !has_env && dice.chance(30) {
        text.push_str(&format!("\n[{}]\nRUST_LOG = 'info'\n", dotted(&["harness", name, "env"], dice)));
        whole.keys.push(["harness", name, "env", "RUST_LOG"].map(str::to_owned).to_vec());
        whole.values.push("'info'".to_owned());
    }
    text.push_str(dice.pick(&["", "\n", "\n\n", "# behind\n\n"]));
    text
}

/// An inline table.
fn braces(name: &str, dice: &mut Dice, whole: &mut Sample) -> String {
    let mut entries = Vec::new();
    for inner in some_keys(dice) {
        let value = value(inner, true, dice);
        entries.push(format!("{}{}={}{value}", dotted(&[inner], dice), spaces(dice), spaces(dice)));
        whole.keys.push(["harness", name, inner].map(str::to_owned).to_vec());
        whole.values.push(value);
    }
    format!(
        "{{{}{}{}}}",
        spaces(dice),
        entries.join(&format!("{},{}", spaces(dice), spaces(dice))),
        spaces(dice)
    )
}
