//! What a daemon hands to its successor, as JSON (CTL-11).
//!
//! Invariants: unknown fields are passed over and missing ones have defaults, so that versions of one
//! minor version understand each other in both directions; another minor version or format is refused
//! before anything else is read. Descriptors go by their numbers, instants as integers.

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::base::{ExitStatus, RunId, Trigger, Wall, micros, same_minor, version};
use crate::daemon::boot::Options;
use crate::daemon::clients::HandedClient;
use crate::daemon::output::HandedOutput;
use crate::daemon::parking::Logins;
use crate::host::limits::InheritedLimits;
use crate::host::socket::HandedListener;
use crate::host::tree::Family;
use crate::launch::Conditions;
use crate::supervisor::{Remnant, Snapshot, Ticket, Wish};

/// The shape of the document; it changes when a field changes its meaning.
const FORMAT: u32 = 1;

/// Why a document cannot be taken over.
#[derive(Debug, Error)]
pub(in crate::daemon) enum DocumentError {
    /// It is no JSON of this shape.
    #[error("the state that is handed over is not understood: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// It has another format.
    #[error("the state that is handed over has format {0}, this program reads {FORMAT}")]
    Format(u32),
    /// It is of another minor version.
    #[error("version {0} cannot be replaced by version {ours} without a restart", ours = version())]
    Version(String),
}

/// What is read first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::daemon) struct Head {
    format: u32,
    /// The version of the program that wrote it.
    pub(in crate::daemon) version: String,
    /// Its process, which is its successor's too.
    pub(in crate::daemon) pid: u32,
}

impl Head {
    pub(in crate::daemon) fn ours() -> Self {
        Self { format: FORMAT, version: version().to_owned(), pid: std::process::id() }
    }
}

/// Everything that crosses.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct Document {
    #[serde(flatten)]
    pub(in crate::daemon) head: Head,
    /// The file to execute.
    pub(in crate::daemon) program: Utf8PathBuf,
    pub(in crate::daemon) options: Options,
    pub(in crate::daemon) home: Utf8PathBuf,
    pub(in crate::daemon) state: Utf8PathBuf,
    #[serde(default)]
    pub(in crate::daemon) limits: InheritedLimits,
    #[serde(with = "micros")]
    pub(in crate::daemon) started_at: Wall,
    /// Whether a configuration is in force. It always is by now, be it an empty one; a daemon of the first
    /// programs of this minor version may have none.
    pub(in crate::daemon) booted: bool,
    /// The names of the projects of which something is, by their files: a successor that cannot read one of
    /// them leaves its runs alone.
    #[serde(default)]
    pub(in crate::daemon) projects: BTreeMap<Utf8PathBuf, String>,
    pub(in crate::daemon) fleet: Snapshot,
    pub(in crate::daemon) family: Family,
    /// The lock of the state directory.
    pub(in crate::daemon) lock: RawFd,
    /// The file of the harnesses' locks.
    pub(in crate::daemon) run_locks: RawFd,
    #[serde(default)]
    pub(in crate::daemon) listener: Option<HandedListener>,
    #[serde(default)]
    pub(in crate::daemon) live: Vec<HandedLive>,
    /// Starts that are decided and recorded, and not begun.
    #[serde(default)]
    pub(in crate::daemon) starts: Vec<HandedStart>,
    #[serde(default)]
    pub(in crate::daemon) unsurveyed: Vec<RunId>,
    #[serde(default)]
    pub(in crate::daemon) clients: Vec<HandedClient>,
    #[serde(default)]
    pub(in crate::daemon) last_client: u64,
    /// Who waits for an answer.
    #[serde(default)]
    pub(in crate::daemon) askers: Vec<HandedAsker>,
    #[serde(default)]
    pub(in crate::daemon) last_ticket: u64,
    #[serde(default)]
    pub(in crate::daemon) last_event: u64,
    /// Harnesses whose shared skills are given up once they have stopped.
    #[serde(default)]
    pub(in crate::daemon) removed: Vec<Remnant>,
    /// The login files of parked harnesses.
    #[serde(default)]
    pub(in crate::daemon) logins: Logins,
    /// What became of the store.
    #[serde(default)]
    pub(in crate::daemon) store_notices: Vec<String>,
    /// Who asked for the re-execution.
    #[serde(default)]
    pub(in crate::daemon) asked: Vec<Ticket>,
    /// A reload was asked for at the last moment.
    #[serde(default)]
    pub(in crate::daemon) reload: bool,
}

