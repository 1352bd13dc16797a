//! What an invocation is about: files, places, names.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::args::Common;
use super::failure::Failure;
use super::output::counted;
use super::verbs::read;
use crate::adapter::Registry;
use crate::base::{HarnessName, Severity, Wall, parse_duration};
use crate::client::Client;
use crate::config::{Configuration, DaemonSettings, FILE_NAME, Harness, Loaded, drop_in_dir};
use crate::daemon::Options;
use crate::host::limits::InheritedLimits;
use crate::host::{clock, files};
use crate::launch::Surroundings;
use crate::loader::{self, Reading, Request, Selection, project_key, project_name, read_units};
use crate::skills::Bounds;
use crate::store::Store;
use crate::wire::{ErrorBody, ErrorCode, Op, ProjectsView, RegisteredProject};

/// What an invocation is about.
pub(super) struct Context {
    pub(super) env: BTreeMap<String, String>,
    pub(super) home: Utf8PathBuf,
    pub(super) cwd: Utf8PathBuf,
    pub(super) selection: Selection,
    pub(super) state_dir: Option<Utf8PathBuf>,
    pub(super) socket: Option<Utf8PathBuf>,
    global: bool,
}

/// How the enclosing project stands with the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// No daemon answers.
    Unasked,
    /// The daemon has it by this name.
    Up { project: String },
    /// The daemon does not have it.
    Down,
    /// The daemon has a project of its name, in this other directory.
    Displaced { by: Utf8PathBuf },
}

impl Context {
    pub(super) fn new(common: &Common) -> Self {
        let env = files::text_environment();
        let home = files::home_directory();
        let cwd = files::current_dir().unwrap_or_else(|| home.clone());
        let absolute = |path: &Utf8PathBuf| cwd.join(path);
        let flag = common.config.as_ref().map(absolute);
        let selection = Selection::find(flag.as_deref(), &env, &cwd, &home);
        let state_dir = common.state_dir.as_ref().map(absolute);
        let socket = common.socket.as_ref().map(absolute);
        Self { env, home, cwd, selection, state_dir, socket, global: common.global }
    }

    /// What the daemon is told.
    pub(super) fn options(&self) -> Options {
        Options {
            selection: self.selection.clone(),
            cwd: self.cwd.clone(),
            state_dir: self.state_dir.clone(),
            socket: self.socket.clone(),
        }
    }

    /// The settings of the global file, or the built-in ones when it has errors.
    fn settings(&self) -> DaemonSettings {
        let loaded = loader::load_global(&self.selection, &self.home);
        loaded.settings
    }

    /// The state directory: flag or variable, then `[daemon]`, then the usual place.
    pub(super) fn state_dir(&self) -> Utf8PathBuf {
        self.options().state_path(&self.settings())
    }

    /// The control socket: flag, variable, `[daemon]`, then the usual place.
    pub(super) fn socket_path(&self) -> Utf8PathBuf {
        self.options().socket_path(&self.settings())
    }

