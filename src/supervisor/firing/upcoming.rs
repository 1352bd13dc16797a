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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono_tz::Tz;

    use super::upcoming;
    use crate::base::{HarnessName, Wall};
    use crate::config::Timetable;
    use crate::schedule::Schedule;

    const MINUTE: i64 = 60_000_000;
    const NOW: Wall = Wall(1_800_000_000_000_000);

    fn timetable(expression: &str) -> Timetable {
        Timetable::new(Schedule::parse(expression).unwrap(), Tz::UTC)
    }

    fn minutes(timetable: &Timetable, claim: Option<&(String, Wall)>, n: usize) -> Vec<i64> {
        let name = HarnessName::parse("a").unwrap();
        let found = upcoming(&name, timetable, claim, NOW, n);
        found.iter().map(|firing| (firing.at.0 - NOW.0) / MINUTE).collect()
    }

    /// RUN-6, SCH-7: an interval goes on in the phase that the store keeps, unless its expression was edited.
    #[test]
    fn an_interval_keeps_its_phase() {
        let every = timetable("@every 1h");
        assert_eq!(minutes(&every, None, 3), [60, 120, 180]);
        let claim = ("@every 1h".to_owned(), Wall(NOW.0 - 150 * MINUTE));
        assert_eq!(minutes(&every, Some(&claim), 3), [30, 90, 150]);
        let other = ("@every 2h".to_owned(), claim.1);
        assert_eq!(minutes(&every, Some(&other), 2), [60, 120]);
    }

    /// RUN-6, SCH-6: a slot whose delay is not over is still to come, the missed ones before it are not.
    #[test]
    fn a_slot_whose_delay_goes_on_is_the_next() {
        let name = HarnessName::parse("a").unwrap();
        let delayed = Timetable { jitter: Duration::from_secs(3599), ..timetable("@every 1h") };
        let claim = ("@every 1h".to_owned(), Wall(NOW.0 - 181 * MINUTE));
        let found = upcoming(&name, &delayed, Some(&claim), NOW, 2);
        let due = found[0].delayed_until.unwrap();
        assert!(due > NOW && (found[0].at.0 - NOW.0).abs() < 60 * MINUTE, "{found:?}");
        assert_eq!(found[1].at.0 - found[0].at.0, 60 * MINUTE);
    }

    /// SCH-1: what ends has no more firings than are left.
    #[test]
    fn a_schedule_that_ends_has_fewer() {
        let name = HarnessName::parse("a").unwrap();
        let last = Wall(i64::MAX / 2);
        assert_eq!(upcoming(&name, &timetable("@daily"), None, last, 5), []);
    }
}
