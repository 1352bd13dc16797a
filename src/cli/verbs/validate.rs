//! `validate`: every mistake of every file, with its place (CFG-9).

use std::process::ExitCode;

use crate::base::{Format, Severity, render};
use crate::cli::args::{DiagnosticFormat, Kind, ValidateArgs};
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::output::{Output, counted, plain};
use crate::config::{CODES, FileKind, Loaded, UNREADABLE, file_kind};
use crate::loader;

/// There are errors, or with `--strict` warnings.
const INVALID: u8 = 1;
/// The files could not be judged.
const COULD_NOT_RUN: u8 = 2;

pub(in crate::cli) fn perform(
    context: &Context,
    args: &ValidateArgs,
    out: &mut Output,
) -> Result<ExitCode, Failure> {
    let (loaded, named) =
        if args.files.is_empty() { (context.load(), false) } else { (by_themselves(context, args), true) };
    let format = match args.format {
        Some(DiagnosticFormat::Json) => Format::Json,
        Some(DiagnosticFormat::Sarif) => Format::Sarif { rules: CODES },
        Some(DiagnosticFormat::Short) => Format::Short,
        Some(DiagnosticFormat::Human) => Format::Human { color: Output::color(&context.env) },
        None if out.is_json() => Format::Json,
        None => Format::Human { color: Output::color(&context.env) },
    };
    let text = render(&loaded.diagnostics, &loaded.sources, format);
    let for_programs = matches!(format, Format::Json | Format::Sarif { .. });
    out.bytes(if for_programs { plain(text) } else { text }.as_bytes())?;
    let errors = loaded.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    if matches!(format, Format::Human { .. }) {
        summary(&loaded, errors, named, out)?;
    }
    let unreadable = loaded.diagnostics.iter().any(|one| one.code == UNREADABLE);
    let failing = if args.strict { loaded.diagnostics.len() } else { errors };
    Ok(match (failing, unreadable) {
        (0, _) => ExitCode::SUCCESS,
        (_, true) => ExitCode::from(COULD_NOT_RUN),
        (_, false) => ExitCode::from(INVALID),
    })
}

fn summary(loaded: &Loaded, errors: usize, named: bool, out: &mut Output) -> Result<(), Failure> {
    let warnings = loaded.diagnostics.len() - errors;
    let files = loaded.sources.len();
    if files == 0 && errors == 0 && !named {
        return out.line("no configuration file was found; `harnessd validate FILE` checks one, `harnessd init` writes one");
    }
    let counts = [counted(files, "file"), counted(errors, "error"), counted(warnings, "warning")];
    out.line(&counts.join(", "))
}

/// Each file by itself: global if it is the selected global file, by whatever name, or lies in its
/// `harness.d`, else a project's.
fn by_themselves(context: &Context, args: &ValidateArgs) -> Loaded {
    let mut whole = Loaded::default();
    let forced = args.kind.map(|kind| match kind {
        Kind::Global => FileKind::Global,
        Kind::Project => FileKind::Project,
    });
    for file in &args.files {
        let named = context.as_selected(context.cwd.join(file));
        let kind = file_kind(&named, Some(&context.selection.global.file), forced);
        // A project's directory is its name, which a relative path does not tell; shown is what was given.
        let mut one = loader::load_alone(&context.selection, &named, kind, &context.home);
        one.rename(&named, file);
        whole.diagnostics.extend(one.diagnostics);
        whole.sources.extend(one.sources);
    }
    whole
}
