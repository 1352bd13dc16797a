//! Claude Code's `projects/**.jsonl`: a file a session, and one a sub-agent below it.
//!
//! Invariant: a model call is told under its `message.id`, once more whenever its record changes, and only
//! by the session that made it: copied rows name the one that did.

mod blocks;
mod place;
mod row;

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::row::Row;
use super::layout::{Files, Layout, PidFile};
use super::model::{Call, Kinship, Parent, Tokens};
use super::record;
use super::told::{Read, Told};
use crate::base::{Wall, micros};

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &[
        "*/*.jsonl",
        "*/*/subagents/agent-*.jsonl",
        "*/*/subagents/*/agent-*.jsonl",
        "*/*/subagents/*/*/agent-*.jsonl",
    ],
    documents: &["{stem}.meta.json"],
    directory: Some(place::directory),
    held: None,
    pid_file: Some(PidFile { directory: "../sessions", read: place::pid_note }),
});

/// What a line must contain to be parsed where only usage is asked for. Neither spacing nor order of keys
/// is promised, so these are bare words.
static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static COST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("cost-state"));

/// Rows shorter than this are always parsed: they cost little, and tell the time of what says none.
const SHORT: usize = 1024;

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// The session that rows of its own name: of a sub-agent that of its topmost parent.
    root: String,
    /// Whether a sub-agent wrote the stream.
    agent: bool,
    /// Whether the start comes from a record that no fork copies.
    firm: bool,
    /// Whether rows of another session are copied into this one.
    copied: bool,
    /// The effort in use.
    effort: String,
    /// The call that was told last.
    call: Option<(String, Tokens)>,
    /// The time of the latest row of its own that is read whatever is asked for.
    #[serde(with = "micros::option")]
    clock: Option<Wall>,
    /// Billionths of a US dollar up to the latest `cost-state`.
    cost: Option<u64>,
    /// The `cost-state` records so far.
    costs: u64,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        let named = place::named(path);
        self.agent = named.agent;
        if named.agent {
            told.session.id = named.stem.to_owned();
            named.session.unwrap_or_default().clone_into(&mut self.root);
        } else if place::is_uuid(named.stem) {
            told.session.id = named.stem.to_owned();
            named.stem.clone_into(&mut self.root);
        }
        self.below_root(told);
    }

    fn document(&mut self, _name: &str, text: &[u8], told: &mut Told<'_>) {
        let Some(document) = told.object(text) else { return };
        if let Some(parent) = record::text(&document, &["parentAgentId"]).filter(|_| self.agent) {
            told.session.parent = Some(Parent { id: parent.to_owned(), kinship: Kinship::SubAgent });
        }
        if let Some(title) = record::text(&document, &["description"]) {
            told.session.title = Some(title.to_owned());
        }
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let settled = self.firm && told.session.cwd.is_some();
        let read =
            !settled || line.len() < SHORT || [&USAGE, &COST].iter().any(|word| word.find(line).is_some());
        if told.only_usage() && !read {
            return;
        }
        let fast = Row::fast(line);
        // A shape that is not expected, or bytes that are no UTF-8, take the long way.
        let value = (fast.is_none() || !told.only_usage()).then(|| record::object(line)).flatten();
        let Some(row) = fast.or_else(|| value.as_ref().map(Row::loose)) else {
            told.oddities.malformed += 1;
            return;
        };
        let seen = self.row(&row, value.as_ref(), settled, told);
        // Rows that may be passed over do not set the clock, so that it is the same either way.
        self.clock = self.clock.max(seen.filter(|_| read));
    }
}

