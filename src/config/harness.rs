//! One harness: from its table, over the defaults of its file, to the model.
//!
//! Invariant: a harness comes out only if nothing was wrong with it, and what
//! is wrong with one harness is found whatever is wrong with the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use figment::Figment;
use figment::value::{Dict, Value};
use toml_edit::TableLike;

use super::checks::check;
use super::codes::{BAD_NAME, TOO_MUCH, WRONG_TYPE};
use super::definition::seal;
use super::document::File;
use super::fit;
use super::keys::HARNESS_KEYS;
use super::layers::{Layer, dict_of, extract};
use super::model::{Budget, Declared, Harness, Mode, Origin, Project};
use super::path::{plain, resolve};
use super::raw::RawHarness;
use super::scalar::Element;
use super::scope::Scope;
use super::{Context, FileKind};
use crate::base::{Diagnostic, HarnessName, NAME_RULE, quoted};

/// What all harnesses of one file share.
pub(super) struct Shared<'a> {
    /// The file.
    pub(super) file: &'a File,
    /// The project that it declares.
    pub(super) project: Option<Project>,
    /// The file's `[defaults]`; what it does not say is filled in at the end.
    base: Figment,
    /// The keys of `[defaults]` with wrong values.
    broken: BTreeSet<String>,
    /// The skill roots of the file's `[defaults]`.
    pub(super) skill_paths: Vec<(Declared, Utf8PathBuf)>,
}

/// Reads `[defaults]`, so that its mistakes are reported once.
pub(super) fn shared<'a>(
    file: &'a File,
    project: Option<Project>,
    context: &Context<'_>,
) -> (Shared<'a>, Vec<Diagnostic>) {
    let bare = Figment::new();
    let path = ["defaults"];
    // Those of a drop-in are refused where its tables are looked at.
    let Some(table) = file.table(&path).filter(|_| file.kind != FileKind::DropIn) else {
        let node = file.node(&path).filter(|_| file.kind != FileKind::DropIn);
        let found = node.map(|node| not_a_table(file, &path, node.kind()));
        let shared = Shared { file, project, base: bare, broken: BTreeSet::new(), skill_paths: Vec::new() };
        return (shared, found.into_iter().collect());
    };
    let mut read = extract::<RawHarness>(&bare, file, &path, dict_of(table), HARNESS_KEYS);
    let raw = read.value.unwrap_or_default();
    let mut scope =
        Scope { file, path: path.to_vec(), table, harness: None, broken: read.broken, found: read.found };
    check(&mut scope, &raw, context);
    if let Some(too_much) = multiplied(file, &read.dict) {
        // Nothing of it is passed on, and no harness is said to lack what stands here.
        scope.broken.extend(read.dict.keys().cloned());
        scope.note(too_much);
    }
    let skill_paths = if scope.says("skill_paths") { roots(&raw, file, context.home) } else { Vec::new() };
    read.dict.retain(|key, _| !scope.broken.contains(key) && key != "skill_paths");
    let base = bare.merge(Layer::new("defaults", read.dict));
    (Shared { file, project, base, broken: scope.broken, skill_paths }, scope.found)
}

/// Each harness has its own copy of `[defaults]`: at most so many values in all, a long text counting as
/// several. A few megabytes of file would else become as many gigabytes of configuration.
const MOST_VALUES: usize = 1_000_000;

fn multiplied(file: &File, defaults: &Dict) -> Option<Diagnostic> {
    let harnesses = file.table(&["harness"]).map_or(0, TableLike::len);
    let values: usize = defaults.values().map(values_in).sum();
    (values.saturating_mul(harnesses) > MOST_VALUES).then(|| {
        let message = format!("`[defaults]` says too much for {harnesses} harnesses");
        Diagnostic::error(TOO_MUCH, file.header(&["defaults"]), message)
            .help("every harness gets a copy: say it in the harnesses that need it, or in a `prompt_file` or `env_file`")
    })
}

