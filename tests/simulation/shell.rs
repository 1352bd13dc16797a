//! A shell without processes: it answers effects late, badly or not until it is made to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use harnessd::base::{ExitStatus, HarnessName, Mono, Now, Outcome, Report, RunId};
use harnessd::config::Harness;
use harnessd::lifecycle::Overspent;
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
    /// The check turns out not to start at `at`.
    Refusing { at: Mono },
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
    /// What its output is to be told of, the next last.
    says: Vec<(Mono, Saying)>,
    /// What its agent has stated.
    stated: Option<Report>,
    /// It is the check of the run.
    check: bool,
}

impl Process {
    fn new(harness: &Harness, stage: Stage, hardy: bool) -> Self {
        let harness = harness.name.clone();
        Self { harness, stage, hardy, killed: false, says: Vec::new(), stated: None, check: false }
    }
}

#[derive(Debug, Clone)]
enum Saying {
    Anything,
    Result(Report),
    /// That it goes on after a result.
    More,
    /// That it has used up its budget.
    TooMuch,
}

/// All runs of which something is alive or being launched, and whose logins are watched.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    runs: BTreeMap<RunId, Process>,
    parked: BTreeSet<HarnessName>,
}

impl Shell {
    pub(crate) fn has(&self, run: RunId) -> bool {
        self.runs.contains_key(&run)
    }

    pub(crate) fn is_launching(&self, run: RunId) -> bool {
        self.runs.get(&run).is_some_and(|process| matches!(process.stage, Stage::Launching { .. }))
    }

    pub(crate) fn lives(&self, name: &HarnessName) -> bool {
        self.runs.values().any(|process| process.harness == *name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(crate) fn is_parked(&self, name: &HarnessName) -> bool {
        self.parked.contains(name)
    }

    /// When something happens next.
    pub(crate) fn next(&self) -> Option<(Mono, RunId)> {
        let at = |(run, process): (&RunId, &Process)| {
            let at = match process.stage {
                Stage::Launching { at, .. } | Stage::Refusing { at } => Some(at),
                Stage::Alive { at, .. } | Stage::Leftovers { at } => at,
            };
            at.into_iter().chain(process.says.last().map(|(at, _)| *at)).min().map(|at| (at, *run))
        };
        self.runs.iter().filter_map(at).min()
    }

    /// That happens.
    pub(crate) fn step(&mut self, run: RunId, now: Now, dice: &mut Dice) -> Event {
        let process = self.runs.get_mut(&run).unwrap();
        if let Some((_, saying)) = process.says.pop_if(|(at, _)| *at <= now.mono) {
            return match saying {
                Saying::Anything => Event::Output { run },
                Saying::TooMuch => {
                    Event::Overspent { run, overspent: Overspent::Tokens { spent: 2, most: 1 } }
                }
                Saying::Result(report) => {
                    process.stated = Some(report.clone());
                    Event::Reported { run, report }
                }
                Saying::More => {
                    process.stated = None;
                    Event::Resumed { run }
                }
            };
        }
        let (wall, now) = (now.wall, now.mono);
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
                process.says = sayings(Now { mono: now, wall }, dice);
                Event::Spawned { run, facts: Launched { pid: 1, ..Launched::default() } }
            }
            Stage::Launching { works: false, met, .. } => {
                self.runs.remove(&run);
                let code = if met { ErrorCode::AlreadyRunning } else { ErrorCode::SpawnFailed };
                Event::NotSpawned { run, cause: "not found, or found elsewhere".to_owned(), code }
            }
            Stage::Refusing { .. } => {
                self.runs.remove(&run);
                Event::CheckRefused { run, cause: "not found".to_owned() }
            }
            Stage::Alive { status, .. } => {
                // What leftovers write is captured, and tells nothing of the agent.
                process.says.clear();
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
                let stated = process.stated.take();
                let late = !process.check && dice.chance(15);
                let report = stated.or(late.then(|| report(Now { mono: now, wall }, dice)));
                self.runs.remove(&run);
                Event::Emptied { run, rest: Rest { report, ..Rest::default() } }
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
                self.runs.insert(*run, Process::new(harness, stage, dice.chance(30)));
            }
            Effect::Check { run, harness } => {
                let stage = match dice.roll(6) {
                    0 => Stage::Refusing { at: now + dice.time(Duration::from_secs(1)) },
                    1 => Stage::Alive { at: None, status: ExitStatus::Code(0) },
                    _ => {
                        let at = Some(now + dice.time(Duration::from_secs(10)));
                        Stage::Alive { at, status: ExitStatus::Code(i32::from(dice.chance(40))) }
                    }
                };
                let process = Process::new(harness, stage, dice.chance(30));
                self.runs.insert(*run, Process { check: true, ..process });
            }
            Effect::Park { harness } => _ = self.parked.insert(harness.name.clone()),
            Effect::Unpark { harness } => _ = self.parked.remove(harness),
            Effect::Cancel { run } => {
                if let Some(Stage::Launching { at, works, .. }) = self.runs.get_mut(run).map(|p| &mut p.stage)
                {
                    (*at, *works) = (now + SOON, *works && dice.chance(30));
                }
            }
            Effect::StopTree { run } => self.signal(*run, now + dice.time(Duration::from_secs(8)), false),
            Effect::KillTree { run } if dice.chance(90) => self.signal(*run, now + SOON, true),
            _ => {}
        }
    }

    fn signal(&mut self, run: RunId, when: Mono, kill: bool) {
        let Some(process) = self.runs.get_mut(&run) else { return };
        if process.hardy && !kill {
            return;
        }
        process.killed |= kill;
        let sooner = |at: Option<Mono>| Some(at.map_or(when, |at| at.min(when)));
        match &mut process.stage {
            Stage::Launching { .. } | Stage::Refusing { .. } => {}
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

/// What an agent writes while it runs: a few outputs, and its result once or twice.
fn sayings(now: Now, dice: &mut Dice) -> Vec<(Mono, Saying)> {
    let mut says = Vec::new();
    for _ in 0..dice.roll(4) {
        says.push((now.mono + dice.time(Duration::from_secs(40)), Saying::Anything));
    }
    for _ in 0..dice.roll(3) {
        says.push((now.mono + dice.time(Duration::from_secs(10)), Saying::Result(report(now, dice))));
    }
    if dice.chance(20) {
        says.push((now.mono + dice.time(Duration::from_secs(20)), Saying::More));
    }
    if dice.chance(5) {
        says.push((now.mono + dice.time(Duration::from_secs(30)), Saying::TooMuch));
    }
    says.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    says
}

fn report(now: Now, dice: &mut Dice) -> Report {
    use Outcome::{AuthRequired, Budget, Failed, MaxTurns, Ok, Overloaded, RateLimited};
    let of = [Ok, Ok, Ok, Failed, RateLimited, RateLimited, Overloaded, AuthRequired, MaxTurns, Budget];
    let outcome = *dice.pick(&of);
    let limit = matches!(outcome, RateLimited | Overloaded);
    let until = match dice.roll(6) {
        _ if !limit => None,
        0 | 1 => None,
        2 => Some(now.wall - dice.time(Duration::from_secs(3600))),
        3 => Some(now.wall + Duration::from_secs(9 * 24 * 3600)),
        _ => Some(now.wall + dice.time(Duration::from_secs(300))),
    };
    Report { outcome, cause: (outcome != Ok).then(|| "it says so".to_owned()), until }
}
