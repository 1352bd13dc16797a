//! The one timer of the real-time clock: the next firing. Nothing polls.

use tracing::warn;

use super::state::Daemon;

impl Daemon {
    /// Sets the timer to the next firing, if that has changed.
    pub(super) fn set_wall_timer(&mut self) {
        let next = self.supervisor.wall_deadline();
        if next == self.wall_timer_set {
            return;
        }
        match self.wall_timer.set(next) {
            Ok(_) => self.wall_timer_set = next,
            Err(cause) => warn!(%cause, "the timer of schedules cannot be set"),
        }
    }
}
