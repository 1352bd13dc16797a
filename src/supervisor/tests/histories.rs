//! Random histories of one schedule: SCH-5, SCH-11.

use super::catch_up::{at, timed};
use super::*;
use crate::base::Random;
use crate::schedule::CatchUp;

/// What the store keeps of schedules.
#[derive(Debug, Default)]
pub(super) struct Store {
    firings: BTreeMap<HarnessName, (String, Wall)>,
}

impl Store {
    pub(super) fn commit(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Record(Record::Fired { harness, expression, at }) => {
                    self.firings.insert(harness.clone(), (expression.clone(), *at));
                }
                Effect::Record(Record::Disarmed { harness }) => {
                    self.firings.remove(harness);
                }
                _ => {}
            }
        }
    }

    pub(super) fn remembered(&self) -> Remembered {
        Remembered { last_firings: self.firings.clone(), ..Remembered::default() }
    }
}

/// SCH-5, SCH-11: whatever happens to the daemon and its clock, the rows of a schedule follow one another
/// without a gap and without a slot twice.
#[test]
fn every_slot_has_one_record_in_every_history() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let mut roll = |sides: u64| random.next() % sides;
        let expression =
            ["@every 7m", "*/10 * * * *", "@hourly", "30 2 * * *"][usize::try_from(roll(4)).unwrap()];
        let overlap = [Overlap::Skip, Overlap::Queue, Overlap::Replace][usize::try_from(roll(3)).unwrap()];
        let harness = timed("a", expression, Tz::Europe__Berlin, |timetable| {
            timetable.overlap = overlap;
            timetable.catch_up = CatchUp::ALL[usize::try_from(roll(3)).unwrap()];
            timetable.catch_up_window = HOUR * u32::try_from(roll(30)).unwrap();
            timetable.jitter = MINUTE * u32::try_from(roll(2) * 9).unwrap();
        });
        let timetable = harness.timetable().unwrap().clone();
        let mut store = Store::default();
        let mut covered = Vec::new();
        let start = at("2026-10-23T22:00:00Z");
        let mut rig = Rig::boot_at(start, [harness.clone()], store.remembered());
        store.commit(&rig.effects);
        let mut armed = start;
        for _ in 0..60 {
            let span = MINUTE * u32::try_from(roll(90)).unwrap() + Duration::from_micros(roll(1_000_000));
            let live = rig.fleet.view(&name("a")).and_then(|view| Some((view.run?, view.state)));
            match (roll(12), live) {
                (0, _) => {
                    rig = Rig::boot_at(rig.now.wall + span, [harness.clone()], store.remembered());
                }
                (1, _) => rig.set_clock(rig.now.wall - span),
                (2, _) => rig.set_clock(rig.now.wall + HOUR * u32::try_from(roll(50)).unwrap()),
                (3..6, Some((run, State::Starting))) => rig.tell(spawned(run)),
                (3..7, Some((run, _))) => {
                    rig.tell(Event::Exited { run, status: BAD });
                    store.commit(&rig.effects);
                    note(&rig, &mut covered, &mut armed, &store);
                    rig.tell(Event::Emptied { run, rest: Rest::default() });
                }
                (7, _) => drop(rig.stop("a", false)),
                _ => rig.pass(span),
            }
            store.commit(&rig.effects);
            note(&rig, &mut covered, &mut armed, &store);
            rig.tell(Event::Tick);
            store.commit(&rig.effects);
            note(&rig, &mut covered, &mut armed, &store);
            rig.effects.clear();
        }
        let mut settled = armed;
        for (first, last, count) in covered {
            let what =
                || format!("history {seed}, `{expression}`: {} after {}", first.rfc3339(), settled.rfc3339());
            let next = timetable.expression.next_after(settled, timetable.timezone, armed);
            assert_eq!(next, Some(first), "{}", what());
            let slots = timetable.expression.count(settled, last, timetable.timezone, armed);
            assert_eq!(slots, count, "{}", what());
            settled = last;
        }
        assert_eq!(store.firings[&name("a")].1, settled, "history {seed}");
    }
}

/// Which slots the rows of one turn cover. Until something is covered the schedule may be armed anew.
fn note(rig: &Rig, covered: &mut Vec<(Wall, Wall, u64)>, armed: &mut Wall, store: &Store) {
    for effect in &rig.effects {
        match effect {
            // A slot that has waited is recorded again when it starts.
            Effect::Record(Record::RunQueued(run) | Record::RunStarted(run)) => {
                let slot = run.planned_at.map(|slot| (slot, slot, 1));
                covered.extend(slot.filter(|slot| !covered.contains(slot)));
            }
            Effect::Record(Record::Skipped(run)) => {
                let slot = run.planned_at.unwrap();
                let stretch = run.missed.as_ref().map(|one| (one.first, one.last, one.count));
                covered.push(stretch.unwrap_or((slot, slot, 1)));
            }
            _ => {}
        }
    }
    if covered.is_empty() {
        *armed = store.firings[&name("a")].1;
    }
}
