//! What a row says, as events.

use serde_json::Value;

use super::row::Row;
use crate::base::Wall;
use crate::trajectory::model::What;
use crate::trajectory::record;
use crate::trajectory::told::Told;

/// Rows that the program keeps for itself.
const BOOKKEEPING: [&str; 21] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "content-replacement",
    "cost-state",
    "custom-title",
    "file-history-snapshot",
    "last-prompt",
    "mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "tag",
    "tools-used",
    "worktree-state",
];

pub(super) fn events(kind: &str, value: &Value, row: &Row<'_>, at: Option<Wall>, told: &mut Told<'_>) {
    let id = row.uuid();
    match kind {
        "user" => {
            content(value, at, id, told, |text| What::User { text });
            if let Some(agent) = record::text(value, &["toolUseResult", "agentId"]) {
                let name = record::text(value, &["toolUseResult", "description"]).map(str::to_owned);
                told.event(at, id, What::SubAgent { session: Some(agent.to_owned()), name });
            }
        }
        "assistant" if row.api_error() => content(value, at, id, told, |message| What::Error { message }),
        "assistant" if row.synthetic() => told.event(at, id, other("synthetic")),
        "assistant" => content(value, at, id, told, |text| What::Assistant { text }),
        "system" => told.event(at, id, system(value)),
        "attachment" => {
            let kind = record::text(value, &["attachment", "type"]).unwrap_or_default();
            told.event(at, id, other(&format!("attachment/{kind}")));
        }
        _ => {
            let titles = ["aiTitle", "customTitle", "summary"];
            if let Some(title) = titles.iter().find_map(|key| record::text(value, &[key])) {
                told.session.title = Some(title.to_owned());
            }
            if !BOOKKEEPING.contains(&kind) {
                told.oddities.unknown(kind);
            }
            told.event(at, id, other(kind));
        }
    }
}

fn other(name: &str) -> What {
    What::Other { name: name.to_owned() }
}

fn system(value: &Value) -> What {
    match record::text(value, &["subtype"]).unwrap_or_default() {
        "compact_boundary" => What::Compaction,
        "api_error" => {
            let words = [&["error", "formatted"][..], &["error", "message"], &["content"]];
            let message = words.iter().find_map(|keys| record::text(value, keys)).unwrap_or("api error");
            What::Error { message: message.to_owned() }
        }
        subtype => other(&format!("system/{subtype}")),
    }
}

/// The blocks of a message; `said` makes an event of plain text.
fn content(
    value: &Value,
    at: Option<Wall>,
    id: Option<&str>,
    told: &mut Told<'_>,
    said: impl Fn(String) -> What,
) {
    let Some(content) = record::at(value, &["message", "content"]) else { return };
    if let Some(text) = content.as_str() {
        return told.event(at, id, said(text.to_owned()));
    }
    for block in content.as_array().map_or(&[][..], Vec::as_slice) {
        let text = |key| record::text(block, &[key]).unwrap_or_default();
        let named = |key| record::text(block, &[key]).or(id);
        match text("type") {
            "text" => told.event(at, id, said(text("text").to_owned())),
            "thinking" => told.event(at, id, What::Reasoning { text: text("thinking").to_owned() }),
            "redacted_thinking" => told.event(at, id, What::Reasoning { text: String::new() }),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let input = block.get("input").cloned().unwrap_or_default();
                told.tool_call(at, named("id"), text("name"), input);
            }
            kind if kind.ends_with("tool_result") => {
                let of = record::text(block, &["tool_use_id"]).map(str::to_owned);
                let error = block.get("is_error").and_then(Value::as_bool);
                let text = block.get("content").map(plain).unwrap_or_default();
                told.event(at, id, What::ToolResult { of, error, text });
            }
            kind => told.event(at, id, other(kind)),
        }
    }
}

/// What a tool answered, as text: pictures and the like are named.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let text = |block: &Value| match record::text(block, &["text"]) {
                Some(text) => text.to_owned(),
                None => format!("[{}]", record::text(block, &["type"]).unwrap_or("block")),
            };
            blocks.iter().map(text).collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
