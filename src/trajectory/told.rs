//! Where a reader puts what it learns from a record.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::classify::classify;
use super::model::{Call, Event, Needs, Oddities, Session, What};
use super::record;
use crate::base::Wall;

/// A longer name of a model, and a longer path, is none: both are kept, and written down.
const LONGEST_MODEL: usize = 256;
pub(super) const LONGEST_PATH: usize = 4096;
/// A longer name of an effort is none.
const LONGEST_EFFORT: usize = 64;
/// A longer key of a call is replaced by its hash.
const LONGEST_KEY: usize = 512;

/// One agent's records, read in their order. A reader's state holds no text of the transcript, and every
/// field of it has a default, so that an older state can be read.
pub(super) trait Read {
    /// The stream's path relative to its store, before anything else: it may name the session.
    fn begin(&mut self, _path: &str, _told: &mut Told<'_>) {}

    /// A whole line without its line break, of any bytes.
    fn line(&mut self, _line: &[u8], _told: &mut Told<'_>) {}

    /// A document beside the stream, whole: whenever it has changed, and once before the lines.
    fn document(&mut self, _name: &str, _text: &[u8], _told: &mut Told<'_>) {}

    /// A row of the `sessions` statement (once, and whenever it has changed).
    fn head(&mut self, _row: &super::Row, _told: &mut Told<'_>) {}

    /// A row of the `records` statement. Rows at the watermark may come again.
    fn row(&mut self, _row: &super::Row, _told: &mut Told<'_>) {}

    /// Nothing follows for now: what is held back since more might follow is told, and the state stays
    /// such that reading can go on.
    fn finish(&mut self, _told: &mut Told<'_>) {}

    /// Up to where rows are told.
    fn watermark(&self) -> super::Watermark {
        super::Watermark::default()
    }
}

/// What a record tells goes here.
pub(super) struct Told<'a> {
    /// What is known of the session.
    pub(super) session: &'a mut Session,
    /// How much is asked for.
    pub(super) needs: Needs,
    /// What makes no sense.
    pub(super) oddities: &'a mut Oddities,
    /// Where the record stands.
    pub(super) place: u64,
    /// The events of this record so far.
    pub(super) rank: u32,
    pub(super) emit: &'a mut dyn FnMut(Event),
}

impl Told<'_> {
    /// Whether only usage is asked for.
    pub(super) fn only_usage(&self) -> bool {
        self.needs == Needs::Usage
    }

    /// A record of the session's own has this time.
    pub(super) fn seen(&mut self, at: Option<Wall>) {
        let Some(at) = at else { return };
        self.session.started_at.get_or_insert(at);
        self.session.last_at = self.session.last_at.max(Some(at));
    }

    /// The records name a working directory: the first one counts.
    pub(super) fn cwd(&mut self, cwd: &str) {
        if self.session.cwd.is_none() && (1..=LONGEST_PATH).contains(&cwd.len()) {
            self.session.cwd = Some(cwd.to_owned());
        }
    }

    /// A line or a document as a JSON object. One that is none is counted.
    pub(super) fn object(&mut self, text: &[u8]) -> Option<Value> {
        let object = record::object(text);
        self.oddities.malformed += u64::from(object.is_none());
        object
    }

    /// Tells an event. Everything but usage is dropped where only that is asked for.
    pub(super) fn event(&mut self, at: Option<Wall>, id: Option<&str>, what: What) {
        if self.only_usage() && !matches!(what, What::Usage(_)) {
            return;
        }
        let place = (self.place, self.rank);
        self.rank += 1;
        (self.emit)(Event { at, id: id.map(str::to_owned), place, what });
    }

    /// This model is in use from here on.
    pub(super) fn model(&mut self, at: Option<Wall>, model: &str) {
        if !(1..=LONGEST_MODEL).contains(&model.len()) || self.session.model.as_deref() == Some(model) {
            return;
        }
        self.session.model = Some(model.to_owned());
        if self.session.models.len() < 64 && !self.session.models.iter().any(|known| known == model) {
            self.session.models.push(model.to_owned());
        }
        self.event(at, None, What::Model { model: model.to_owned() });
    }

    /// This effort of reasoning is in use from here on, and `known` was; told on change.
    pub(super) fn effort(&mut self, at: Option<Wall>, effort: &str, known: &mut String) {
        if (1..=LONGEST_EFFORT).contains(&effort.len()) && effort != known {
            effort.clone_into(known);
            self.event(at, None, What::Effort { effort: effort.to_owned() });
        }
    }

    /// The model called a tool. What that does is looked for only where it is asked for.
    pub(super) fn tool_call(&mut self, at: Option<Wall>, id: Option<&str>, name: &str, input: Value) {
        if !self.only_usage() {
            let (action, targets) = classify(name, &input);
            self.event(at, id, What::ToolCall { name: name.to_owned(), action, targets, input });
        }
    }

    /// A model call. One that used nothing and cost nothing is none; what came from the cache is a part of the
    /// prompt side, whatever the agent says (USE-1).
    pub(super) fn call(&mut self, at: Option<Wall>, id: Option<&str>, mut call: Call) {
        if let Some(tokens) = &mut call.tokens {
            tokens.cached = tokens.cached.min(tokens.input);
        }
        if call.key.len() > LONGEST_KEY {
            call.key = format!("{:x}", Sha256::digest(&call.key));
        }
        call.model = call.model.filter(|model| (1..=LONGEST_MODEL).contains(&model.len()));
        let nothing = call.tokens.is_none_or(|tokens| tokens == super::Tokens::default());
        if nothing && call.cost_usd.is_none() {
            return;
        }
        self.event(at, id, What::Usage(call));
    }

    /// How full the context is now; told on change.
    pub(super) fn context(&mut self, at: Option<Wall>, used: u64, window: Option<u64>) {
        let window = window.or_else(|| self.session.context.and_then(|(_, window)| window));
        if self.session.context != Some((used, window)) {
            self.session.context = Some((used, window));
            self.event(at, None, What::Context { used, window });
        }
    }
}
