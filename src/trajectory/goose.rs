//! Goose's database.
//!
//! Messages and calls are rows that are only added; times are whole seconds. When a history is replaced by a
//! summary, what stays of it is written again with new numbers. A copied session keeps the times of the
//! original, and is made later.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Database, Head, Layout, Row, Watermark};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{self, at, items, seconds};
use super::rows::{amount, count, document, launch_id, text, whole};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Database(Database {
    needs: &[
        ("sessions", &["id", "name", "session_type", "working_dir", "created_at", "parent_session_id"]),
        (
            "messages",
            &["id", "message_id", "session_id", "role", "content_json", "created_timestamp", "metadata_json"],
        ),
        (
            "usage_ledger",
            &[
                "id",
                "session_id",
                "created_timestamp",
                "model",
                "input_tokens",
                "output_tokens",
                "total_tokens",
                "cache_read_tokens",
                "cost",
                "cost_source",
                "is_compaction",
            ],
        ),
    ],
    sessions: SESSIONS,
    head,
    records: RECORDS,
});

/// Numbers of rows are never used again, so the largest ones tell that something was added.
const SESSIONS: &str = "
SELECT id, name, session_type, working_dir, parent_session_id,
    CAST(strftime('%s', created_at) AS INTEGER) AS made,
    coalesce((SELECT max(m.id) FROM messages AS m WHERE m.session_id = sessions.id), 0)
        + coalesce((SELECT max(u.id) FROM usage_ledger AS u WHERE u.session_id = sessions.id), 0) AS changed
FROM sessions ORDER BY created_at, id";

/// Both kinds in the order in which they were added, merged by their times. `again`: all rows that are told are
/// gone, so these may be copies of them. What is carried forward into the ledger was used before there was one,
/// or by the session that this one is a copy of.
const RECORDS: &str = "
SELECT 'message' AS kind, id AS number, created_timestamp AS at,
    max(created_timestamp) OVER (ORDER BY id) AS rank,
    message_id, role, content_json AS data, metadata_json AS metadata,
    :time > 0 AND (SELECT min(id) FROM messages WHERE session_id = :session) > :time AS again,
    NULL AS model, NULL AS input, NULL AS output, NULL AS total, NULL AS cached, NULL AS cost, NULL AS compaction
FROM messages WHERE session_id = :session AND id > :time
UNION ALL
SELECT 'usage', id, created_timestamp, max(created_timestamp) OVER (ORDER BY id), NULL, NULL, NULL, NULL, 0,
    model, input_tokens, output_tokens, total_tokens, cache_read_tokens, cost, is_compaction
FROM usage_ledger
WHERE session_id = :session AND id > CAST(:id AS INTEGER) AND cost_source IS NOT 'carried_forward'
ORDER BY rank, kind, number";

fn head(row: &Row) -> Option<Head> {
    let kinship =
        if text(row, "session_type") == Some("sub_agent") { Kinship::SubAgent } else { Kinship::Forked };
    let parent = text(row, "parent_session_id").filter(|id| !id.is_empty());
    Some(Head {
        id: text(row, "id")?.to_owned(),
        cwd: text(row, "working_dir").map(str::to_owned),
        started_at: seconds(row.get("made")),
        changed: whole(row, "changed").unwrap_or(0),
        parent: parent.map(|id| Parent { id: id.to_owned(), kinship }),
    })
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// When the session was made: older rows are copies.
    made: i64,
    /// The numbers of the last message and the last call that are told.
    message: i64,
    usage: i64,
    /// The latest second of a told message, and the ids of those told in it.
    latest: i64,
    in_latest: Vec<String>,
}

impl Read for Reader {
    fn head(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some(head) = head(row) else { return };
        self.made = whole(row, "made").unwrap_or(0);
        told.session.id = head.id;
        told.session.parent = head.parent;
        told.session.title = text(row, "name").map(str::to_owned);
        // Under the name that it is given it makes no title, and asks the model for none.
        told.session.launched_as = launch_id(row, "name");
        told.cwd(head.cwd.as_deref().unwrap_or_default());
        told.seen(head.started_at);
    }

    fn row(&mut self, row: &Row, told: &mut Told<'_>) {
        let (Some(number), Some(at)) = (whole(row, "number"), whole(row, "at")) else {
            told.oddities.malformed += 1;
            return;
        };
        let is_usage = text(row, "kind") == Some("usage");
        let last = if is_usage { &mut self.usage } else { &mut self.message };
        if number <= *last {
            return;
        }
        *last = number;
        // Places of messages are even, those of calls odd.
        told.place = u64::try_from(number).unwrap_or(0) * 2 + u64::from(is_usage);
        let copied = at < self.made;
        let when = seconds(row.get("at"));
        if is_usage {
            if !copied {
                told.seen(when);
                call(row, number, when, told);
            }
            return;
        }
        if self.is_told_again(row, at) {
            return;
        }
        if !copied {
            told.seen(when);
        }
        message(row, when, copied, told);
    }

