//! Which projects are accepted, beside one another.
//!
//! Invariant: names of projects in force are unique. A project is refused for its own text and its own name
//! alone: what another one says wrong, or comes to say, takes nothing from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::{Candidate, DUPLICATE_PROJECT, GoodProject, Raised, UnitState};
use crate::base::{Diagnostic, Place, Severity, Wall};
use crate::config::{Input, Loaded, Project, project_clash, text_hash};
use crate::wire::RegisteredProject;

/// The projects on their way from what was in force to what is.
#[derive(Default)]
pub(super) struct Projects {
    pub(super) before: BTreeMap<Utf8PathBuf, GoodProject>,
    pub(super) after: BTreeMap<Utf8PathBuf, GoodProject>,
    pub(super) states: Vec<UnitState>,
    pub(super) raised: BTreeMap<Utf8PathBuf, Raised>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A project that was read.
struct Judged<'a> {
    candidate: Candidate,
    /// What its text declares, as far as that can be parsed, and where its name stands.
    project: Option<&'a (Place, Project)>,
    /// What is wrong with it.
    found: Vec<Diagnostic>,
}

impl Projects {
    pub(super) fn judge(
        &mut self,
        candidates: Vec<Candidate>,
        together: &Loaded,
        above: &[Input],
        now: Wall,
    ) {
        let judged = |candidate: Candidate| {
            let own =
                |found: &&Diagnostic| found.code != DUPLICATE_PROJECT && candidate.is_to_blame(found, above);
            let found = match &candidate.text {
                Err(unread) => vec![Diagnostic::clone(unread)],
                Ok(_) => together.diagnostics.iter().filter(own).cloned().collect(),
            };
            let project = together.projects.iter().find(|(place, _)| place.file == candidate.state.file);
            Judged { candidate, project, found }
        };
        let mut judged: Vec<Judged<'_>> = candidates.into_iter().map(judged).collect();
        // Who is refused for its new name has its old one again, which somebody may want by now.
        while let Some((at, clash)) = self.clash(&judged) {
            judged[at].found.insert(0, clash);
        }
        for one in judged {
            self.decide(one, together, now);
        }
    }

    /// The next project that wants the name of another.
    fn clash(&self, judged: &[Judged<'_>]) -> Option<(usize, Diagnostic)> {
        let before = |one: &Judged<'_>| self.before.get(&one.candidate.state.key);
        let mut owners: BTreeMap<&str, (&Project, Place)> = BTreeMap::new();
        for kept in judged.iter().filter(|one| has_error(&one.found)).filter_map(before) {
            let place = Place { file: kept.file.clone(), span: None };
            owners.insert(&kept.project.name, (&kept.project, place));
        }
        let good = judged.iter().enumerate().filter(|(_, one)| !has_error(&one.found));
        let good = good.filter_map(|(at, one)| Some((at, one, one.project?)));
        let (holders, others): (Vec<_>, Vec<_>) =
            good.partition(|(_, one, (_, own))| before(one).is_some_and(|old| old.project.name == own.name));
        for (at, one, (place, own)) in holders.into_iter().chain(others) {
            // A new one has to respect also what is refused for now.
            let refused = judged.iter().filter(|other| one.candidate.raised && has_error(&other.found));
            let mut stated = refused.filter_map(|other| other.project);
            let stated = stated.find(|(_, other)| other.name == own.name);
            let stated = stated.map(|(place, project)| (project, place.clone()));
            if let Some((other, there)) = owners.get(own.name.as_str()).cloned().or(stated) {
                return Some((at, project_clash(own, place.clone(), other, there)));
            }
            owners.insert(&own.name, (own, place.clone()));
        }
        None
    }

    fn decide(&mut self, judged: Judged<'_>, together: &Loaded, now: Wall) {
        let Judged { candidate: Candidate { mut state, text, raised }, project, mut found } = judged;
        let project = project.map(|(_, project)| project);
        let good = match project.filter(|_| !has_error(&found)) {
            Some(project) => {
                let own = together.sound.iter().filter(|one| one.origin.file == state.file);
                let harnesses = own.map(|one| (one.name.clone(), Arc::clone(one))).collect();
                Some(GoodProject { project: project.clone(), file: state.file.clone(), harnesses })
            }
            // What was in force stays.
            None => self.before.remove(&state.key),
        };
        state.accepted = !has_error(&found);
        state.in_force = good.is_some();
        let known = good.as_ref().map(|good| &good.project).or(project).map(|project| project.name.clone());
        state.name = known.or(state.name);
        self.after.extend(good.map(|good| (state.key.clone(), good)));
        if raised {
            self.raised.insert(state.key.clone(), raise(&state, text, &found, now));
        }
        self.diagnostics.append(&mut found);
        self.states.push(state);
    }
}

fn raise(
    state: &UnitState,
    text: Result<String, Box<Diagnostic>>,
    found: &[Diagnostic],
    now: Wall,
) -> Raised {
    match text {
        Ok(text) if state.accepted && !state.listed => Raised::Registered(RegisteredProject {
            file: state.key.clone(),
            name: state.name.clone().unwrap_or_default(),
            hash: text_hash(&text),
            text,
            up_at: now,
        }),
        Ok(_) if state.accepted => Raised::Listed,
        _ => Raised::Refused(found.iter().filter(|one| one.severity == Severity::Error).cloned().collect()),
    }
}

fn has_error(found: &[Diagnostic]) -> bool {
    found.iter().any(|one| one.severity == Severity::Error)
}
