//! The fleet crosses from one daemon to the next: CTL-11.

use std::time::Duration;

use super::*;
use crate::config::{Configuration, Harness};
use crate::supervisor::{Snapshot, Supervisor};

/// A fleet with something in every place that crosses.
fn busy() -> (Vec<Harness>, Rig) {
    let all = vec![
        enabled("runs"),
        enabled("waits"),
        oneshot("awaited"),
        scheduled("every", "@every 1h", Overlap::Queue),
        scheduled("night", "0 3 * * *", Overlap::Skip),
    ];
    let mut rig = Rig::boot(all.clone());
    rig.spawn("runs");
    rig.spawn("waits");
    rig.exit("waits", ExitStatus::Code(3));
    rig.pass(Duration::from_nanos(1_234_567_891));
    rig.start("awaited", true);
    rig.spawn("awaited");
    rig.stop("runs", true);
    (all, rig)
}

fn across(rig: &Rig, configuration: &Configuration) -> Supervisor {
    let text = serde_json::to_string(&rig.fleet.snapshot()).unwrap();
    Supervisor::restore(serde_json::from_str(&text).unwrap(), configuration, 1)
}

/// CTL-11: what is shown, what is due and all that is known of it are the same on the other side.
#[test]
fn a_fleet_crosses_unchanged() {
    let (all, rig) = busy();
    let configuration = configuration(all);
    let restored = across(&rig, &configuration);
    assert!(restored.agrees_with(&configuration));
    assert_eq!(restored.views(), rig.fleet.views());
    assert_eq!(restored.deadline(), rig.fleet.deadline());
    assert_eq!(restored.wall_deadline(), rig.fleet.wall_deadline());
    let written = |fleet: &Supervisor| serde_json::to_value(fleet.snapshot()).unwrap();
    assert_eq!(written(&restored), written(&rig.fleet));
}

/// CTL-11: who waited is answered by the successor, with the same record as if nothing had been.
#[test]
fn those_who_wait_are_answered_by_the_successor() {
    let (all, mut rig) = busy();
    let run = rig.run("awaited");
    let mut restored = across(&rig, &configuration(all));
    let end = Event::Exited { run, status: ExitStatus::Code(0) };
    let empty = Event::Emptied { run, rest: Rest::default() };
    let both = |fleet: &mut Supervisor| {
        let mut effects = fleet.handle(end.clone(), rig.now);
        effects.extend(fleet.handle(empty.clone(), rig.now));
        effects
    };
    let effects = both(&mut restored);
    assert!(
        effects.iter().any(|effect| matches!(effect, Effect::Reply { result: Ok(_), .. })),
        "{effects:?}"
    );
    assert_eq!(effects, both(&mut rig.fleet));
}

/// CTL-11, CFG-10: what the files say by then is applied as by a reload.
#[test]
fn another_configuration_is_a_difference() {
    let (mut all, rig) = busy();
    all.retain(|harness| harness.name != name("runs"));
    all.push(enabled("new"));
    let next = configuration(all);
    let mut restored = across(&rig, &next);
    assert!(!restored.agrees_with(&next));
    let effects = restored.handle(Event::Configure(next.clone()), rig.now);
    let told =
        EventKind::ConfigReloaded { added: vec![name("new")], removed: vec![name("runs")], changed: vec![] };
    assert_eq!(effects.first(), Some(&Effect::Emit(told)));
    let launched =
        |effect: &Effect| matches!(effect, Effect::Launch { harness, .. } if harness.name == name("new"));
    assert!(effects.iter().any(launched), "{effects:?}");
    assert!(restored.agrees_with(&next));
}

/// CTL-11: a successor that knows more fields, or fewer, reads it all the same.
#[test]
fn a_snapshot_of_nothing_is_an_empty_fleet() {
    let snapshot: Snapshot = serde_json::from_str("{\"a_later_field\": [1]}").unwrap();
    let nothing = configuration([]);
    assert!(Supervisor::restore(snapshot, &nothing, 1).agrees_with(&nothing));
}
