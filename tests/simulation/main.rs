//! Random histories of a whole fleet against a shell that only pretends.
//!
//! A thousand (more than 100,000 steps) by default, 100,000 with `HARNESSD_FULL=1`; one alone, with
//! its trace, with `HARNESSD_HISTORY=<number>`.

#![expect(clippy::unwrap_used, reason = "this is a test from end to end")]

mod dice;
mod ledger;
mod mishap;
mod rules;
mod shell;
mod world;

use std::collections::BTreeMap;

use harnessd::base::Outcome;
use world::World;

/// LIF-1 to LIF-5, RUN-0, RUN-4, RUN-5, RUN-7, RUN-8, SCH-4, SCH-8, CFG-10, CFG-12: in every history at most one run of a
/// harness is alive, each run ends once, nothing is signalled that is gone,
/// nothing starts that nobody wants, delays grow to their bound, limits are waited for and spent as
/// no crash, what is parked stays so, and a shutdown ends.
#[test]
fn no_history_breaks_a_rule() {
    let number = |key: &str| std::env::var(key).ok().and_then(|text| text.parse::<u64>().ok());
    let full = std::env::var("HARNESSD_FULL").is_ok_and(|text| text == "1");
    let histories = match number("HARNESSD_HISTORY") {
        Some(one) => one..one + 1,
        None => 0..if full { 100_000 } else { 1_000 },
    };
    let several = histories.end - histories.start > 1;
    let mut ends: BTreeMap<Outcome, u32> = BTreeMap::new();
    let mut events: BTreeMap<&str, u32> = BTreeMap::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut steps = 0;
    for seed in histories {
        let mut world = World::new(seed, false);
        if let Err(broken) = world.live() {
            let mut again = World::new(seed, true);
            assert_eq!(again.live(), Err(broken.clone()), "a history repeats itself");
            let trace = again.trace.unwrap_or_default().join("\n");
            panic!("history {seed}: {broken}\n{trace}\nhistory {seed}: {broken}");
        }
        for (outcome, count) in world.rules.ends {
            *ends.entry(outcome).or_default() += count;
        }
        steps += world.steps;
        for (what, count) in world.ledger.counts {
            *counts.entry(what).or_default() += count;
        }
        for (event, count) in world.rules.events {
            *events.entry(event).or_default() += count;
        }
    }
    println!("{steps} steps: {ends:?} {events:?} {counts:?}");
    if several {
        let elsewhere = [Outcome::Missed, Outcome::Lost];
        for outcome in Outcome::ALL.iter().filter(|outcome| !elsewhere.contains(outcome)) {
            assert!(ends.contains_key(outcome), "no run ended `{outcome}`: the histories are too tame");
        }
        for what in ["slots", "queued", "caught up", "missed", "crashes", "lost", "profiles"] {
            assert!(counts.contains_key(what), "no {what}: {counts:?}");
        }
        assert!(steps >= if full { 1_000_000 } else { 100_000 }, "{steps} steps are too few");
        for event in ["flapping", "skipped", "parked"] {
            assert!(events.contains_key(event), "nothing was {event}: {events:?}");
        }
    }
}
