//! What befalls the daemon and its clock.

use std::time::Duration;

use harnessd::base::HarnessName;
use harnessd::config::Harness;
use harnessd::lifecycle::RestartPolicy;
use harnessd::supervisor::{Event, Supervisor};

use crate::rules::Verdict;
use crate::shell::Shell;
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3600);

impl World {
    /// The real-time clock is set, or stood still for the others while the machine slept.
    pub(crate) fn jump(&mut self) -> Verdict {
        let by = match self.dice.roll(10) {
            0 => HOUR * 24 * 30,
            1..4 => HOUR,
            _ => self.dice.time(HOUR * 6),
        };
        let back = self.dice.chance(40);
        self.now.wall = if back { self.now.wall - by } else { self.now.wall + by };
        self.tell(Event::Tick)
    }

    /// The daemon is killed, maybe before the records of its last turn are written; some time later
    /// another one starts, maybe with another configuration.
    pub(crate) fn crash(&mut self) -> Verdict {
        self.note(|| "CRASH".to_owned());
        if self.dice.chance(30) {
            let unwritten = self.fleet.handle(Event::Tick, self.now);
            self.note(|| format!("    {} effects are lost with it", unwritten.len()));
        }
        let remembered = self.ledger.crash(self.now);
        let down = if self.dice.chance(50) { HOUR * 3 } else { Duration::from_secs(5) };
        let down = self.dice.time(down);
        self.pass(down);
        if self.dice.chance(30) {
            let text = self.name();
            self.define(text);
        }
        (self.shell, self.fleet) = (Shell::default(), Supervisor::new(self.dice.next()));
        self.rules.crashed();
        let starts: Vec<(HarnessName, bool)> = self
            .harnesses
            .values()
            .map(|one| (one.name.clone(), starts(one, self.ledger.intent(&one.name))))
            .collect();
        for (name, starts) in starts {
            self.rules.leave(&name).asked = starts;
        }
        let configuration = self.configuration();
        self.tell(Event::Boot { configuration, remembered })
    }
}

/// LIF-2, in other words than the program's.
fn starts(harness: &Harness, intent: Option<bool>) -> bool {
    match intent {
        Some(true) => harness.enabled || !harness.oneshot(),
        Some(false) => harness.enabled && harness.restart() != RestartPolicy::UnlessStopped,
        None => harness.enabled,
    }
}
