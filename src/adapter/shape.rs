//! The keys of an adapter's table and the kinds of their values.
//!
//! Invariant: a value with no problem here is one that [`super::Adapter`]
//! reads, and every mistake is found, not only the first.

use serde_json::Value;

use crate::base::nearest;

/// One mistake in an adapter's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    /// Keys from the table down; a position in a list is a decimal number.
    pub(super) path: Vec<String>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// What a key may hold.
pub(super) enum Shape {
    Text,
    Flag,
    Texts,
    TextMap,
    JsonMap,
    Word(&'static [&'static str]),
    Table(&'static [(&'static str, Shape)]),
    Tables(&'static [(&'static str, Shape)], &'static [&'static str]),
}

use Shape::{Flag, JsonMap, Table, Tables, Text, TextMap, Texts, Word};

const MEANS: Shape = Table(&[("already", Flag), ("args", Texts), ("json_args", JsonMap), ("env", TextMap)]);

const LAUNCH: Shape = Table(&[
    ("argument", Texts),
    ("stdin", Texts),
    ("misreads", Texts),
    ("model", MEANS),
    ("auto_accept", MEANS),
    ("max_turns", MEANS),
    ("quiet", MEANS),
    ("session_id", Texts),
    ("resume", Texts),
    ("fork", Texts),
]);

const INJECTION: Shape = Table(&[("args", Texts), ("env", TextMap), ("json_env", JsonMap)]);

const REGISTRY: Shape = Table(&[("file", Text), ("list", Text), ("workdir", Text), ("store", Text)]);

const NATIVE: &[(&str, Shape)] =
    &[("at", Text), ("upward", Flag), ("hidden", Word(&["never", "always", "copies", "unmerged"]))];

const SAID: &[(&str, Shape)] = &[("file", Text), ("key", Texts), ("is", Flag)];

/// The whole table.
pub(super) const ADAPTER: Shape = Table(&[
    ("id", Text),
    ("aliases", Texts),
    ("commands", Texts),
    ("verified", Text),
    ("command_env", Text),
    ("search", Texts),
    ("tty", Flag),
    ("approval", MEANS),
    ("oneshot", LAUNCH),
    ("resident", LAUNCH),
    ("quieten", Table(&[("args", Texts), ("env", TextMap)])),
    ("scrub", Texts),
    (
        "skills",
        Table(&[
            ("roots", Texts),
            ("project", Texts),
            ("target", Text),
            ("native", Tables(NATIVE, &["at"])),
            ("args", Texts),
            ("env", TextMap),
            ("json_env", JsonMap),
            ("json_args", JsonMap),
            ("documents", JsonMap),
            ("trust", Table(&[("said", Tables(SAID, &["file", "key"])), ("off", TextMap), ("how", Text)])),
            (
                "hide",
                Table(&[
                    ("shadowed", Text),
                    ("won", Text),
                    ("unmerged", Text),
                    ("entry", Text),
                    ("args", Texts),
                    ("json_env", JsonMap),
                    ("json_args", JsonMap),
                ]),
            ),
        ]),
    ),
    (
        "trajectory",
        Table(&[
            ("format", Text),
            ("stores", Texts),
            ("flags", Texts),
            ("below", Text),
            ("upward", Flag),
            ("without_cwd", Flag),
            ("settings", Tables(&[("files", Texts), ("key", Text)], &["files", "key"])),
            ("registry", REGISTRY),
        ]),
    ),
    ("gateway", INJECTION),
    ("mcp", INJECTION),
    ("outcome", Table(&[("args", Texts), ("format", Text)])),
    ("probe", Table(&[("version", Texts), ("login", Texts)])),
    ("envelope_id", Text),
    ("retention", Table(&[("file", Text), ("key", Text), ("default", Text)])),
]);

impl Shape {
    fn noun(&self) -> String {
        match self {
            Text => "a string".to_owned(),
            Flag => "`true` or `false`".to_owned(),
            Texts => "a list of strings".to_owned(),
            TextMap => "a table of strings".to_owned(),
            JsonMap | Table(_) => "a table".to_owned(),
            Tables(..) => "a list of tables".to_owned(),
            Word(words) => format!("one of `{}`", words.join("`, `")),
        }
    }

