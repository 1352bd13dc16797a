//! Hermes' database.
//!
//! Messages are rows that are added, and written again with new numbers when a history is rewritten. What was
//! used is a running total a session, model and task, of which reasoning is a part of the output; single calls
//! are not kept, so each step of a total is told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::layout::{Database, Head, Layout, Row, Watermark};
use super::model::{Call, Kinship, Parent, Tokens, What};
use super::record::{self, at, seconds};
use super::rows::{amount, count, document, text, whole};
use super::told::{Read, Told};
use crate::base::Wall;

pub(super) const LAYOUT: Layout = Layout::Database(Database {
    needs: &[
        (
            "sessions",
            &[
                "id",
                "model_config",
                "parent_session_id",
                "started_at",
                "ended_at",
                "end_reason",
                "cwd",
                "title",
            ],
        ),
        (
            "messages",
            &[
                "id",
                "session_id",
                "role",
                "content",
                "tool_call_id",
                "tool_calls",
                "timestamp",
                "reasoning",
                "reasoning_content",
            ],
        ),
        (
            "session_model_usage",
            &[
                "session_id",
                "model",
                "billing_provider",
                "billing_base_url",
                "billing_mode",
                "task",
                "api_call_count",
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "estimated_cost_usd",
                "actual_cost_usd",
                "cost_status",
                "last_seen",
            ],
        ),
    ],
    sessions: SESSIONS,
    head,
    records: RECORDS,
});

/// A session with a parent goes on after it where the parent was compacted away, and otherwise is a branch or
/// another agent's. A session that follows a compaction has the parent's configuration, markers included.
const SESSIONS: &str = "
SELECT s.id, s.title, s.cwd, s.started_at, s.ended_at, s.parent_session_id AS parent,
    CASE
        WHEN json_extract(s.config, '$._delegate_from') = s.parent_session_id THEN 'sub-agent'
        WHEN json_extract(s.config, '$._branched_from') = s.parent_session_id THEN 'forked'
        WHEN p.end_reason = 'compression' AND s.started_at >= coalesce(p.ended_at, 0) THEN 'reset'
        WHEN p.end_reason = 'branched' THEN 'forked'
        ELSE 'sub-agent' END AS kinship,
    coalesce((SELECT max(m.id) FROM messages AS m WHERE m.session_id = s.id), 0)
        + coalesce((SELECT sum(u.api_call_count) FROM session_model_usage AS u WHERE u.session_id = s.id), 0)
        AS changed
FROM (SELECT *, CASE WHEN json_valid(model_config) THEN model_config END AS config FROM sessions) AS s
LEFT JOIN sessions AS p ON p.id = s.parent_session_id
ORDER BY s.started_at, s.id";

/// New messages, and every total. `again`: all messages that are told are gone, so these may be copies of them.
const RECORDS: &str = "
SELECT 'message' AS kind, id AS number, timestamp AS at, max(timestamp) OVER (ORDER BY id) AS rank,
    :time > 0 AND (SELECT min(id) FROM messages WHERE session_id = :session) > :time AS again,
    role, content, tool_call_id, tool_calls, reasoning, reasoning_content,
    NULL AS model, NULL AS account, NULL AS task, NULL AS calls, NULL AS input, NULL AS output,
    NULL AS cache_read, NULL AS cache_write, NULL AS cost
FROM messages WHERE session_id = :session AND id > :time
UNION ALL
SELECT 'usage', rowid, last_seen, last_seen, 0, NULL, NULL, NULL, NULL, NULL, NULL,
    model, billing_provider || char(10) || billing_base_url || char(10) || billing_mode, task, api_call_count,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
    CASE WHEN actual_cost_usd > 0 THEN actual_cost_usd
         WHEN cost_status <> 'unknown' THEN estimated_cost_usd END
FROM session_model_usage WHERE session_id = :session
ORDER BY rank, kind, number";

fn head(row: &Row) -> Option<Head> {
    let kinship = match text(row, "kinship") {
        Some("reset") => Kinship::Reset,
        Some("forked") => Kinship::Forked,
        _ => Kinship::SubAgent,
    };
    let parent = text(row, "parent").filter(|id| !id.is_empty());
    Some(Head {
        id: text(row, "id")?.to_owned(),
        cwd: text(row, "cwd").filter(|cwd| !cwd.is_empty()).map(str::to_owned),
        started_at: seconds(row.get("started_at")),
        changed: whole(row, "changed").unwrap_or(0),
        parent: parent.map(|id| Parent { id: id.to_owned(), kinship }),
    })
}

/// So many totals of a session are told apart.
const TOTALS: usize = 256;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The number of the last message that is told, and its time.
    message: i64,
    latest: f64,
    /// What is told of each total.
    totals: BTreeMap<String, Total>,
}

/// A running total and in how many steps it was told.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct Total {
    input: u64,
    cached: u64,
    output: u64,
    cost: f64,
    steps: u64,
}

impl Read for Reader {
    fn head(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some(head) = head(row) else { return };
        told.session.id = head.id;
        told.session.parent = head.parent;
        told.session.title = text(row, "title").map(str::to_owned);
        told.cwd(head.cwd.as_deref().unwrap_or_default());
        told.seen(head.started_at);
        told.seen(seconds(row.get("ended_at")));
    }

