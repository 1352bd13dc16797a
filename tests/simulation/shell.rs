//! A shell without processes: it answers effects late, badly or not until it is made to.

use std::collections::BTreeMap;
use std::time::Duration;

use harnessd::base::{ExitStatus, HarnessName, Mono, RunId};
use harnessd::supervisor::{Effect, Event, Rest};
use harnessd::wire::{ErrorCode, Launched};

use crate::dice::Dice;

const SOON: Duration = Duration::from_millis(1);

/// What has become of a run.
#[derive(Debug)]
enum Stage {
    /// The launch is answered at `at`.
    Launching { at: Mono, works: bool, met: bool },
    /// The main process runs and ends at `at`, if ever by itself.
    Alive { at: Option<Mono>, status: ExitStatus },
    /// Leftovers are alive until `at`, if ever by themselves.
    Leftovers { at: Option<Mono> },
}

#[derive(Debug)]
struct Process {
    harness: HarnessName,
    stage: Stage,
    /// It pays no heed to the stop signal.
    hardy: bool,
    killed: bool,
}

/// All runs of which something is alive or being launched.
#[derive(Debug, Default)]
pub(crate) struct Shell(BTreeMap<RunId, Process>);

impl Shell {
    pub(crate) fn has(&self, run: RunId) -> bool {
        self.0.contains_key(&run)
    }

    pub(crate) fn is_launching(&self, run: RunId) -> bool {
        self.0.get(&run).is_some_and(|process| matches!(process.stage, Stage::Launching { .. }))
    }

    pub(crate) fn lives(&self, name: &HarnessName) -> bool {
        self.0.values().any(|process| process.harness == *name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<(Mono, RunId)> {
        let at = |(run, process): (&RunId, &Process)| match process.stage {
            Stage::Launching { at, .. } => Some((at, *run)),
            Stage::Alive { at, .. } | Stage::Leftovers { at } => at.map(|at| (at, *run)),
        };
        self.0.iter().filter_map(at).min()
    }

    /// That happens.
    pub(crate) fn step(&mut self, run: RunId, now: Mono, dice: &mut Dice) -> Event {
        let process = self.0.get_mut(&run).unwrap();
        match process.stage {
            Stage::Launching { works: true, .. } => {
                let lifetime = match dice.roll(6) {
                    0 => None,
                    1 => Some(dice.time(Duration::from_secs(7200))),
                    2 => Some(dice.time(Duration::from_secs(120))),
                    _ => Some(dice.time(Duration::from_secs(5))),
                };
                let status = *dice.pick(&[
                    ExitStatus::Code(0),
                    ExitStatus::Code(1),
                    ExitStatus::Code(1),
                    ExitStatus::Signal(11),
                ]);
                process.stage = Stage::Alive { at: lifetime.map(|time| now + time), status };
                Event::Spawned { run, facts: Launched { pid: 1, ..Launched::default() } }
            }
            Stage::Launching { works: false, met, .. } => {
                self.0.remove(&run);
                let code = if met { ErrorCode::AlreadyRunning } else { ErrorCode::SpawnFailed };
                Event::NotSpawned { run, cause: "not found, or found elsewhere".to_owned(), code }
            }
            Stage::Alive { status, .. } => {
                let at = match dice.roll(4) {
                    _ if process.killed => Some(now + SOON),
                    0 => None,
                    1 => Some(now + dice.time(Duration::from_secs(20))),
                    _ => Some(now),
                };
                process.stage = Stage::Leftovers { at };
                process.hardy = dice.chance(30);
                Event::Exited { run, status }
            }
            Stage::Leftovers { .. } => {
                self.0.remove(&run);
                Event::Emptied { run, rest: Rest::default() }
            }
        }
    }

    /// Does what it is told, more or less.
    pub(crate) fn perform(&mut self, effect: &Effect, now: Mono, dice: &mut Dice) {
        match effect {
            Effect::Launch { run, harness, .. } => {
                let slow = if dice.chance(10) { 90 } else { 2 };
                let at = now + dice.time(Duration::from_secs(slow));
                let stage = Stage::Launching { at, works: dice.chance(70), met: dice.chance(30) };
                let harness = harness.name.clone();
                self.0.insert(*run, Process { harness, stage, hardy: dice.chance(30), killed: false });
            }
            Effect::Cancel { run } => {
                if let Some(Stage::Launching { at, works, .. }) = self.0.get_mut(run).map(|p| &mut p.stage) {
                    (*at, *works) = (now + SOON, *works && dice.chance(30));
                }
            }
            Effect::StopTree { run } => self.signal(*run, now + dice.time(Duration::from_secs(8)), false),
            Effect::KillTree { run } if dice.chance(90) => self.signal(*run, now + SOON, true),
            _ => {}
        }
    }

    fn signal(&mut self, run: RunId, when: Mono, kill: bool) {
        let Some(process) = self.0.get_mut(&run) else { return };
        if process.hardy && !kill {
            return;
        }
        process.killed |= kill;
        let sooner = |at: Option<Mono>| Some(at.map_or(when, |at| at.min(when)));
        match &mut process.stage {
            Stage::Launching { .. } => {}
            Stage::Alive { at, status } => {
                *at = sooner(*at);
                if kill {
                    *status = ExitStatus::Signal(9);
                }
            }
            Stage::Leftovers { at } => *at = sooner(*at),
        }
    }
}
