//! What workers are asked, and what they answer.
//!
//! Invariant: a question holds all that its answer needs, and has one also where the worker fails.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::base::{Diagnostic, HarnessName, Place, RunId, Wall};
use crate::config::{Harness, Loaded, UNREADABLE, definition_json};
use crate::daemon::inquiries::{self, Asks, Desk, Fleet};
use crate::daemon::lost::end_stale;
use crate::daemon::recording::sweep;
use crate::daemon::requests::json;
use crate::daemon::sessions::{Sought, find, prepare_in};
use crate::daemon::weighing::{Placed, Weighed, weigh};
use crate::host::clock;
use crate::host::git::Repository;
use crate::host::tree::Kin;
use crate::launch::{LaunchError, Prepared, Surroundings, shown_command, skills_view, withdraw_skills};
use crate::loader::{self, Selection};
use crate::supervisor::{Ticket, Wish};
use crate::transcripts::{Follower, Look, Subject};
use crate::wire::{Description, ErrorBody, ErrorCode, HarnessView, Run, Source};

/// What a worker is asked.
pub(super) enum Question {
    Prepare {
        run: RunId,
        stale: Vec<Run>,
        harness: Arc<Harness>,
        session: Option<Wish>,
        around: Arc<Surroundings>,
    },
    Withdraw {
        harness: Arc<Harness>,
        around: Arc<Surroundings>,
    },
    Find {
        sought: Sought,
        state: Utf8PathBuf,
        home: Utf8PathBuf,
    },
    Head {
        run: RunId,
        dir: Utf8PathBuf,
    },
    Load {
        selection: Selection,
        around: Arc<Surroundings>,
    },
    Sweep {
        state: Utf8PathBuf,
        elsewhere: BTreeSet<HarnessName>,
        before: Wall,
    },
    Skills {
        ticket: Ticket,
        harness: Arc<Harness>,
        around: Arc<Surroundings>,
    },
    Describe {
        ticket: Ticket,
        harness: Arc<Harness>,
        view: Box<HarnessView>,
        around: Arc<Surroundings>,
    },
    Inquire {
        ticket: Ticket,
        asks: Asks,
        desk: Box<Desk>,
    },
    Look {
        follower: Box<Follower>,
        /// With where the processes of those are that have something to tell.
        subjects: Vec<(Subject, Option<Kin>)>,
    },
    Weigh {
        kept: Vec<(RunId, Wall)>,
        events: Vec<Placed>,
        desk: Box<Desk>,
        fleet: Arc<OnceLock<Fleet>>,
    },
}

/// What a worker answers.
pub(in crate::daemon) enum Answer {
    Prepared {
        run: RunId,
        stale: Vec<Run>,
        prepared: Result<Box<Prepared>, LaunchError>,
    },
    Withdrawn {
        harness: HarnessName,
        trouble: Option<String>,
    },
    Found {
        sought: Sought,
        found: Result<Wish, ErrorBody>,
    },
    Head {
        run: RunId,
        commit: Option<String>,
    },
    Loaded(Box<Loaded>),
    Swept(Result<usize, String>),
    Told {
        ticket: Ticket,
        result: Result<Value, ErrorBody>,
    },
    /// The follower with what it found; none: it is lost.
    Looked(Option<Box<(Box<Follower>, Look)>>),
    Weighed(Weighed),
}

impl Question {
    /// The answer when there is none.
    pub(super) fn failed(&self, trouble: &str) -> Answer {
        let trouble = trouble.to_owned();
        match self {
            Self::Prepare { run, .. } => {
                let prepared = Err(LaunchError::Defect { cause: trouble });
                Answer::Prepared { run: *run, stale: Vec::new(), prepared }
            }
            Self::Withdraw { harness, .. } => {
                Answer::Withdrawn { harness: harness.name.clone(), trouble: Some(trouble) }
            }
            Self::Find { sought, .. } => {
                let found = Err(ErrorBody::new(ErrorCode::Internal, trouble));
                Answer::Found { sought: sought.clone(), found }
            }
            Self::Head { run, .. } => Answer::Head { run: *run, commit: None },
            Self::Sweep { .. } => Answer::Swept(Err(trouble)),
            Self::Load { selection, .. } => {
                let place = Place { file: selection.global.file.clone(), span: None };
                let one = Diagnostic::error(UNREADABLE, place, trouble);
                Answer::Loaded(Box::new(Loaded { diagnostics: vec![one], ..Loaded::default() }))
            }
            Self::Look { .. } => Answer::Looked(None),
            Self::Weigh { .. } => Answer::Weighed(Weighed::default()),
            Self::Skills { ticket, .. } | Self::Describe { ticket, .. } | Self::Inquire { ticket, .. } => {
                Answer::Told { ticket: *ticket, result: Err(ErrorBody::new(ErrorCode::Internal, trouble)) }
            }
        }
    }

    /// The answer.
    pub(super) fn answer(self) -> Answer {
        match self {
            Self::Prepare { run, stale, harness, session, around } => {
                end_stale(&stale);
                let prepared = prepare_in(session.as_ref(), &harness, run, &around);
                Answer::Prepared { run, stale, prepared: prepared.map(Box::new) }
            }
            Self::Withdraw { harness, around } => {
                let trouble = withdraw_skills(&harness, &around).err().map(|cause| cause.to_string());
                Answer::Withdrawn { harness: harness.name.clone(), trouble }
            }
            Self::Find { sought, state, home } => {
                let found = find(&sought, &state, &home);
                Answer::Found { sought, found }
            }
            Self::Head { run, dir } => {
                let commit = Repository::holding(&dir).as_ref().and_then(Repository::head);
                Answer::Head { run, commit }
            }
            Self::Load { selection, around } => {
                Answer::Loaded(Box::new(loader::load_global(&selection, &around.home)))
            }
            Self::Sweep { state, elsewhere, before } => Answer::Swept(sweep(&state, &elsewhere, before)),
            Self::Skills { ticket, harness, around } => {
                Answer::Told { ticket, result: json(&skills_view(&harness, &around)) }
            }
            Self::Inquire { ticket, asks, desk } => {
                Answer::Told { ticket, result: inquiries::answer(asks, &desk) }
            }
            Self::Look { mut follower, subjects } => {
                let with_processes = |(subject, kin): (Subject, Option<Kin>)| {
                    let processes = kin.iter().flat_map(Kin::pids).collect();
                    Subject { processes, ..subject }
                };
                let subjects: Vec<Subject> = subjects.into_iter().map(with_processes).collect();
                let look = follower.look(&subjects, clock::now().wall);
                Answer::Looked(Some(Box::new((follower, look))))
            }
            Self::Weigh { kept, events, desk, fleet } => {
                let declared = fleet.get_or_init(|| desk.declared());
                Answer::Weighed(weigh(&kept, events, &desk, declared))
            }
            Self::Describe { ticket, harness, view, around } => {
                Answer::Told { ticket, result: described(&harness, *view, &around) }
            }
        }
    }
}

fn described(harness: &Harness, view: HarnessView, around: &Surroundings) -> Result<Value, ErrorBody> {
    let command =
        shown_command(harness, around).map_err(|cause| ErrorBody::new(cause.code(), cause.to_string()))?;
    json(&Description {
        harness: view,
        definition: definition_json(harness),
        source: Source { file: harness.origin.file.to_string(), line: harness.origin.line },
        command,
        skills: skills_view(harness, around),
    })
}
