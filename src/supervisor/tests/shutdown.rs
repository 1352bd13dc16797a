//! The end of the daemon, and a large fleet: CTL-2.

use super::*;

/// CTL-2: at the end everything is stopped gracefully, nothing starts any more, and it is idle when nothing is alive.
#[test]
fn a_shutdown_ends_everything() {
    let mut rig =
        Rig::boot([enabled("a"), enabled("b"), enabled("c"), scheduled("d", "@hourly", Overlap::Skip)]);
    let running = rig.spawn("a");
    let starting = rig.run("b");
    rig.spawn("c");
    rig.exit("c", BAD);
    assert!(!rig.fleet.idle());
    rig.tell(Event::Shutdown { at_once: false });
    assert!(rig.effects.contains(&Effect::StopTree { run: running }));
    assert!(rig.effects.contains(&Effect::Cancel { run: starting }));
    assert_eq!(rig.state("c"), State::Stopped);
    assert_eq!(rig.fleet.wall_deadline(), None);
    let expected = (ErrorCode::AlreadyStopping, "start `c`: the daemon is shutting down".to_owned());
    assert_eq!(failure(rig.start("c", true)), expected);
    rig.tell(Event::Configure(configuration([enabled("e")])));
    assert_eq!(rig.effects, []);
    rig.fail_spawn("b");
    assert!(!rig.fleet.idle());
    rig.exit("a", BAD);
    let run = rig.ended().unwrap();
    assert_eq!(run.outcome, Some(Outcome::Stopped));
    assert_eq!(run.cause.as_deref(), Some("the daemon was shut down"));
    assert_eq!((rig.launches(), rig.intents()), (Vec::new(), Vec::new()));
    assert!(rig.fleet.idle());
    assert_eq!(rig.fleet.deadline(), None);
}

/// CTL-2: a second order comes without grace.
#[test]
fn a_second_shutdown_kills() {
    let mut rig = Rig::boot([enabled("a")]);
    let run = rig.spawn("a");
    rig.tell(Event::Shutdown { at_once: false });
    rig.tell(Event::Shutdown { at_once: true });
    assert_eq!(rig.effects, [Effect::KillTree { run }]);
    rig.exit("a", ExitStatus::Signal(9));
    assert!(rig.fleet.idle());
}

/// CTL-2: a start that waits for a stop is answered when the daemon goes.
#[test]
fn a_shutdown_answers_those_who_wait() {
    let mut rig = Rig::boot([enabled("a"), oneshot("b")]);
    rig.spawn("a");
    rig.stop("a", false);
    assert_eq!(rig.start("a", true), None);
    let queued = Ticket(2);
    assert_eq!(rig.start("b", true), None);
    rig.tell(Event::Shutdown { at_once: false });
    assert_eq!(failure(rig.reply(queued)).0, ErrorCode::AlreadyStopping);
    rig.fail_spawn("b");
    let expected =
        (ErrorCode::RunFailed, "the run of harness `b` ended `stopped`: the daemon was shut down".to_owned());
    assert_eq!(failure(rig.last_reply()), expected);
}

/// LIF-4: ten thousand harnesses crash, wait and come back, one event each.
#[test]
fn a_large_fleet_is_handled_one_harness_at_a_time() {
    let count = 10_000;
    let mut rig = Rig::boot((0..count).map(|n| enabled(&format!("h{n}"))));
    let launched = rig.launches();
    assert_eq!(launched.len(), count);
    for (text, _, _) in &launched {
        rig.spawn(text);
        rig.exit(text, BAD);
        assert!(rig.effects.len() < 10, "an event of one harness concerns that harness");
    }
    rig.tick_after(SECOND * 2);
    assert_eq!(rig.launches().len(), count);
}