    /// A connection to the daemon.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        Ok(Client::connect(&self.socket_path())?)
    }

    /// Asks the daemon.
    pub(super) fn call(&self, op: Op) -> Result<serde_json::Value, Failure> {
        Ok(self.client()?.call(op)?)
    }

    /// Asks the daemon if there is one.
    pub(super) fn call_if_running(&self, op: Op) -> Result<Option<serde_json::Value>, Failure> {
        match self.client() {
            Ok(mut client) => Ok(Some(client.call(op)?)),
            Err(Failure::Said(ErrorBody { code: ErrorCode::NoDaemon, .. })) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The daemon's answer about a harness; none where the files here tell instead: there is no daemon, or what
    /// it says is that it has no such harness.
    pub(super) fn call_if_known(
        &self,
        name: &str,
        op: impl FnOnce(String) -> Op,
    ) -> Result<Option<serde_json::Value>, Failure> {
        match self.name_at_daemon(name).and_then(|name| self.call_if_running(op(name))) {
            Err(Failure::Said(ErrorBody { code: ErrorCode::UnknownHarness, .. })) => Ok(None),
            asked => asked,
        }
    }

    /// The same for what only looks: where another project is up by this one's name, the files here tell as well.
    pub(super) fn look_if_known(
        &self,
        name: &str,
        op: impl FnOnce(String) -> Op,
    ) -> Result<Option<serde_json::Value>, Failure> {
        match self.call_if_known(name, op) {
            Err(Failure::Said(ErrorBody { code: ErrorCode::UnknownProject, .. })) => Ok(None),
            asked => asked,
        }
    }

    /// The global file and the project's, read and checked.
    pub(super) fn load(&self) -> Loaded {
        loader::load(&self.selection.present(), &self.home)
    }

    /// The valid configuration, or the error that says how to see the mistakes.
    pub(super) fn configuration(&self) -> Result<Configuration, Failure> {
        let loaded = self.load();
        let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
        loaded.configuration.ok_or_else(|| {
            let message = format!("the configuration has {}", counted(errors, "error"));
            Failure::Said(
                ErrorBody::new(ErrorCode::ConfigInvalid, message)
                    .help("run `harnessd validate` to see each with its place"),
            )
        })
    }

    /// The same with the projects elsewhere that the daemon would have: listed ones, and registered ones
    /// as they were accepted.
    pub(super) fn whole_configuration(&self) -> Result<Configuration, Failure> {
        let own = self.configuration()?;
        self.and_elsewhere(own)
    }

    /// The same, if there is no mistake here.
    pub(super) fn whole(&self) -> Result<Option<Configuration>, Failure> {
        self.load().configuration.map(|own| self.and_elsewhere(own)).transpose()
    }

    /// The projects that `up` has registered.
    pub(super) fn registered(&self) -> Result<Vec<RegisteredProject>, Failure> {
        Ok(Store::registered(&self.state_dir())?)
    }

    /// What a daemon that begins now would read.
    pub(super) fn request(&self, registered: Vec<RegisteredProject>) -> Request {
        Request::first(self.selection.clone(), registered)
    }

    fn and_elsewhere(&self, own: Configuration) -> Result<Configuration, Failure> {
        let registered = self.registered()?;
        if registered.is_empty() && own.daemon.projects.is_empty() {
            return Ok(own);
        }
        let request = self.request(registered);
        let Reading { configuration: mut all, .. } = read_units(request, &self.home, clock::now().wall);
        // The enclosing project is as its file is now, not as it was accepted.
        let enclosing = own.harnesses.keys().find_map(HarnessName::project).map(ToOwned::to_owned);
        all.harnesses.retain(|name, _| name.project().is_none() || name.project() != enclosing.as_deref());
        all.harnesses.extend(own.harnesses.iter().map(|(name, one)| (name.clone(), Arc::clone(one))));
        Ok(Configuration { files: own.files, ..all })
    }

    /// A file that the invocation is about has the name that it has there, whatever links it was named by:
    /// its kind and its relative paths go by that.
    pub(super) fn as_selected(&self, file: Utf8PathBuf) -> Utf8PathBuf {
        let global = &self.selection.global.file;
        let selected = [Some(global), self.selection.project.as_ref()];
        if let Some(selected) = selected.into_iter().flatten().find(|one| files::same_file(&file, one)) {
            return selected.clone();
        }
        let drop_ins = drop_in_dir(global);
        match (file.parent(), file.file_name()) {
            (Some(parent), Some(name)) if files::same_file(parent, &drop_ins) => drop_ins.join(name),
            _ => file,
        }
    }

    /// The full name: inside a project a bare name means `<project>/<name>`, whatever else there is
    /// of that name (CTL-6); `--global` takes it as it is.
    pub(super) fn full_name(&self, name: &str) -> Result<String, Failure> {
        if name.contains('/') || self.global {
            return Ok(name.to_owned());
        }
        let Some(file) = &self.selection.project else { return Ok(name.to_owned()) };
        match project_name(file) {
            Ok(project) => Ok(format!("{project}/{name}")),
            Err(cause) => {
                let message = format!("the project that `{name}` belongs to cannot be told: {file}: {cause}");
                Err(ErrorBody::new(ErrorCode::ConfigInvalid, message)
                    .help("mend the file, or name the harness in full, or say `--global`")
                    .into())
            }
        }
    }

    /// The full name of a harness that the daemon is asked about. Inside a project a bare name means the
    /// project in *this directory* (CTL-6): by the name that it had at `up`, and never a second checkout of
    /// the same name that is up in its place.
    pub(super) fn name_at_daemon(&self, name: &str) -> Result<String, Failure> {
        if name.contains('/') || self.global || self.selection.project.is_none() {
            return Ok(name.to_owned());
        }
        let here = || Ok::<_, Failure>((self.full_name(name)?, self.enclosing_project()?));
        Err(match self.standing()? {
            Standing::Up { project } => return Ok(format!("{project}/{name}")),
            Standing::Unasked => return self.full_name(name),
            Standing::Down => {
                let (full, file) = here()?;
                let message = format!("no harness is named `{full}`: the project is not up");
                ErrorBody::new(ErrorCode::UnknownHarness, message).help(format!(
                    "`harnessd up` registers {file}; `--global` takes `{name}` as a global harness"
                ))
            }
            Standing::Displaced { by } => {
                let (full, file) = here()?;
                let message = format!("`{full}` is not this project's: `{by}` is up by that name");
                ErrorBody::new(ErrorCode::UnknownProject, message).help(format!(
                    "say `{full}` in full to mean that one; to run this one too, give it another `[project] name` \
                     in {file}"
                ))
            }
        }
        .into())
    }

    /// The full name of a harness that has runs, perhaps of before its project was taken down.
    pub(super) fn name_in_records(&self, name: &str) -> Result<String, Failure> {
        match self.name_at_daemon(name) {
            Err(Failure::Said(ErrorBody { code: ErrorCode::UnknownHarness, .. })) => self.full_name(name),
            found => found,
        }
    }

    /// How the enclosing project stands with the daemon.
    pub(super) fn standing(&self) -> Result<Standing, Failure> {
        let file = self.enclosing_project()?;
        let projects = |file| {
            let answer = self.call_if_running(Op::Ps { file })?;
            let view = answer.map(read::<ProjectsView>).transpose()?;
            Ok::<_, Failure>(view.map(|view| view.projects))
        };
        let Some(own) = projects(Some(file.to_string()))? else { return Ok(Standing::Unasked) };
        if let Some(project) = own.into_iter().find_map(|one| one.name) {
            return Ok(Standing::Up { project });
        }
        let Ok(name) = project_name(&file) else { return Ok(Standing::Down) };
        let all = projects(None)?.unwrap_or_default();
        let other = all.into_iter().find(|one| one.name.as_deref() == Some(&name));
        Ok(match other {
            Some(other) => {
                let by = Utf8Path::new(&other.file).parent().map(Utf8Path::to_owned);
                Standing::Displaced { by: by.unwrap_or_default() }
            }
            None => Standing::Down,
        })
    }

    /// Whether bare names are global ones, though inside a project.
    pub(super) const fn is_global(&self) -> bool {
        self.global
    }

    /// The file of the enclosing project, as the daemon tells projects apart, if there is one.
    pub(super) fn project_key(&self) -> Option<Utf8PathBuf> {
        self.selection.project.as_deref().and_then(Utf8Path::parent).map(project_key)
    }

    /// The same where there must be one.
    pub(super) fn enclosing_project(&self) -> Result<Utf8PathBuf, Failure> {
        self.project_key().ok_or_else(|| {
            let message = format!("no project encloses `{}`", self.cwd);
            let global = files::same_file(&self.cwd.join(FILE_NAME), &self.selection.global.file);
            let help = if global {
                "the `harness.toml` here is the global file, which the daemon has without `up`"
            } else {
                "a project has a `harness.toml` in its directory: go there, or name the project"
            };
            Failure::Said(ErrorBody::new(ErrorCode::UnknownProject, message).help(help))
        })
    }

    /// A declared harness by the name that was given.
    pub(super) fn harness(&self, configuration: &Configuration, name: &str) -> Result<Arc<Harness>, Failure> {
        let full = self.full_name(name)?;
        let parsed = HarnessName::parse(&full).ok();
        let found = parsed.and_then(|name| configuration.harnesses.get(&name));
        found.cloned().ok_or_else(|| {
            let known = configuration.harnesses.keys().map(HarnessName::as_str);
            Failure::Said(crate::wire::unknown_harness(&full, known))
        })
    }

    /// What a start by this configuration would find around it here, nothing of an outer agent included.
    pub(super) fn surroundings_of(&self, configuration: &Configuration) -> Surroundings {
        self.surroundings(&configuration.registry, &configuration.daemon)
    }

    /// The same of its parts.
    pub(super) fn surroundings(&self, registry: &Registry, settings: &DaemonSettings) -> Surroundings {
        Surroundings {
            home: self.home.clone(),
            env: files::whole_environment(),
            scrub: registry.scrub().into_iter().map(str::to_owned).collect(),
            state: self.state_dir(),
            bounds: Bounds { files: settings.skill_max_files, bytes: settings.skill_max_bytes },
            limits: InheritedLimits::default(),
        }
    }
}

/// A time as people give it: RFC 3339, or a while back.
pub(super) fn since(text: &str) -> Result<Wall, Failure> {
    if let Ok(back) = parse_duration(text) {
        return Ok(clock::now().wall - back);
    }
    Wall::parse_rfc3339(text).map_err(|_| {
        Failure::Usage(format!(
            "`{text}` is no time: write one like `2026-11-30T08:00:00Z`, or a while back like `12h`"
        ))
    })
}
