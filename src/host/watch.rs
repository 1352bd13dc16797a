//! Noticing that files have changed, without asking again and again.
//!
//! A file is watched by its directory, so that one that is replaced by a
//! rename is seen; where its path leads over symbolic links, each of them is
//! watched too (CFG-10). Invariant: what is reported was asked for; one change
//! may be reported more than once, none is missed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

/// How many links are followed, as many as the kernel does.
const MOST_LINKS: usize = 40;
/// How often paths that change all the time are looked at in one go.
const MOST_LOOKS: usize = 5;

/// A set of watched files.
#[derive(Debug)]
pub struct Watcher {
    inotify: Inotify,
    files: BTreeSet<Utf8PathBuf>,
    /// Directories of which every file counts whose name fits.
    whole: BTreeMap<Utf8PathBuf, Fits>,
    /// What a name in a watched directory stands for.
    names: BTreeMap<i32, Directory>,
}

/// Whether a file of that name counts.
pub type Fits = fn(&str) -> bool;

#[derive(Debug)]
struct Directory {
    watch: WatchDescriptor,
    path: PathBuf,
    entries: BTreeMap<OsString, BTreeSet<Utf8PathBuf>>,
    /// The directories that were asked for as a whole and are this one.
    whole: BTreeSet<Utf8PathBuf>,
}

impl Watcher {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// If the system has no watch left.
    pub fn new() -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        Ok(Self { inotify, files: BTreeSet::new(), whole: BTreeMap::new(), names: BTreeMap::new() })
    }

    /// Watches exactly `files` from now on; they need not exist yet.
    ///
    /// # Errors
    /// If the system has no watch left. What can be watched is.
    pub fn watch(&mut self, files: impl IntoIterator<Item = Utf8PathBuf>) -> io::Result<()> {
        self.files = files.into_iter().collect();
        self.rebuild()
    }

    /// Watches from now on also all files of a directory whose names fit, and where that directory is.
    ///
    /// # Errors
    /// If the system has no watch left. What can be watched is.
    pub fn watch_whole(&mut self, dir: Utf8PathBuf, fits: Fits) -> io::Result<()> {
        self.whole.insert(dir, fits);
        self.rebuild()
    }

    /// The files, and the directories that are watched as a whole, that may have changed since the last call.
    ///
    /// # Errors
    /// What the system says.
    pub fn read(&mut self) -> io::Result<Vec<Utf8PathBuf>> {
        let mut changed = BTreeSet::new();
        loop {
            match self.inotify.read_events() {
                Ok(events) => events.iter().for_each(|event| self.note(event, &mut changed)),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if !changed.is_empty() {
            // A link may lead elsewhere now, a directory may have come or gone.
            self.rebuild()?;
        }
        Ok(changed.into_iter().collect())
    }

    fn note(&self, event: &InotifyEvent, changed: &mut BTreeSet<Utf8PathBuf>) {
        if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
            changed.extend(self.files.iter().chain(self.whole.keys()).cloned());
            return;
        }
        let Some(directory) = self.names.get(&event.wd.as_raw()) else { return };
        let Some(name) = &event.name else {
            // The directory itself was moved, removed or unmounted.
            changed.extend(directory.entries.values().flatten().chain(&directory.whole).cloned());
            return;
        };
        if event.mask.contains(AddWatchFlags::IN_CREATE) && is_being_written(&directory.path.join(name)) {
            return;
        }
        changed.extend(directory.entries.get(name).into_iter().flatten().cloned());
        let fits =
            |dir: &&Utf8PathBuf| self.whole.get(*dir).is_some_and(|fits| fits(&name.to_string_lossy()));
        changed.extend(directory.whole.iter().filter(fits).cloned());
    }

    /// Watches what the files' paths lead over now. What changes while this is
    /// being found out is noticed by finding it out again.
    fn rebuild(&mut self) -> io::Result<()> {
        let mut outcome = Ok(());
        let mut wanted = self.steps();
        for _ in 0..MOST_LOOKS {
            outcome = self.watch_exactly(&wanted);
            let again = self.steps();
            if again == wanted {
                break;
            }
            wanted = again;
        }
        outcome
    }

    /// Directories and the names in them that count, each with what it counts for; no name: all.
    fn steps(&self) -> Vec<(Utf8PathBuf, PathBuf, Option<OsString>)> {
        let each = self.files.iter().chain(self.whole.keys());
        let lead_there = |file: &Utf8PathBuf| {
            let file = file.clone();
            steps(&file).into_iter().map(move |(path, name)| (file.clone(), path, Some(name)))
        };
        let whole = self.whole.keys().filter(|dir| dir.is_dir());
        let whole = whole.map(|dir| (dir.clone(), dir.clone().into_std_path_buf(), None));
        each.flat_map(lead_there).chain(whole).collect()
    }

    fn watch_exactly(&mut self, wanted: &[(Utf8PathBuf, PathBuf, Option<OsString>)]) -> io::Result<()> {
        let mut outcome = Ok(());
        let mut fresh: BTreeMap<i32, Directory> = BTreeMap::new();
        for (file, path, name) in wanted {
            match self.inotify.add_watch(path, watched()) {
                Ok(watch) => {
                    let directory = fresh.entry(watch.as_raw()).or_insert_with(|| {
                        let (entries, whole) = (BTreeMap::new(), BTreeSet::new());
                        Directory { watch, path: path.clone(), entries, whole }
                    });
                    match name {
                        Some(name) => directory.entries.entry(name.clone()).or_default().insert(file.clone()),
                        None => directory.whole.insert(file.clone()),
                    };
                }
                // Gone since it was looked at: looking again will tell.
                Err(Errno::ENOENT | Errno::ENOTDIR) => {}
                Err(errno) => outcome = Err(errno.into()),
            }
        }
        for (number, old) in &self.names {
            if !fresh.contains_key(number) {
                // It may have ended by itself, with its directory.
                let _ = self.inotify.rm_watch(old.watch);
            }
        }
        self.names = fresh;
        outcome
    }
}

