//! From files to a configuration, with all mistakes of all files at once.
//!
//! Invariant: diagnostics come in the order of the files and of their places
//! in them, and a configuration comes out only if none of them is an error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use chrono_tz::Tz;

use super::codes::{DUPLICATE_HARNESS, DUPLICATE_PROJECT};
use super::daemon::{DaemonLayer, daemon_table, settings};
use super::definition::digest;
use super::document::File;
use super::harness::{Shared, harness, not_a_table, shared};
use super::model::{Configuration, DaemonSettings, Harness, Notify, Project, Setting};
use super::neighbours::{Declaration, neighbours};
use super::notify::notify;
use super::profile::{Members, profiles};
use super::{FileKind, Input, Loaded, Lookup, Surroundings, tables};
use crate::adapter::{Adapter, Registry};
use crate::base::{Diagnostic, HarnessName, Place, Severity, SourceText, Sources, quoted};
use crate::schedule::{Schedule, ScheduleError};

/// What every check may need.
pub(super) struct Context<'a> {
    /// The built-in adapters and the user's.
    pub(super) registry: &'a Registry,
    /// Names of adapters whose tables are wrong.
    pub(super) spoilt_adapters: &'a [String],
    /// Answers about other files.
    pub(super) lookup: &'a dyn Lookup,
    /// The home directory.
    pub(super) home: &'a Utf8Path,
    /// The system's time zone.
    pub(super) zone: Tz,
    digests: RefCell<BTreeMap<String, String>>,
    schedules: RefCell<BTreeMap<String, Schedule>>,
}

impl Context<'_> {
    /// The digest of an adapter's data, made once an adapter.
    pub(super) fn adapter_digest(&self, adapter: &Adapter) -> String {
        let mut digests = self.digests.borrow_mut();
        let made = || digest(&serde_json::to_string(adapter).unwrap_or_default());
        digests.entry(adapter.id().to_owned()).or_insert_with(made).clone()
    }

    /// Reads a schedule, each text once: to expand a calendar takes longer than
    /// to parse the table that holds it.
    pub(super) fn schedule(&self, text: &str) -> Result<Schedule, ScheduleError> {
        let mut known = self.schedules.borrow_mut();
        if let Some(schedule) = known.get(text) {
            return Ok(schedule.clone());
        }
        let schedule = Schedule::parse(text)?;
        known.insert(text.to_owned(), schedule.clone());
        Ok(schedule)
    }
}

/// Diagnostics beside the position of their file.
type Found = Vec<(usize, Diagnostic)>;

/// Reads files that belong together: the global one, drop-ins, projects.
///
/// `[adapter.*]` and the skill roots of `[defaults]` of the global ones hold for
/// all. To validate a project file by itself, hand in the selected global file
/// too and leave out the diagnostics that are placed in it.
pub fn load(inputs: &[Input], surroundings: &Surroundings, lookup: &dyn Lookup) -> Loaded {
    let mut sources = Sources::default();
    let mut found: Found = Vec::new();
    let mut files: Vec<Option<File>> = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        let shared: Arc<str> = input.text.as_str().into();
        let text = SourceText::new(Arc::clone(&shared));
        sources.insert(input.file.clone(), text.clone());
        let parsed = File::parse(input, &shared, text);
        files.push(parsed.map_err(|error| found.push((at, *error))).ok());
    }
    let (registry, spoilt, wrong) = tables::registry(&files);
    found.extend(wrong);
    let context = Context {
        registry: &registry,
        spoilt_adapters: &spoilt,
        lookup,
        home: &surroundings.home,
        zone: surroundings.zone,
        digests: RefCell::default(),
        schedules: RefCell::default(),
    };
    let all = shared_of(&files, &context, &mut found);
    let global_roots: Vec<_> = all
        .iter()
        .filter(|(_, one)| one.project.is_none())
        .flat_map(|(_, one)| one.skill_paths.clone())
        .collect();
    let mut harnesses: BTreeMap<HarnessName, Arc<Harness>> = BTreeMap::new();
    let mut sound = Vec::new();
    let mut declared: BTreeMap<(Option<&str>, &str), Declaration> = BTreeMap::new();
    for (at, shared) in &all {
        for local in names(shared, *at, &mut found) {
            let (made, wrong) = harness(shared, local, &global_roots, &context);
            found.extend(wrong.into_iter().map(|one| (*at, one)));
            let made = made.map(Arc::new);
            sound.extend(made.clone());
            let project = shared.project.as_ref().map(|project| project.name.as_str());
            let declaration = Declaration::of(shared.file, local);
            if let Some(first) = declared.get(&(project, local)) {
                let one = duplicate(local, &declaration.place, &first.place).of(local);
                // Two projects of one name are reported as such.
                found.extend(project.is_none().then_some((*at, one)));
                continue;
            }
            declared.insert((project, local), declaration);
            harnesses.extend(made.map(|made| (made.name.clone(), made)));
        }
    }
    found.extend(project_clashes(&all));
    let projects = all.iter().filter_map(|(_, one)| Some((name_place(one), one.project.clone()?))).collect();
    found.extend(neighbours(&harnesses, &declared, inputs, &surroundings.home));
    let (daemon, told) = daemon_of(&files, surroundings, lookup, &mut found, inputs.len());
    let notify = notify_of(&files, &mut found);
    let members = Members {
        harnesses: &harnesses,
        declared: &declared,
        projects: all.iter().filter_map(|(_, one)| Some(one.project.as_ref()?.name.as_str())).collect(),
        whole: files
            .iter()
            .zip(inputs)
            .all(|(file, input)| file.is_some() || input.kind == FileKind::Project),
    };
    let (profiles, wrong) = profiles(&files, &members);
    found.extend(wrong);
    let (settings, told) = match files
        .iter()
        .zip(inputs)
        .any(|(file, input)| file.is_none() && input.kind == FileKind::Global)
    {
        false => (daemon.clone(), told),
        true => {
            let salvaged: Vec<Option<File>> = inputs.iter().map(File::salvage).collect();
            daemon_of(&salvaged, surroundings, lookup, &mut Vec::new(), 0)
        }
    };
    found.sort_by_key(|(at, one)| (*at, one.place.span.as_ref().map_or(0, |span| span.start)));
    let diagnostics: Vec<Diagnostic> = found.into_iter().map(|(_, one)| one).collect();
    let failed = diagnostics.iter().any(|one| one.severity == Severity::Error);
    let files: Vec<Utf8PathBuf> = inputs.iter().map(|input| input.file.clone()).collect();
    let configuration = (!failed).then_some(Configuration {
        daemon,
        harnesses,
        registry: Arc::clone(&registry),
        notify,
        profiles,
        partial: false,
        files,
    });
    Loaded { configuration, sound, projects, settings, told, diagnostics, sources }
}

