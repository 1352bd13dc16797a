//! What people ask for: CTL-5, LIF-5, RUN-4.

use serde_json::json;

use super::*;

/// CTL-5: starting what runs and stopping what is stopped succeed and say so; what is
/// merely decided is not said to be done.
#[test]
fn answers_say_what_was_the_case() {
    let mut rig = Rig::boot([resident("a")]);
    assert_eq!(word(rig.stop("a", false)), "already-stopped");
    let reply = rig.start("a", false).unwrap().unwrap();
    assert_eq!(word(rig.start("a", false)), "starting", "it may still fail");
    let run = rig.spawn("a");
    assert_eq!(reply, json!({"harnesses": [{"name": "a", "result": "starting", "run": run}]}));
    let reply = rig.start("a", false).unwrap().unwrap();
    assert_eq!(reply, json!({"harnesses": [{"name": "a", "result": "already-running", "run": run}]}));
    assert_eq!(word(rig.start("a", true)), "already-running");
    assert_eq!(word(rig.restart("a", false)), "restarting");
    rig.exit("a", GOOD);
    rig.spawn("a");
    assert_eq!(word(rig.stop("a", false)), "stopping");
    rig.exit("a", GOOD);
    assert_eq!(word(rig.stop("a", true)), "already-stopped");
    assert_eq!(word(rig.restart("a", false)), "starting");
    rig.fail_spawn("a");
    assert_eq!(word(rig.stop("a", false)), "stopped", "a wait ends at once");
}

/// CTL-5: `start --wait` of a resident harness answers when it runs, or says why it does not.
#[test]
fn a_waiting_start_of_a_resident_answers_when_it_runs() {
    let mut rig = Rig::boot([resident("a")]);
    assert_eq!(rig.start("a", true), None);
    rig.spawn("a");
    assert_eq!(word(rig.last_reply()), "started");
    rig.stop("a", false);
    rig.exit("a", GOOD);

    assert_eq!(rig.start("a", true), None);
    rig.fail_spawn("a");
    let expected = (ErrorCode::SpawnFailed, "harness `a` could not be started: `true`: not found".to_owned());
    assert_eq!(failure(rig.last_reply()), expected);
}

/// CTL-5: `start --wait` of a one-shot answers when its run has ended: good only if `ok`, else with the cause.
#[test]
fn a_waiting_start_of_a_oneshot_answers_at_its_end() {
    let mut rig = Rig::boot([with_restart(oneshot("a"), RestartPolicy::OnFailure)]);
    assert_eq!(rig.start("a", true), None);
    rig.spawn("a");
    assert_eq!(rig.last_reply(), None);
    rig.exit("a", GOOD);
    assert_eq!(word(rig.last_reply()), "started");

    rig.start("a", true);
    rig.spawn("a");
    assert_eq!(rig.start("a", true), None, "a second one waits for the same run");
    rig.exit("a", BAD);
    let expected = (ErrorCode::RunFailed, "the run of harness `a` ended `failed`: exit status 3".to_owned());
    assert_eq!(failure(rig.reply(Ticket(2))), expected);
    assert_eq!(failure(rig.reply(Ticket(3))), expected);
    assert_eq!(rig.state("a"), State::Backoff);
}

