//! Which streams a store has.
//!
//! Invariants: nothing is opened but directories; a walk goes as deep as its patterns and no deeper, so a loop
//! of symbolic links ends; what vanishes meanwhile was not there.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use super::Unreadable;
use super::lines::{failed, unreadable};
use crate::base::Wall;
use crate::host::files::regular;

/// So many names are looked at in one walk.
const MOST_NAMES: usize = 1_000_000;

/// What tells whether a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// Device and inode.
    pub file: (u64, u64),
    /// Bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified: i64,
}

impl FileStamp {
    pub(super) fn of(found: &Metadata) -> Self {
        let modified = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self { file: (found.dev(), found.ino()), size: found.len(), modified }
    }

    /// When it was last written.
    #[must_use]
    pub const fn written_at(&self) -> Wall {
        Wall(self.modified / 1000)
    }
}

/// The stamp of a regular file; none: there is no such file.
///
/// # Errors
/// If it is something else, or the system does not tell.
pub fn stamp(path: &Utf8Path) -> Result<Option<FileStamp>, Unreadable> {
    match path.metadata() {
        Ok(found) => match regular(found.file_type()) {
            Ok(()) => Ok(Some(FileStamp::of(&found))),
            Err(problem) => Err(unreadable(path, &problem)),
        },
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(failed(path, &error)),
    }
}

/// One name of a path that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Exactly this.
    Name(String),
    /// With any text for each `*`.
    Pattern(String),
}

impl Part {
    fn of(pattern: &str) -> Self {
        if pattern.contains('*') { Self::Pattern(pattern.to_owned()) } else { Self::Name(pattern.to_owned()) }
    }

    fn fits(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Pattern(own) => fits(own, name),
        }
    }
}

/// Whether a name is of a pattern, in which each `*` stands for any text.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    let Some((between, last)) = rest.rsplit_once('*') else { return name.ends_with(rest) };
    let Some(mut name) = name.strip_suffix(last) else { return false };
    between.split('*').all(|piece| match name.split_once(piece) {
        Some((_, after)) => {
            name = after;
            true
        }
        None => false,
    })
}

/// Walks over the streams of a store: those below the directories `under` (relative to it), or all where none
/// is named. Tells each with its path relative to the store, and what cannot be looked at.
pub fn search(
    store: &Utf8Path,
    patterns: &[&str],
    under: &[String],
    each: &mut dyn FnMut(String, FileStamp),
    problem: &mut dyn FnMut(Unreadable),
) {
    let all: Vec<Vec<Part>> =
        patterns.iter().map(|pattern| pattern.split('/').map(Part::of).collect()).collect();
    let all = if under.is_empty() { all } else { below(&all, under) };
    let mut walk = Walk { store, each, problem, names: 0 };
    walk.directory("", &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
}

/// The patterns with their beginning replaced by those directories that fit it.
fn below(patterns: &[Vec<Part>], under: &[String]) -> Vec<Vec<Part>> {
    let mut found = Vec::new();
    for directory in under {
        let names: Vec<&str> = directory.split('/').collect();
        if names.iter().any(|name| ["", ".", ".."].contains(name)) {
            continue;
        }
        for pattern in patterns.iter().filter(|pattern| pattern.len() > names.len()) {
            if pattern.iter().zip(&names).all(|(part, name)| part.fits(name)) {
                let begin = names.iter().map(|name| Part::Name((*name).to_owned()));
                found.push(begin.chain(pattern.iter().skip(names.len()).cloned()).collect());
            }
        }
    }
    found
}

struct Walk<'a> {
    store: &'a Utf8Path,
    each: &'a mut dyn FnMut(String, FileStamp),
    problem: &'a mut dyn FnMut(Unreadable),
    names: usize,
}

impl Walk<'_> {
    /// What of `patterns` is in a directory, whose path relative to the store is empty or ends in `/`.
    fn directory(&mut self, relative: &str, patterns: &[&[Part]]) {
        if patterns.iter().all(|pattern| matches!(pattern.first(), None | Some(Part::Name(_)))) {
            let mut names: BTreeMap<&str, Vec<&[Part]>> = BTreeMap::new();
            for pattern in patterns {
                if let [Part::Name(name), rest @ ..] = pattern {
                    names.entry(name).or_default().push(rest);
                }
            }
            for (name, rests) in names {
                self.name(&format!("{relative}{name}"), &rests);
            }
            return;
        }
        // Named as people do, without a `/` at its end.
        let path = match relative.trim_end_matches('/') {
            "" => self.store.to_owned(),
            relative => self.store.join(relative),
        };
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return,
            Err(error) => return (self.problem)(failed(&path, &error)),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => return (self.problem)(failed(&path, &error)),
            };
            self.names += 1;
            if self.names > MOST_NAMES {
                let message = format!("it holds more than {MOST_NAMES} names, the rest is not looked at");
                return (self.problem)(Unreadable { path: self.store.to_owned(), message });
            }
            let name = entry.file_name();
            let text = name.to_string_lossy();
            let rests: Vec<&[Part]> = patterns
                .iter()
                .filter_map(|pattern| pattern.split_first().filter(|(first, _)| first.fits(&text)))
                .map(|(_, rest)| rest)
                .collect();
            // Where only directories are of interest, the entry itself may say that it is none.
            let file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if rests.is_empty() || file && rests.iter().all(|rest| !rest.is_empty()) {
                continue;
            }
            if name.to_str().is_none() {
                let message = "its name is not UTF-8".to_owned();
                (self.problem)(Unreadable { path: path.join(&*text), message });
                continue;
            }
            self.name(&format!("{relative}{text}"), &rests);
        }
    }

    /// Something whose name fits: a stream, or a directory on the way to some.
    fn name(&mut self, relative: &str, rests: &[&[Part]]) {
        let path = self.store.join(relative);
        let found = match path.metadata() {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return,
            Err(error) => return (self.problem)(failed(&path, &error)),
        };
        if rests.iter().any(|rest| rest.is_empty()) {
            match regular(found.file_type()) {
                Ok(()) => (self.each)(relative.to_owned(), FileStamp::of(&found)),
                Err(problem) => (self.problem)(unreadable(&path, &problem)),
            }
        }
        let deeper: Vec<&[Part]> = rests.iter().copied().filter(|rest| !rest.is_empty()).collect();
        if !deeper.is_empty() && found.is_dir() {
            self.directory(&format!("{relative}/"), &deeper);
        }
    }
}

/// Nothing is there, or only a symbolic link that leads nowhere or in a circle.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(nix::libc::ELOOP)
}

/// The place of a document of a stream, relative to the store; none: it would lie outside of it.
#[must_use]
pub fn document_of(stream: &str, document: &str) -> Option<String> {
    let stream = Utf8Path::new(stream);
    let named = document.replace("{stem}", stream.file_stem().unwrap_or_default());
    let mut parts: Vec<&str> = stream.parent()?.as_str().split('/').filter(|part| !part.is_empty()).collect();
    for part in named.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "" | "." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a store of files is there.
///
/// # Errors
/// If something else has its name, or the system does not tell.
pub fn is_directory(path: &Utf8Path) -> Result<bool, Unreadable> {
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(true),
        Ok(_) => Err(Unreadable { path: path.to_owned(), message: "it is not a directory".to_owned() }),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(failed(path, &error)),
    }
}

#[cfg(test)]
mod tests;
