//! Telling one trajectory from its beginning, in constant memory.
//!
//! Invariant: only what lies in the windows of runs whose harness lets its trajectories be read is told (COR-7).

use std::io;

use camino::Utf8PathBuf;

use super::read::{SessionPlace, read_session};
use crate::base::{RunId, Wall};
use crate::correlate::Facts;
use crate::host::logs::{LogReader, Start};
use crate::host::terminal::Plain;
use crate::report::{Format as ReportFormat, Renderer};
use crate::trajectory::{Event, Needs, Trace, What};
use crate::wire::{ErrorBody, ErrorCode, Evidence, TrajectoryView};

/// Where a trajectory is read.
#[derive(Debug)]
pub(super) enum Source {
    /// The agent's own files.
    Session {
        place: SessionPlace,
        /// The topmost session above it.
        top: String,
        /// The runs that it belongs to.
        of: Vec<(RunId, Evidence)>,
        /// Those of them whose parts may be told.
        open: Vec<RunId>,
        facts: Box<Facts>,
    },
    /// The log of a run.
    Log { path: Utf8PathBuf, report: Option<String> },
}

/// One trajectory.
#[derive(Debug)]
pub struct Telling {
    /// What it is.
    pub view: TrajectoryView,
    pub(super) source: Source,
}

impl Telling {
    /// Tells its events in order.
    ///
    /// # Errors
    /// If what holds it cannot be read.
    pub fn events(&self, emit: &mut dyn FnMut(Event)) -> Result<(), ErrorBody> {
        match &self.source {
            Source::Session { place, of, open, facts, .. } => {
                // What has no time of its own stands with what came before it.
                let ledger = facts.prepare();
                let mut last: Option<Wall> = self.view.started_at;
                let told = read_session(place, Needs::Everything, &mut |event| {
                    last = event.at.or(last);
                    let run = last.and_then(|at| ledger.owner(at, of));
                    if run.is_some_and(|run| open.contains(&run)) {
                        emit(event);
                    }
                });
                told.map(drop).map_err(|cause| ErrorBody::new(ErrorCode::Internal, cause.to_string()))
            }
            Source::Log { path, report } => log(path, report.as_deref(), emit).map_err(|cause| {
                ErrorBody::new(ErrorCode::Internal, format!("the log of run {}: {cause}", self.view.id))
            }),
        }
    }

    /// What tells its spans from all others.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let agent = self.view.agent.clone();
        let session = self.view.native_id.clone().unwrap_or_else(|| self.view.id.clone());
        let top = match &self.source {
            Source::Session { top, .. } => top.clone(),
            Source::Log { .. } => session.clone(),
        };
        let parent = self.view.parent.as_ref().filter(|parent| parent.kinship == "sub-agent");
        Trace { agent, parent: parent.map(|parent| parent.native_id.clone()), session, top }
    }
}

/// Tells a log as lines of text.
fn log(path: &Utf8PathBuf, report: Option<&str>, emit: &mut dyn FnMut(Event)) -> io::Result<()> {
    let mut reader = LogReader::open(path, Start::Oldest)?;
    let mut renderer =
        report.and_then(|name| name.parse::<ReportFormat>().ok()).map(|format| Renderer::new(format, false));
    let mut plain = Plain::default();
    let mut number = 0;
    let mut tell = |text: String| {
        emit(Event { at: None, id: None, place: (number, 0), what: What::Output { text } });
        number += 1;
    };
    let mut piece = Vec::new();
    while reader.read(&mut piece)? > 0 {
        match &mut renderer {
            Some(renderer) => plain.feed(&renderer.feed(&piece), &mut tell),
            None => plain.feed(&piece, &mut tell),
        }
        piece.clear();
    }
    if let Some(rest) = renderer.as_mut().map(Renderer::finish) {
        plain.feed(&rest, &mut tell);
    }
    plain.finish(&mut tell);
    Ok(())
}
