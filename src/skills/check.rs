//! Finding and reading the skills that are to be checked (SKL-13).
//!
//! Invariant: nothing is written, and what cannot be read is a finding.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::lint::{ENCODING, NO_SKILL, UNREADABLE, lint};
use super::read::SKILL_FILE;
use crate::base::{Diagnostic, Place, SourceText, Sources};
use crate::host::{cause, files};

/// What a check found.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many skills there are.
    pub skills: usize,
    /// What is wrong with them, in the order of the paths and of places.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that it points into.
    pub sources: Sources,
}

/// Checks what `paths` name: a skill, its `SKILL.md`, or a directory of skills. Relative ones are taken
/// from `cwd`.
#[must_use]
pub fn check(paths: &[Utf8PathBuf], cwd: &Utf8Path) -> Checked {
    let mut checked = Checked::default();
    for path in paths {
        checked.path(path, cwd);
    }
    checked
}

impl Checked {
    fn path(&mut self, path: &Utf8Path, cwd: &Utf8Path) {
        let found = cwd.join(path);
        let meta = match fs::metadata(&found) {
            Ok(meta) => meta,
            Err(error) => return self.unreadable(path, &cause(&error)),
        };
        if !meta.is_dir() {
            return match path.file_name() {
                Some(SKILL_FILE) => self.skill(path, found.parent().unwrap_or(cwd)),
                _ => self.no_skill(path, "the file of a skill is called `SKILL.md`"),
            };
        }
        let names = match names(&found) {
            Ok(names) => names,
            Err(reason) => return self.unreadable(path, &reason),
        };
        if self.is_skill(path, &names) {
            return self.skill(&path.join(SKILL_FILE), &found);
        }
        let before = self.skills + self.diagnostics.len();
        for name in names.iter().filter(|name| found.join(name).is_dir()) {
            let (child, shown) = (found.join(name), path.join(name));
            match self::names(&child) {
                Ok(inside) if self.is_skill(&shown, &inside) => self.skill(&shown.join(SKILL_FILE), &child),
                Ok(_) => {}
                Err(reason) => self.unreadable(&shown, &reason),
            }
        }
        if self.skills + self.diagnostics.len() == before {
            self.no_skill(path, "it is no skill and no directory of skills");
        }
    }

    /// Whether a directory with these entries is a skill; says so where only the spelling is wrong.
    fn is_skill(&mut self, path: &Utf8Path, names: &[String]) -> bool {
        if names.iter().any(|name| name == SKILL_FILE) {
            return true;
        }
        if let Some(name) = names.iter().find(|name| name.eq_ignore_ascii_case(SKILL_FILE)) {
            self.no_skill(&path.join(name), "the file of a skill is called `SKILL.md`, spelled so");
        }
        false
    }

    fn skill(&mut self, file: &Utf8Path, directory: &Utf8Path) {
        self.skills += 1;
        let bytes = match files::read_config(&directory.join(SKILL_FILE)) {
            Ok(bytes) => bytes,
            Err(problem) => return self.unreadable(file, &problem.to_string()),
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(wrong) => {
                let at = wrong.utf8_error().valid_up_to();
                let message = format!("it is no UTF-8 text: byte {at} is wrong");
                let place = Place { file: file.to_owned(), span: None };
                self.diagnostics.push(Diagnostic::error(ENCODING, place, message).help("save it as UTF-8"));
                return;
            }
        };
        self.diagnostics.extend(lint(file, &name_of(directory), &text));
        self.sources.insert(file.to_owned(), SourceText::new(text));
    }

    fn no_skill(&mut self, path: &Utf8Path, message: &str) {
        let place = Place { file: path.to_owned(), span: None };
        let help = "name a directory that holds `SKILL.md`, or one that holds such directories";
        self.diagnostics.push(Diagnostic::error(NO_SKILL, place, message).help(help));
    }

    fn unreadable(&mut self, path: &Utf8Path, reason: &str) {
        let place = Place { file: path.to_owned(), span: None };
        let one = Diagnostic::error(UNREADABLE, place, format!("it cannot be read: {reason}"));
        self.diagnostics.push(one.help("check its name and its permissions"));
    }
}

/// The name of a directory, by which its skill is known: as it was given, a link's own name included.
fn name_of(directory: &Utf8Path) -> String {
    let resolved;
    let named = if directory.ends_with("..") || directory.file_name().is_none() {
        resolved = files::physical(directory);
        &resolved
    } else {
        directory
    };
    named.file_name().unwrap_or_default().to_owned()
}

/// The entries of a directory, sorted.
fn names(directory: &Utf8Path) -> Result<Vec<String>, String> {
    let mut names = files::names(directory).map_err(|error| cause(&error))?;
    names.sort();
    Ok(names)
}
