//! A reload is applied by difference: CFG-10.

use super::*;

fn reload(rig: &mut Rig, harnesses: impl IntoIterator<Item = Harness>) {
    rig.tell(Event::Configure(configuration(harnesses)));
}

/// CFG-10: an added enabled harness starts, a removed one is stopped and then forgotten, and it is told.
#[test]
fn a_reload_is_applied_by_difference() {
    let mut rig = Rig::boot([enabled("a"), enabled("b"), enabled("c")]);
    for text in ["a", "b", "c"] {
        rig.spawn(text);
    }
    let gone = rig.run("b");
    reload(&mut rig, [enabled("a"), edited(enabled("c")), enabled("d"), resident("e")]);
    let told = EventKind::ConfigReloaded {
        added: vec![name("d"), name("e")],
        removed: vec![name("b")],
        changed: vec![name("c")],
    };
    assert_eq!(rig.effects[0], Effect::Emit(told));
    assert_eq!(rig.launches(), [("d".to_owned(), Trigger::Boot, 1)]);
    let signals: Vec<_> = rig.effects.iter().filter(|e| matches!(e, Effect::StopTree { .. })).collect();
    assert_eq!(signals, [&Effect::StopTree { run: gone }]);
    assert_eq!(rig.state("b"), State::Stopping);
    rig.exit("b", GOOD);
    assert_eq!(rig.ended().unwrap().cause.as_deref(), Some("removed from the configuration"));
    let names: Vec<_> = rig.fleet.names().map(HarnessName::as_str).collect();
    assert_eq!(names, ["a", "c", "d", "e"]);
}

/// CFG-10: changing one of a hundred touches no process; a harness that only moved in its file is not changed.
#[test]
fn a_reload_bounces_nothing() {
    let fleet = |n: usize| (0..n).map(|n| enabled(&format!("h{n}"))).collect::<Vec<_>>();
    let mut rig = Rig::boot(fleet(100));
    for n in 0..100 {
        rig.spawn(&format!("h{n}"));
    }
    let mut next = fleet(100);
    next[7] = edited(enabled("h7"));
    next[8].origin.line = 99;
    reload(&mut rig, next);
    let expected =
        EventKind::ConfigReloaded { added: Vec::new(), removed: Vec::new(), changed: vec![name("h7")] };
    assert_eq!(rig.effects, [Effect::Emit(expected)]);
    assert_eq!(rig.fleet.harness(&name("h8")).unwrap().origin.line, 99);
}

/// CFG-10: the new definition of a running harness applies at its next start, and shows as `changed` until then.
#[test]
fn a_changed_definition_waits_for_the_next_start() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    reload(&mut rig, [edited(enabled("a"))]);
    assert!(rig.fleet.view(&name("a")).unwrap().changed);
    assert_eq!(rig.fleet.attention()[0].reason, "changed: restart to apply");
    rig.restart("a", false);
    rig.exit("a", GOOD);
    let launched = rig.effects.iter().find_map(|effect| match effect {
        Effect::Launch { harness, .. } => Some(harness.launch_hash.clone()),
        _ => None,
    });
    assert_eq!(launched.as_deref(), Some("launch-2"));
    assert_eq!(rig.ended().unwrap().definition_hash, "definition-1");
    rig.spawn("a");
    assert!(!rig.fleet.view(&name("a")).unwrap().changed);
}

/// CFG-10: `restart` and `description` apply at once; the grace of a process is that of its start.
#[test]
fn what_is_consulted_at_the_end_applies_at_once() {
    let mut rig = Rig::boot([enabled("a"), enabled("b")]);
    rig.spawn("a");
    rig.spawn("b");
    let next = |text| {
        let harness = edited(with_restart(enabled(text), RestartPolicy::No));
        Harness { description: Some("x".to_owned()), stop_timeout: HOUR, ..harness }
    };
    reload(&mut rig, [next("a"), next("b")]);
    assert_eq!(rig.fleet.view(&name("a")).unwrap().description.as_deref(), Some("x"));
    rig.exit("a", BAD);
    assert_eq!(rig.state("a"), State::Stopped);
    rig.stop("b", false);
    assert_eq!(rig.fleet.deadline(), Some(rig.now.mono + SECOND * 10));
}

/// CFG-10: a `timeout` that a reload adds counts from the next start.
#[test]
fn a_new_timeout_does_not_cut_what_runs() {
    let bounded = || {
        let mode = Mode::OneShot {
            restart: RestartPolicy::No,
            schedule: None,
            timeout: Some(MINUTE),
            watch: Watch::default(),
        };
        edited(Harness { mode, ..oneshot("a") })
    };
    let mut rig = Rig::boot([oneshot("a")]);
    rig.start("a", false);
    reload(&mut rig, [bounded()]);
    rig.spawn("a");
    assert_eq!(rig.fleet.deadline(), None);
    rig.exit("a", GOOD);
    rig.start("a", false);
    rig.spawn("a");
    assert_eq!(rig.fleet.deadline(), Some(rig.now.mono + MINUTE));
}

/// CFG-10: a changed `enabled` counts at the next boot, in either direction.
#[test]
fn a_changed_enabled_counts_at_the_next_boot() {
    let mut rig = Rig::boot([enabled("a"), resident("b")]);
    rig.spawn("a");
    reload(&mut rig, [edited(resident("a")), edited(enabled("b"))]);
    assert_eq!((rig.state("a"), rig.state("b")), (State::Running, State::Stopped));
}

/// CFG-10: a removed harness can be added again while it is being stopped, and cannot be started meanwhile.
#[test]
fn a_removed_harness_can_come_back_while_it_stops() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    reload(&mut rig, []);
    let expected = "`a` is no longer in the configuration and is being stopped".to_owned();
    assert_eq!(failure(rig.start("a", true)), (ErrorCode::UnknownHarness, expected));
    reload(&mut rig, [edited(enabled("a"))]);
    assert_eq!(rig.launches(), []);
    rig.exit("a", GOOD);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Boot, 1)]);
    rig.spawn("a");
    reload(&mut rig, []);
    reload(&mut rig, [resident("a")]);
    rig.exit("a", GOOD);
    assert_eq!(rig.state("a"), State::Stopped);
}

/// CFG-10: a removal is a stop: what was started by hand does not come back with a later addition.
#[test]
fn a_removal_forgets_a_start_by_hand() {
    let mut rig = Rig::boot([resident("a")]);
    rig.start("a", false);
    rig.spawn("a");
    reload(&mut rig, []);
    assert_eq!(rig.intents(), [("a", false)]);
    rig.exit("a", GOOD);
    reload(&mut rig, [with_restart(enabled("a"), RestartPolicy::UnlessStopped)]);
    assert_eq!(rig.launches().len(), 1);
    assert_eq!(rig.intents(), [("a", true)], "else the stop would count at the next boot");
}

/// CFG-10: the daemon's own limits apply at once.
#[test]
fn new_limits_apply_at_once() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    let mut next = Arc::unwrap_or_clone(configuration([enabled("a")]));
    next.daemon.max_attempts = 1;
    rig.tell(Event::Configure(Arc::new(next)));
    rig.exit("a", BAD);
    assert_eq!(rig.state("a"), State::Failed);
}
