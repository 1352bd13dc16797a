//! Firings that meet a run: SCH-4, SCH-8.

use super::*;

fn fire(rig: &mut Rig, overlap: Firing) -> Vec<Effect> {
    let slot = rig.now.wall;
    rig.tell(Event::Fire { slot, overlap })
}

fn skipped(effects: &[Effect]) -> Option<&str> {
    effects.iter().find_map(|effect| match effect {
        Effect::Skipped { cause, .. } => Some(cause.as_str()),
        _ => None,
    })
}

/// SCH-4: a firing starts the harness unless it is active, a `failed` one afresh.
#[test]
fn a_firing_starts_what_is_not_active() {
    let mut rig = Rig::new(Policy { max_attempts: 1, ..oneshot(RestartPolicy::OnFailure) });
    assert_eq!(launch(&fire(&mut rig, Firing::Skip)), Some((Trigger::Schedule, 1)));
    rig.run_for(SECOND, BAD);
    assert_eq!(rig.state(), State::Failed);
    assert_eq!(launch(&fire(&mut rig, Firing::Skip)), Some((Trigger::Schedule, 1)));
}

/// SCH-4: `skip`: a firing while a run is active is recorded and not run.
#[test]
fn overlap_skip_skips() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    assert_eq!(skipped(&fire(&mut rig, Firing::Skip)), Some("the run before it is still active"));
    rig.exit(GOOD);
    assert_eq!(rig.state(), State::Stopped);
}

/// SCH-4, SCH-11: `queue`: at most one firing waits, and its run is known at once; a second one is skipped.
#[test]
fn overlap_queue_holds_one() {
    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.start();
    let run = awaited(&fire(&mut rig, Firing::Queue));
    assert_eq!(skipped(&fire(&mut rig, Firing::Queue)), Some("another firing waits already"));
    assert_eq!(launch(&rig.exit(BAD)), Some((Trigger::Schedule, 1)));
    assert_eq!(rig.run(), run, "it is the run that was promised");
    rig.spawn();
    assert_eq!(launch(&rig.exit(GOOD)), None);
}

/// SCH-4: `replace`: the running one is stopped with outcome `replaced`, then the firing starts.
#[test]
fn overlap_replace_replaces() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    let run = rig.start();
    assert_eq!(fire(&mut rig, Firing::Replace)[0], Effect::StopTree(run));
    let effects = rig.exit(ExitStatus::Signal(15));
    assert_eq!(
        verdict(&effects),
        Some((Outcome::Replaced, Some("replaced by the firing of 2023-11-14T22:13:20.000Z")))
    );
    assert_eq!(launch(&effects), Some((Trigger::Schedule, 1)));

    let mut rig = Rig::new(oneshot(RestartPolicy::No));
    rig.tell(Event::Start(request(Trigger::Manual)));
    let run = rig.run();
    assert_eq!(fire(&mut rig, Firing::Replace)[0], Effect::Cancel(run));
    let effects = rig.fail_spawn();
    assert_eq!(verdict(&effects).map(|(outcome, _)| outcome), Some(Outcome::Replaced));
    assert_eq!(launch(&effects), Some((Trigger::Schedule, 1)));
}

/// SCH-4: a firing during a graceful stop is skipped, whatever `overlap` says.
#[test]
fn a_firing_during_a_stop_is_skipped() {
    for overlap in [Firing::Skip, Firing::Queue, Firing::Replace] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        rig.start();
        rig.tell(Event::Stop(StopReason::Asked));
        assert_eq!(skipped(&fire(&mut rig, overlap)), Some("it is being stopped"));
        assert_eq!(launch(&rig.exit(GOOD)), None);
    }
}

/// SCH-4: a firing that waits when somebody stops the harness is recorded as skipped.
#[test]
fn a_waiting_firing_is_skipped_by_a_stop() {
    for overlap in [Firing::Queue, Firing::Replace] {
        let mut rig = Rig::new(oneshot(RestartPolicy::No));
        rig.start();
        fire(&mut rig, overlap);
        let effects = rig.tell(Event::Stop(StopReason::Asked));
        assert_eq!(skipped(&effects), Some("asked to stop"));
        assert!(effects.contains(&Effect::Dropped));
        assert_eq!(launch(&rig.exit(GOOD)), None);
    }
}

/// SCH-8: a firing takes the place of a retry that waits, as a first try.
#[test]
fn a_firing_ends_the_retries_that_wait() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    fire(&mut rig, Firing::Skip);
    rig.run_for(SECOND, BAD);
    assert_eq!(launch(&rig.due()), Some((Trigger::Restart, 2)));
    rig.run_for(SECOND, BAD);
    assert_eq!(rig.state(), State::Backoff);
    assert_eq!(launch(&fire(&mut rig, Firing::Skip)), Some((Trigger::Schedule, 1)));
}

/// SCH-8: a retry that still runs at the next firing is the last one.
#[test]
fn a_skipped_firing_ends_the_retries_of_what_runs() {
    let mut rig = Rig::new(oneshot(RestartPolicy::OnFailure));
    fire(&mut rig, Firing::Skip);
    rig.spawn();
    fire(&mut rig, Firing::Skip);
    rig.exit(BAD);
    assert_eq!((rig.state(), rig.machine.deadline()), (State::Stopped, None));
}

/// SCH-8: a run that is stopped at its timeout ends `timeout`, and `on-failure` retries it.
#[test]
fn a_timeout_stops_and_is_retried() {
    let mut rig = Rig::new(Policy { timeout: Some(SECOND * 90), ..oneshot(RestartPolicy::OnFailure) });
    let run = rig.start();
    assert_eq!(rig.until_due(), SECOND * 90);
    assert_eq!(
        rig.due(),
        [Effect::StopTree(run), Effect::Changed { from: State::Running, to: State::Stopping }]
    );
    assert_eq!(
        verdict(&rig.exit(GOOD)),
        Some((Outcome::Timeout, Some("ran longer than its `timeout` of 1m 30s")))
    );
    assert_eq!(rig.state(), State::Backoff);
}

/// SCH-4: a firing that meets a run which is stopped at its timeout goes by `overlap`.
#[test]
fn a_firing_during_a_timeout_goes_by_overlap() {
    for (overlap, follows) in [(Firing::Skip, false), (Firing::Queue, true), (Firing::Replace, true)] {
        let mut rig = Rig::new(Policy { timeout: Some(SECOND), ..oneshot(RestartPolicy::No) });
        rig.start();
        rig.due();
        assert_eq!(skipped(&fire(&mut rig, overlap)).is_some(), !follows);
        let effects = rig.exit(GOOD);
        assert_eq!(verdict(&effects).map(|(outcome, _)| outcome), Some(Outcome::Timeout));
        assert_eq!(launch(&effects).is_some(), follows);
    }
}

/// SCH-4, LIF-5: a firing that finds a start by hand waiting is skipped, and its cause says for what.
#[test]
fn a_firing_behind_a_start_by_hand_says_so() {
    for overlap in [Firing::Queue, Firing::Replace] {
        let mut rig = Rig::new(Policy { timeout: Some(SECOND), ..oneshot(RestartPolicy::No) });
        rig.start();
        rig.due();
        rig.tell(Event::Start(request(Trigger::Manual)));
        assert_eq!(skipped(&fire(&mut rig, overlap)), Some("a start by hand waits already"));
        assert_eq!(launch(&rig.exit(GOOD)), Some((Trigger::Manual, 1)));
    }
}
