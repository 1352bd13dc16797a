//! The units of acceptance (CFG-10): the global file with its drop-ins, and each project by itself.
//!
//! Invariant: a unit that is refused leaves its own last good definition in force, whole, and touches no
//! other unit's; of two projects of one name the one that came first keeps it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Selection, check, load_with_texts, nothing, read, unreadable};
use crate::base::{Diagnostic, HarnessName, Place, Severity, Sources, Wall};
use crate::config::{
    Configuration, DUPLICATE_PROJECT, DaemonSettings, FILE_NAME, FileKind, Harness, Input, Loaded, Project,
    text_hash,
};
use crate::host::files;
use crate::wire::RegisteredProject;

mod judge;

use judge::Projects;

/// What is to be read.
#[derive(Debug, Clone)]
pub struct Request {
    /// The global file and its drop-ins.
    pub selection: Selection,
    /// The projects that `up` has registered, oldest first.
    pub registered: Vec<RegisteredProject>,
    /// Project files whose present text is to be accepted and registered.
    pub raise: Vec<Utf8PathBuf>,
    /// What is in force.
    pub in_force: InForce,
}

impl Request {
    /// What is read first, when nothing is in force yet.
    #[must_use]
    pub fn first(selection: Selection, registered: Vec<RegisteredProject>) -> Self {
        Self { selection, registered, raise: Vec::new(), in_force: InForce::default() }
    }
}

/// The last good definition of each unit.
#[derive(Debug, Clone, Default)]
pub struct InForce {
    global: Option<Good>,
    projects: BTreeMap<Utf8PathBuf, GoodProject>,
}

/// The global unit: its texts are read again beside those of projects, which build on its adapters.
#[derive(Debug, Clone)]
struct Good {
    inputs: Vec<Input>,
    configuration: Arc<Configuration>,
}

#[derive(Debug, Clone)]
struct GoodProject {
    project: Project,
    file: Utf8PathBuf,
    harnesses: BTreeMap<HarnessName, Arc<Harness>>,
}

/// A project as the daemon has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitState {
    /// Its file, as it was named.
    pub file: Utf8PathBuf,
    /// Its file in a directory without symbolic links: what tells it from others.
    pub key: Utf8PathBuf,
    /// Its name, as far as it is known.
    pub name: Option<String>,
    /// Whether `[daemon] projects` lists it; else `up` has registered it.
    pub listed: bool,
    /// Whether its text was accepted.
    pub accepted: bool,
    /// Whether a definition of it is in force, this one or an earlier one.
    pub in_force: bool,
    /// Whether its file says something else than what `up` has accepted.
    pub changed: bool,
}

/// A project that was to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its file, as it was named.
    pub file: Utf8PathBuf,
    /// See [`UnitState::key`].
    pub key: Utf8PathBuf,
    /// What came of it.
    pub raised: Raised,
}

/// What came of a project that was to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Raised {
    /// It is listed: nothing had to be registered.
    Listed,
    /// It was accepted.
    Registered(RegisteredProject),
    /// It was not: its mistakes, at least one.
    Refused(Vec<Diagnostic>),
}

/// What came of reading.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What is in force from now on.
    pub in_force: InForce,
    /// The same as one configuration.
    pub configuration: Configuration,
    /// Whether the global unit was accepted.
    pub global_accepted: bool,
    /// The settings as far as they can be told, also of a broken file.
    pub settings: DaemonSettings,
    /// The projects, the listed ones first.
    pub projects: Vec<UnitState>,
    /// What became of each project that was to be registered.
    pub asked: Vec<Asked>,
    /// All mistakes and doubts.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that they point into.
    pub sources: Sources,
    /// Every file whose change changes what is read.
    pub watched: Vec<Utf8PathBuf>,
}

impl Reading {
    /// Whether every unit was accepted.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.global_accepted && self.projects.iter().all(|project| project.accepted)
    }

    /// How many errors there are.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|one| one.severity == Severity::Error).count()
    }
}

