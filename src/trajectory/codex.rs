//! Codex's rollouts: a file a thread.
//!
//! Invariant: where a file has `token_usage_record`s, they alone are calls; else the running totals of
//! `token_count` are, less what stood in them before. History that was copied from another thread is in
//! the baseline and is never told as calls.

mod items;
mod line;
mod totals;

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::line::{Line, Payload};
use self::totals::{Counted, Totals};
use super::layout::{Files, Layout};
use super::model::{Call, Kinship, Parent, Tokens};
use super::record;
use super::told::{Read, Told};
use crate::base::{Wall, micros};

pub(super) const LAYOUT: Layout = Layout::Files(Files {
    streams: &["*/*/*/rollout-*.jsonl"],
    documents: &[],
    directory: None,
    held: Some(held),
    pid_file: None,
});

/// A copied history is written in one go: the first pause of this length ends it, as no model answers faster.
const PAUSE: Duration = Duration::from_millis(200);

/// So many states of commands are kept for the results that follow them.
const STATES: usize = 16;

/// What a line must contain to be parsed where only usage is asked for.
static NEEDLES: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["token_", "turn_context", "session_meta"].map(Finder::new));

/// What is remembered between records.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reader {
    /// Whether the thread's own header was read.
    headed: bool,
    /// When that was written: nothing of its own is older.
    #[serde(with = "micros::option")]
    born: Option<Wall>,
    /// Whether records may still belong to a copied history.
    copying: bool,
    /// The time of the latest record of it.
    #[serde(with = "micros::option")]
    copied_at: Option<Wall>,
    /// Whether there are `token_usage_record`s.
    recorded: bool,
    /// The running totals.
    totals: Totals,
    /// Whether a header says that a history was copied.
    foreign: bool,
    /// The model that the copied history or the thread's first turn after it names.
    model: String,
    /// The effort in use.
    effort: String,
    /// The size of the window, as stated.
    window: Option<u64>,
    /// Calls of tools whose state was told before their result, and whether they failed.
    states: VecDeque<(String, bool)>,
}

impl Read for Reader {
    fn begin(&mut self, path: &str, told: &mut Told<'_>) {
        told.session.id = held(path).unwrap_or_default();
    }

    fn line(&mut self, line: &[u8], told: &mut Told<'_>) {
        let settled = self.headed && !self.copying;
        if told.only_usage() && settled && NEEDLES.iter().all(|needle| needle.find(line).is_none()) {
            return;
        }
        let fast = Line::fast(line);
        let value = (fast.is_none() || !told.only_usage()).then(|| record::object(line)).flatten();
        let Some(line) = fast.or_else(|| value.as_ref().map(Line::loose)) else {
            told.oddities.malformed += 1;
            return;
        };
        let at = line.timestamp().and_then(|text| Wall::parse_rfc3339(text).ok());
        let none = Payload::default();
        let payload = line.payload.as_ref().unwrap_or(&none);
        self.progress(at);
        let header = line.kind() == "session_meta";
        if header {
            self.header(payload, at, line.ordinal.is_some(), told);
        }
        if !self.copying {
            told.seen(at);
        }
        match line.kind() {
            "turn_context" => self.turn(payload, at, told),
            "event_msg" => {
                self.window = payload.window().or(self.window);
                if payload.kind() == "token_count" {
                    self.count(payload, at, told);
                }
            }
            "token_usage_record" => self.usage(payload, at, told),
            _ => (),
        }
        if let Some(value) = value.as_ref().filter(|_| !told.only_usage()) {
            self.events(&line, value, at, told);
        }
    }
}

impl Reader {
    /// Follows a copied history to its end.
    fn progress(&mut self, at: Option<Wall>) {
        let (true, Some(at), Some(before)) = (self.copying, at, self.copied_at) else { return };
        // A copy may keep the times that its records had.
        let at = self.born.map_or(at, |born| at.max(born));
        self.copying = at.since(before) < PAUSE;
        self.copied_at = Some(at.max(before));
    }

