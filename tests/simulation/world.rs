//! One history: a fleet, a shell, a clock that jumps, and people who cannot make up their minds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use harnessd::adapter::Registry;
use harnessd::base::{HarnessName, Mono, Now, Outcome, State, Wall};
use harnessd::config::{
    Check, Configuration, DaemonSettings, Harness, Mode, Notify, Origin, Profile, Timetable, Watch, Work,
};
use harnessd::lifecycle::RestartPolicy;
use harnessd::schedule::{CatchUp, Overlap, Schedule};
use harnessd::supervisor::{Event, Remembered, Supervisor, Ticket};

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::rules::{Rules, Verdict};
use crate::shell::Shell;

const NAMES: [&str; 4] = ["a", "b", "web/c", "web/d"];
/// Groups of harnesses; one of a member that is never there.
const PROFILES: [(&str, &[&str]); 2] = [("day", &["a", "web/c"]), ("night", &["web/c", "b", "gone"])];
/// Bounds of the runs that go on at once.
const BOUNDS: [Option<u32>; 4] = [None, Some(1), Some(1), Some(2)];
pub(crate) const CAP: Duration = Duration::from_secs(60);
pub(crate) const WINDOW: Duration = Duration::from_secs(30);

/// Of which outcomes somebody wants to hear.
pub(crate) const HEARD: &[Outcome] =
    &[Outcome::Failed, Outcome::AuthRequired, Outcome::CheckFailed, Outcome::Skipped, Outcome::RateLimited];

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) fleet: Supervisor,
    pub(crate) now: Now,
    pub(crate) shell: Shell,
    pub(crate) rules: Rules,
    pub(crate) ledger: Ledger,
    pub(crate) harnesses: BTreeMap<HarnessName, Harness>,
    max_attempts: u32,
    tickets: u64,
    version: u64,
    /// `max_parallel_runs`.
    bound: Option<u32>,
    /// Events so far.
    pub(crate) steps: u64,
    /// What happened, when somebody wants to know.
    pub(crate) trace: Option<Vec<String>>,
}

impl World {
    pub(crate) fn new(seed: u64, traced: bool) -> Self {
        let mut dice = Dice::new(seed);
        let now = Now { mono: Mono(Duration::from_secs(5000)), wall: Wall(1_767_270_600_000_000) };
        Self {
            fleet: Supervisor::new(dice.next()),
            max_attempts: *dice.pick(&[0, 1, 3, 10]),
            bound: *dice.pick(&BOUNDS),
            dice,
            now,
            shell: Shell::default(),
            rules: Rules::default(),
            ledger: Ledger::default(),
            harnesses: BTreeMap::new(),
            tickets: 0,
            version: 0,
            steps: 0,
            trace: traced.then(Vec::new),
        }
    }

    /// Lives through a whole history.
    pub(crate) fn live(&mut self) -> Verdict {
        for text in NAMES {
            if self.dice.chance(70) {
                self.define(text);
            }
        }
        for (name, harness) in &self.harnesses {
            self.rules.leave(name).asked = harness.enabled;
        }
        let (configuration, remembered) = (self.configuration(), Remembered::default());
        self.tell(Event::Boot { configuration, remembered })?;
        for _ in 0..60 + self.dice.roll(120) {
            if self.dice.chance(1) { self.crash()? } else { self.step()? }
        }
        let at_once = self.dice.chance(20);
        self.tell(Event::Shutdown { at_once })?;
        for _ in 0..2000 {
            if self.fleet.idle() {
                break;
            }
            self.let_happen(None)?;
        }
        if !self.fleet.idle() || !self.shell.is_empty() {
            return Err("the shutdown does not end".to_owned());
        }
        if self.fleet.deadline().is_some() || self.fleet.wall_deadline().is_some() {
            return Err("something is still due at the end".to_owned());
        }
        self.rules.close()
    }

    /// What comes first: the shell, a deadline, or a person.
    fn step(&mut self) -> Verdict {
        let patience = self.dice.time(Duration::from_secs(60));
        let person = self.now.mono + patience;
        self.let_happen(Some(person))
    }