    fn watermark(&self) -> Watermark {
        Watermark { time: self.message, id: self.usage.to_string() }
    }
}

impl Reader {
    /// Whether a message is one that was told under another number; it counts as told from now on.
    fn is_told_again(&mut self, row: &Row, at: i64) -> bool {
        let id = text(row, "message_id").unwrap_or_default();
        let known = at < self.latest || at == self.latest && self.in_latest.iter().any(|told| told == id);
        if whole(row, "again") == Some(1) && known {
            return true;
        }
        if at > self.latest {
            self.latest = at;
            self.in_latest.clear();
        }
        if at == self.latest && self.in_latest.len() < 1024 {
            self.in_latest.push(id.to_owned());
        }
        false
    }
}

/// A call of the model.
fn call(row: &Row, number: i64, when: Option<Wall>, told: &mut Told<'_>) {
    let (mut input, output) = (count(row, "input"), count(row, "output"));
    if input == 0 && output == 0 {
        // A total that is not split.
        input = count(row, "total");
    }
    let tokens = Tokens { input, cached: count(row, "cached").min(input), output };
    if input > 0 && whole(row, "compaction") != Some(1) {
        told.context(when, input, None);
    }
    let call = Call {
        key: format!("{}:{number}", told.session.id),
        model: text(row, "model").map(str::to_owned),
        tokens: Some(tokens),
        cost_usd: amount(row, "cost").filter(|cost| *cost > 0.0),
    };
    told.call(when, None, call);
}

fn message(row: &Row, when: Option<Wall>, copied: bool, told: &mut Told<'_>) {
    let id = text(row, "message_id");
    let metadata = document(row, "metadata").unwrap_or(Value::Null);
    if let Some(model) = record::text(&metadata, &["inference", "requestedModel"]).filter(|_| !copied) {
        told.model(when, model);
    }
    let Some(Value::Array(contents)) = document(row, "data") else {
        told.oddities.malformed += 1;
        return;
    };
    for content in &contents {
        piece(content, text(row, "role").unwrap_or_default(), id, when, told);
    }
}

fn piece(content: &Value, role: &str, id: Option<&str>, when: Option<Wall>, told: &mut Told<'_>) {
    let kind = record::text(content, &["type"]).unwrap_or_default();
    let text = |keys: &[&str]| record::text(content, keys).unwrap_or_default().to_owned();
    match kind {
        "text" if role == "assistant" => told.event(when, id, What::Assistant { text: text(&["text"]) }),
        "text" => told.event(when, id, What::User { text: text(&["text"]) }),
        "thinking" => told.event(when, id, What::Reasoning { text: text(&["thinking"]) }),
        "redactedThinking" => told.event(when, id, What::Reasoning { text: String::new() }),
        "toolRequest" | "frontendToolRequest" => {
            let call = record::text(content, &["id"]).or(id);
            let value = at(content, &["toolCall", "value"]).unwrap_or(&Value::Null);
            let name = record::text(value, &["name"]).unwrap_or_default();
            let input = value.get("arguments").cloned().unwrap_or(Value::Null);
            told.tool_call(when, call, name, input);
            if let Some(error) = record::text(content, &["toolCall", "error"]) {
                told.event(when, call, What::Error { message: error.to_owned() });
            }
        }
        "toolResponse" => {
            let of = record::text(content, &["id"]).map(str::to_owned);
            let failed = record::text(content, &["toolResult", "status"]).map(|status| status != "success");
            let stated = at(content, &["toolResult", "value", "isError"]).and_then(Value::as_bool);
            let error = match (failed, stated) {
                (Some(true), _) => Some(true),
                (failed, stated) => stated.or(failed),
            };
            let parts = items(content, &["toolResult", "value", "content"]);
            let mut lines: Vec<&str> =
                parts.iter().filter_map(|part| record::text(part, &["text"])).collect();
            lines.extend(record::text(content, &["toolResult", "error"]));
            told.event(when, id, What::ToolResult { of, error, text: lines.join("\n") });
        }
        "error" => told.event(when, id, What::Error { message: text(&["message"]) }),
        "conversationCompacted" | "summarizationRequested" | "contextLengthExceeded" => {
            told.event(when, id, What::Compaction);
        }
        "image" | "systemNotification" | "toolConfirmationRequest" | "actionRequired" => {
            told.event(when, id, What::Other { name: kind.to_owned() });
        }
        _ => {
            told.oddities.unknown(kind);
            told.event(when, id, What::Other { name: kind.to_owned() });
        }
    }
}
