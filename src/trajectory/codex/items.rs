//! What a line says, as events.

use std::collections::VecDeque;

use serde_json::Value;

use crate::base::Wall;
use crate::trajectory::classify::classify;
use crate::trajectory::model::What;
use crate::trajectory::record::{items, short, text};
use crate::trajectory::told::Told;

/// Calls of tools whose state was told before their result, and whether they failed.
pub(super) type States = VecDeque<(String, bool)>;

pub(super) fn events(kind: &str, value: &Value, at: Option<Wall>, states: &mut States, told: &mut Told<'_>) {
    let none = Value::Null;
    let payload = value.get("payload").unwrap_or(&none);
    match kind {
        "response_item" => item(payload, at, states, told),
        "event_msg" => message(payload, at, states, told),
        "compacted" => told.event(at, None, What::Compaction),
        "session_meta" | "turn_context" | "token_usage_record" => (),
        "world_state" => told.event(at, None, other(kind)),
        _ => {
            told.oddities.unknown(kind);
            told.event(at, None, other(kind));
        }
    }
}

fn other(name: &str) -> What {
    What::Other { name: name.to_owned() }
}

/// What the model was given and gave.
fn item(item: &Value, at: Option<Wall>, states: &mut States, told: &mut Told<'_>) {
    let call = text(item, &["call_id"]).or_else(|| text(item, &["id"]));
    let id = text(item, &["id"]).or(call);
    match text(item, &["type"]).unwrap_or_default() {
        "message" => {
            let said = joined(item, "content");
            let assistant = text(item, &["role"]) == Some("assistant");
            // The program's own instructions have the role `developer`: they are said to the model, not by it.
            let what = if assistant { What::Assistant { text: said } } else { What::User { text: said } };
            told.event(at, id, what);
        }
        "reasoning" => {
            let parts = [joined(item, "summary"), joined(item, "content")];
            let thought: Vec<&str> =
                parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            told.event(at, id, What::Reasoning { text: thought.join("\n") });
        }
        "function_call" => {
            let input = parsed(item.get("arguments"));
            tool(item, text(item, &["name"]).unwrap_or_default(), input, at, call, told);
        }
        "custom_tool_call" => {
            let input = item.get("input").cloned().unwrap_or_default();
            tool(item, text(item, &["name"]).unwrap_or_default(), input, at, call, told);
        }
        kind @ ("local_shell_call" | "web_search_call" | "tool_search_call") => {
            let input = item.get("action").or_else(|| item.get("arguments")).cloned().unwrap_or_default();
            tool(item, kind.trim_end_matches("_call"), input, at, call, told);
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            let output = item.get("output").unwrap_or(&Value::Null);
            let stated = call.and_then(|call| states.iter().rfind(|(of, _)| of == call));
            let error = stated.map(|(_, failed)| *failed).or_else(|| failed(output));
            let text = answer(output);
            told.event(at, id, What::ToolResult { of: call.map(str::to_owned), error, text });
        }
        kind => told.event(at, id, other(kind)),
    }
}

fn tool(item: &Value, name: &str, input: Value, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
    let (action, targets) = classify(name, &input);
    let name = match text(item, &["namespace"]) {
        Some(space) if !space.is_empty() => format!("{space}/{name}"),
        _ => name.to_owned(),
    };
    told.event(at, id, What::ToolCall { name, action, targets, input });
}

