//! The real daemon is killed at random instants, again and again, while twenty harnesses restart and
//! fire; afterwards the record is compared with what really happened.
//!
//! A few dozen times by default, 1,000 times with `HARNESSD_FULL=1`, as often as wanted with
//! `HARNESSD_TORTURE=10000`. `HARNESSD_SEED=7` repeats the choice of instants, not their effects.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and says why")]

mod field;
mod fleet;
mod ledger;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use field::Field;

/// How often it is killed where nothing is said, and when that is enough on a slow machine.
const A_FEW: usize = 40;
const ENOUGH: (usize, Duration) = (10, Duration::from_secs(12));

/// The sequence of splitmix64: enough to scatter instants.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % most
    }

    /// How long this daemon may live: some die while they start, some see a second begin.
    fn lifetime(&mut self) -> Duration {
        let (from, to) = match self.below(100) {
            0..20 => (0, 20_000),
            20..50 => (20_000, 150_000),
            50..85 => (150_000, 600_000),
            _ => (600_000, 1_500_000),
        };
        Duration::from_micros(from + self.below(to - from))
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// LIF-9, SCH-11, RUN-4, LIF-1: whenever the daemon is killed, each run that began has one record, which
/// the next daemon closes; no slot is run twice; no harness has two live processes; and once a daemon
/// has stopped as it should, nothing is left and the store is whole.
#[test]
fn nothing_is_lost_or_doubled_however_often_the_daemon_is_killed() {
    let full = std::env::var("HARNESSD_FULL").is_ok_and(|text| text == "1");
    let asked = number("HARNESSD_TORTURE").map(|kills| usize::try_from(kills).unwrap());
    let most = asked.unwrap_or(if full { 1_000 } else { A_FEW });
    let bounded = asked.is_none() && !full;
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("HARNESSD_SEED").unwrap_or(clock.as_micros() as u64);
    eprintln!("seed {seed}");
    let mut dice = Dice(seed);
    let mut field = Field::new(&fleet::configuration());
    let start = Instant::now();
    let mut kills = 0;
    while kills < most && !(bounded && kills >= ENOUGH.0 && start.elapsed() > ENOUGH.1) {
        let lifetime = dice.lifetime();
        let by_hand = (dice.below(3) == 0).then(|| fleet::by_hand(dice.below(fleet::BY_HAND)));
        field.live_and_die(lifetime, by_hand.as_deref());
        kills += 1;
    }
    let tortured = start.elapsed();
    field.live_and_stop();
    let leftovers = field.processes();
    assert_eq!(leftovers, Vec::<String>::new(), "nothing is alive after a clean stop");
    let counts = ledger::compare(&field);
    eprintln!(
        "{kills} kills in {tortured:.1?}; {counts}; 0 runs without a record, 0 doubled, 0 processes left, store intact"
    );
    // The comparison means something only if much has happened.
    assert!(counts.begun > kills && counts.slots > 0 && counts.lost > 0, "{counts}");
}
