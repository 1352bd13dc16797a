//! Signals as events of the loop (CTL-2).

use tracing::{info, warn};

use super::state::Daemon;
use crate::host::notify;
use crate::host::signals::Signal;
use crate::supervisor::{Event, Ticket};

impl Daemon {
    /// Takes one signal.
    pub(super) fn signalled(&mut self, signal: Signal) {
        match signal {
            Signal::Child => self.reap_due = true,
            Signal::HangUp if self.foreground && self.signals.hangup_was_ignored() => {}
            Signal::HangUp if self.foreground => self.shut_down(),
            Signal::HangUp => self.reload(None),
            Signal::Terminate | Signal::Interrupt => self.shut_down(),
            Signal::Reexecute => self.reexecute(None),
        }
    }

    /// Stops everything: gracefully the first time, at once the second.
    pub(super) fn shut_down(&mut self) {
        let again = std::mem::replace(&mut self.stopping, true);
        if again {
            self.errands.hurry(Self::now().mono);
        }
        if self.foreground && !again {
            // Its one run is stopped as by `harnessd stop`; the reply about the run ends the loop.
            let names = self.supervisor.names().cloned().collect();
            return self.feed(Event::Stop { ticket: Ticket(0), names, wait: false });
        }
        info!(at_once = again, "stopping");
        tell_manager(notify::stopping("stopping all harnesses"));
        self.feed(Event::Shutdown { at_once: again });
    }
}

/// A service manager that cannot be told is no reason to stop, and it says so itself.
pub(super) fn tell_manager(told: std::io::Result<()>) {
    if let Err(cause) = told {
        warn!(%cause, "the service manager cannot be told");
    }
}
