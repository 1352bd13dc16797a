//! What agents state, and what is watched of them, in rows, answers and what is shown: RUN-0, RUN-5,
//! RUN-7, RUN-8.

use super::*;
use crate::config::{Check, Notify};
use crate::wire::{Attention, Waiting, WaitingReason};

fn watched(text: &str, restart: RestartPolicy, watch: Watch) -> Harness {
    let mode = Mode::OneShot { restart, schedule: None, timeout: None, watch };
    Harness { mode, ..resident(text) }
}

fn check(seconds: u64) -> Option<Check> {
    Some(Check { command: vec!["test".to_owned()], timeout: SECOND * u32::try_from(seconds).unwrap() })
}

fn notifying(on: &[Outcome], harness: Harness) -> (Rig, Arc<Notify>) {
    let notify = Arc::new(Notify { command: vec!["tell".to_owned()], on: on.to_vec(), timeout: SECOND });
    let mut rig = Rig::boot([]);
    let mut next = Arc::unwrap_or_clone(configuration([harness]));
    next.notify = Some(notify.clone());
    rig.tell(Event::Configure(Arc::new(next)));
    (rig, notify)
}

impl Rig {
    fn attention(&self) -> Vec<String> {
        let text = |Attention { harness, reason }| format!("{harness}: {reason}");
        self.fleet.attention().into_iter().map(text).collect()
    }

    fn waiting(&self, text: &str) -> Option<Waiting> {
        self.fleet.view(&name(text)).unwrap().waiting
    }

    /// The runs that somebody hears of.
    fn notified(&self) -> Vec<(RunId, Option<Outcome>)> {
        let told = |effect: &Effect| match effect {
            Effect::Notify { run, .. } => Some((run.id, run.outcome)),
            _ => None,
        };
        self.effects.iter().filter_map(told).collect()
    }
}

/// RUN-0: the row of a limited run says until when; the wait is shown with its reason and asks for attention.
#[test]
fn a_limit_is_recorded_and_its_wait_shown() {
    let mut rig = Rig::boot([with_restart(oneshot("a"), RestartPolicy::OnFailure)]);
    rig.start("a", false);
    rig.spawn("a");
    let until = rig.now.wall + HOUR;
    rig.exit_stating("a", GOOD, Report { until: Some(until), ..states(Outcome::RateLimited) });
    let row = rig.ended().unwrap();
    assert_eq!((row.outcome, row.until, row.exit_code), (Some(Outcome::RateLimited), Some(until), Some(0)));
    let end = rig.fleet.wall_deadline().unwrap();
    assert!(end >= until && end <= until + MINUTE * 5, "{end:?}");
    assert_eq!(rig.waiting("a"), Some(Waiting { reason: WaitingReason::Limit, until: Some(end) }));
    assert_eq!(rig.state("a"), State::Backoff);
    let expected = format!("a: waits for the end of a limit until {}: it says so", end.rfc3339());
    assert_eq!(rig.attention(), [expected]);
}

/// RUN-0, SCH-5: a wait for a limit ends by the real-time clock when the machine was suspended, beside a
/// schedule that has its own alarm, and leaves no alarm behind.
#[test]
fn a_suspend_does_not_lengthen_a_limit() {
    let nightly = with_restart(scheduled("a", "@daily", Overlap::Skip), RestartPolicy::OnFailure);
    let mut rig = Rig::boot([nightly]);
    let slot = rig.fleet.wall_deadline();
    rig.start("a", false);
    rig.spawn("a");
    let until = rig.now.wall + HOUR;
    rig.exit_stating("a", GOOD, Report { until: Some(until), ..states(Outcome::RateLimited) });
    let mono = rig.fleet.deadline().unwrap();
    rig.set_clock(rig.fleet.wall_deadline().unwrap());
    rig.tell(Event::Tick);
    assert!(rig.now.mono < mono, "the monotonic clock stood still");
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Restart, 2)]);
    assert_eq!(rig.fleet.wall_deadline(), slot);
}

/// RUN-0: a clock that is set back does not lengthen a wait for a limit either.
#[test]
fn a_clock_that_is_set_back_does_not_lengthen_a_limit() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    let until = rig.now.wall + HOUR;
    rig.exit_stating("a", GOOD, Report { until: Some(until), ..states(Outcome::RateLimited) });
    let wait = rig.fleet.deadline().unwrap().since(rig.now.mono);
    rig.set_clock(rig.now.wall - HOUR * 5);
    rig.tick_after(wait);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Restart, 2)]);
    assert_eq!(rig.fleet.wall_deadline(), None);
}

