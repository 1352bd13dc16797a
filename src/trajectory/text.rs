//! Events as text for people.
//!
//! Invariant: what comes out moves no cursor; results and arguments are cut, what was said is not.

use std::fmt::Write as _;

use serde_json::Value;

use super::model::{Action, Call, Event, What};
use crate::base::{Wall, harmless, shortened};

/// So many lines, and characters, of a result are shown.
const RESULT_LINES: usize = 10;
const RESULT: usize = 1200;
/// So many characters of a tool's arguments.
const ARGUMENTS: usize = 200;
/// The column that words begin in, after a time and a role.
const COLUMN: usize = 33;

/// An event as lines of text, each with its line break.
#[must_use]
pub fn text(event: &Event, time: &dyn Fn(Wall) -> String) -> String {
    let (role, words) = words(&event.what);
    let at = event.at.map(time).unwrap_or_default();
    let mut text = String::new();
    for (number, line) in harmless(words.trim_end()).split('\n').enumerate() {
        let (at, role) = if number == 0 { (at.as_str(), role) } else { ("", "") };
        let _always = write!(text, "{}", format!("{at:<19}  {role:<10}  {line}").trim_end());
        text.push('\n');
    }
    debug_assert_eq!(COLUMN, 19 + 2 + 10 + 2);
    text
}

fn words(what: &What) -> (&'static str, String) {
    match what {
        What::User { text } => ("user", text.clone()),
        What::Assistant { text } => ("assistant", text.clone()),
        What::Reasoning { text } if text.is_empty() => ("reasoning", "(not shown by the agent)".to_owned()),
        What::Reasoning { text } => ("reasoning", text.clone()),
        What::ToolCall { name, action, targets, input } => ("tool", tool(name, *action, targets, input)),
        What::ToolResult { error, text, .. } => {
            (if *error == Some(true) { "failed" } else { "result" }, cut(text))
        }
        What::Model { model } => ("model", model.clone()),
        What::Effort { effort } => ("effort", effort.clone()),
        What::Usage(call) => ("usage", usage(call)),
        What::Context { used, window } => {
            let of = window.map(|window| format!(" of {window}")).unwrap_or_default();
            ("context", format!("{used}{of} tokens"))
        }
        What::Compaction => ("compaction", "the history was replaced by a summary".to_owned()),
        What::SubAgent { session, name } => {
            let parts = [name.as_deref(), session.as_deref()];
            ("sub-agent", parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
        }
        What::Error { message } => ("error", message.clone()),
        What::Output { text } => ("output", text.clone()),
        What::Other { name } => ("other", name.clone()),
    }
}

fn tool(name: &str, action: Action, targets: &[String], input: &Value) -> String {
    let command = ["command", "cmd"].into_iter().find_map(|key| input.get(key)?.as_str());
    let about = match (command, targets, input) {
        (Some(command), ..) => shortened(command.trim(), ARGUMENTS),
        (None, [], Value::Null) => String::new(),
        (None, [], input) => shortened(&input.to_string(), ARGUMENTS),
        (None, targets, _) => shortened(&targets.join(" "), ARGUMENTS),
    };
    let action = if action == Action::Other { String::new() } else { format!(" ({action})") };
    format!("{name}{action} {about}")
}

fn cut(text: &str) -> String {
    let text = text.trim_end();
    let mut short: String = text.lines().take(RESULT_LINES).collect::<Vec<_>>().join("\n");
    if let Some((at, _)) = short.char_indices().nth(RESULT) {
        short.truncate(at);
    }
    let left = text.chars().count().saturating_sub(short.chars().count());
    if left > 0 {
        let _always = write!(short, "\n… ({left} more characters)");
    }
    short
}

fn usage(call: &Call) -> String {
    let mut parts = Vec::new();
    if let Some(tokens) = call.tokens {
        let cached = if tokens.cached > 0 { format!(" ({} cached)", tokens.cached) } else { String::new() };
        parts.push(format!("input {}{cached}, output {}", tokens.input, tokens.output));
    }
    parts.extend(call.cost_usd.map(|cost| format!("${cost}")));
    parts.extend(call.model.clone());
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;
    use crate::base::Wall;
    use crate::trajectory::{Action, Call, Event, Tokens, What};

    fn shown(what: What) -> String {
        let at = Some(Wall::parse_rfc3339("2026-11-30T12:00:00Z").unwrap_or_default());
        let event = Event { at, id: None, place: (0, 0), what };
        text(&event, &|at| at.utc().format("%Y-%m-%d %H:%M:%S").to_string())
    }

    /// TRJ-7: a person reads who did what, and nothing in it moves the cursor.
    #[test]
    fn events_are_lines_for_people() {
        let stamp = "2026-11-30 12:00:00  ";
        let indent = " ".repeat(33);
        for (what, expected) in [
            (
                What::User { text: "fix \u{1b}[2Jit\nnow\n".to_owned() },
                format!("{stamp}user        fix \\u{{1b}}[2Jit\n{indent}now\n"),
            ),
            (
                What::ToolCall {
                    name: "Bash".to_owned(),
                    action: Action::Verify,
                    targets: vec![],
                    input: json!({"command": "cargo test"}),
                },
                format!("{stamp}tool        Bash (verify) cargo test\n"),
            ),
            (
                What::ToolCall {
                    name: "Edit".to_owned(),
                    action: Action::Edit,
                    targets: vec!["/a".to_owned(), "/b".to_owned()],
                    input: json!({"old": "x"}),
                },
                format!("{stamp}tool        Edit (edit) /a /b\n"),
            ),
            (
                What::ToolResult { of: None, error: Some(true), text: "x\n".repeat(11) },
                format!(
                    "{stamp}failed      x\n{}{indent}… (2 more characters)\n",
                    format!("{indent}x\n").repeat(9)
                ),
            ),
            (
                What::Usage(Call {
                    key: "k".to_owned(),
                    model: Some("m".to_owned()),
                    tokens: Some(Tokens { input: 12, cached: 2, output: 3 }),
                    cost_usd: Some(0.5),
                }),
                format!("{stamp}usage       input 12 (2 cached), output 3, $0.5, m\n"),
            ),
            (
                What::Reasoning { text: String::new() },
                format!("{stamp}reasoning   (not shown by the agent)\n"),
            ),
        ] {
            assert_eq!(shown(what), expected);
        }
    }
}