/// What tells the project in `dir` from others: its file, by a name without symbolic links but its own.
#[must_use]
pub fn project_key(dir: &Utf8Path) -> Utf8PathBuf {
    files::physical(dir).join(FILE_NAME)
}

/// Whether the file of a registered project says something else than what was accepted.
#[must_use]
pub fn has_changed(project: &RegisteredProject) -> bool {
    !read(&project.file).is_ok_and(|text| text_hash(&text) == project.hash)
}

/// Reads all units; `now` is when projects that are registered are.
#[must_use]
pub fn read_units(mut request: Request, home: &Utf8Path, now: Wall) -> Reading {
    request.selection.look_again();
    let named = std::mem::take(&mut request.raise);
    let named = named.into_iter().map(|file| (file.parent().map(project_key).unwrap_or_default(), file));
    let named: Vec<(Utf8PathBuf, Utf8PathBuf)> = named.collect();
    request.raise = named.iter().map(|(key, _)| key.clone()).collect();
    let mut refused = BTreeMap::new();
    loop {
        let (mut reading, raised) = read_once(request.clone(), home, now);
        let is_refused = |(_, raised): &(Utf8PathBuf, Raised)| matches!(raised, Raised::Refused(_));
        let (bad, mut raised): (BTreeMap<_, _>, BTreeMap<_, _>) = raised.into_iter().partition(is_refused);
        if bad.is_empty() {
            raised.append(&mut refused);
            let of = |(key, file): (Utf8PathBuf, Utf8PathBuf)| {
                let raised = raised.get(&key)?.clone();
                Some(Asked { file, key, raised })
            };
            reading.asked = named.into_iter().filter_map(of).collect();
            return reading;
        }
        // All else is as if it had not been asked for.
        request.raise.retain(|file| !bad.contains_key(file));
        refused.extend(bad);
    }
}

fn read_once(request: Request, home: &Utf8Path, now: Wall) -> (Reading, BTreeMap<Utf8PathBuf, Raised>) {
    let Request { selection, registered, raise, in_force } = request;
    let (texts, loaded) = load_with_texts(&selection.unit(), home);
    let Loaded { configuration, settings, mut diagnostics, mut sources, .. } = loaded;
    let global_accepted = configuration.is_some();
    let global = match configuration {
        Some(configuration) => Some(Good { inputs: texts, configuration: Arc::new(configuration) }),
        None => in_force.global,
    };
    let listed = global.as_ref().map_or(&[][..], |global| &global.configuration.daemon.projects);
    let candidates = candidates(listed, registered, &raise, &selection.global.file);
    let mut watched = selection.watched();
    watched.extend(candidates.iter().map(|one| one.state.file.clone()));
    let mut projects = Projects { before: in_force.projects, ..Projects::default() };
    if !candidates.is_empty() {
        let above = global.as_ref().map_or(&[][..], |global| &global.inputs);
        let projects_too = candidates.iter().filter_map(Candidate::input);
        let inputs: Vec<Input> = above.iter().cloned().chain(projects_too).collect();
        let mut together = check(&inputs, home);
        if global_accepted {
            // What it says of projects can be judged only beside them.
            let own = |one: &&Diagnostic| !candidates.iter().any(|unit| unit.is_to_blame(one, above));
            diagnostics = together.diagnostics.iter().filter(own).cloned().collect();
        }
        // Of a refused global unit other texts are in force than its diagnostics point into.
        let told = std::mem::replace(&mut sources, std::mem::take(&mut together.sources));
        sources.extend(told);
        if !global_accepted {
            let places = together.diagnostics.iter_mut().flat_map(Diagnostic::places_mut);
            places.filter(|place| is_of(above, &place.file)).for_each(|place| place.span = None);
        }
        projects.judge(candidates, &together, above, now);
    }
    diagnostics.append(&mut projects.diagnostics);
    let in_force = InForce { global, projects: projects.after };
    let missing = in_force.global.is_none() || projects.states.iter().any(|state| !state.in_force);
    let configuration = in_force.merged(&settings, missing);
    let reading = Reading {
        in_force,
        configuration,
        global_accepted,
        settings,
        projects: projects.states,
        asked: Vec::new(),
        diagnostics,
        sources,
        watched,
    };
    (reading, projects.raised)
}

