//! The firings to come, as a plan shows them (RUN-6).

use std::iter::successors;

use chrono::SecondsFormat;

use super::{Timer, guarded, identity};
use crate::base::{HarnessName, Wall};
use crate::config::Timetable;
use crate::supervisor::Supervisor;
use crate::wire::PlannedFiring;

impl Timer {
    /// At most `n` slots whose time, their delay included, is still to come.
    fn upcoming(&self, name: &HarnessName, now: Wall, n: usize) -> Vec<PlannedFiring> {
        let zone = self.timetable.timezone;
        let found = guarded(|| {
            let delayed = self.latest(now, 1).pop().filter(|slot| self.due(name, *slot) > now);
            let first = delayed.or_else(|| self.after(self.settled.max(now)));
            let slots = successors(first, |slot| self.after(*slot)).take(n);
            let firing = |at: Wall| PlannedFiring {
                at,
                local: at.utc().with_timezone(&zone).to_rfc3339_opts(SecondsFormat::Secs, true),
                delayed_until: Some(self.due(name, at)).filter(|due| *due != at),
            };
            slots.map(firing).collect()
        });
        found.unwrap_or_default()
    }
}

impl Supervisor {
    /// At most `n` firings to come of a harness, as its timer will take them.
    #[must_use]
    pub fn upcoming(&self, name: &HarnessName, now: Wall, n: usize) -> Vec<PlannedFiring> {
        let timer = self.slots.get(name).and_then(|slot| slot.timer.as_ref());
        timer.map_or_else(Vec::new, |timer| timer.upcoming(name, now, n))
    }
}

/// The same of a schedule that a daemon which starts now would arm; `claim` is what the store keeps of it.
#[must_use]
pub fn upcoming(
    name: &HarnessName,
    timetable: &Timetable,
    claim: Option<&(String, Wall)>,
    now: Wall,
    n: usize,
) -> Vec<PlannedFiring> {
    let whole = identity(timetable);
    let known = claim.filter(|(of, _)| *of == whole).map(|(_, at)| *at);
    Timer::new(name, timetable.clone(), known, now).upcoming(name, now, n)
}
