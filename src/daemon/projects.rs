//! The projects whose harnesses are the daemon's: registering and forgetting them (CFG-5).
//!
//! Invariant: a project is registered when its text was accepted, and forgotten when the reading without it
//! begins; readings come one after the other, and what is asked of one project in the order in which it was.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::state::{ConfigStatus, Daemon};
use crate::base::{Diagnostic, HarnessName, State, nearest};
use crate::config::{Configuration, DUPLICATE_PROJECT, FILE_NAME, UNREADABLE};
use crate::host::files::ReadProblem;
use crate::loader::{Asked, Raised, UnitState, has_changed};
use crate::supervisor::{Event, Ticket};
use crate::wire::{
    Acted, ConfigState, ErrorBody, ErrorCode, ForgottenView, HarnessView, LoweredView, ProjectView,
    ProjectsView, RaisedView, Record, RegisteredProject, json,
};

/// Who waits for a reading of the files.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// Of all.
    pub(super) reloads: Vec<Ticket>,
    /// Of a project that is to be registered; its file.
    pub(super) ups: Vec<(Ticket, Utf8PathBuf)>,
    /// Of all but a project that was registered.
    pub(super) downs: Vec<(Ticket, Leaving)>,
}

impl Readers {
    /// Whether one reading serves both: of a project that is to come and to go only the later counts.
    pub(super) const fn may_join(&self, later: &Self) -> bool {
        let (comes, goes) = (!self.ups.is_empty(), !self.downs.is_empty());
        (!comes || later.downs.is_empty()) && (!goes || later.ups.is_empty())
    }

    pub(super) fn join(&mut self, other: Self) {
        self.reloads.extend(other.reloads);
        self.ups.extend(other.ups);
        self.downs.extend(other.downs);
    }
}

/// A project that is registered no more.
#[derive(Debug)]
pub(super) struct Leaving {
    name: String,
    file: Utf8PathBuf,
    harnesses: Vec<HarnessName>,
}

/// What was in force before a re-execution and is refused since: the fleet has what is left of it, which goes on
/// until its files are mended.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Whether that is the global unit.
    pub(super) global: bool,
    /// The names of projects by their files.
    pub(super) projects: BTreeMap<Utf8PathBuf, String>,
}

impl Lost {
    /// Whether a harness is one of those.
    fn has(&self, harness: &HarnessName) -> bool {
        harness.project().map_or(self.global, |name| self.projects.values().any(|lost| lost == name))
    }
}

/// What `ps` shows, with what the files of registered projects say by now.
pub(super) fn compared(mut shown: ProjectsView, registered: &[RegisteredProject]) -> ProjectsView {
    for project in &mut shown.projects {
        let row = registered.iter().find(|row| row.file == project.file && !project.listed);
        let Some(row) = row else { continue };
        project.changed_since_up = has_changed(row);
        let own = shown.harnesses.iter_mut().filter(|one| one.project == project.name);
        own.for_each(|one| one.changed_since_up = Some(project.changed_since_up));
    }
    shown
}

/// A project as people are shown it.
pub(super) fn project_view(unit: &UnitState) -> ProjectView {
    ProjectView {
        name: unit.name.clone(),
        file: unit.file.to_string(),
        listed: unit.listed,
        state: if unit.accepted { ConfigState::Ok } else { ConfigState::Rejected },
        changed_since_up: unit.changed,
    }
}

impl Daemon {
    /// Registers the project with this file, or accepts what that says now.
    pub(super) fn raise(&mut self, ticket: Ticket, file: Utf8PathBuf) {
        self.read_for(Readers { ups: vec![(ticket, file)], ..Readers::default() });
    }

