//! Faults in a daemon that stops.

use std::cell::Cell;
use std::time::Instant;

use serde_json::json;

use crate::full;
use crate::points::points;
use crate::world::{World, no_crash, try_all};

/// A daemon with something to stop.
fn start() -> World {
    let mut world = World::new().unwrap();
    start_again(&mut world);
    world
}

fn start_again(world: &mut World) {
    world.start_daemon();
    world.serves().unwrap();
    world.is_sound("without a fault");
    world.ask(json!({"op": "start", "names": ["pipe", "terminal", "again"]})).unwrap();
}

/// CTL-2, LIF-9: a stop ends whatever fails meanwhile, leaves no process, and no record open that the
/// next daemon does not close.
#[test]
fn a_stopping_daemon_ends_all_the_same() {
    if World::new().is_none() {
        return;
    }
    let begun = Instant::now();
    let mut world = start();
    world.injector.take_counts();
    assert!(world.terminate().success());
    let all = points(&world.injector.take_counts(), full());
    drop(world);
    let (met, failed) = (Cell::new(0), Cell::new(0));
    let attempt = |world: &mut World, point: &_| {
        let before = world.log().len();
        world.injector.arm(*point);
        let status = world.terminate();
        met.set(met.get() + usize::from(world.injector.disarm() > 0));
        let log = world.log();
        let news = log.get(before..).unwrap_or_default();
        no_crash(status, &point.to_string(), news);
        if !status.success() {
            failed.set(failed.get() + 1);
            assert!(news.contains("error: "), "{point}: it has failed and does not say why\n{news}");
        }
        assert_eq!(world.processes(), [], "{point}: nothing is left\n{news}");
        start_again(world);
    };
    try_all(&all, attempt, start);
    let met = met.get();
    assert!(met > all.len() / 2, "only {met} of {} points were met", all.len());
    eprintln!(
        "stopping: {} points, {} met, {} exits were failures, {} s",
        all.len(),
        met,
        failed.get(),
        begun.elapsed().as_secs()
    );
}
