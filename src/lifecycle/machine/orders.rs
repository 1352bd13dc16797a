//! What people and schedules order.
//!
//! Invariant: an order never launches anything while a run is alive; what is to
//! follow that run is kept in its phase.

use super::sequel::PARKED;
use super::{KILL_AGAIN, Machine, Turn};
use crate::base::{Trigger, Wall};
use crate::lifecycle::phase::{After, Awaited, Ended, Grace, Phase, Request};
use crate::lifecycle::step::{Effect, Firing};
use crate::lifecycle::verdict::StopReason;

impl Machine {
    pub(super) fn start(&mut self, request: Request, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Stopped
            | Phase::Failed
            | Phase::Parked { .. }
            | Phase::Backoff { .. }
            | Phase::Limited { .. } => self.launch_afresh(request, turn),
            Phase::Starting { .. } | Phase::Running { .. } | Phase::Checking { .. } => {}
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => follow(after, request),
        }
    }

    pub(super) fn fire(&mut self, trigger: Trigger, slot: Wall, overlap: Firing, turn: &mut Turn<'_>) {
        let request = Request { trigger, planned_at: Some(slot) };
        let skipped = |turn: &mut Turn<'_>, cause: &str| {
            turn.effects.push(Effect::Skipped { slot, cause: cause.to_owned() });
        };
        if self.by_hand() {
            return skipped(turn, "it is being stopped");
        }
        let (after, active) = match &mut self.phase {
            Phase::Parked { .. } => return skipped(turn, PARKED),
            Phase::Stopped | Phase::Failed | Phase::Backoff { .. } | Phase::Limited { .. } => {
                return self.launch_afresh(request, turn);
            }
            Phase::Starting { after, .. } | Phase::Running { after, .. } | Phase::Checking { after, .. } => {
                (after, true)
            }
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => (after, false),
        };
        match (overlap, *after) {
            (Firing::Replace, _) if active => {
                self.end(StopReason::Replaced(slot), After::Start(request), turn);
                self.promise(slot, request, turn);
            }
            (Firing::Queue | Firing::Replace, After::Start(Request { planned_at: Some(_), .. })) => {
                skipped(turn, "another firing waits already");
            }
            (Firing::Queue | Firing::Replace, After::Start(_)) => {
                skipped(turn, "a start by hand waits already");
            }
            (Firing::Queue | Firing::Replace, _) => {
                *after = After::Start(request);
                self.promise(slot, request, turn);
            }
            (Firing::Skip, After::Start(_)) => skipped(turn, "the run before it is still active"),
            (Firing::Skip, _) => {
                // SCH-8: retries of what runs would reach beyond this slot.
                *after = After::Stay;
                skipped(turn, "the run before it is still active");
            }
        }
    }

    /// A slot waits: it is claimed now, so its run is known now (SCH-11).
    fn promise(&mut self, slot: Wall, request: Request, turn: &mut Turn<'_>) {
        let run = turn.chance.run_id(turn.now.wall);
        self.awaited = Some(Awaited { slot, run });
        turn.effects.push(Effect::Awaits { run, request });
    }

    pub(super) fn stop(&mut self, reason: StopReason, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Stopped | Phase::Failed => {}
            Phase::Parked { .. } | Phase::Backoff { .. } | Phase::Limited { .. } => {
                self.go(Phase::Stopped, turn);
            }
            _ => self.end(reason, After::Down, turn),
        }
    }

    pub(super) fn restart(&mut self, request: Request, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Stopped
            | Phase::Failed
            | Phase::Parked { .. }
            | Phase::Backoff { .. }
            | Phase::Limited { .. } => self.launch_afresh(request, turn),
            Phase::Cancelling { after, .. } | Phase::Ending { after, .. } => follow(after, request),
            // A firing that waits already is the start that follows.
            Phase::Starting { after, .. } | Phase::Running { after, .. } | Phase::Checking { after, .. } => {
                follow(after, request);
                let next = *after;
                self.end(StopReason::Restart, next, turn);
            }
        }
    }

    /// Ends what is alive; a start that waited and is not `next` is dropped.
    pub(super) fn end(&mut self, reason: StopReason, next: After, turn: &mut Turn<'_>) {
        let (Phase::Starting { after, .. }
        | Phase::Cancelling { after, .. }
        | Phase::Running { after, .. }
        | Phase::Checking { after, .. }
        | Phase::Ending { after, .. }) = &mut self.phase
        else {
            return;
        };
        let before = std::mem::replace(after, next);
        if let Phase::Starting { run, after, .. } = self.phase {
            turn.effects.push(Effect::Cancel(run));
            self.go(Phase::Cancelling { run, reason, at_once: false, after }, turn);
        } else if let Some((run, part, after)) = self.running(turn) {
            turn.effects.push(Effect::StopTree(run));
            self.ending(run, part, Ended::Told(reason, None), after, turn);
        }
        if let After::Start(request) = before
            && before != next
        {
            self.awaited = None;
            if let Some(slot) = request.planned_at {
                let cause = reason.cause();
                turn.effects.push(Effect::Skipped { slot, cause });
            }
            turn.effects.push(Effect::Dropped);
        }
    }

    pub(super) fn kill(&mut self, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Cancelling { at_once, .. } => *at_once = true,
            Phase::Ending { run, grace, .. } => {
                turn.effects.push(Effect::KillTree(*run));
                *grace = Grace::Over(turn.now.mono + KILL_AGAIN);
            }
            _ => {}
        }
    }
}

/// A start follows what is being ended, unless one does already.
const fn follow(after: &mut After, request: Request) {
    if !matches!(after, After::Start(_)) {
        *after = After::Start(request);
    }
}