    /// The file of a registered project.
    pub(super) fn registered(
        &self,
        name: Option<&str>,
        file: Option<&str>,
    ) -> Result<Utf8PathBuf, ErrorBody> {
        let meant = |unit: &&UnitState| {
            name.map_or_else(|| file == Some(unit.key.as_str()), |name| unit.name.as_deref() == Some(name))
        };
        let units = self.config.projects.iter();
        if let Some(unit) = units.clone().find(|unit| meant(unit) && unit.listed) {
            let global = &self.config.selection.global.file;
            let what = unit.name.as_deref().unwrap_or(unit.file.as_str());
            let message = format!("project `{what}` is listed in the global file, and so it stays");
            return Err(ErrorBody::new(ErrorCode::NotPermitted, message).help(format!(
                "remove `{}` from `[daemon] projects` in {global}; `harnessd stop` stops its harnesses meanwhile",
                unit.file.parent().unwrap_or(&unit.file)
            )));
        }
        let rows = self.config.registered.iter();
        let by_row = |row: &&RegisteredProject| {
            name.map_or_else(|| file == Some(row.file.as_str()), |name| row.name == name)
        };
        let found = units
            .clone()
            .find(meant)
            .map(|unit| &unit.key)
            .or(rows.clone().find(by_row).map(|row| &row.file));
        if let Some(key) = found.filter(|key| rows.clone().any(|row| row.file == **key)) {
            return Ok(key.clone());
        }
        if let Some(file) = file {
            let message = format!("the project is not up: {}", file.escape_debug());
            return Err(ErrorBody::new(ErrorCode::UnknownProject, message)
                .help("`harnessd status` shows the projects that are; `harnessd down NAME` takes one down"));
        }
        let what = name.unwrap_or_default();
        let names = rows.map(|row| row.name.as_str());
        let help = match nearest(what, names).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`harnessd status` shows the projects".to_owned(),
        };
        let message = format!("no project that is up is `{}`", what.escape_debug());
        Err(ErrorBody::new(ErrorCode::UnknownProject, message).help(help))
    }

    /// Has a registered project forgotten.
    pub(super) fn lower(&mut self, ticket: Ticket, file: Utf8PathBuf) {
        let row = self.config.registered.iter().find(|row| row.file == file);
        let name = row.map(|row| row.name.clone()).unwrap_or_default();
        let leaving = Leaving { name, file, harnesses: Vec::new() };
        self.read_for(Readers { downs: vec![(ticket, leaving)], ..Readers::default() });
    }

    /// Forgets a registered project; its harnesses are stopped by the reading that follows.
    pub(super) fn leave(&mut self, leaving: &mut Leaving) {
        let Leaving { name, file, harnesses } = leaving;
        let unit = self.config.projects.iter().find(|unit| unit.key == *file);
        if let Some(known) = unit.and_then(|unit| unit.name.as_ref()) {
            name.clone_from(known);
        }
        let own = |one: &&HarnessName| one.project() == Some(name.as_str());
        *harnesses = self.supervisor.names().filter(own).cloned().collect();
        self.config.registered.retain(|row| row.file != *file);
        self.commit(vec![Record::ProjectDown { file: file.clone() }]);
    }

    /// Keeps the texts that were accepted.
    pub(super) fn register(&mut self, asked: &[Asked]) {
        let rows = asked.iter().filter_map(|one| match &one.raised {
            Raised::Registered(row) => Some(row.clone()),
            Raised::Listed | Raised::Refused(_) => None,
        });
        let rows: Vec<RegisteredProject> = rows.collect();
        self.config.registered.retain(|old| rows.iter().all(|row| row.file != old.file));
        self.config.registered.extend(rows.iter().cloned());
        self.commit(rows.into_iter().map(Record::ProjectUp).collect());
    }

    /// Lets what is lost go on beside what is in force; what was found again, or is to be no more, is not lost.
    pub(super) fn with_lost(&mut self, mut configuration: Configuration) -> Configuration {
        let ConfigStatus { in_force, projects, lost, .. } = &mut self.config;
        lost.global &= !in_force.has_global();
        // Without the global file nobody knows which projects it lists.
        let unknown = lost.global;
        let is_lost = |key: &Utf8PathBuf| match projects.iter().find(|unit| unit.key == *key) {
            Some(unit) => !unit.in_force,
            None => unknown,
        };
        lost.projects.retain(|key, _| is_lost(key));
        let left = self.supervisor.present().filter(|harness| self.config.lost.has(&harness.name));
        for harness in left {
            configuration.harnesses.entry(harness.name.clone()).or_insert_with(|| Arc::clone(harness));
        }
        configuration
    }

    /// Tells who asked for it what became of a project.
    pub(super) fn tell_raised(&mut self, ticket: Ticket, asked: &Asked) {
        let Asked { file, key, raised } = asked;
        if let Raised::Refused(found) = raised {
            return self.reply(ticket, Err(refusal(file, found)));
        }
        let Some(unit) = self.config.projects.iter().find(|unit| unit.key == *key).cloned() else {
            let error =
                ErrorBody::new(ErrorCode::UnknownProject, "the project has been taken down meanwhile");
            return self.reply(ticket, Err(error));
        };
        self.start_enabled(unit.name.as_deref());
        let harnesses: Vec<_> = self.views().into_iter().filter(|one| one.project == unit.name).collect();
        let (project, warnings) = (project_view(&unit), self.unwritten());
        self.reply(ticket, json(&RaisedView { project, harnesses, warnings }));
    }

    /// What is to be said of an answer whose record waits in memory.
    fn unwritten(&self) -> Vec<String> {
        let said = |cause: &String| {
            format!("this is not written yet, and a daemon that starts anew does not know of it: {cause}")
        };
        self.store_trouble.iter().map(said).collect()
    }

    /// Starts what is enabled in a project and was stopped; one-shots have had their run.
    fn start_enabled(&mut self, project: Option<&str>) {
        let rests = |one: &HarnessView| matches!(one.state, State::Stopped | State::Failed);
        let due = self
            .supervisor
            .views()
            .into_iter()
            .filter(|one| one.project.as_deref() == project && one.enabled && !one.oneshot && rests(one));
        let names: Vec<HarnessName> = due.map(|one| one.name).collect();
        if !names.is_empty() {
            self.next_ticket += 1;
            // Nobody waits for this answer: `up` tells how each harness stands.
            let ticket = Ticket(self.next_ticket);
            self.feed(Event::Start { ticket, names, wait: false, session: None });
        }
    }

    /// Tells who asked for it that a project is gone.
    pub(super) fn tell_lowered(&mut self, ticket: Ticket, leaving: Leaving) {
        let Leaving { name, file, harnesses } = leaving;
        let become_of = |name: HarnessName| {
            let gone = self.supervisor.harness(&name).is_none();
            let result = if gone { "stopped" } else { "stopping" };
            Acted { name, result: result.to_owned(), run: None }
        };
        let harnesses = harnesses.into_iter().map(become_of).collect();
        let project = ForgottenView { name, file: file.into_string() };
        let warnings = self.unwritten();
        self.reply(ticket, json(&LoweredView { project, harnesses, warnings }));
    }

    /// All harnesses, each with what was last seen of its project's file.
    pub(super) fn views(&self) -> Vec<HarnessView> {
        let mut views = self.supervisor.views();
        for view in views.iter_mut().filter(|view| view.project.is_some()) {
            let mut own = self.config.projects.iter().filter(|unit| unit.name == view.project);
            view.changed_since_up = own.next().filter(|unit| !unit.listed).map(|unit| unit.changed);
        }
        views
    }

    /// What `ps` shows: one project, or all.
    pub(super) fn shown_projects(&self, file: Option<&str>) -> ProjectsView {
        let meant = |unit: &&UnitState| file.is_none_or(|file| unit.key == file);
        let units: Vec<&UnitState> = self.config.projects.iter().filter(meant).collect();
        let own = |view: &HarnessView| {
            let all = file.is_none() && view.project.is_some();
            all || units.iter().any(|unit| unit.name.is_some() && unit.name == view.project)
        };
        let harnesses = self.views().into_iter().filter(own).collect();
        ProjectsView { projects: units.into_iter().map(project_view).collect(), harnesses }
    }
}

fn refusal(key: &Utf8Path, found: &[Diagnostic]) -> ErrorBody {
    let first = found.first().map_or("", |one| one.message.as_str());
    let (message, code) = match found {
        [one] if one.code == UNREADABLE => (format!("{key}: {first}"), ErrorCode::UnknownProject),
        [_] => (format!("{key} has an error: {first}"), ErrorCode::ConfigInvalid),
        _ => (format!("{key} has {} errors, the first: {first}", found.len()), ErrorCode::ConfigInvalid),
    };
    ErrorBody::new(code, message).help(match found {
        // What no look at the file alone would show.
        [Diagnostic { code: DUPLICATE_PROJECT, help: Some(help), .. }] => help.clone(),
        [one] if one.message == ReadProblem::Missing.to_string() => {
            format!("`up` takes a directory with a `{FILE_NAME}`; `harnessd init --project` writes one there")
        }
        [Diagnostic { code: UNREADABLE, help: Some(help), .. }] => help.clone(),
        _ => format!("`harnessd validate '{key}'` shows each mistake with its place"),
    })
}
