//! A reload of one unit of acceptance leaves the others alone, whatever they are at: CFG-10.

use proptest::prelude::*;

use super::*;
use crate::config::Profile;
use crate::wire::HarnessView;

/// The global file and two projects.
const UNITS: [&str; 3] = ["", "app/", "web/"];
const LOCAL: [&str; 4] = ["a", "b", "c", "d"];

/// What is declared under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Declared {
    Nothing,
    Resident,
    Enabled,
    OneShot,
    Hourly,
    Daily,
}

/// How far a harness has got when the reload comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asleep,
    Starting,
    Running,
    Waiting,
    Stopping,
}

type Unit = [(Declared, bool); LOCAL.len()];

fn unit() -> impl Strategy<Value = Unit> {
    use Declared::{Daily, Enabled, Hourly, Nothing, OneShot, Resident};
    let kinds = prop::sample::select(vec![Nothing, Resident, Enabled, OneShot, Hourly, Daily]);
    prop::array::uniform((kinds, any::<bool>()))
}

fn stage() -> impl Strategy<Value = Stage> {
    use Stage::{Asleep, Running, Starting, Stopping, Waiting};
    prop::sample::select(vec![Asleep, Starting, Running, Waiting, Stopping])
}

fn harness(full: &str, (declared, other): (Declared, bool)) -> Option<Harness> {
    let made = match declared {
        Declared::Nothing => return None,
        Declared::Resident => resident(full),
        Declared::Enabled => enabled(full),
        Declared::OneShot => oneshot(full),
        Declared::Hourly => scheduled(full, "@hourly", Overlap::Queue),
        Declared::Daily => scheduled(full, "@daily", Overlap::Skip),
    };
    let hash = format!("{declared:?} {other}");
    Some(Harness { definition_hash: hash.clone(), launch_hash: hash, ..made })
}

fn fleet(units: &[Unit; 3], autostart: usize) -> Arc<Configuration> {
    let all = UNITS.iter().zip(units).flat_map(|(prefix, unit)| {
        LOCAL
            .iter()
            .zip(unit)
            .filter_map(move |(local, declared)| harness(&format!("{prefix}{local}"), *declared))
    });
    let mut made = Arc::unwrap_or_clone(configuration(all));
    let harnesses = LOCAL.iter().map(|local| name(&format!("{}{local}", UNITS[autostart]))).collect();
    made.profiles = [("day".to_owned(), Profile { harnesses, autostart: true, ..Profile::default() })].into();
    Arc::new(made)
}

/// Brings a harness as far as it goes on the way to that stage.
fn bring(rig: &mut Rig, full: &str, stage: Stage) {
    if rig.fleet.harness(&name(full)).is_none() || stage == Stage::Asleep {
        return;
    }
    rig.start(full, false);
    if stage == Stage::Starting {
        return;
    }
    rig.spawn(full);
    match stage {
        Stage::Waiting => rig.exit(full, BAD),
        Stage::Stopping => drop(rig.stop(full, false)),
        Stage::Asleep | Stage::Starting | Stage::Running => {}
    }
}

/// The harnesses that an effect is about.
fn subjects(rig: &Rig, effect: &Effect) -> Vec<HarnessName> {
    let run_of = |run: RunId| {
        rig.fleet.views().into_iter().filter(|view| view.run == Some(run)).map(|view| view.name).collect()
    };
    match effect {
        Effect::Launch { harness, .. } | Effect::Check { harness, .. } | Effect::Park { harness } => {
            vec![harness.name.clone()]
        }
        Effect::Cancel { run } | Effect::StopTree { run } | Effect::KillTree { run } => run_of(*run),
        Effect::Unpark { harness } | Effect::Emit(EventKind::StateChanged { harness, .. }) => {
            vec![harness.clone()]
        }
        Effect::Notify { run, .. } => vec![run.harness.clone()],
        Effect::Record(record) => match record {
            Record::RunStarted(run)
            | Record::RunQueued(run)
            | Record::RunEnded(run)
            | Record::RunLost(run)
            | Record::Skipped(run) => vec![run.harness.clone()],
            Record::RunSpawned { id, .. } | Record::RunVersion { id, .. } => run_of(*id),
            Record::Fired { harness, .. } | Record::Disarmed { harness } | Record::Intent { harness, .. } => {
                vec![harness.clone()]
            }
            Record::Profile { .. } => Vec::new(),
        },
        Effect::Emit(EventKind::ConfigReloaded { added, removed, changed }) => {
            [added, removed, changed].into_iter().flatten().cloned().collect()
        }
        Effect::Emit(_) | Effect::Reply { .. } => Vec::new(),
    }
}

fn views(rig: &Rig, prefix: &str) -> Vec<HarnessView> {
    let of_unit = |view: &HarnessView| view.name.project() == prefix.strip_suffix('/');
    rig.fleet.views().into_iter().filter(of_unit).collect()
}

proptest! {
    /// CFG-10: whatever changes in one unit, and whichever profile starts at boot by then, nothing is done to a
    /// harness of another, and each is shown as before: its run, its wait, its next firing.
    #[test]
    fn a_reload_touches_its_own_unit_alone(
        before in prop::array::uniform3(unit()),
        stages in prop::collection::vec(stage(), UNITS.len() * LOCAL.len()),
        (changed, after) in (0..UNITS.len(), unit()),
        autostarts in prop::array::uniform2(0..UNITS.len()),
    ) {
        let now = Now { mono: Mono(HOUR), wall: NOON };
        let mut rig = Rig { fleet: Supervisor::new(5), now, effects: Vec::new(), tickets: 0 };
        // What starts by itself at boot is not what is looked at here.
        let asleep = before.map(|unit| unit.map(|(declared, other)| match declared {
            Declared::Enabled => (Declared::Resident, other),
            declared => (declared, other),
        }));
        let mut first = Arc::unwrap_or_clone(fleet(&asleep, autostarts[0]));
        first.profiles.clear();
        rig.tell(Event::Boot { configuration: Arc::new(first), remembered: Remembered::default() });
        let names = UNITS.iter().flat_map(|prefix| LOCAL.iter().map(move |local| format!("{prefix}{local}")));
        for (full, stage) in names.zip(stages) {
            bring(&mut rig, &full, stage);
        }
        rig.tell(Event::Configure(fleet(&before, autostarts[0])));
        let others = || UNITS.iter().enumerate().filter(|(at, _)| *at != changed).map(|(_, prefix)| *prefix);
        let shown: Vec<_> = others().map(|prefix| views(&rig, prefix)).collect();
        rig.pass(SECOND);
        let mut next = before;
        next[changed] = after;
        rig.tell(Event::Configure(fleet(&next, autostarts[1])));
        let prefix = UNITS[changed].strip_suffix('/');
        for effect in &rig.effects {
            let own = subjects(&rig, effect).iter().all(|name| name.project() == prefix);
            prop_assert!(own, "{effect:?}");
        }
        prop_assert_eq!(others().map(|prefix| views(&rig, prefix)).collect::<Vec<_>>(), shown);
    }
}
