//! Crush's database.
//!
//! Times are whole seconds, whatever the comments of its schema say. A message is one row, which is rewritten
//! while the answer comes in. Of tokens only those of the last call are kept, so no calls can be told from
//! them; the cost of a session grows, and that of a sub-agent's is added to its parent's.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Database, Head, Layout, Row, Watermark};
use super::model::{Call, Kinship, Parent, What};
use super::record::{self, seconds};
use super::rows::{Rows, amount, count, document, text, whole};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Database(Database {
    needs: &[
        (
            "sessions",
            &[
                "id",
                "parent_session_id",
                "title",
                "message_count",
                "prompt_tokens",
                "cost",
                "updated_at",
                "created_at",
            ],
        ),
        (
            "messages",
            &["id", "session_id", "role", "parts", "model", "created_at", "updated_at", "finished_at"],
        ),
    ],
    sessions: SESSIONS,
    head,
    records: RECORDS,
});

/// A second is too coarse to tell that something changed; what grows within it is added. Only the last
/// messages change.
const SESSIONS: &str = "
SELECT s.id, s.parent_session_id, s.title, s.prompt_tokens, s.cost, s.created_at, s.updated_at,
    max(s.updated_at, coalesce((SELECT max(m.updated_at) FROM messages AS m WHERE m.rowid IN
            (SELECT rowid FROM messages WHERE session_id = s.id ORDER BY rowid DESC LIMIT 3)), 0)) * 1000000
        + (s.message_count * 4 + (SELECT count(m.finished_at) FROM messages AS m WHERE m.rowid IN
            (SELECT rowid FROM messages WHERE session_id = s.id ORDER BY rowid DESC LIMIT 3))
            + CAST(s.cost * 1e6 AS INTEGER)) % 1000000 AS changed
FROM sessions AS s
ORDER BY s.created_at, s.id";

/// Only an answer is rewritten: until it is finished, or a later one follows. Behind it nothing counts as final.
const RECORDS: &str = "
WITH m AS MATERIALIZED (
    SELECT rowid AS number, created_at AS at, role = 'assistant' AS answer,
        finished_at IS NOT NULL OR EXISTS (
            SELECT 1 FROM json_each(CASE WHEN json_valid(parts) THEN parts ELSE '[]' END) AS part
            WHERE part.type = 'object' AND json_extract(part.value, '$.type') = 'finish') AS finished
    FROM messages WHERE session_id = :session AND (created_at, rowid) >
        (:time, coalesce((SELECT rowid FROM messages WHERE id = :id), -1))
), open AS MATERIALIZED (
    SELECT at, number FROM m WHERE answer AND NOT finished
        AND (at, number) = (SELECT at, number FROM m WHERE answer ORDER BY at DESC, number DESC LIMIT 1)
)
SELECT messages.id AS message, m.number, m.at, role, parts, model, finished_at,
    coalesce((m.at, m.number) < (SELECT at, number FROM open), 1) AS final
FROM m JOIN messages ON messages.rowid = m.number
ORDER BY m.at, m.number";

fn head(row: &Row) -> Option<Head> {
    let parent = text(row, "parent_session_id").filter(|id| !id.is_empty());
    Some(Head {
        id: text(row, "id")?.to_owned(),
        cwd: None,
        started_at: seconds(row.get("created_at")),
        changed: whole(row, "changed").unwrap_or(0),
        parent: parent.map(|id| Parent { id: id.to_owned(), kinship: Kinship::SubAgent }),
    })
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    rows: Rows,
    /// The cost of the session that is told, and in how many steps.
    cost: f64,
    costs: u64,
}

