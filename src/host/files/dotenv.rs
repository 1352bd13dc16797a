//! Files of environment variables, in the usual dotenv form.
//!
//! Invariant: no message quotes a value; such files hold secrets (CTL-12).

use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use thiserror::Error;

use super::{ReadProblem, read_regular};

/// The largest environment file that is read.
const LARGEST: u64 = 1 << 20;

/// What a configuration has to know of an environment file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFileState {
    /// It can be used.
    Good,
    /// It does not exist; that is tolerated.
    Missing,
    /// It cannot be used, for this reason.
    Unreadable(String),
    /// It can be used, and be read by every user of the machine.
    WorldReadable,
}

/// Why an environment file cannot be used. Whoever shows it names the file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EnvFileError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] ReadProblem),
    /// It is no text.
    #[error("it is not UTF-8 text")]
    NotUtf8,
    /// A line is not of the form.
    #[error("line {line}: {problem}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        problem: LineProblem,
    },
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LineProblem {
    /// It assigns nothing.
    #[error("write `NAME=VALUE`")]
    NoAssignment,
    /// No program could read a variable of that name.
    #[error("a name is made of letters, digits and `_`, and does not begin with a digit")]
    Name,
    /// A quote that is never closed.
    #[error("a quote is not closed")]
    OpenQuote,
    /// Text behind the closing quote.
    #[error("only a comment may follow the closing quote")]
    AfterQuote,
    /// No environment can hold it.
    #[error("a value holds no NUL byte")]
    Nul,
}

/// The variables of the file at `path`, in its order; none if it does not exist.
///
/// # Errors
/// If it is there and cannot be used.
pub fn read_env_file(path: &Utf8Path) -> Result<Option<Vec<(String, String)>>, EnvFileError> {
    match read_regular(path, LARGEST) {
        Err(ReadProblem::Missing) => Ok(None),
        Err(problem) => Err(problem.into()),
        Ok(bytes) => {
            let text = String::from_utf8(bytes).map_err(|_| EnvFileError::NotUtf8)?;
            parse_env_file(&text).map(Some)
        }
    }
}

/// Whether an environment file could be used now, and by whom it can be read.
#[must_use]
pub fn env_file_state(path: &Utf8Path) -> EnvFileState {
    match read_env_file(path) {
        Ok(None) => EnvFileState::Missing,
        Err(problem) => EnvFileState::Unreadable(problem.to_string()),
        Ok(Some(_)) if path.metadata().is_ok_and(|found| found.mode() & 0o004 != 0) => {
            EnvFileState::WorldReadable
        }
        Ok(Some(_)) => EnvFileState::Good,
    }
}

/// Reads `NAME=VALUE` lines. `export ` may stand before a name; blank lines
/// and lines that begin with `#` are passed over; a value without quotes ends
/// before ` #`; one in `'…'` is taken as it stands; one in `"…"` knows `\n`,
/// `\r`, `\t`, `\\`, `\"` and `\$`. A quoted value may go over several lines.
/// Nothing is expanded.
///
/// # Errors
/// The first line that is not of this form, by its number.
pub fn parse_env_file(text: &str) -> Result<Vec<(String, String)>, EnvFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut rest = text;
    let mut variables = Vec::new();
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        match assignment(rest) {
            Ok((variable, left)) => {
                variables.extend(variable);
                rest = left;
            }
            Err(problem) => {
                let line = text[..at].matches('\n').count() + 1;
                return Err(EnvFileError::Line { line, problem });
            }
        }
    }
    Ok(variables)
}

type Variable = (String, String);

/// One line, or several if its value goes over several; and what follows.
fn assignment(text: &str) -> Result<(Option<Variable>, &str), LineProblem> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let bare = line.trim();
    if bare.is_empty() || bare.starts_with('#') {
        return Ok((None, after));
    }
    let (name, _) = line.split_once('=').ok_or(LineProblem::NoAssignment)?;
    let value = text[name.len() + 1..].trim_start_matches([' ', '\t']);
    let name = name.trim();
    let name = name.strip_prefix("export").filter(|one| one.starts_with([' ', '\t'])).unwrap_or(name).trim();
    if name.is_empty()
        || name.starts_with(|first: char| first.is_ascii_digit())
        || !name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
    {
        return Err(LineProblem::Name);
    }
    let (value, after) = match value.chars().next() {
        Some('\'') => single_quoted(&value[1..])?,
        Some('"') => double_quoted(&value[1..])?,
        _ => (unquoted(value.split('\n').next().unwrap_or_default()), after),
    };
    if value.contains('\0') { Err(LineProblem::Nul) } else { Ok((Some((name.to_owned(), value)), after)) }
}

/// A `#` begins a comment where white space stands before it.
fn unquoted(line: &str) -> String {
    let comment = line
        .char_indices()
        .find(|(at, one)| *one == '#' && (*at == 0 || line[..*at].ends_with([' ', '\t'])))
        .map_or(line.len(), |(at, _)| at);
    line[..comment].trim().to_owned()
}

fn single_quoted(text: &str) -> Result<(String, &str), LineProblem> {
    let (value, after) = text.split_once('\'').ok_or(LineProblem::OpenQuote)?;
    Ok((value.to_owned(), rest_of_line(after)?))
}

fn double_quoted(text: &str) -> Result<(String, &str), LineProblem> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, one)) = letters.next() {
        match one {
            '"' => return Ok((value, rest_of_line(&text[at + 1..])?)),
            '\\' => match letters.next().ok_or(LineProblem::OpenQuote)?.1 {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                plain @ ('\\' | '"' | '$' | '`') => value.push(plain),
                other => value.extend(['\\', other]),
            },
            _ => value.push(one),
        }
    }
    Err(LineProblem::OpenQuote)
}

/// What follows the line, of which only a comment may be left.
fn rest_of_line(text: &str) -> Result<&str, LineProblem> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let bare = line.trim();
    if bare.is_empty() || bare.starts_with('#') { Ok(after) } else { Err(LineProblem::AfterQuote) }
}