    fn row(&mut self, row: &Row, told: &mut Told<'_>) {
        let Some(number) = whole(row, "number") else {
            told.oddities.malformed += 1;
            return;
        };
        let when = seconds(row.get("at"));
        let is_usage = text(row, "kind") == Some("usage");
        // Places of messages are even, those of totals odd.
        told.place = u64::try_from(number).unwrap_or(0) * 2 + u64::from(is_usage);
        if is_usage {
            return self.usage(row, when, told);
        }
        if number <= self.message {
            return;
        }
        self.message = number;
        let at = row.get("at").and_then(Value::as_f64).unwrap_or(0.0);
        if whole(row, "again") == Some(1) && at <= self.latest {
            return;
        }
        self.latest = self.latest.max(at);
        // A branch holds copies of its parent's messages.
        if when >= told.session.started_at {
            told.seen(when);
        }
        message(row, number, when, told);
    }

    fn watermark(&self) -> Watermark {
        Watermark { time: self.message, id: String::new() }
    }
}

impl Reader {
    /// By how much a total has grown.
    fn usage(&mut self, row: &Row, when: Option<Wall>, told: &mut Told<'_>) {
        let column = |name| text(row, name).unwrap_or_default();
        let (model, task) = (column("model"), column("task"));
        let digest = Sha256::digest(format!("{model}\n{task}\n{}", column("account")));
        let key = format!("{digest:.12x}");
        if !self.totals.contains_key(&key) && self.totals.len() >= TOTALS {
            return;
        }
        let known = self.totals.entry(key.clone()).or_default();
        let (fresh, cached) = (count(row, "input"), count(row, "cache_read"));
        let mut now = Total {
            input: fresh.saturating_add(cached).saturating_add(count(row, "cache_write")),
            cached,
            output: count(row, "output"),
            cost: amount(row, "cost").unwrap_or(0.0),
            steps: known.steps,
        };
        // A total that has shrunk began anew.
        let shrunk = now.input < known.input || now.output < known.output || now.cached < known.cached;
        let from = if shrunk { Total::default() } else { *known };
        // A cost that was estimated higher at first is told already: nothing more is until it has passed that.
        now.cost = now.cost.max(from.cost);
        let tokens = Tokens {
            input: now.input - from.input,
            cached: (now.cached - from.cached).min(now.input - from.input),
            output: now.output - from.output,
        };
        let cost = Some(now.cost - from.cost).filter(|cost| *cost > 0.0);
        *known = now;
        if tokens == Tokens::default() && cost.is_none() {
            return;
        }
        known.steps += 1;
        let steps = now.steps;
        told.seen(when);
        // Other tasks than the conversation may be given to other models.
        if task.is_empty() {
            told.model(when, model);
        }
        let key = format!("{}:{key}:{steps}", told.session.id);
        let model = Some(model.to_owned()).filter(|model| !model.is_empty());
        told.call(when, None, Call { key, model, tokens: Some(tokens), cost_usd: cost });
    }
}

fn message(row: &Row, number: i64, when: Option<Wall>, told: &mut Told<'_>) {
    let id = number.to_string();
    let id = Some(id.as_str());
    let content = text(row, "content").unwrap_or_default().to_owned();
    match text(row, "role").unwrap_or_default() {
        "user" | "system" => told.event(when, id, What::User { text: content }),
        "assistant" => {
            let thought = ["reasoning", "reasoning_content"].into_iter().find_map(|name| text(row, name));
            if let Some(text) = thought.filter(|text| !text.is_empty()) {
                told.event(when, id, What::Reasoning { text: text.to_owned() });
            }
            if !content.is_empty() {
                told.event(when, id, What::Assistant { text: content });
            }
            calls(row, when, told);
        }
        "tool" => {
            let error = stated_failure(&content);
            let of = text(row, "tool_call_id").filter(|of| !of.is_empty()).map(str::to_owned);
            told.event(when, id, What::ToolResult { of, error, text: content });
        }
        "session_meta" => told.event(when, id, What::Other { name: "session_meta".to_owned() }),
        role => {
            told.oddities.unknown(role);
            told.event(when, id, What::Other { name: role.to_owned() });
        }
    }
}

fn calls(row: &Row, when: Option<Wall>, told: &mut Told<'_>) {
    let calls = match document(row, "tool_calls") {
        Some(Value::Array(calls)) => calls,
        // Without a call the column is empty.
        None if text(row, "tool_calls").is_none_or(str::is_empty) => return,
        _ => {
            told.oddities.malformed += 1;
            return;
        }
    };
    for call in &calls {
        let name = record::text(call, &["function", "name"]).unwrap_or_default();
        let input = match at(call, &["function", "arguments"]) {
            Some(Value::String(text)) => {
                serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
            }
            input => input.cloned().unwrap_or(Value::Null),
        };
        told.tool_call(when, record::text(call, &["id"]), name, input);
    }
}

/// Whether a tool's answer says that it failed; many tools say nothing.
fn stated_failure(content: &str) -> Option<bool> {
    let answer: Value = serde_json::from_str(content).ok()?;
    let error = answer.get("error").map(|error| !error.is_null() && error.as_str() != Some(""));
    let status = answer.get("exit_code").and_then(Value::as_i64).map(|status| status != 0);
    let success = answer.get("success").and_then(Value::as_bool).map(|success| !success);
    [error, status, success].into_iter().flatten().reduce(|failed, more| failed || more)
}