/// A run that the shell has to do with.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedLive {
    pub(in crate::daemon) run: RunId,
    /// What it was started with.
    pub(in crate::daemon) definition: Remnant,
    /// Its main process; none: it is reaped.
    #[serde(default)]
    pub(in crate::daemon) main: Option<i32>,
    #[serde(default)]
    pub(in crate::daemon) ending: Option<i32>,
    #[serde(default)]
    pub(in crate::daemon) output: Option<HandedOutput>,
    /// How its main process ended.
    #[serde(default)]
    pub(in crate::daemon) status: Option<ExitStatus>,
    /// For its check.
    #[serde(default)]
    pub(in crate::daemon) conditions: Option<Conditions>,
    #[serde(default)]
    pub(in crate::daemon) repository: Option<Utf8PathBuf>,
}

/// A start that waits.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedStart {
    pub(in crate::daemon) run: RunId,
    pub(in crate::daemon) definition: Remnant,
    pub(in crate::daemon) trigger: Trigger,
    #[serde(default)]
    pub(in crate::daemon) session: Option<Wish>,
}

/// A request of a client that is not answered yet.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::daemon) struct HandedAsker {
    pub(in crate::daemon) ticket: Ticket,
    pub(in crate::daemon) client: u64,
    pub(in crate::daemon) request: u64,
}

impl Document {
    /// Reads what a predecessor has written.
    pub(in crate::daemon) fn read(bytes: &[u8]) -> Result<Self, DocumentError> {
        let head: Head = serde_json::from_slice(bytes)?;
        if head.format != FORMAT {
            return Err(DocumentError::Format(head.format));
        }
        if !same_minor(&head.version, version()) {
            return Err(DocumentError::Version(head.version));
        }
        Ok(serde_json::from_slice(bytes)?)
    }

    pub(in crate::daemon) fn write(&self) -> Result<Vec<u8>, DocumentError> {
        Ok(serde_json::to_vec(self)?)
    }

    /// Every descriptor that it speaks of.
    pub(in crate::daemon) fn descriptors(&self) -> Vec<RawFd> {
        let outputs = self.live.iter().filter_map(|live| live.output.as_ref()).map(|one| one.descriptor);
        let clients = self.clients.iter().map(|client| client.descriptor);
        let listener = self.listener.iter().map(|listener| listener.descriptor);
        [self.lock, self.run_locks].into_iter().chain(listener).chain(outputs).chain(clients).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Document;
    use crate::base::version;
    use serde_json::{Value, json};

    fn document() -> Value {
        let selection = json!({"global": {"file": "/c", "named": false}, "project": null});
        let fleet = json!({"a_later_field": 1, "slots": []});
        json!({"format": 1, "version": version(), "pid": 1, "program": "/h", "home": "/", "state": "/s",
            "options": {"selection": selection, "cwd": "/", "state_dir": null, "socket": null},
            "started_at": 5, "booted": true, "fleet": fleet, "family": {}, "lock": 3, "run_locks": 4,
            "a_later_list": []})
    }

    fn read(document: &Value) -> Result<Document, String> {
        Document::read(document.to_string().as_bytes()).map_err(|cause| cause.to_string())
    }

    /// CTL-11: unknown fields are passed over, missing ones have defaults.
    #[test]
    fn versions_of_one_minor_version_understand_each_other() {
        let mut other = document();
        let (minor, _) = version().rsplit_once('.').unwrap();
        other["version"] = json!(format!("{minor}.77"));
        let read = read(&other).unwrap();
        assert_eq!((read.descriptors(), read.clients.len(), read.reload), (vec![3, 4], 0, false));
    }

    /// CTL-11: another format or minor version is refused before anything else is read.
    #[test]
    fn another_format_or_minor_version_is_refused() {
        let refused = |value: Value| read(&value).unwrap_err();
        assert_eq!(
            refused(json!({"format": 2, "version": version(), "pid": 1})),
            "the state that is handed over has format 2, this program reads 1"
        );
        let ours = version();
        assert_eq!(
            refused(json!({"format": 1, "version": "77.0.0", "pid": 1})),
            format!("version 77.0.0 cannot be replaced by version {ours} without a restart")
        );
        let nonsense = Document::read(b"nonsense").unwrap_err().to_string();
        assert!(nonsense.starts_with("the state that is handed over is not understood: "), "{nonsense}");
    }
}
