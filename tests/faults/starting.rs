//! Faults in a daemon that starts.

use std::cell::Cell;
use std::time::Instant;

use crate::full;
use crate::points::points;
use crate::world::{World, no_crash, try_all};

/// A home in which a daemon was, which is the usual case: the store is there.
fn start() -> World {
    let mut world = World::new().unwrap();
    world.start_daemon();
    world.serves().unwrap();
    world.is_sound("without a fault");
    assert!(world.terminate().success());
    world
}

/// CTL-1: a daemon that cannot start says why, exits with a failure and breaks nothing; one that can
/// serves.
#[test]
fn a_starting_daemon_serves_or_says_why_not() {
    if World::new().is_none() {
        return;
    }
    let begun = Instant::now();
    let mut world = start();
    world.injector.take_counts();
    world.start_daemon();
    world.serves().unwrap();
    let counts = world.injector.take_counts();
    world.terminate();
    let all = points(&counts, full());
    let (met, served) = (Cell::new(0), Cell::new(0));
    let attempt = |world: &mut World, point: &_| {
        let before = world.log().len();
        world.injector.arm(*point);
        world.start_daemon();
        let came = world.serves();
        met.set(met.get() + usize::from(world.injector.disarm() > 0));
        match came {
            Ok(()) => served.set(served.get() + 1),
            Err(status) => {
                let log = world.log();
                let news = &log[before..];
                no_crash(status, &point.to_string(), news);
                assert!(!status.success(), "{point}: it has failed, and exits with success\n{news}");
                let unheard = point.class.name == "write the daemon's log";
                // Before its first instruction the system's loader speaks for it.
                let said = ["error: ", "error while loading"].iter().any(|word| news.contains(word));
                assert!(unheard || said, "{point}: it does not say why\n{news}");
                assert_eq!(world.processes(), [], "{point}");
                world.start_daemon();
                let again = world.serves();
                assert!(again.is_ok(), "{point}: the next start fails too\n{}", world.log());
            }
        }
        world.is_sound(&point.to_string());
        let status = world.terminate();
        assert!(status.success(), "{point}: {status}\n{}", world.log());
    };
    try_all(&all, attempt, start);
    let met = met.get();
    assert!(met > all.len() / 2, "only {met} of {} points were met", all.len());
    eprintln!(
        "starting: {} points, {} met, {} starts went on, {} s",
        all.len(),
        met,
        served.get(),
        begun.elapsed().as_secs()
    );
}
