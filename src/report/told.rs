//! What one record of an agent's output tells.

use serde_json::{Map, Value};

use super::statement::Statement;
use super::words::shortened;

/// What one record tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// The id that the agent gave its session.
    Session(String),
    /// A whole text of the agent's.
    Text(String),
    /// The next piece of a text.
    Piece(String),
    /// A tool is called: its name, and with what, in a line.
    Tool(String, String),
    /// Something went wrong, and it may go on.
    Trouble(String),
    /// A line that is an error of its own if it ends as failed, and else nothing.
    Perhaps(String),
    /// Its answer, which may have been told before.
    Answer(String),
    /// How it ended: its terminal record.
    End(Statement),
    /// It goes on: what it stated before was not the end.
    Resumed,
}

/// The characters of a tool call that are shown.
const SHOWN: usize = 160;
/// The arguments that say best what a tool is called for, best first.
const TELLING: [&str; 12] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "skill",
    "description",
    "prompt",
    "tool",
];

/// The longest id of a session.
const LONGEST_ID: usize = 128;

impl Told {
    /// An id of a session, if it looks like one.
    pub(super) fn session(id: Option<&str>) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let id = id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(plain))?;
        Some(Self::Session(id.to_owned()))
    }

    /// A call of `name` with these arguments.
    pub(super) fn tool(name: &str, arguments: Option<&Value>) -> Self {
        Self::Tool(shortened(name, SHOWN), arguments.map(in_a_line).unwrap_or_default())
    }
}

fn in_a_line(arguments: &Value) -> String {
    let map: Option<&Map<String, Value>> = arguments.as_object();
    let telling = map.and_then(|map| TELLING.iter().find_map(|key| map.get(*key)?.as_str()));
    match (telling.or_else(|| arguments.as_str()), arguments) {
        (Some(text), _) => {
            let mut lines = text.trim().lines();
            let first = lines.next().unwrap_or_default();
            let more = if lines.next().is_some() { " …" } else { "" };
            shortened(first, SHOWN) + more
        }
        (None, Value::Null) => String::new(),
        (None, Value::Object(map)) if map.is_empty() => String::new(),
        (None, other) => shortened(&other.to_string(), SHOWN),
    }
}

/// The text at a path of keys.
pub(super) fn text<'a>(record: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().try_fold(record, |value, key| value.get(*key))?.as_str()
}

/// The items of the list at a path of keys.
pub(super) fn items<'a>(record: &'a Value, keys: &[&str]) -> &'a [Value] {
    let list = keys.iter().try_fold(record, |value, key| value.get(*key)).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