impl Read for Reader {
    fn head(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some(head) = head(row) else { return };
        let own = head.parent.is_none();
        told.session.id = head.id;
        told.session.parent = head.parent;
        told.session.title = text(row, "title").map(str::to_owned);
        told.seen(head.started_at);
        let updated = seconds(row.get("updated_at"));
        told.seen(updated);
        let used = count(row, "prompt_tokens");
        let fuller = used > 0 && told.session.context.is_none_or(|(known, _)| known != used);
        // What a sub-agent cost is in its parent's cost.
        let cost = amount(row, "cost").filter(|cost| own && *cost != self.cost);
        if fuller || cost.is_some() {
            told.place = self.rows.place();
        }
        if fuller {
            told.context(updated, used, None);
        }
        let Some(cost) = cost else { return };
        // A smaller cost began anew.
        let more = if cost < self.cost { cost } else { cost - self.cost };
        self.cost = cost;
        if more > 0.0 {
            let key = format!("{}:cost:{}", told.session.id, self.costs);
            self.costs += 1;
            told.call(updated, None, Call { key, model: None, tokens: None, cost_usd: Some(more) });
        }
    }

    fn row(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some((at, message)) = self.rows.next(row, told) else { return };
        self.tell(row, message, true, told);
        self.rows.complete(at, &format!("{:020}", whole(row, "number").unwrap_or(0)), message);
    }

    fn finish(&mut self, told: &mut Told<'_>) {
        for row in self.rows.take_held() {
            self.tell(&row, text(&row, "message").unwrap_or_default(), false, told);
        }
    }

    fn watermark(&self) -> Watermark {
        self.rows.watermark()
    }
}

impl Reader {
    fn tell(&mut self, row: &Row, message: &str, complete: bool, told: &mut Told<'_>) {
        told.place = self.rows.place();
        told.rank = 0;
        let created = seconds(row.get("at"));
        told.seen(created);
        told.seen(seconds(row.get("finished_at")));
        told.model(created, text(row, "model").unwrap_or_default());
        let Some(Value::Array(parts)) = document(row, "parts") else {
            if self.rows.is_new(message, "parts") {
                told.oddities.malformed += 1;
            }
            return;
        };
        let role = text(row, "role").unwrap_or_default();
        for (nth, part) in parts.iter().enumerate() {
            // The argument of a call is text that grows until it is whole.
            let growing = part["type"] == "tool_call" && part["data"]["finished"] == false;
            if (complete || !growing) && self.rows.is_new(message, &nth.to_string()) {
                tell_part(part, role, message, created, told);
            }
        }
    }
}

fn tell_part(part: &Value, role: &str, message: &str, created: Option<Wall>, told: &mut Told<'_>) {
    let data = part.get("data").unwrap_or(&Value::Null);
    let text = |key: &str| record::text(data, &[key]).unwrap_or_default().to_owned();
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let ended = seconds(data.get("time")).or(created);
    let id = Some(message);
    match kind {
        "text" if role == "assistant" => told.event(created, id, What::Assistant { text: text("text") }),
        "text" => told.event(created, id, What::User { text: text("text") }),
        "reasoning" => told.event(created, id, What::Reasoning { text: text("thinking") }),
        "tool_call" => {
            let (name, input) = (text("name"), text("input"));
            let input = serde_json::from_str(&input).unwrap_or(Value::String(input));
            let call = text("id");
            told.tool_call(created, Some(&call), &name, input);
            if name == "agent" {
                told.event(created, Some(&call), What::SubAgent { session: Some(call.clone()), name: None });
            }
        }
        "tool_result" => {
            let error = data.get("is_error").and_then(Value::as_bool);
            let of = Some(text("tool_call_id")).filter(|of| !of.is_empty());
            told.event(created, id, What::ToolResult { of, error, text: text("content") });
        }
        "finish" if data["reason"] == "error" => {
            let told_why = [text("message"), text("details")];
            let message = told_why.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": ");
            told.event(ended, id, What::Error { message });
        }
        "finish" => told.seen(ended),
        "image_url" | "binary" | "shell_command" => {
            told.event(created, id, What::Other { name: kind.to_owned() });
        }
        _ => {
            told.oddities.unknown(kind);
            told.event(created, id, What::Other { name: kind.to_owned() });
        }
    }
}
