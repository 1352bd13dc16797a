//! Which table of which file a writer means (WRT-1).
//!
//! Invariant: a file is edited only if it is the global one or the enclosing project's, or if it
//! was named: what lies elsewhere is somebody's on purpose.

use camino::{Utf8Path, Utf8PathBuf};

use crate::base::{HarnessName, SourceText};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::config::{FileKind, decode, file_kind};
use crate::edit;
use crate::host::files;
use crate::loader::project_name;
use crate::wire::{ErrorBody, ErrorCode, unknown_harness};

/// The table of one harness in one file.
#[derive(Debug)]
pub(in crate::cli) struct Target {
    /// The file, as it was named, absolute.
    pub(super) file: Utf8PathBuf,
    /// Its kind.
    pub(super) kind: FileKind,
    /// The harness's full name.
    pub(super) full: String,
    /// Whether the file may be made by this.
    pub(super) may_be_new: bool,
    local: String,
}

impl Target {
    /// The path of something in the harness's table.
    pub(super) fn path<'a>(&'a self, inner: &[&'a str]) -> Vec<&'a str> {
        ["harness", self.local.as_str()].into_iter().chain(inner.iter().copied()).collect()
    }

    /// Where a new harness of that name is declared: in the file that was named, else in the enclosing
    /// project's, else in the global one.
    pub(super) fn new(context: &Context, name: &str, named: Option<&Utf8Path>) -> Result<Self, Failure> {
        let full = match named {
            Some(_) => name.to_owned(),
            None => context.full_name(name)?,
        };
        HarnessName::parse(&full)
            .map_err(|error| ErrorBody::new(ErrorCode::BadRequest, error.to_string()))?;
        match named {
            Some(file) => Self::named(context, name, file),
            None => match (full.split_once('/'), enclosing(context)) {
                (None, _) => Ok(Self::of(&context.selection.global.file, FileKind::Global, &full)),
                (Some((project, _)), Some((file, name))) if project == name => {
                    Ok(Self::of(file, FileKind::Project, &full))
                }
                (Some((project, local)), _) => Err(ErrorBody::new(
                    ErrorCode::BadRequest,
                    format!("project `{project}` is not the one that encloses this directory"),
                )
                .help(format!("go to its directory, or name its file: `add {local} --file FILE`"))
                .into()),
            },
        }
        .map(|target| Self { may_be_new: true, ..target })
    }

    /// Where a harness is declared; what is declared elsewhere is refused with its place.
    pub(super) fn declared(context: &Context, name: &str, named: Option<&Utf8Path>) -> Result<Self, Failure> {
        if let Some(file) = named {
            let target = Self::named(context, name, file)?;
            return target.if_it_declares();
        }
        let full = context.full_name(name)?;
        let own = match full.split_once('/') {
            None => Some(Self::of(&context.selection.global.file, FileKind::Global, &full)),
            Some((project, _)) => enclosing(context)
                .filter(|(_, name)| name == project)
                .map(|(file, _)| Self::of(file, FileKind::Project, &full)),
        };
        if let Some(target) = own.filter(Self::seems_to_declare) {
            return Ok(target);
        }
        Err(elsewhere(context, &full))
    }

    fn of(file: &Utf8Path, kind: FileKind, full: &str) -> Self {
        let local = full.split_once('/').map_or(full, |(_, local)| local).to_owned();
        Self { file: file.to_owned(), kind, full: full.to_owned(), may_be_new: false, local }
    }

    /// A file that the user names; the project's part of a full name must then be that of the file.
    fn named(context: &Context, name: &str, file: &Utf8Path) -> Result<Self, Failure> {
        let file = context.as_selected(context.cwd.join(file));
        let kind = file_kind(&file, Some(&context.selection.global.file), None);
        let project = match kind == FileKind::Project && file.exists() {
            true => project_name(&file).ok(),
            false => None,
        };
        let (said, local) = name.split_once('/').map_or((None, name), |(said, local)| (Some(said), local));
        if let Some(said) = said.filter(|said| project.as_deref() != Some(said)) {
            let message = format!("{file} is not the file of project `{said}`");
            return Err(ErrorBody::new(ErrorCode::BadRequest, message)
                .help(format!("with `--file` the name alone is enough: `{local}`"))
                .into());
        }
        let full = project.map_or_else(|| local.to_owned(), |project| format!("{project}/{local}"));
        Ok(Self::of(&file, kind, &full))
    }

    fn if_it_declares(self) -> Result<Self, Failure> {
        if self.seems_to_declare() {
            return Ok(self);
        }
        let message = format!("no harness `{}` is declared in {}", self.local.escape_debug(), self.file);
        Err(ErrorBody::new(ErrorCode::UnknownHarness, message)
            .help("`add` declares one; without `--file` the file is found by the harness's name")
            .into())
    }

    /// Whether the file holds the harness. One that cannot be read or is no TOML may: what is wrong
    /// with it is said when it is edited.
    fn seems_to_declare(&self) -> bool {
        if !self.file.exists() {
            return false;
        }
        let Some(text) = text_of(&self.file) else { return true };
        let is_toml = edit::place(&text, &[]).is_some();
        !is_toml || edit::place(&text, &self.path(&[])).is_some()
    }
}

/// The enclosing project's file and name.
fn enclosing(context: &Context) -> Option<(&Utf8Path, String)> {
    let file = context.selection.project.as_deref()?;
    Some((file, project_name(file).ok()?))
}

fn text_of(file: &Utf8Path) -> Option<String> {
    decode(file, files::read_config(file).ok()?).ok()
}

/// Why a harness that is not declared here cannot be edited: where it is declared, as far as that
/// can be found.
fn elsewhere(context: &Context, full: &str) -> Failure {
    let present = context.selection.present().into_iter();
    let drop_in = present.filter(|(_, kind)| *kind != FileKind::Project).find_map(|(file, _)| {
        let text = text_of(&file)?;
        let span = edit::place(&text, &["harness", full])?;
        let (line, _) = SourceText::new(text).line_column(span.start);
        Some((file, line))
    });
    // What cannot be told of projects elsewhere is no reason to say less of what is here.
    let known = context.whole().ok().flatten().or_else(|| context.load().configuration);
    let declared = HarnessName::parse(full).ok().and_then(|name| known.as_ref()?.harnesses.get(&name));
    let place = drop_in.or_else(|| declared.map(|one| (one.origin.file.clone(), one.origin.line)));
    if let Some((file, line)) = place {
        let message =
            format!("harness `{full}` is declared in {file}:{line}, which is edited only if it is named");
        return ErrorBody::new(ErrorCode::BadRequest, message).help(format!("say `--file {file}`")).into();
    }
    let known = known.iter().flat_map(|known| known.harnesses.keys()).map(HarnessName::as_str);
    unknown_harness(full, known).into()
}
