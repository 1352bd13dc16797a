//! Faults in a daemon that works: starts, output, restarts, firings, reloads, stops.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;

use crate::full;
use crate::points::points;
use crate::world::{World, stop_all, try_all};

/// One round of everything. Under a fault each of these may fail, with a word about it; none may hang.
/// True: none failed.
fn round(world: &World) -> bool {
    let steps = [
        json!({"op": "start", "names": ["pipe", "terminal", "again"]}),
        json!({"op": "start", "names": ["probe"]}),
        json!({"op": "reload"}),
        json!({"op": "list"}),
        json!({"op": "runs", "limit": 5}),
        stop_all(),
    ];
    steps.map(|step| world.ask(step).is_ok()) == [true; 6]
}

fn start() -> World {
    let mut world = World::new().unwrap();
    world.start_daemon();
    world.serves().unwrap();
    world.is_sound("without a fault");
    world
}

/// RUN-3, LIF-9, CTL-2: whatever fails, the daemon goes on, says so, and recovers.
#[test]
fn a_working_daemon_survives_each_fault() {
    if World::new().is_none() {
        return;
    }
    let begun = Instant::now();
    let mut world = start();
    world.injector.take_counts();
    assert!(round(&world), "nothing fails without a fault\n{}", world.log());
    let counts = world.injector.take_counts();
    assert!(world.terminate().success());
    let all = points(&counts, full());
    let (met, silent) = (RefCell::new(0), RefCell::new(BTreeSet::new()));
    let attempt = |world: &mut World, point: &_| {
        let before = world.log().len();
        world.injector.arm(*point);
        let quiet = round(world);
        let refused = world.injector.disarm();
        world.is_sound(&point.to_string());
        *met.borrow_mut() += usize::from(refused > 0);
        let log = world.log();
        let news = log.get(before..).unwrap_or_default();
        if refused > 0 && quiet && !news.contains("WARN") && !news.contains("ERROR") {
            assert!(point.may_be_silent(), "{point}: not a word about it\n{news}");
            silent.borrow_mut().insert(format!("{} {}", point.class.name, point.fault));
        }
    };
    try_all(&all, attempt, start);
    let met = met.take();
    assert!(met > all.len() / 2, "only {met} of {} points were met", all.len());
    eprintln!(
        "working: {} points, {} met, {} s; overcome without a word: {:?}",
        all.len(),
        met,
        begun.elapsed().as_secs(),
        silent.take()
    );
}
