//! The queue on its way to a successor (CTL-11).
//!
//! Invariant: who goes on, who waits and in which order cross unchanged; the bound is the successor's own.

use serde::{Deserialize, Serialize};

use super::{Place, Queue};
use crate::base::{RunId, Wall};

/// See [`Queue`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::supervisor) struct HandedQueue {
    admitted: Vec<(RunId, Option<Place>)>,
    /// With the instants that they wait since, in microseconds.
    waiting: Vec<(RunId, i64, Option<Place>)>,
}

impl HandedQueue {
    pub(in crate::supervisor) fn of(queue: &Queue) -> Self {
        let waiting = queue.waiting.iter().map(|(run, (since, place))| (*run, since.0, place.clone()));
        Self {
            admitted: queue.admitted.iter().map(|(run, place)| (*run, place.clone())).collect(),
            waiting: waiting.collect(),
        }
    }

    pub(in crate::supervisor) fn resume(self, bound: Option<u32>) -> Queue {
        let mut queue = Queue::default();
        queue.set_bound(bound);
        for (run, place) in self.admitted {
            if let Some(place) = &place {
                queue.line(place, |line| line.busy = Some(run));
            }
            queue.admitted.insert(run, place);
        }
        for (run, since, place) in self.waiting {
            queue.join(run, Wall(since), place);
        }
        queue
    }
}