/// Everything of each file but its harnesses.
fn shared_of<'a>(
    files: &'a [Option<File>],
    context: &Context<'_>,
    found: &mut Found,
) -> Vec<(usize, Shared<'a>)> {
    let mut all = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let Some(file) = file else { continue };
        let mut note = |wrong: Vec<Diagnostic>| found.extend(wrong.into_iter().map(|one| (at, one)));
        note(tables::root(file));
        let project = match file.kind {
            FileKind::Global | FileKind::DropIn => None,
            FileKind::Project => {
                let (project, wrong) = tables::project(file);
                note(wrong);
                Some(project)
            }
        };
        let (shared, wrong) = shared(file, project, context);
        note(wrong);
        all.push((at, shared));
    }
    all
}

/// The names of the harnesses that a file declares.
fn names<'a>(shared: &Shared<'a>, at: usize, found: &mut Found) -> Vec<&'a str> {
    let file = shared.file;
    let path = ["harness"];
    match file.table(&path) {
        Some(table) => table.iter().map(|(name, _)| name).collect(),
        None => {
            found.extend(file.node(&path).map(|node| (at, not_a_table(file, &path, node.kind()))));
            Vec::new()
        }
    }
}

fn duplicate(local: &str, place: &Place, first: &Place) -> Diagnostic {
    let message = format!("harness `{}` is declared in two files", quoted(local));
    Diagnostic::error(DUPLICATE_HARNESS, place.clone(), message)
        .help("rename one of the two or remove it")
        .related(first.clone(), "first declared here")
}

/// The mistake of a project whose name another one has.
#[must_use]
pub fn project_clash(project: &Project, place: Place, other: &Project, there: Place) -> Diagnostic {
    let Project { name, root, .. } = project;
    let message = format!("two projects are named `{name}`: `{}` and `{root}`", other.root);
    Diagnostic::error(DUPLICATE_PROJECT, place, message)
        .help("give one of them another `[project] name`")
        .related(there, "the other project")
}

fn project_clashes(all: &[(usize, Shared<'_>)]) -> Found {
    let mut first: BTreeMap<&str, &Shared<'_>> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, shared) in all {
        let Some(project) = &shared.project else { continue };
        let Some(earlier) = first.get(project.name.as_str()) else {
            first.insert(&project.name, shared);
            continue;
        };
        let Some(other) = &earlier.project else { continue };
        found.push((*at, project_clash(project, name_place(shared), other, name_place(earlier))));
    }
    found
}

/// Where a project says its name, else its file.
fn name_place(shared: &Shared<'_>) -> Place {
    match shared.file.node(&["project", "name"]) {
        Some(_) => shared.file.value(&["project", "name"]),
        None => Place { file: shared.file.file.clone(), span: None },
    }
}

fn daemon_of(
    files: &[Option<File>],
    surroundings: &Surroundings,
    lookup: &dyn Lookup,
    found: &mut Found,
    after_all: usize,
) -> (DaemonSettings, Vec<Setting>) {
    let mut layer = DaemonLayer::default();
    let global = files.iter().enumerate().filter_map(|(at, file)| Some((at, file.as_ref()?)));
    for (at, file) in global.filter(|(_, file)| file.kind == FileKind::Global) {
        let (read, wrong) = daemon_table(file, &surroundings.home, lookup);
        found.extend(wrong.into_iter().map(|one| (at, one)));
        layer = layer.or(read);
    }
    let (settings, told, wrong) = settings(&layer, &surroundings.env, &surroundings.home);
    found.extend(wrong.into_iter().map(|one| (after_all, one)));
    (settings, told)
}

/// The first file that has a `[notify]` table decides.
fn notify_of(files: &[Option<File>], found: &mut Found) -> Option<Arc<Notify>> {
    let mut first = None;
    let global = files.iter().enumerate().filter_map(|(at, file)| Some((at, file.as_ref()?)));
    for (at, file) in global.filter(|(_, file)| file.kind == FileKind::Global) {
        let (read, wrong) = notify(file);
        found.extend(wrong.into_iter().map(|one| (at, one)));
        first = first.or(read);
    }
    first
}

/// The name of the project that a file declares (CFG-3), for whoever needs no more of it.
///
/// # Errors
/// The first mistake that leaves the name in doubt.
pub fn project_name(input: &Input) -> Result<String, Box<Diagnostic>> {
    let shared: Arc<str> = input.text.as_str().into();
    let file = File::parse(input, &shared, SourceText::new(Arc::clone(&shared)))?;
    let (project, wrong) = tables::project(&file);
    wrong
        .into_iter()
        .find(|one| one.severity == Severity::Error)
        .map_or(Ok(project.name), |one| Err(Box::new(one)))
}