fn values_in(value: &Value) -> usize {
    match value {
        Value::String(_, text) => 1 + text.len() / 256,
        Value::Dict(_, table) => table.values().map(values_in).sum(),
        Value::Array(_, list) => list.iter().map(values_in).sum(),
        _ => 1,
    }
}

/// What stands where a table should.
pub(super) fn not_a_table(file: &File, path: &[&str], kind: &str) -> Diagnostic {
    let name = path.join(".");
    let message = format!("`{name}` takes a table, not {kind}");
    let header = match name.as_str() {
        "adapter" | "harness" | "profile" => format!("[{name}.NAME]"),
        _ => format!("[{name}]"),
    };
    Diagnostic::error(WRONG_TYPE, file.key(path), message)
        .help(format!("write `{header}` and its keys below it"))
}

fn roots(raw: &RawHarness, file: &File, home: &Utf8Path) -> Vec<(Declared, Utf8PathBuf)> {
    let rank = match file.kind {
        FileKind::Global | FileKind::DropIn => Declared::Global,
        FileKind::Project => Declared::Project,
    };
    let texts = raw.skill_paths.iter().flatten().filter_map(Element::text);
    texts.filter_map(|text| Some((rank, resolve(text, &file.dir, home).ok()?))).collect()
}

/// Reads the harness that the file calls `local`.
pub(super) fn harness(
    shared: &Shared<'_>,
    local: &str,
    global_roots: &[(Declared, Utf8PathBuf)],
    context: &Context<'_>,
) -> (Option<Harness>, Vec<Diagnostic>) {
    let file = shared.file;
    let path = ["harness", local];
    let project = shared.project.as_ref();
    let shown = project.map_or_else(|| local.to_owned(), |project| format!("{}/{local}", project.name));
    let name = HarnessName::new(project.map(|project| project.name.as_str()), local);
    let bad_name = name.as_ref().err().map(|_| {
        let message = format!("`{}` is no name for a harness", quoted(local));
        Diagnostic::error(BAD_NAME, file.key(&path), message).help(NAME_RULE).of(shown.as_str())
    });
    let Some(table) = file.table(&path) else {
        let kind = file.node(&path).map_or("nothing", |node| node.kind());
        let wrong = not_a_table(file, &path, kind).of(shown);
        return (None, bad_name.into_iter().chain([wrong]).collect());
    };
    let read = extract::<RawHarness>(&shared.base, file, &path, dict_of(table), HARNESS_KEYS);
    let found =
        bad_name.into_iter().chain(read.found.into_iter().map(|one| one.of(shown.as_str()))).collect();
    let inherited = shared.broken.iter().filter(|key| !table.contains_key(key)).cloned();
    let broken = read.broken.into_iter().chain(inherited).collect();
    let mut scope = Scope { file, path: path.to_vec(), table, harness: Some(shown), broken, found };
    let Some(raw) = read.value else { return (None, scope.found) };
    check(&mut scope, &raw, context);
    let mut roots_of_it = global_roots.to_vec();
    if file.kind == FileKind::Project {
        roots_of_it.extend(shared.skill_paths.iter().cloned());
    }
    roots_of_it.extend(roots(&raw, file, context.home));
    let built = build(&mut scope, &raw, shared, context).zip(name.ok());
    let failed = scope.failed();
    let harness = built.filter(|_| !failed).map(|(parts, name)| {
        seal(assemble(name, &scope, &raw, shared, context, parts, roots_of_it), context)
    });
    (harness, scope.found)
}

/// What the rules make of the keys that depend on each other.
struct Parts {
    adapter: Arc<crate::adapter::Adapter>,
    work: super::Work,
    mode: Mode,
    enabled: bool,
    resume: bool,
    tty: bool,
    workdir: Option<Utf8PathBuf>,
}

