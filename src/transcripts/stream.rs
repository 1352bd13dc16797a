//! What is remembered of one stream, or of one session of a database.

use serde::{Deserialize, Serialize};

use crate::base::{Wall, micros};
use crate::host::transcript::places::FileStamp;
use crate::trajectory::{Decoder, Session};

/// A decoder of a stream that did not change in so many looks is dropped; the account has it.
const PATIENCE: u8 = 8;

/// One stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// What it was when it was last looked into; none: it is to be looked into again.
    pub(super) seen: Option<Stamps>,
    /// What is known of its session; none: its beginning does not say enough yet.
    pub(super) brief: Option<Brief>,
    /// How far its beginning is searched for that.
    pub(super) search: Option<Box<(Decoder, u64)>>,
    /// How far it is read; none: it is nobody's that is looked for, so it is not.
    pub(super) reading: Option<Reading>,
}

/// What tells whose a session is.
#[derive(Debug)]
pub(super) struct Brief {
    /// What the records say.
    pub(super) session: Session,
    /// The working directory, physical as far as it exists.
    pub(super) cwd: Option<String>,
}

/// How far a stream is read.
#[derive(Debug)]
pub(super) struct Reading {
    /// Device and inode.
    pub(super) file: (u64, u64),
    /// Bytes or rows.
    pub(super) offset: u64,
    /// The decoder, unless the account alone has it.
    pub(super) decoder: Option<Box<Decoder>>,
    /// Whether what was held back has been told, and nothing has come since.
    pub(super) finished: bool,
    /// Looks since it changed.
    pub(super) idle: u8,
}

/// Adds what one stream says of its session, with this directory, to what others say: the one that began first
/// says where it was started.
pub(super) fn join(whole: &mut Session, part: &Session, cwd: Option<&str>) {
    let earlier = part.started_at.is_some_and(|own| whole.started_at.is_none_or(|other| own < other));
    if earlier {
        whole.started_at = part.started_at;
    }
    if earlier || whole.cwd.is_none() {
        whole.cwd = cwd.map(str::to_owned).or(whole.cwd.take());
    }
    if earlier || whole.parent.is_none() {
        whole.parent = part.parent.clone().or(whole.parent.take());
    }
    if part.last_at >= whole.last_at {
        whole.last_at = part.last_at;
        whole.title = part.title.clone().or(whole.title.take());
        whole.model = part.model.clone().or(whole.model.take());
        whole.context = part.context.or(whole.context);
    }
    for model in &part.models {
        if !whole.models.contains(model) {
            whole.models.push(model.clone());
        }
    }
}

impl Reading {
    /// A look has passed without a change.
    pub(super) fn rest(&mut self) {
        self.idle = self.idle.saturating_add(1);
        if self.idle > PATIENCE {
            self.decoder = None;
        }
    }
}

/// What a stream and its documents were when they were read. It stands in the account beside the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Stamps {
    /// The stream; none: there is more of it to be read.
    pub(super) stream: Option<FileStamp>,
    /// Its documents, in the order of the layout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) documents: Vec<Option<FileStamp>>,
    /// A digest of what stands before the cursor.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) tail: String,
    /// What was told before the stream was written anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quiet: Option<Quiet>,
    /// Of a session of a database: what it says of its last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changed: Option<i64>,
}

impl Stamps {
    /// As the account keeps it, behind the size of the file by which it knows one that was begun anew.
    pub(super) fn written(&self, size: u64) -> Result<String, serde_json::Error> {
        Ok(format!("{size} {}", serde_json::to_string(self)?))
    }

    /// Of what [`Self::written`] gave. What cannot be understood any more is of no file.
    pub(super) fn kept(text: &str) -> Self {
        let stamps = text.split_once(' ').and_then(|(_, stamps)| serde_json::from_str(stamps).ok());
        stamps.unwrap_or_default()
    }

    /// Whether both were taken of the same files at the same time.
    pub(super) fn same_files(&self, other: &Self) -> bool {
        self.stream.is_some() && self.stream == other.stream && self.documents == other.documents
    }
}

/// How far events had been told of a stream that is read from its beginning again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Quiet {
    /// Bytes or rows.
    pub(super) offset: u64,
    /// The latest time.
    #[serde(with = "micros::option", default)]
    pub(super) last_at: Option<Wall>,
}

impl Quiet {
    /// Both of what was told in two readings of which the first was not over.
    pub(super) fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        Self { offset: self.offset.max(other.offset), last_at: self.last_at.max(other.last_at) }
    }

    /// Whether an event was told before: it is not later, and where it is not earlier either its place tells.
    pub(super) fn has(&self, at: Option<Wall>, place: u64) -> bool {
        match (at, self.last_at) {
            (Some(at), Some(last)) if at > last => false,
            (Some(at), Some(last)) if at < last => true,
            _ => place < self.offset,
        }
    }
}
