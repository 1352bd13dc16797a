//! OpenCode's database.
//!
//! A message is written before its parts and completed after them, and all of that in place. A fork holds
//! copies of the messages with new ids, which keep the times of the originals and are thus older than their
//! session; nothing says whose copies they are. A message's own tokens are those of its last call, so calls
//! are read from the parts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::layout::{Database, Head, Layout, Row, Watermark};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{at, milliseconds, number};
use super::rows::{Rows, document, text, whole};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Database(Database {
    needs: &[
        ("session", &["id", "parent_id", "directory", "title", "time_created", "time_updated"]),
        ("message", &["id", "session_id", "time_created", "time_updated", "data"]),
        ("part", &["id", "message_id", "time_created", "time_updated", "data"]),
    ],
    sessions: SESSIONS,
    head,
    records: RECORDS,
});

/// The session's own time of change lags behind its messages and parts. Only the last messages change.
const SESSIONS: &str = "
SELECT s.id, s.parent_id, s.directory, s.title, s.time_created,
    max(s.time_updated,
        coalesce((SELECT max(m.time_updated) FROM
            (SELECT time_updated FROM message WHERE session_id = s.id
             ORDER BY time_created DESC, id DESC LIMIT 3) AS m), 0),
        coalesce((SELECT max(p.time_updated) FROM part AS p WHERE p.message_id IN
            (SELECT id FROM message WHERE session_id = s.id
             ORDER BY time_created DESC, id DESC LIMIT 3)), 0)) AS changed
FROM session AS s ORDER BY s.time_created, s.id";

/// The parts of each message in order, then the message itself. It may still change while it is not completed,
/// unless a later answer follows; of what somebody said it is not known until something follows. Behind the
/// first such message none counts as final.
const RECORDS: &str = "
WITH m AS MATERIALIZED (
    SELECT id, time_created AS at, role, model, completed FROM (
        SELECT id, time_created, json_extract(valid, '$.role') AS role,
            json_extract(valid, '$.modelID') AS model, json_extract(valid, '$.time.completed') AS completed
        FROM (SELECT id, time_created, CASE WHEN json_valid(data) THEN data END AS valid
              FROM message WHERE session_id = :session AND time_created >= :time
                  AND (time_created, id) > (:time, :id)))
), open AS MATERIALIZED (
    SELECT at, id FROM m WHERE CASE role
        WHEN 'user' THEN (at, id) = (SELECT at, id FROM m ORDER BY at DESC, id DESC LIMIT 1)
        WHEN 'assistant' THEN completed IS NULL AND (at, id) =
            (SELECT at, id FROM m WHERE role = 'assistant' ORDER BY at DESC, id DESC LIMIT 1)
        ELSE 0 END
    ORDER BY at, id LIMIT 1
)
SELECT m.id AS message, m.at, m.role, m.model, p.id AS part, p.data, p.time_created AS written,
    coalesce((m.at, m.id) < (SELECT at, id FROM open), 1) AS final, 0 AS after
FROM m JOIN part AS p ON p.message_id = m.id
UNION ALL
SELECT m.id, m.at, m.role, m.model, NULL, message.data, NULL,
    coalesce((m.at, m.id) < (SELECT at, id FROM open), 1), 1
FROM m JOIN message ON message.id = m.id
ORDER BY at, message, after, part";

fn head(row: &Row) -> Option<Head> {
    let parent = text(row, "parent_id").filter(|id| !id.is_empty());
    Some(Head {
        id: text(row, "id")?.to_owned(),
        cwd: text(row, "directory").map(str::to_owned),
        started_at: milliseconds(row.get("time_created")),
        changed: whole(row, "changed").unwrap_or(0),
        parent: parent.map(|id| Parent { id: id.to_owned(), kinship: Kinship::SubAgent }),
    })
}

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    rows: Rows,
    /// When the session was made: older messages are copies.
    made: i64,
    /// The message whose calls were last told.
    called: String,
}

/// Where a row belongs.
struct Place<'a> {
    message: &'a str,
    at: Option<Wall>,
    role: &'a str,
    copied: bool,
    /// Whether nothing of the message changes any more.
    complete: bool,
}

impl Read for Reader {
    fn head(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some(head) = head(row) else { return };
        self.made = whole(row, "time_created").unwrap_or(0);
        told.session.id = head.id;
        told.session.parent = head.parent;
        told.session.title = text(row, "title").map(str::to_owned);
        told.cwd(head.cwd.as_deref().unwrap_or_default());
        told.seen(head.started_at);
    }

    fn row(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some((at, message)) = self.rows.next(row, told) else { return };
        self.tell(row, true, told);
        if text(row, "part").is_none() {
            self.rows.complete(at, "", message);
        }
    }

    fn finish(&mut self, told: &mut Told<'_>) {
        for row in self.rows.take_held() {
            self.tell(&row, false, told);
        }
    }

    fn watermark(&self) -> Watermark {
        self.rows.watermark()
    }
}