/// What the program reports of itself. Much of it repeats an item, and is kept by name only.
fn message(message: &Value, at: Option<Wall>, states: &mut States, told: &mut Told<'_>) {
    let kind = text(message, &["type"]).unwrap_or_default();
    let failure = |keys: &[&str]| text(message, keys).map(|words| What::Error { message: words.to_owned() });
    let call = text(message, &["call_id"]);
    let known = call.and_then(short);
    match kind {
        "token_count" | "thread_settings_applied" => (),
        "error" | "stream_error" => {
            told.event(at, None, failure(&["message"]).unwrap_or_else(|| other(kind)))
        }
        "turn_aborted" => told.event(at, None, failure(&["reason"]).unwrap_or_else(|| other(kind))),
        "task_complete" | "turn_complete" => {
            told.event(at, None, failure(&["error", "message"]).unwrap_or_else(|| other(kind)));
        }
        "exec_command_end" => {
            states.extend(known.zip(exit(message)).map(|(call, code)| (call.to_owned(), code != 0)));
            told.event(at, call, other(kind));
        }
        "patch_apply_end" => {
            let success = message.get("success").and_then(Value::as_bool);
            states.extend(known.zip(success).map(|(call, success)| (call.to_owned(), !success)));
            told.event(at, call, other(kind));
        }
        "item_completed" => completed(message.get("item").unwrap_or(&Value::Null), at, states, told),
        "thread_name_updated" => {
            told.session.title = text(message, &["thread_name"]).map(str::to_owned);
            told.event(at, None, other(kind));
        }
        _ => told.event(at, None, other(kind)),
    }
}

fn completed(item: &Value, at: Option<Wall>, states: &mut States, told: &mut Told<'_>) {
    let id = text(item, &["id"]);
    let kind = text(item, &["type"]).unwrap_or_default();
    let failed = match text(item, &["status"]) {
        Some("failed" | "declined") => Some(true),
        Some("completed") => exit(item).map(|code| code != 0).or(Some(false)),
        _ => None,
    };
    states.extend(id.and_then(short).zip(failed).map(|(id, failed)| (id.to_owned(), failed)));
    if kind == "CollabAgentToolCall" && text(item, &["tool"]) == Some("spawn_agent") {
        for agent in items(item, &["receiver_agents"]) {
            let named = |key| text(agent, &[key]).map(str::to_owned);
            let what = What::SubAgent { session: named("thread_id"), name: named("agent_nickname") };
            told.event(at, id, what);
        }
        return;
    }
    told.event(at, id, other(&format!("item_completed/{kind}")));
}

fn exit(value: &Value) -> Option<i64> {
    value.get("exit_code").and_then(Value::as_i64)
}

/// The texts of a list of parts, or the text that stands in its place.
fn joined(item: &Value, key: &str) -> String {
    if let Some(whole) = text(item, &[key]) {
        return whole.to_owned();
    }
    let part = |part| match text(part, &["text"]) {
        Some(words) => words.to_owned(),
        None => format!("[{}]", text(part, &["type"]).unwrap_or("part")),
    };
    items(item, &[key]).iter().map(part).collect::<Vec<_>>().join("\n")
}

/// Arguments are the text of a JSON document.
fn parsed(arguments: Option<&Value>) -> Value {
    let arguments = arguments.cloned().unwrap_or_default();
    arguments.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(arguments)
}

/// What a tool answered, as text. Some answers are a document with the text in it.
fn answer(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(_) => joined(&serde_json::json!({ "content": output }), "content"),
        _ if output.get("content").is_some() => joined(output, "content"),
        _ => output.to_string(),
    }
}

/// Whether an answer itself says that it failed: by its own flag, by the exit status in the document that it
/// is, or by the program's own lines above what a command wrote.
fn failed(output: &Value) -> Option<bool> {
    if let Some(success) = output.get("success").and_then(Value::as_bool) {
        return Some(!success);
    }
    let text = output.as_str()?;
    if text.starts_with('{') {
        let document: Value = serde_json::from_str(text).ok()?;
        return exit(document.get("metadata")?).map(|code| code != 0);
    }
    const STATUS: [&str; 2] = ["Process exited with code ", "Exit code: "];
    let head = text.lines().take(8).take_while(|line| *line != "Output:");
    let code = head.filter_map(|line| STATUS.iter().find_map(|status| line.strip_prefix(status))).next()?;
    code.trim().parse().ok().map(|code: i64| code != 0)
}