    /// Versions that number their records refer to another thread's history instead of copying it.
    fn header(&mut self, meta: &Payload<'_>, at: Option<Wall>, numbered: bool, told: &mut Told<'_>) {
        let id = meta.id().unwrap_or_default();
        if self.headed {
            if id != told.session.id {
                // The header of the thread that the records from here on are copied from.
                self.copying = true;
                self.foreign = true;
                self.copied_at = self.born.into_iter().chain(at).max();
            }
            return;
        }
        self.headed = true;
        if !id.is_empty() {
            id.clone_into(&mut told.session.id);
        }
        told.cwd(meta.cwd().unwrap_or_default());
        let born = meta.timestamp().and_then(|text| Wall::parse_rfc3339(text).ok());
        told.seen(born.or(at));
        let other = |id: &&str| !id.is_empty() && *id != told.session.id;
        let spawner = meta.spawner().filter(other);
        let parent = match (spawner, meta.forked_from().filter(other)) {
            (Some(id), _) => Some((id, Kinship::SubAgent)),
            (None, Some(id)) => Some((id, Kinship::Forked)),
            (None, None) => None,
        };
        told.session.parent = parent.map(|(id, kinship)| Parent { id: id.to_owned(), kinship });
        let parent = told.session.parent.as_ref();
        self.born = at.or(born);
        self.copying = parent.is_some() && at.is_some() && !numbered;
        self.copied_at = self.born;
        self.totals.inherits = parent.is_some();
    }

    fn turn(&mut self, turn: &Payload<'_>, at: Option<Wall>, told: &mut Told<'_>) {
        let model = turn.model().unwrap_or_default();
        if self.copying && self.foreign {
            // It may be the thread's own first turn, or one of those that were copied: its calls will tell.
            if let Some(model) = record::short(model) {
                model.clone_into(&mut self.model);
            }
            return;
        }
        self.model.clear();
        told.cwd(turn.cwd().unwrap_or_default());
        told.model(at, model);
        told.effort(at, turn.effort().unwrap_or_default(), &mut self.effort);
    }

    /// One call, as new versions state it.
    fn usage(&mut self, usage: &Payload<'_>, at: Option<Wall>, told: &mut Told<'_>) {
        self.recorded = true;
        let thread = usage.thread_id().unwrap_or(&told.session.id).to_owned();
        let Some(tokens) = usage.usage().filter(|_| thread == told.session.id) else { return };
        self.copying = false;
        let key = match usage.response_id() {
            Some(response) => format!("{thread}:{response}"),
            None => format!("{thread}:@{}", told.place),
        };
        self.call(key, tokens, at, usage.response_id(), told);
    }

    /// The running totals, as all versions state them.
    fn count(&mut self, count: &Payload<'_>, at: Option<Wall>, told: &mut Told<'_>) {
        let Some((total, last)) = count.counts() else { return };
        let counted = if self.copying { self.totals.skip(total) } else { self.totals.count(total, last) };
        if self.recorded {
            self.context(last, at, told);
        } else if let Counted::Call { tokens, rank } = counted {
            let key = format!("{}:{rank}:{}", told.session.id, total.input.saturating_add(total.output));
            self.call(key, tokens, at, None, told);
        }
    }

    fn call(&mut self, key: String, tokens: Tokens, at: Option<Wall>, id: Option<&str>, told: &mut Told<'_>) {
        told.model(at, &std::mem::take(&mut self.model));
        let model = told.session.model.clone();
        told.call(at, id, Call { key, model, tokens: Some(tokens), cost_usd: None });
        self.context(Some(tokens), at, told);
    }

    fn context(&self, last: Option<Tokens>, at: Option<Wall>, told: &mut Told<'_>) {
        if let Some(last) = last.filter(|last| last.input > 0 && !self.copying) {
            told.context(at, last.input, self.window);
        }
    }

    fn events(&mut self, line: &Line<'_>, value: &Value, at: Option<Wall>, told: &mut Told<'_>) {
        items::events(line.kind(), value, at, &mut self.states, told);
        while self.states.len() > STATES {
            self.states.pop_front();
        }
    }
}

/// The thread of a rollout, by the end of its name.
fn held(path: &str) -> Option<String> {
    let stem = path.rsplit('/').next()?.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let id = stem.get(stem.len().checked_sub(36)?..)?;
    uuid::Uuid::try_parse(id).is_ok().then(|| id.to_owned())
}