    fn let_happen(&mut self, person: Option<Mono>) -> Verdict {
        let by_wall = self.fleet.wall_deadline().map(|at| self.now.mono + at.since(self.now.wall));
        let due = self.fleet.deadline().into_iter().chain(by_wall).min();
        let shell = self.shell.next();
        let first = due.into_iter().chain(shell.map(|(at, _)| at)).chain(person).min();
        let Some(first) = first else { return Err("nothing will ever happen again".to_owned()) };
        self.pass(first.since(self.now.mono));
        match shell {
            Some((at, run)) if at <= self.now.mono => {
                let event = self.shell.step(run, self.now, &mut self.dice);
                self.tell(event)
            }
            _ if due.is_some_and(|at| at <= self.now.mono) => {
                if self.dice.chance(10) {
                    let late = self.dice.time(Duration::from_secs(20));
                    self.pass(late);
                }
                self.tell(Event::Tick)
            }
            _ => self.person_acts(),
        }
    }

    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = Now { mono: self.now.mono + time, wall: self.now.wall + time };
    }

    pub(crate) fn tell(&mut self, event: Event) -> Verdict {
        let now = self.now;
        self.note(|| format!("{:?} {}: {}", now.mono.0, now.wall.rfc3339(), brief(&event)));
        self.steps += 1;
        self.rules.hear(&event);
        let effects = self.fleet.handle(event, self.now);
        for effect in &effects {
            self.note(|| format!("    {}", brief(effect)));
            self.rules.check(effect, &self.shell, self.now)?;
            self.ledger.check(effect, self.bound)?;
            self.shell.perform(effect, self.now.mono, &mut self.dice);
        }
        self.ledger.close_turn(&self.fleet, self.bound)?;
        for name in self.harnesses_known() {
            if self.fleet.harness(&name).is_none() {
                self.rules.forgotten(&name);
            }
        }
        self.rules.survey(&self.fleet, self.max_attempts, self.now)
    }

    /// Keeps a line for the trace, if somebody wants one.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// The name of some harness.
    pub(crate) fn name(&mut self) -> &'static str {
        let name: &&'static str = self.dice.pick(&NAMES);
        name
    }

    fn harnesses_known(&self) -> Vec<HarnessName> {
        NAMES.iter().map(|text| HarnessName::parse(text).unwrap()).collect()
    }

    fn person_acts(&mut self) -> Verdict {
        let text = *self.dice.pick(&NAMES);
        let name = HarnessName::parse(text).unwrap();
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let (names, wait) = (vec![name.clone()], self.dice.chance(40));
        match self.dice.roll(24) {
            0..5 => self.order(&name, Event::Start { ticket, names, wait, session: None }, ticket),
            5..9 => {
                self.rules.asked.insert(ticket);
                // A start or a firing that waits is dropped with the stop.
                *self.rules.leave(&name) = crate::rules::Leave::default();
                self.tell(Event::Stop { ticket, names, wait })
            }
            9..12 => self.order(&name, Event::Restart { ticket, names, wait }, ticket),
            12 => self.order(&name, Event::Once { ticket, name: name.clone() }, ticket),
            13 => {
                let gone = Ticket(self.dice.roll(self.tickets) + 1);
                self.rules.asked.remove(&gone);
                self.tell(Event::Forget(gone))
            }
            14..17 => self.reload(text),
            17 => self.jump(),
            18..21 => self.log_in(name),
            21 => self.use_profile(ticket, wait),
            22 if self.dice.chance(10) => self.tell(Event::Shutdown { at_once: wait }),
            _ => self.tell(Event::Tick),
        }
    }

    /// An order to start: a launch is allowed unless it is refused at once.
    fn order(&mut self, name: &HarnessName, event: Event, ticket: Ticket) -> Verdict {
        self.rules.asked.insert(ticket);
        let before = *self.rules.leave(name);
        let starts = self.fleet.view(name).is_some_and(|view| view.state == State::Starting);
        let again = starts && matches!(event, Event::Start { .. });
        self.rules.leave(name).asked = true;
        self.tell(event)?;
        if again || self.rules.denied == Some(ticket) {
            self.rules.leave(name).asked = before.asked;
        }
        Ok(())
    }

    /// The members of a profile are started like by hand, and perhaps those of the other one stopped so.
    fn use_profile(&mut self, ticket: Ticket, wait: bool) -> Verdict {
        let (profile, members) = *self.dice.pick(&PROFILES);
        let exclusive = self.dice.chance(50);
        self.rules.asked.insert(ticket);
        for name in self.harnesses_known() {
            let (fleet, text) = (&self.fleet, name.as_str());
            let scheduled = fleet.harness(&name).is_some_and(|harness| harness.timetable().is_some());
            let state = fleet.view(&name).map(|view| view.state);
            if scheduled {
                continue;
            }
            if members.contains(&text) {
                let runs = matches!(state, None | Some(State::Running | State::Starting));
                self.rules.leave(&name).asked |= !runs;
            } else if exclusive && PROFILES.iter().any(|(_, members)| members.contains(&text)) {
                *self.rules.leave(&name) = crate::rules::Leave::default();
            }
        }
        self.tell(Event::UseProfile { ticket, profile: profile.to_owned(), exclusive, wait })
    }

    /// The files with the login of an agent change, whether or not anybody watches them.
    fn log_in(&mut self, harness: HarnessName) -> Verdict {
        self.rules.leave(&harness).login = self.shell.is_parked(&harness);
        self.tell(Event::LoginChanged { harness })
    }

    fn reload(&mut self, text: &str) -> Verdict {
        let name = HarnessName::parse(text).unwrap();
        if self.harnesses.contains_key(&name) && self.dice.chance(30) {
            self.harnesses.remove(&name);
            *self.rules.leave(&name) = crate::rules::Leave::default();
        } else {
            let added = !self.harnesses.contains_key(&name);
            self.define(text);
            self.rules.leave(&name).asked |= added && self.harnesses[&name].enabled;
        }
        self.rules.redefined(&name);
        if self.dice.chance(20) {
            self.bound = *self.dice.pick(&BOUNDS);
        }
        let configuration = self.configuration();
        self.tell(Event::Configure(configuration))
    }

    pub(crate) fn define(&mut self, text: &str) {
        let dice = &mut self.dice;
        self.version += 1;
        let restart = *dice.pick(RestartPolicy::ALL);
        let expression = *dice.pick(&["@every 45s", "@every 10m", "@hourly"]);
        let schedule = dice.chance(60).then(|| Timetable {
            overlap: *dice.pick(&[Overlap::Skip, Overlap::Queue, Overlap::Replace]),
            jitter: dice.time(Duration::from_secs(90)) * u32::from(dice.chance(20)),
            catch_up: *dice.pick(CatchUp::ALL),
            catch_up_window: dice.time(Duration::from_secs(7200)),
            ..Timetable::new(Schedule::parse(expression).unwrap(), Tz::UTC)
        });
        let timeout = dice.chance(40).then(|| dice.time(Duration::from_secs(90)));
        let watch = Watch {
            first_output_timeout: dice.chance(30).then(|| dice.time(Duration::from_secs(60))),
            idle_timeout: dice.chance(30).then(|| dice.time(Duration::from_secs(60))),
            linger_timeout: Duration::from_secs(*dice.pick(&[0, 1, 30])),
            check: dice.chance(40).then(|| Check {
                command: vec!["x".to_owned()],
                timeout: dice.time(Duration::from_secs(30)),
            }),
        };
        let oneshot = Mode::OneShot { restart, schedule, timeout, watch };
        let mode = if dice.chance(50) { Mode::Resident { restart } } else { oneshot };
        let name = HarnessName::parse(text).unwrap();
        let workdir = *dice.pick(&[None, Some("/home/me"), Some("/w")]);
        let harness = Harness {
            name: name.clone(),
            origin: Origin { file: "harness.toml".into(), line: 1 },
            project: None,
            adapter: Registry::builtin().find("generic").unwrap(),
            work: Work::Command { program: Some("x".to_owned()), args: Vec::new() },
            mode,
            enabled: dice.chance(40),
            restart_delay: Duration::from_secs(*dice.pick(&[0, 1, 1, 5, 90])),
            workdir: workdir.map(Into::into),
            at_home: workdir != Some("/w"),
            env_file: None,
            env: BTreeMap::new(),
            resume: false,
            harvest: false,
            budget: None,
            skill_paths: Vec::new(),
            use_default_skill_paths: true,
            exclusive: dice.chance(40),
            memory_max: None,
            cpu_weight: None,
            tty: false,
            stop_signal: 15,
            stop_timeout: Duration::from_secs(dice.roll(15)),
            keep_runs: 50,
            log_max_bytes: 1 << 20,
            description: None,
            definition_hash: self.version.to_string(),
            launch_hash: self.version.to_string(),
        };
        self.harnesses.insert(name, harness);
    }

    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        let harnesses = self.harnesses.iter();
        Arc::new(Configuration {
            daemon: DaemonSettings {
                watch: false,
                crash_loop_exits: 3,
                crash_loop_window: WINDOW,
                max_attempts: self.max_attempts,
                backoff_max: CAP,
                max_parallel_runs: self.bound,
                ..DaemonSettings::default()
            },
            harnesses: harnesses.map(|(name, one)| (name.clone(), Arc::new(one.clone()))).collect(),
            registry: Registry::builtin(),
            notify: Some(Arc::new(Notify {
                command: vec!["x".to_owned()],
                on: HEARD.to_vec(),
                timeout: Duration::from_secs(1),
            })),
            profiles: PROFILES.iter().map(profile).collect(),
            files: Vec::new(),
        })
    }
}

fn profile((profile, members): &(&str, &[&str])) -> (String, Profile) {
    let harnesses = members.iter().map(|text| HarnessName::parse(text).unwrap()).collect();
    ((*profile).to_owned(), Profile { harnesses, ..Profile::default() })
}

/// An event or effect, cut to a line that a person can read.
fn brief(thing: &impl std::fmt::Debug) -> String {
    format!("{thing:?}").chars().take(220).collect()
}