impl Reader {
    fn tell(&mut self, row: &Row, complete: bool, told: &mut Told<'_>) {
        told.place = self.rows.place();
        told.rank = 0;
        let created = milliseconds(row.get("at"));
        let place = Place {
            message: text(row, "message").unwrap_or_default(),
            at: created,
            role: text(row, "role").unwrap_or_default(),
            copied: whole(row, "at").is_some_and(|at| at < self.made),
            complete,
        };
        if !place.copied {
            told.seen(created);
            told.model(created, text(row, "model").unwrap_or_default());
        }
        let part = text(row, "part");
        let Some(data) = document(row, "data").filter(Value::is_object) else {
            if self.rows.is_new(place.message, part.unwrap_or("message")) {
                told.oddities.malformed += 1;
            }
            return;
        };
        match part {
            Some(part) => self.part(part, &data, milliseconds(row.get("written")), &place, told),
            None => self.message(&data, &place, told),
        }
    }

    /// The message itself: how it ended.
    fn message(&mut self, data: &Value, place: &Place<'_>, told: &mut Told<'_>) {
        let completed = milliseconds(at(data, &["time", "completed"]));
        if !place.copied {
            told.seen(completed);
        }
        if let Some(error) = data.get("error").filter(|error| !error.is_null())
            && self.rows.is_new(place.message, "error")
        {
            let message = words(error, &["data", "message"]).or_else(|| words(error, &["name"]));
            let message = message.unwrap_or_default();
            told.event(completed.or(place.at), Some(place.message), What::Error { message });
        }
        // Its parts say what it used; where none does, it does.
        if place.complete && self.called != place.message {
            call(place.message, data, completed, place, told);
        }
    }

    fn part(
        &mut self,
        id: &str,
        data: &Value,
        written: Option<Wall>,
        place: &Place<'_>,
        told: &mut Told<'_>,
    ) {
        let kind = words(data, &["type"]).unwrap_or_default();
        let message = place.message;
        if kind == "tool" {
            return self.tool(id, data, place, told);
        }
        if kind == "step-finish" {
            self.called = message.to_owned();
        }
        if !self.rows.is_new(message, id) {
            return;
        }
        // What somebody said, and what is copied, is written down later than it was said.
        let written = written.filter(|_| place.role == "assistant" && !place.copied).or(place.at);
        let when = milliseconds(at(data, &["time", "start"])).or(written);
        let text = || words(data, &["text"]).unwrap_or_default();
        let what = match kind.as_str() {
            "text" if place.role == "user" => What::User { text: text() },
            "text" => What::Assistant { text: text() },
            "reasoning" => What::Reasoning { text: text() },
            "step-finish" => return call(id, data, written, place, told),
            "compaction" => What::Compaction,
            "subtask" => What::SubAgent { session: None, name: words(data, &["agent"]) },
            "retry" => {
                What::Error { message: words(data, &["error", "data", "message"]).unwrap_or_default() }
            }
            "step-start" | "snapshot" | "patch" | "file" | "agent" => What::Other { name: kind },
            _ => {
                told.oddities.unknown(&kind);
                What::Other { name: kind }
            }
        };
        told.event(when, Some(id), what);
    }

    /// A call and, once there is one, its answer.
    fn tool(&mut self, id: &str, data: &Value, place: &Place<'_>, told: &mut Told<'_>) {
        let name = words(data, &["tool"]).unwrap_or_default();
        let call = words(data, &["callID"]).unwrap_or_else(|| id.to_owned());
        let state = data.get("state").unwrap_or(&Value::Null);
        let began = milliseconds(at(state, &["time", "start"])).or(place.at);
        let ended = milliseconds(at(state, &["time", "end"]));
        let status = state.get("status").and_then(Value::as_str).unwrap_or_default();
        // The arguments of a call that is being written are not whole.
        if (status != "pending" || place.complete) && self.rows.is_new(place.message, id) {
            let input = state.get("input").cloned().unwrap_or(Value::Null);
            let agent = words(&input, &["subagent_type"]);
            told.tool_call(began, Some(&call), &name, input);
            if name == "task" {
                let session = words(state, &["metadata", "sessionId"]);
                told.event(began, Some(id), What::SubAgent { session, name: agent });
            }
        }
        let (error, said) = match status {
            "completed" => (false, words(state, &["output"])),
            "error" => (true, words(state, &["error"])),
            _ => return,
        };
        if self.rows.is_new(place.message, &format!("{id}:result")) {
            if !place.copied {
                told.seen(ended);
            }
            let result =
                What::ToolResult { of: Some(call), error: Some(error), text: said.unwrap_or_default() };
            told.event(ended.or(began), Some(id), result);
        }
    }
}

/// A call of the model.
fn call(id: &str, data: &Value, when: Option<Wall>, place: &Place<'_>, told: &mut Told<'_>) {
    if place.copied || place.role != "assistant" {
        return;
    }
    let count = |keys: &[&str]| at(data, &["tokens"]).and_then(|tokens| number(tokens, keys)).unwrap_or(0);
    let cached = count(&["cache", "read"]);
    let input = count(&["input"]).saturating_add(cached).saturating_add(count(&["cache", "write"]));
    let output = count(&["output"]).saturating_add(count(&["reasoning"]));
    let cost = at(data, &["cost"]).and_then(Value::as_f64).filter(|cost| *cost > 0.0);
    let when = when.or(place.at);
    if input > 0 {
        told.context(when, input, None);
    }
    let call = Call {
        key: format!("{}:{id}", told.session.id),
        model: told.session.model.clone(),
        tokens: Some(Tokens { input, cached, output }),
        cost_usd: cost,
    };
    told.call(when, Some(id), call);
}

fn words(value: &Value, keys: &[&str]) -> Option<String> {
    at(value, keys)?.as_str().map(str::to_owned)
}