/// A project that is to be read.
struct Candidate {
    state: UnitState,
    text: Result<String, Box<Diagnostic>>,
    /// Whether it is asked for.
    raised: bool,
}

impl Candidate {
    fn input(&self) -> Option<Input> {
        let text = self.text.as_ref().ok()?.clone();
        Some(Input { file: self.state.file.clone(), kind: FileKind::Project, text })
    }

    /// Whether a mistake is this project's: one in its file, or an error in the global unit that it brings about.
    fn is_to_blame(&self, one: &Diagnostic, global: &[Input]) -> bool {
        let here = |place: &Place| place.file == self.state.file;
        let brought = || one.related.iter().any(|other| here(&other.place));
        here(&one.place) || (one.severity == Severity::Error && is_of(global, &one.place.file) && brought())
    }
}

fn is_of(unit: &[Input], file: &Utf8Path) -> bool {
    unit.iter().any(|input| input.file == file)
}

/// The projects in the order in which they get their names: listed ones, registered ones, new ones.
fn candidates(
    listed: &[Utf8PathBuf],
    registered: Vec<RegisteredProject>,
    raise: &[Utf8PathBuf],
    global: &Utf8Path,
) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let on_disk = |file: &Utf8Path| {
        if files::same_file(file, global) {
            let one = unreadable(file, "the global file is no project file");
            return Err(Box::new(one.help("a project has a `harness.toml` in a directory of its own")));
        }
        read(file)
    };
    for dir in listed {
        let (file, key) = (dir.join(FILE_NAME), project_key(dir));
        if seen.insert(key.clone()) {
            let raised = raise.contains(&key);
            found.push(Candidate { text: on_disk(&file), state: UnitState::new(file, key, true), raised });
        }
    }
    for row in registered {
        if !raise.contains(&row.file) && seen.insert(row.file.clone()) {
            let changed = has_changed(&row);
            let RegisteredProject { file, name, text, .. } = row;
            let state = UnitState { name: Some(name), changed, ..UnitState::new(file.clone(), file, false) };
            found.push(Candidate { state, text: Ok(text), raised: false });
        }
    }
    for file in raise {
        if seen.insert(file.clone()) {
            let state = UnitState::new(file.clone(), file.clone(), false);
            found.push(Candidate { text: on_disk(file), state, raised: true });
        }
    }
    found
}

impl UnitState {
    fn new(file: Utf8PathBuf, key: Utf8PathBuf, listed: bool) -> Self {
        Self { file, key, name: None, listed, accepted: false, in_force: false, changed: false }
    }
}

impl InForce {
    /// Everything in force as one configuration.
    fn merged(&self, settings: &DaemonSettings, partial: bool) -> Configuration {
        let global = self.global.as_ref().map(|global| Configuration::clone(&global.configuration));
        let mut all = global.unwrap_or_else(|| nothing(settings));
        for project in self.projects.values() {
            all.files.push(project.file.clone());
            all.harnesses.extend(project.harnesses.iter().map(|(name, one)| (name.clone(), Arc::clone(one))));
        }
        all.partial = partial;
        all
    }

    /// The names of the projects of which something is in force.
    #[must_use]
    pub fn projects(&self) -> BTreeMap<Utf8PathBuf, String> {
        let named = |(key, good): (&Utf8PathBuf, &GoodProject)| (key.clone(), good.project.name.clone());
        self.projects.iter().map(named).collect()
    }

    /// Whether a definition of the global unit is.
    #[must_use]
    pub const fn has_global(&self) -> bool {
        self.global.is_some()
    }
}
