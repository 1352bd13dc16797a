//! What workers are asked, and what they answer.
//!
//! Invariant: a question holds all that its answer needs, and has one also where the worker fails.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use camino::Utf8PathBuf;
use serde_json::Value;

use crate::adapter::Registry;
use crate::base::{HarnessName, RunId, Wall};
use crate::config::{Harness, definition_json};
use crate::daemon::inquiries::{self, Asks, Desk, Fleet};
use crate::daemon::lost::end_stale;
use crate::daemon::projects::compared;
use crate::daemon::recording::sweep;
use crate::daemon::sessions::{Sought, find, plan_next, prepare_in};
use crate::daemon::surveys::{Sighted, Wants, sight};
use crate::daemon::weighing::{Placed, Weighed, weigh};
use crate::doctor::{Patient, examine};
use crate::host::clock;
use crate::host::git::Repository;
use crate::host::tree::Kin;
use crate::launch::{
    LaunchError, Prepared, Surroundings, shown_command, skills_view, sync_skills, withdraw_skills,
};
use crate::loader::{Reading, Request, read_units};
use crate::supervisor::{Ticket, Wish};
use crate::transcripts::{Follower, Look, Subject};
use crate::wire::{
    Description, ErrorBody, ErrorCode, HarnessView, PlanView, PlannedFiring, Planner, ProjectsView,
    RegisteredProject, Run, Source, json,
};

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
        request: Box<Request>,
        around: Arc<Surroundings>,
    },
    Compare {
        ticket: Ticket,
        shown: ProjectsView,
        registered: Vec<RegisteredProject>,
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
    SyncSkills {
        ticket: Ticket,
        harness: Arc<Harness>,
        dry_run: bool,
        around: Arc<Surroundings>,
    },
    Plan {
        ticket: Ticket,
        harness: Arc<Harness>,
        firings: Vec<PlannedFiring>,
        around: Arc<Surroundings>,
    },
    Survey {
        ticket: Ticket,
        wants: Wants,
        registry: Arc<Registry>,
        around: Arc<Surroundings>,
    },
    Examine {
        ticket: Ticket,
        patient: Box<Patient>,
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
    Loaded(Result<Box<Reading>, String>),
    Swept(Result<usize, String>),
    Told {
        ticket: Ticket,
        result: Result<Value, ErrorBody>,
    },
    Surveyed {
        ticket: Ticket,
        wants: Wants,
        found: Vec<Sighted>,
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
            Self::Load { .. } => Answer::Loaded(Err(trouble)),
            Self::Look { .. } => Answer::Looked(None),
            Self::Weigh { .. } => Answer::Weighed(Weighed::default()),
            Self::Skills { ticket, .. }
            | Self::SyncSkills { ticket, .. }
            | Self::Plan { ticket, .. }
            | Self::Describe { ticket, .. }
            | Self::Compare { ticket, .. }
            | Self::Survey { ticket, .. }
            | Self::Examine { ticket, .. }
            | Self::Inquire { ticket, .. } => {
                Answer::Told { ticket: *ticket, result: Err(ErrorBody::new(ErrorCode::Internal, trouble)) }
            }
        }
    }

    /// Whether a client asks it, who would be told also why there is no answer.
    pub(super) fn is_of_a_client(&self) -> bool {
        matches!(self.failed(""), Answer::Told { .. })
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
            Self::Load { request, around } => {
                let reading = read_units(*request, &around.home, clock::now().wall);
                Answer::Loaded(Ok(Box::new(reading)))
            }
            Self::Compare { ticket, shown, registered } => {
                Answer::Told { ticket, result: json(&compared(shown, &registered)) }
            }
            Self::Sweep { state, elsewhere, before } => Answer::Swept(sweep(&state, &elsewhere, before)),
            Self::Skills { ticket, harness, around } => {
                Answer::Told { ticket, result: json(&skills_view(&harness, &around)) }
            }
            Self::SyncSkills { ticket, harness, dry_run, around } => {
                let done = sync_skills(&harness, &around, dry_run);
                let failed = |cause: LaunchError| ErrorBody::new(cause.code(), cause.to_string());
                Answer::Told { ticket, result: done.map_err(failed).and_then(|view| json(&view)) }
            }
            Self::Plan { ticket, harness, firings, around } => {
                let view = PlanView {
                    harness: harness.name.clone(),
                    adapter: harness.adapter.id().to_owned(),
                    made_by: Planner::Daemon,
                    firings,
                    start: plan_next(&harness, &around),
                };
                Answer::Told { ticket, result: json(&view) }
            }
            Self::Survey { ticket, wants, registry, around } => {
                Answer::Surveyed { ticket, wants, found: sight(&registry, &around) }
            }
            Self::Examine { ticket, patient, around } => {
                Answer::Told { ticket, result: json(&examine(&patient, &around)) }
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