impl Drop for Watcher {
    /// To close a descriptor that still watches takes the kernel up to tens of milliseconds, in which
    /// its caller waits; one that watches nothing any more is closed at once.
    fn drop(&mut self) {
        for directory in self.names.values() {
            // It may have ended by itself, with its directory.
            let _ = self.inotify.rm_watch(directory.watch);
        }
    }
}

impl AsFd for Watcher {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

impl AsRawFd for Watcher {
    fn as_raw_fd(&self) -> RawFd {
        self.inotify.as_fd().as_raw_fd()
    }
}

fn watched() -> AddWatchFlags {
    AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_ONLYDIR
}

/// A regular file that was just made is not whole yet; its closing is reported.
/// One with several names was linked there, whole.
fn is_being_written(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() == 1)
}

/// The directories and names whose change changes `file`: its own, that of
/// every link on the way, and that of the first step that does not exist.
fn steps(file: &Utf8Path) -> Vec<(PathBuf, OsString)> {
    let mut steps = Vec::new();
    let mut here = PathBuf::from(if file.is_absolute() { "/" } else { "." });
    let mut left: Vec<OsString> = parts(file.as_std_path());
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == OsStr::new("..") {
            here.push(part);
            continue;
        }
        let next = here.join(&part);
        let target = std::fs::read_link(&next).ok().filter(|_| links < MOST_LINKS);
        if target.is_some() || left.is_empty() || !next.exists() {
            steps.push((here.clone(), part));
        }
        match target {
            Some(target) => {
                links += 1;
                if target.is_absolute() {
                    here = PathBuf::from("/");
                }
                left.extend(parts(&target));
            }
            None if next.exists() => here = next,
            None => break,
        }
    }
    steps
}

/// The names of a path, last first, so that the next one is popped.
fn parts(path: &Path) -> Vec<OsString> {
    let steps = path.components().rev();
    steps
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests;