impl Reader {
    /// Gives the time of a row of its own.
    fn row(
        &mut self,
        row: &Row<'_>,
        value: Option<&Value>,
        settled: bool,
        told: &mut Told<'_>,
    ) -> Option<Wall> {
        let kind = row.kind();
        let at = row.timestamp().and_then(|text| Wall::parse_rfc3339(text).ok());
        let uuid = row.uuid();
        if self.root.is_empty() {
            self.root = row.session_id().and_then(record::short).unwrap_or_default().to_owned();
            if !self.agent {
                told.session.id.clone_from(&self.root);
            }
            self.below_root(told);
        }
        let usage = row.usage().filter(|_| kind == "assistant");
        let origin = self.origin(row, usage.is_some());
        if let Some(origin) = origin {
            self.copy(origin, usage.is_some(), settled, told);
        } else {
            self.times(row, at, told);
        }
        if row.session_id().is_none_or(|session| session == self.root) {
            told.cwd(row.cwd().unwrap_or_default());
        }
        let own = usage.filter(|_| origin.is_none() && !row.synthetic());
        // What happens aside of the conversation neither changes its model nor fills its context.
        let main = self.agent || !row.sidechain();
        if own.is_some() && main {
            told.model(at, row.model().unwrap_or_default());
            told.effort(at, row.effort().unwrap_or_default(), &mut self.effort);
        }
        match value {
            Some(value) if !told.only_usage() => blocks::events(kind, value, row, at, told),
            _ => (),
        }
        if let Some(tokens) = own {
            self.call(row, at, tokens, told);
            if main && tokens.input > 0 {
                told.context(at, tokens.input, None);
            }
        }
        if kind == "cost-state" {
            self.cost(row, uuid, told);
        }
        at.filter(|_| origin.is_none())
    }

    /// The session that a row is copied from. Rows of other kinds say it only by a foreign session id.
    fn origin<'a>(&self, row: &'a Row<'_>, usage: bool) -> Option<&'a str> {
        let made = row.request_session_id().filter(|_| usage);
        made.into_iter().chain(row.session_id()).find(|session| *session != self.root)
    }

    fn copy(&mut self, origin: &str, usage: bool, settled: bool, told: &mut Told<'_>) {
        // Rows without usage may be passed over once all else is known, so they tell nothing from there on.
        if !usage && settled {
            return;
        }
        self.copied = true;
        if usage && !self.agent {
            told.session.parent = Some(Parent { id: origin.to_owned(), kinship: Kinship::Forked });
        }
        if !self.firm {
            told.session.started_at = None;
            told.session.last_at = None;
        }
    }

    /// Rows of a conversation that a fork copies keep their times and cannot be told apart; what the program
    /// notes down for itself (it has no `uuid`) and calls of its own are never copied.
    fn times(&mut self, row: &Row<'_>, at: Option<Wall>, told: &mut Told<'_>) {
        let own = row.uuid().is_none() || (row.usage().is_some() && !row.synthetic());
        if at.is_some() && (own || self.firm || !self.copied) {
            told.seen(at);
            self.firm |= own;
        }
    }

    fn call(&mut self, row: &Row<'_>, at: Option<Wall>, tokens: Tokens, told: &mut Told<'_>) {
        let key = match row.message_id().or(row.request_id()).or(row.uuid()) {
            Some(key) => key.to_owned(),
            None => format!("{}:@{}", told.session.id, told.place),
        };
        let call = (key, tokens);
        // The rows of one message repeat its usage, block by block.
        if self.call.as_ref() == Some(&call) {
            return;
        }
        let model = row.model().filter(|model| !model.is_empty()).map(str::to_owned);
        let key = call.0.clone();
        told.call(at, row.uuid(), Call { key, model, tokens: Some(tokens), cost_usd: None });
        self.call = Some(call).filter(|(key, _)| record::short(key).is_some());
    }

    /// A running total of the session's cost, its sub-agents and what it was forked from included. What a
    /// fork took over is not stated apart, so that its first total is only the baseline.
    fn cost(&mut self, row: &Row<'_>, uuid: Option<&str>, told: &mut Told<'_>) {
        let Some(total) = row.total_cost().and_then(billionths) else { return };
        self.costs += 1;
        let base = match self.cost.replace(total) {
            Some(base) if base <= total => base,
            Some(_) => 0,
            None if self.copied => total,
            None => 0,
        };
        if total == base {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a sum of money below nine million dollars")]
        let cost = (total - base) as f64 / 1e9;
        let key = format!("{}:cost:{}", told.session.id, self.costs);
        let at = self.clock.or(told.session.started_at);
        told.call(at, uuid, Call { key, model: row.sole_model(), tokens: None, cost_usd: Some(cost) });
    }

    fn below_root(&self, told: &mut Told<'_>) {
        if self.agent && !self.root.is_empty() && told.session.parent.is_none() {
            told.session.parent = Some(Parent { id: self.root.clone(), kinship: Kinship::SubAgent });
        }
    }
}

fn billionths(dollars: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded just before")]
    (0.0..9e6).contains(&dollars).then_some((dollars * 1e9).round() as u64)
}
