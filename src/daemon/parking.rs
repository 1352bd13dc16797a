//! Parked harnesses: they wait until somebody logs in, which a change of their login files tells (RUN-0).
//!
//! Invariant: the files are watched and never read; a harness is reported when one of them appears or is
//! another than when it was parked.

use std::collections::BTreeMap;
use std::io;

use calloop::{PostAction, RegistrationToken};
use camino::Utf8PathBuf;
use tracing::{info, warn};

use super::source::{not_taken, readable};
use super::state::Daemon;
use crate::base::HarnessName;
use crate::config::Harness;
use crate::host::files::Stamp;
use crate::host::watch::Watcher;
use crate::launch::login_files;
use crate::supervisor::Event;

/// The login files of each harness that waits, as they were when last looked at.
pub(super) type Logins = BTreeMap<HarnessName, BTreeMap<Utf8PathBuf, Option<Stamp>>>;

/// The harnesses that wait.
#[derive(Debug, Default)]
pub(super) struct Parking {
    pub(super) harnesses: Logins,
    watch: Option<Watch>,
}

#[derive(Debug)]
struct Watch {
    watcher: Watcher,
    token: RegistrationToken,
}

impl Parking {
    /// Looks at the files again: who has one that is another now.
    fn look(&mut self) -> Vec<HarnessName> {
        let mut changed = Vec::new();
        for (name, files) in &mut self.harnesses {
            let mut differs = false;
            for (path, known) in files {
                let now = Stamp::of(path);
                // One that vanishes is no login.
                differs |= now.is_some() && now != *known;
                *known = now;
            }
            if differs {
                changed.push(name.clone());
            }
        }
        changed
    }
}

impl Daemon {
    /// Watches the login files of a harness that is parked.
    pub(super) fn park(&mut self, harness: &Harness) {
        let files = login_files(harness, &self.around);
        // A predecessor has looked at them already.
        let known = self.parking.harnesses.remove(&harness.name).unwrap_or_default();
        // Or an earlier daemon has parked it: what is newer than the run that was refused is another login.
        let refused = self.supervisor.view(&harness.name).and_then(|view| view.last_run?.ended_at);
        let stamp = |path: &Utf8PathBuf| match known.get(path) {
            Some(known) => *known,
            None if refused.is_some_and(|at| Stamp::is_newer(path, at)) => None,
            None => Stamp::of(path),
        };
        let stamped = files.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
        self.parking.harnesses.insert(harness.name.clone(), stamped);
        self.watch_logins();
        // One that changed while the watch was set up is seen here.
        self.tell_logins();
    }

    /// The harness waits no more.
    pub(super) fn unpark(&mut self, harness: &HarnessName) {
        if self.parking.harnesses.remove(harness).is_some() {
            self.watch_logins();
        }
    }

    fn watch_logins(&mut self) {
        if let Err(cause) = self.try_watch_logins() {
            warn!(%cause, "a login may not be noticed: start what waits for it by hand");
        }
    }

    fn try_watch_logins(&mut self) -> io::Result<()> {
        let files: Vec<Utf8PathBuf> =
            self.parking.harnesses.values().flat_map(BTreeMap::keys).cloned().collect();
        if files.is_empty() {
            if let Some(watch) = self.parking.watch.take() {
                self.handle.remove(watch.token);
            }
            return Ok(());
        }
        if let Some(watch) = &mut self.parking.watch {
            return watch.watcher.watch(files);
        }
        let mut watcher = Watcher::new()?;
        let watched = watcher.watch(files);
        let source = readable(&watcher)?;
        let inserted = self.handle.insert_source(source, |_, _, daemon| Ok(daemon.logins_changed()));
        let token = inserted.map_err(not_taken)?;
        self.parking.watch = Some(Watch { watcher, token });
        watched
    }

    fn tell_logins(&mut self) {
        for harness in self.parking.look() {
            info!(%harness, "its login has changed");
            self.feed(Event::LoginChanged { harness });
        }
    }

    fn logins_changed(&mut self) -> PostAction {
        let Some(watch) = &mut self.parking.watch else { return PostAction::Remove };
        let read = watch.watcher.read();
        self.tell_logins();
        match read {
            Ok(_) => PostAction::Continue,
            Err(cause) => {
                warn!(%cause, "logins are not noticed any more: start what waits for one by hand");
                self.parking.watch = None;
                PostAction::Remove
            }
        }
    }
}