fn build(
    scope: &mut Scope<'_>,
    raw: &RawHarness,
    shared: &Shared<'_>,
    context: &Context<'_>,
) -> Option<Parts> {
    let chosen = fit::choose(scope, raw, context);
    let given = fit::prompt(scope, raw, &chosen);
    let oneshot = fit::oneshot(scope, raw, &given);
    fit::prompt_fits(scope, &chosen, &given, oneshot);
    let options = fit::options(scope, raw, &chosen, &given, oneshot);
    let (mode, enabled) = fit::mode(scope, raw, oneshot, context);
    let adapter = chosen.adapter.clone()?;
    let workdir = path_of(raw.workdir.as_deref(), shared.file, context.home)
        .or_else(|| shared.project.as_ref().map(|project| project.root.clone()));
    let work = fit::work(raw, chosen, given, options, shared.file, context.home)?;
    let resident = matches!(mode, Mode::Resident { .. });
    let resume = fit::resume(scope, raw, &adapter, !resident, workdir.as_deref());
    fit::budget(scope, raw, &adapter, workdir.as_deref());
    fit::rehearse(scope, &adapter, &work, resident, workdir.as_deref());
    let tty = raw.tty.unwrap_or_else(|| resident && adapter.resident_tty());
    Some(Parts { adapter, work, mode, enabled, resume, tty, workdir })
}

/// The path that a key holds; a wrong one has been reported.
fn path_of(text: Option<&str>, file: &File, home: &Utf8Path) -> Option<Utf8PathBuf> {
    text.and_then(|text| resolve(text, &file.dir, home).ok())
}

/// Its bounds; a table without any bounds nothing.
fn budget(raw: &RawHarness) -> Option<Budget> {
    let raw = raw.budget.as_ref()?;
    let (max_cost_usd, max_tokens) = (raw.max_cost_usd.map(|amount| amount.0), raw.max_tokens);
    (max_cost_usd.is_some() || max_tokens.is_some()).then_some(Budget { max_cost_usd, max_tokens })
}

fn assemble(
    name: HarnessName,
    scope: &Scope<'_>,
    raw: &RawHarness,
    shared: &Shared<'_>,
    context: &Context<'_>,
    parts: Parts,
    skill_paths: Vec<(Declared, Utf8PathBuf)>,
) -> Harness {
    let file = shared.file;
    let env: BTreeMap<String, String> = raw
        .env
        .iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), value.text()?.to_owned())))
        .collect();
    Harness {
        name,
        origin: Origin { file: file.file.clone(), line: file.line(&scope.header()) },
        project: shared.project.clone(),
        adapter: parts.adapter,
        work: parts.work,
        enabled: parts.enabled,
        restart_delay: raw.restart_delay.as_ref().map_or(Duration::from_secs(1), |delay| delay.0.0),
        at_home: parts.workdir.as_ref().is_none_or(|workdir| *workdir == plain(context.home)),
        workdir: parts.workdir,
        env_file: path_of(raw.env_file.as_deref(), file, context.home),
        env,
        skill_paths,
        use_default_skill_paths: raw.use_default_skill_paths.unwrap_or(true),
        exclusive: raw.exclusive == Some(true) && matches!(parts.mode, Mode::OneShot { .. }),
        memory_max: raw.memory_max.as_ref().map(|memory| memory.0.0),
        cpu_weight: raw.cpu_weight.map(|weight| weight.0),
        resume: parts.resume,
        harvest: raw.harvest == Some(true),
        budget: budget(raw),
        tty: parts.tty,
        stop_signal: raw.stop_signal.as_ref().map_or(15, |signal| signal.0.0),
        stop_timeout: raw.stop_timeout.as_ref().map_or(Duration::from_secs(10), |pause| pause.0.0),
        keep_runs: raw.keep_runs.unwrap_or(50),
        log_max_bytes: raw.log_max_bytes.as_ref().map_or(64 << 20, |size| size.0.0),
        description: raw.description.clone(),
        mode: parts.mode,
        definition_hash: String::new(),
        launch_hash: String::new(),
    }
}