/// RUN-8: the row of a run that lingered says so, with the outcome that was stated.
#[test]
fn a_lingering_run_is_recorded() {
    let mut rig = Rig::boot([watched("a", RestartPolicy::No, Watch::default())]);
    rig.start("a", true);
    let run = rig.spawn("a");
    rig.tell(Event::Reported { run, report: good() });
    rig.tick_after(SECOND * 30);
    assert!(rig.effects.contains(&Effect::StopTree { run }));
    rig.exit("a", ExitStatus::Signal(15));
    let row = rig.ended().unwrap();
    assert_eq!((row.outcome, row.lingered, row.cause.clone()), (Some(Outcome::Ok), true, None));
    assert_eq!(row.signal.as_deref(), Some("SIGTERM"));
    assert_eq!(word(rig.last_reply()), "started");
    assert_eq!(rig.attention(), [""; 0]);
}

/// RUN-0: the silence of a run is watched by what it was started with.
#[test]
fn silence_is_watched() {
    let watch = Watch { idle_timeout: Some(MINUTE), ..Watch::default() };
    let mut rig = Rig::boot([watched("a", RestartPolicy::No, watch)]);
    rig.start("a", false);
    let run = rig.spawn("a");
    rig.tell(Event::Configure(configuration([edited(oneshot("a"))])));
    rig.tick_after(SECOND * 59);
    rig.tell(Event::Output { run });
    rig.tick_after(SECOND * 59);
    assert_eq!(rig.effects, []);
    rig.tick_after(SECOND);
    assert!(rig.effects.contains(&Effect::StopTree { run }));
    rig.exit("a", ExitStatus::Signal(15));
    assert_eq!(rig.ended().unwrap().outcome, Some(Outcome::NoOutput));
    let expected = "a: its last run ended `no-output`: wrote nothing for its `idle_timeout` of 1m";
    assert_eq!(rig.attention(), [expected]);
}

/// RUN-7: the check is part of the run: one row, with the agent's exit status, what is known after
/// both, and no answer to who waits before it is over.
#[test]
fn a_check_is_part_of_its_run() {
    let watch = Watch { check: check(60), ..Watch::default() };
    let harness = watched("a", RestartPolicy::No, watch);
    let mut rig = Rig::boot([harness.clone()]);
    rig.start("a", true);
    let run = rig.spawn("a");
    rig.exit("a", GOOD);
    assert!(rig.effects.contains(&Effect::Check { run, harness: Arc::new(harness) }));
    assert_eq!((rig.ended(), rig.last_reply(), rig.state("a")), (None, None, State::Running));
    assert_eq!(rig.run("a"), run);
    rig.tell(Event::Exited { run, status: ExitStatus::Code(1) });
    let rest = Rest { git_after: Some("abc".to_owned()), dropped_bytes: 7, ..Rest::default() };
    rig.tell(Event::Emptied { run, rest });
    let cause = "its `check` ended with exit status 1";
    let expected = Run {
        started_at: Some(NOON),
        ended_at: Some(NOON),
        outcome: Some(Outcome::CheckFailed),
        cause: Some(cause.to_owned()),
        exit_code: Some(0),
        pid: Some(4711),
        process_start: Some(815),
        command: vec!["true".to_owned()],
        workdir: Some("/w".to_owned()),
        log: Some("/l".to_owned()),
        git_after: Some("abc".to_owned()),
        dropped_bytes: 7,
        ..Run::new(run, name("a"), Trigger::Manual, "generic".to_owned(), "definition-1".to_owned())
    };
    assert_eq!(rig.ended(), Some(&expected));
    let said = format!("the run of harness `a` ended `check-failed`: {cause}");
    assert_eq!(failure(rig.last_reply()), (ErrorCode::RunFailed, said));
    assert_eq!(rig.attention(), [format!("a: its last run ended `check-failed`: {cause}")]);
}

/// RUN-7, CFG-10: whether and how a run is checked is what the file said when it was started.
#[test]
fn the_check_of_the_start_counts() {
    let with = |check| watched("a", RestartPolicy::No, Watch { check, ..Watch::default() });
    for (before, after) in [(check(60), None), (None, check(9)), (check(60), check(9))] {
        let mut rig = Rig::boot([with(before.clone())]);
        rig.start("a", false);
        let run = rig.spawn("a");
        let next = Harness { definition_hash: "definition-2".to_owned(), ..with(after) };
        rig.tell(Event::Configure(configuration([next.clone()])));
        rig.exit("a", GOOD);
        let checks = rig.effects.contains(&Effect::Check { run, harness: Arc::new(next) });
        assert_eq!(checks, before.is_some());
        assert_eq!(rig.fleet.deadline(), before.map(|check| rig.now.mono + check.timeout));
    }
}