/// CTL-5: several names are one answer, when all have theirs; failures name their harness
/// and do not swallow what was done.
#[test]
fn several_names_get_one_answer() {
    let mut rig = Rig::boot([resident("a"), oneshot("b"), oneshot("c")]);
    let ticket = rig.ticket();
    let names = vec![name("c"), name("a"), name("b"), name("a")];
    rig.tell(Event::Start { ticket, names, wait: true, session: None });
    rig.spawn("a");
    rig.spawn("b");
    rig.exit("b", GOOD);
    assert_eq!(rig.reply(ticket), None);
    rig.spawn("c");
    rig.exit("c", GOOD);
    let reply = rig.reply(ticket).unwrap().unwrap();
    let order: Vec<_> =
        reply["harnesses"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect();
    assert_eq!(order, ["c", "a", "b"]);

    let ticket = rig.ticket();
    rig.tell(Event::Start {
        ticket,
        names: vec![name("x"), name("b"), name("y")],
        wait: false,
        session: None,
    });
    let expected = "no harness is called `x`; no harness is called `y`; starting: b".to_owned();
    assert_eq!(failure(rig.reply(ticket)), (ErrorCode::UnknownHarness, expected));
    assert_eq!(rig.state("b"), State::Starting, "the others are started all the same");

    let ticket = rig.ticket();
    rig.tell(Event::Start {
        ticket,
        names: vec![name("c"), name("a"), name("b")],
        wait: true,
        session: None,
    });
    rig.fail_spawn("c");
    rig.spawn("b");
    rig.exit("b", GOOD);
    let expected = "harness `c` could not be started: `true`: not found; already running: a, b".to_owned();
    assert_eq!(failure(rig.reply(ticket)), (ErrorCode::SpawnFailed, expected));

    let ticket = rig.ticket();
    rig.tell(Event::Stop { ticket, names: Vec::new(), wait: true });
    assert_eq!(rig.reply(ticket), Some(Ok(json!({"harnesses": []}))));
}

/// LIF-5: a stop in flight wins over a start: refused, or queued with `--wait`.
#[test]
fn a_stop_in_flight_wins_over_a_start() {
    let refusal = (ErrorCode::AlreadyStopping, "`a` is being stopped".to_owned());
    for sweeping in [false, true] {
        let mut rig = Rig::boot([enabled("a")]);
        let run = rig.spawn("a");
        if sweeping {
            rig.tell(Event::Exited { run, status: BAD });
        }
        rig.stop("a", false);
        assert_eq!(failure(rig.start("a", false)), refusal);
        assert_eq!(failure(rig.restart("a", false)), refusal);
        assert_eq!(rig.intents(), [], "a refused start is not remembered");
        assert_eq!(rig.start("a", true), None);
        rig.tell(Event::Exited { run, status: GOOD });
        rig.tell(Event::Emptied { run, rest: Rest::default() });
        assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Manual, 1)]);
        rig.spawn("a");
        assert_eq!(word(rig.last_reply()), "started");
    }
}

/// LIF-5: a stop that arrives later wins over the start that is queued.
#[test]
fn a_later_stop_drops_a_queued_start() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    rig.stop("a", false);
    assert_eq!(rig.start("a", true), None);
    let queued = Ticket(2);
    rig.stop("a", false);
    let expected = (ErrorCode::AlreadyStopping, "`a` was stopped before it could start again".to_owned());
    assert_eq!(failure(rig.reply(queued)), expected);
    rig.exit("a", GOOD);
    assert_eq!((rig.state("a"), rig.launches()), (State::Stopped, Vec::new()));
}

/// LIF-5: `stop --wait` answers when nothing is alive, not before.
#[test]
fn a_waiting_stop_answers_when_nothing_is_alive() {
    let mut rig = Rig::boot([enabled("a")]);
    let run = rig.spawn("a");
    assert_eq!(rig.stop("a", true), None);
    rig.tell(Event::Exited { run, status: GOOD });
    assert_eq!(rig.last_reply(), None);
    rig.tell(Event::Emptied { run, rest: Rest::default() });
    assert_eq!(word(rig.last_reply()), "stopped");
}

/// LIF-5: a stop in backoff cancels the restart, a stop while starting the launch.
#[test]
fn a_stop_cancels_what_is_not_alive_yet() {
    let mut rig = Rig::boot([enabled("a")]);
    rig.spawn("a");
    rig.exit("a", BAD);
    assert_eq!(rig.state("a"), State::Backoff);
    assert_eq!(word(rig.stop("a", true)), "stopped");
    assert_eq!((rig.state("a"), rig.fleet.deadline()), (State::Stopped, None));

    rig.start("a", false);
    let run = rig.run("a");
    rig.stop("a", true);
    assert!(rig.effects.contains(&Effect::Cancel { run }));
    rig.fail_spawn("a");
    assert_eq!(word(rig.last_reply()), "stopped");
    assert_eq!(rig.fleet.view(&name("a")).unwrap().last_run.unwrap().cause.as_deref(), Some("asked to stop"));
}

