//! Two clocks: one that can be set and one that cannot.

use super::{BAD, HOUR, MINUTE, Rig, SECOND, enabled, oneshot};
use crate::base::Trigger;
use crate::config::Mode;
use crate::supervisor::{Effect, Event};

/// What people and time servers do to a clock.
fn set_the_clock(rig: &mut Rig) {
    let before = rig.now.wall;
    for wall in [before - HOUR, before + HOUR * 24 * 30, before - HOUR * 24 * 30] {
        rig.set_clock(wall);
        rig.tell(Event::Tick);
        assert_eq!(rig.effects, [], "nothing is due because the clock was set");
    }
}

/// Trap 13, LIF-4: the delay before a restart is waited for whatever the clock shows meanwhile.
#[test]
fn a_restart_is_delayed_by_the_steady_clock() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    rig.exit("a", BAD);
    set_the_clock(&mut rig);
    rig.tick_after(SECOND * 2);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Restart, 2)]);
}

/// Trap 13, LIF-5: so is the grace of a stop.
#[test]
fn a_stop_is_timed_by_the_steady_clock() {
    let mut rig = Rig::boot([enabled("a")]);
    let run = rig.spawn("a");
    rig.stop("a", false);
    assert!(rig.effects.contains(&Effect::StopTree { run }));
    set_the_clock(&mut rig);
    rig.tick_after(SECOND * 9);
    assert_eq!(rig.effects, []);
    rig.tick_after(SECOND);
    assert_eq!(rig.effects, [Effect::KillTree { run }]);
}

/// Trap 13, SCH-8: and the `timeout` of a run.
#[test]
fn a_timeout_is_measured_by_the_steady_clock() {
    let mut bounded = oneshot("a");
    if let Mode::OneShot { timeout, .. } = &mut bounded.mode {
        *timeout = Some(MINUTE);
    }
    let mut rig = Rig::boot([bounded]);
    rig.start("a", false);
    let run = rig.spawn("a");
    set_the_clock(&mut rig);
    rig.tick_after(SECOND * 59);
    assert_eq!(rig.effects, []);
    rig.tick_after(SECOND);
    assert!(rig.effects.contains(&Effect::StopTree { run }));
}