/// RUN-7: a check that cannot be started is told to who waits.
#[test]
fn a_check_that_cannot_be_started_is_told() {
    let mut rig =
        Rig::boot([watched("a", RestartPolicy::No, Watch { check: check(60), ..Watch::default() })]);
    let ticket = rig.ticket();
    rig.tell(Event::Once { ticket, name: name("a") });
    let run = rig.spawn("a");
    rig.exit("a", GOOD);
    rig.tell(Event::CheckRefused { run, cause: "`test`: not found".to_owned() });
    let row = rig.reply(ticket).unwrap().unwrap();
    assert_eq!(row["outcome"], "check-failed");
    assert_eq!(row["cause"], "its `check` could not be started: `test`: not found");
}

/// RUN-5: whoever wants to hear of an outcome hears of each such run once, with its whole row, after
/// its record; of others nothing.
#[test]
fn chosen_outcomes_are_told_once() {
    let (mut rig, notify) = notifying(&[Outcome::Failed, Outcome::Skipped], oneshot("a"));
    rig.start("a", false);
    let run = rig.spawn("a");
    rig.exit("a", BAD);
    let row = rig.ended().unwrap().clone();
    assert_eq!(rig.notified(), [(run, Some(Outcome::Failed))]);
    let at = |wanted: &Effect| rig.effects.iter().position(|effect| effect == wanted).unwrap();
    let told = at(&Effect::Notify { notify, run: Box::new(row.clone()) });
    assert!(at(&Effect::Record(Record::RunEnded(row))) < told);

    rig.start("a", false);
    rig.spawn("a");
    rig.exit("a", GOOD);
    assert_eq!(rig.notified(), []);
}

/// RUN-5: a slot that is not run is told like a run, whether its record is its only one or its launch met another process.
#[test]
fn a_skipped_slot_is_told() {
    let (mut rig, _) = notifying(&[Outcome::Skipped], scheduled("a", "@hourly", Overlap::Skip));
    rig.start("a", false);
    rig.spawn("a");
    rig.tick_after(MINUTE * 30);
    assert_eq!(rig.notified(), [(rig.skipped()[0].id, Some(Outcome::Skipped))]);
    rig.exit("a", GOOD);
    rig.tick_after(HOUR);
    let run = rig.run("a");
    rig.tell(Event::NotSpawned { run, cause: "held".to_owned(), code: ErrorCode::AlreadyRunning });
    assert_eq!(rig.notified(), [(run, Some(Outcome::Skipped))]);
}

/// RUN-0: what ended badly and is not made good yet asks for attention; the others do not.
#[test]
fn bad_ends_ask_for_attention() {
    // Those two are shown as what they lead to.
    let elsewhere = [Outcome::AuthRequired, Outcome::SpawnFailed];
    for outcome in Outcome::ALL.iter().copied().filter(|outcome| !elsewhere.contains(outcome)) {
        let mut rig = Rig::boot([oneshot("a")]);
        rig.start("a", false);
        rig.spawn("a");
        rig.exit_stating("a", GOOD, states(outcome));
        let fine = matches!(outcome, Outcome::Ok | Outcome::Stopped | Outcome::Replaced | Outcome::Skipped);
        let expected = (!fine).then(|| format!("a: its last run ended `{outcome}`: it says so"));
        assert_eq!(rig.attention(), Vec::from_iter(expected));
    }
}

/// LIF-4: of a fleet that meets a limit again and again none is given up; each waits as for a limit.
#[test]
fn a_fleet_that_meets_its_limit_is_not_given_up() {
    let mut rig = Rig::boot([enabled("a"), enabled("b"), enabled("c")]);
    for _ in 0..30 {
        for text in ["a", "b", "c"] {
            rig.spawn(text);
            rig.exit_stating(text, BAD, states(Outcome::RateLimited));
            assert_eq!(rig.state(text), State::Backoff);
            assert_eq!(rig.waiting(text).unwrap().reason, WaitingReason::Limit);
        }
        rig.tick_after(MINUTE * 33);
        assert_eq!(rig.launches().len(), 3);
    }
}