    /// Adds every mistake of `value`, which stands at `path`.
    pub(super) fn check(&self, value: &Value, path: &[String], problems: &mut Vec<Problem>) {
        match (self, value) {
            (Text, Value::String(_)) | (Flag, Value::Bool(_)) | (JsonMap, Value::Object(_)) => {}
            (Word(words), Value::String(word)) if words.contains(&word.as_str()) => {}
            (Texts, Value::Array(list)) => {
                for (at, item) in list.iter().enumerate() {
                    Text.check(item, &under(path, &at.to_string()), problems);
                }
            }
            (TextMap, Value::Object(map)) => {
                for (key, item) in map {
                    Text.check(item, &under(path, key), problems);
                }
            }
            (Table(keys), Value::Object(map)) => check_keys(keys, map, path, problems),
            (Tables(keys, required), Value::Array(list)) => {
                for (at, item) in list.iter().enumerate() {
                    let path = under(path, &at.to_string());
                    Table(keys).check(item, &path, problems);
                    let lacks = |key: &&&str| item.is_object() && item.get(**key).is_none();
                    problems.extend(required.iter().filter(lacks).map(|key| Problem {
                        path: path.clone(),
                        message: format!("`{}` lacks the key `{key}`", path.join(".")),
                        help: None,
                    }));
                }
            }
            (Word(words), Value::String(word)) => problems.push(Problem {
                path: path.to_vec(),
                message: format!("`{}` cannot be `{}`", path.join("."), word.escape_debug()),
                help: Some(suggestion(word, words.iter().copied())),
            }),
            _ => problems.push(Problem {
                path: path.to_vec(),
                message: format!("`{}` is {}, not {}", path.join("."), self.noun(), kind(value)),
                help: None,
            }),
        }
    }
}

fn check_keys(
    keys: &'static [(&'static str, Shape)],
    map: &serde_json::Map<String, Value>,
    path: &[String],
    problems: &mut Vec<Problem>,
) {
    for (key, item) in map {
        let path = under(path, key);
        match keys.iter().find(|(known, _)| known == key) {
            Some((_, shape)) => shape.check(item, &path, problems),
            None => problems.push(Problem {
                message: format!("unknown key `{}`", path.join(".")),
                path,
                help: Some(suggestion(key, keys.iter().map(|(known, _)| *known))),
            }),
        }
    }
}

/// The help line for a word that is none of `known`.
pub(super) fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()).as_slice() {
        [] => format!("known here: `{}`", known.collect::<Vec<_>>().join("`, `")),
        near => format!("did you mean `{}`?", near.join("` or `")),
    }
}

/// `path` and one more step.
pub(super) fn under(path: &[String], step: &str) -> Vec<String> {
    path.iter().cloned().chain([step.to_owned()]).collect()
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "`true` or `false`",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{ADAPTER, Shape};
    use crate::adapter::Adapter;

    /// A value that holds every key that a shape knows.
    fn whole(shape: &Shape) -> Value {
        let table = |keys: &[(&str, Shape)]| {
            Value::Object(
                keys.iter().map(|(key, shape)| ((*key).to_owned(), whole(shape))).collect::<Map<_, _>>(),
            )
        };
        match shape {
            Shape::Text => json!("x"),
            Shape::Flag => json!(true),
            Shape::Texts => json!(["x"]),
            Shape::TextMap => json!({"X": "x"}),
            Shape::JsonMap => json!({"X": {}}),
            Shape::Word(words) => json!(words[words.len() - 1]),
            Shape::Table(keys) => table(keys),
            Shape::Tables(keys, _) => Value::Array(vec![table(keys)]),
        }
    }

    /// CFG-8: what the kinds allow is what is read, key for key.
    #[test]
    fn the_keys_that_are_known_are_the_keys_that_are_read() {
        let mut value = whole(&ADAPTER);
        value["tty"] = json!(false);
        value["skills"]["trust"]["said"][0]["is"] = json!(false);
        let mut problems = Vec::new();
        ADAPTER.check(&value, &[], &mut problems);
        assert_eq!(problems, []);
        let adapter: Adapter = serde_json::from_value(value.clone()).unwrap();
        let mut back = serde_json::to_value(&adapter).unwrap();
        value.sort_all_objects();
        back.sort_all_objects();
        assert_eq!(back, value);
    }
}
