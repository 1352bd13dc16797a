//! Signals as events of the loop (CTL-2).

use tracing::{info, warn};

use super::state::Daemon;
use crate::host::signals::Arrived;
use crate::supervisor::Event;

impl Daemon {
    /// Takes one signal.
    pub(super) fn signalled(&mut self, signal: Arrived) {
        match signal {
            Arrived::Child => self.reap_due = true,
            Arrived::Hangup if self.foreground => self.shut_down(),
            Arrived::Hangup => self.reload(None),
            Arrived::Terminate | Arrived::Interrupt => self.shut_down(),
            Arrived::User2 => warn!("re-execution is not supported yet; restart the daemon instead"),
        }
    }

    /// Stops everything: gracefully the first time, at once the second.
    pub(super) fn shut_down(&mut self) {
        let again = std::mem::replace(&mut self.stopping, true);
        info!(at_once = again, "stopping");
        self.notifier.stopping();
        self.feed(Event::Shutdown { at_once: again });
    }
}