/// LIF-5: `restart --wait` answers with the new run, and fails if it does not come up.
#[test]
fn a_waiting_restart_answers_about_the_new_run() {
    let mut rig = Rig::boot([enabled("a")]);
    let old = rig.spawn("a");
    assert_eq!(rig.restart("a", true), None);
    rig.exit("a", GOOD);
    assert_eq!(rig.last_reply(), None);
    let new = rig.spawn("a");
    assert_ne!(old, new);
    let expected = json!({"harnesses": [{"name": "a", "result": "restarted", "run": new}]});
    assert_eq!(rig.last_reply(), Some(Ok(expected)));
    assert_eq!(rig.restart("a", true), None);
    rig.exit("a", GOOD);
    rig.fail_spawn("a");
    assert_eq!(failure(rig.last_reply()).0, ErrorCode::SpawnFailed);
}

/// RUN-4: `once` is one run with its final row as the answer; no policy follows it.
#[test]
fn once_answers_with_the_final_row() {
    for harness in [oneshot("a"), resident("a")] {
        let mut rig = Rig::boot([harness]);
        let ticket = rig.ticket();
        rig.tell(Event::Once { ticket, name: name("a") });
        assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Once, 1)]);
        rig.spawn("a");
        rig.exit("a", BAD);
        let row = serde_json::to_value(rig.ended().unwrap()).unwrap();
        assert_eq!((row["trigger"].as_str(), row["exit_code"].as_i64()), (Some("once"), Some(3)));
        assert_eq!(rig.reply(ticket), Some(Ok(row)));
        assert_eq!((rig.state("a"), rig.intents()), (State::Stopped, Vec::new()));
    }
}

/// RUN-4: `once` is refused while anything of the harness is active.
#[test]
fn once_is_refused_while_the_harness_is_active() {
    let mut rig = Rig::boot([enabled("a")]);
    let once = |rig: &mut Rig| {
        let ticket = rig.ticket();
        rig.tell(Event::Once { ticket, name: name("a") });
        failure(rig.reply(ticket))
    };
    let busy = |how: &str| (ErrorCode::AlreadyRunning, format!("`a` {how}"));
    assert_eq!(once(&mut rig), busy("runs already"));
    rig.spawn("a");
    assert_eq!(once(&mut rig), busy("runs already"));
    let run = rig.run("a");
    rig.tell(Event::Exited { run, status: BAD });
    assert_eq!(once(&mut rig), busy("is still being ended"));
    rig.tell(Event::Emptied { run, rest: Rest::default() });
    assert_eq!(once(&mut rig), busy("waits to be restarted"));
}

/// RUN-4: a foreground run goes with its client; one that was merely waited for does not.
#[test]
fn a_client_takes_its_foreground_run_along() {
    let mut rig = Rig::boot([oneshot("a"), oneshot("b")]);
    let once = rig.ticket();
    rig.tell(Event::Once { ticket: once, name: name("a") });
    rig.spawn("a");
    rig.start("b", true);
    rig.spawn("b");
    rig.tell(Event::Forget(Ticket(2)));
    assert_eq!(rig.effects, []);
    rig.tell(Event::Forget(once));
    assert_eq!((rig.state("a"), rig.state("b")), (State::Stopping, State::Running));
    for text in ["a", "b"] {
        rig.exit(text, GOOD);
        assert!(!rig.effects.iter().any(|effect| matches!(effect, Effect::Reply { .. })));
    }
    let last = rig.fleet.view(&name("a")).unwrap().last_run.unwrap();
    assert_eq!(last.cause.as_deref(), Some("the client that ran it went away"));
}
