//! Schedules as the whole program keeps them.

use crate::support::{Home, mark, until};

/// SCH-4: a scheduled one-shot fires, is recorded with its slot, and fires again.
#[test]
fn a_schedule_fires_and_is_recorded() {
    let mut home = Home::new(
        "[harness.beat]\noneshot = true\ncmd = \"echo\"\nargs = [\"beat\"]\nschedule = \"@every 1s\"\n",
    );
    home.start_daemon();
    assert!(home.harness("beat")["next_firing"].is_string());
    let runs = until("two firings", || {
        Some(home.runs("beat"))
            .filter(|runs| runs.len() >= 2 && runs.iter().all(|run| run["outcome"] == "ok"))
    });
    for run in &runs {
        assert_eq!(run["trigger"], "schedule");
        assert!(run["planned_at"].as_str().unwrap() <= run["started_at"].as_str().unwrap(), "{run}");
    }
    assert!(runs[0]["planned_at"] != runs[1]["planned_at"]);
}

/// SCH-4: a firing while the run is active is recorded as skipped, with a cause.
#[test]
fn overlap_skip_leaves_a_record() {
    let mut home = Home::new(
        "[harness.busy]\noneshot = true\ncmd = \"sleep\"\nargs = [\"600\"]\nschedule = \"@every 1s\"\n",
    );
    home.start_daemon();
    let skipped =
        until("a slot is skipped", || home.runs("busy").into_iter().find(|run| run["outcome"] == "skipped"));
    assert_eq!(skipped["cause"], "the run before it is still active");
    assert!(skipped.get("started_at").is_none() && skipped["planned_at"].is_string(), "{skipped}");
    let started = home.runs("busy").iter().filter(|run| run.get("started_at").is_some()).count();
    assert_eq!(started, 1);
}

/// SCH-4: `replace` stops the running one, whole, then starts.
#[test]
fn overlap_replace_stops_the_running_one() {
    let mark = mark("replace");
    let mut home = Home::new(&format!(
        "[harness.fresh]\noneshot = true\ncmd = \"sh\"\nargs = [\"-c\", \"sleep 607 & wait\"]\nschedule = \"@every 1s\"\noverlap = \"replace\"\nenv = {{ {mark} = \"1\" }}\n"
    ));
    home.start_daemon();
    let replaced =
        until("one is replaced", || home.runs("fresh").into_iter().find(|run| run["outcome"] == "replaced"));
    assert!(replaced["cause"].as_str().unwrap().starts_with("replaced by the firing of "), "{replaced}");
    until("the next one runs alone", || (home.processes_with(&mark).len() == 2).then_some(()));
}

/// SCH-7: the phase of `@every` outlives reloads and restarts of the daemon: it counts from the last firing.
#[test]
fn an_interval_keeps_its_phase() {
    let config = "[harness.slow]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 1h\"\n";
    let mut home = Home::new(config);
    home.start_daemon();
    let first = home.harness("slow")["next_firing"].clone();
    home.configure(&format!("{config}description = \"changed\"\n"));
    home.ok(&["reload"]);
    assert_eq!(home.harness("slow")["next_firing"], first);
    home.stop_daemon();
    home.start_daemon();
    assert_eq!(home.harness("slow")["next_firing"], first);
    home.configure("[harness.slow]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 2h\"\n");
    home.ok(&["reload"]);
    assert!(home.harness("slow")["next_firing"] != first, "another expression has another phase");
}

/// SCH-10: a harness whose program is missing fails by itself; the other one fires on.
#[test]
fn a_broken_job_delays_no_other() {
    let mut home = Home::new(
        "[harness.broken]\noneshot = true\ncmd = \"/nonexistent/program\"\nschedule = \"@every 1s\"\n\
         [harness.sound]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 1s\"\n",
    );
    home.start_daemon();
    until("both have fired twice", || {
        (home.runs("sound").len() >= 2 && home.runs("broken").len() >= 2).then_some(())
    });
    let broken = &home.ended_run("broken");
    assert_eq!(broken["outcome"], "spawn-failed");
    assert_eq!(broken["cause"], "`/nonexistent/program` does not exist");
    assert_eq!(home.ended_run("sound")["outcome"], "ok");
}

/// SCH-2: the next firings of an expression or a harness, in its zone, without a daemon.
#[test]
fn schedule_next_prints_the_next_firings() {
    let home = Home::new(
        "[harness.nightly]\noneshot = true\ncmd = \"true\"\nschedule = \"30 2 * * *\"\ntimezone = \"Europe/Berlin\"\n",
    );
    let from = ["--from", "2026-03-28T00:00:00Z", "-n", "3"];
    let nightly = home.ok(&[&["schedule", "next", "nightly"], &from[..]].concat());
    assert_eq!(
        nightly.out,
        "2026-03-28T02:30:00+01:00\n2026-03-29T03:00:00+02:00\n2026-03-30T02:30:00+02:00\n"
    );
    let typed = home.ok(&[
        &["schedule", "next", "0 12 * * mon", "--timezone", "Asia/Kathmandu", "--json"],
        &from[..],
    ]
    .concat());
    assert_eq!(
        typed.json(),
        serde_json::json!({"expression": "0 12 * * mon", "timezone": "Asia/Kathmandu", "firings":
            ["2026-03-30T12:00:00+05:45", "2026-04-06T12:00:00+05:45", "2026-04-13T12:00:00+05:45"]})
    );
    let wrong = home.harnessd(&["schedule", "next", "61 * * * *"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.starts_with("error: `61 * * * *` is neither a harness nor an expression: "),
        "{wrong:?}"
    );
}

/// SCH-11: a health check: `status --check` exits 0 while every job is well, 1 with the name and the cause
/// while one is not, 3 without a daemon; as JSON, too.
#[test]
fn status_check_tells_which_job_is_not_well() {
    let mut home = Home::new("");
    let good = home.text("good");
    home.configure(&format!("[harness.job]\noneshot = true\ncmd = \"test\"\nargs = [\"-e\", {good:?}]\n"));
    assert_eq!(home.harnessd(&["status", "--check"]).code, 3);
    home.start_daemon();
    let well = home.ok(&["status", "--check"]);
    assert_eq!((well.out.as_str(), well.err.as_str()), ("every job is well\n", ""));
    home.harnessd(&["start", "job", "--wait"]);
    let said = home.harnessd(&["status", "--check"]);
    let expected = "job: failed: its last run ended `failed`: exit status 1\n";
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (1, expected, ""));
    let said = home.harnessd(&["status", "--check", "--json"]);
    assert_eq!(said.code, 1);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&said.out).unwrap()["problems"],
        serde_json::json!([
            {"harness": "job", "reason": "failed: its last run ended `failed`: exit status 1"}
        ])
    );
    home.ok(&["status", "--json"]);
    home.write("good", "");
    home.ok(&["start", "job", "--wait"]);
    home.ok(&["status", "--check"]);
}

/// SCH-9: `max_parallel_runs`: the excess waits, is shown as waiting, has its row and starts when there is room.
#[test]
fn the_excess_waits_for_a_place() {
    let job = |name: &str| format!("[harness.{name}]\noneshot = true\ncmd = \"sleep\"\nargs = [\"611\"]\n");
    let config = |bound: u32| format!("[daemon]\nmax_parallel_runs = {bound}\n{}{}", job("a"), job("b"));
    let mut home = Home::new(&config(1));
    home.start_daemon();
    home.ok(&["start", "a", "b"]);
    home.wait_state("a", "running");
    let waiting = home.wait_state("b", "starting");
    assert_eq!(waiting["waiting"], serde_json::json!({"reason": "queue"}));
    let row = &home.runs("b")[0];
    assert!(row.get("started_at").is_none() && row.get("outcome").is_none(), "{row}");
    home.ok(&["stop", "a", "--wait"]);
    let running = home.wait_state("b", "running");
    assert_eq!(running["run"], row["id"]);
    home.ok(&["start", "a"]);
    home.wait_state("a", "starting");
    home.configure(&config(2));
    home.ok(&["reload"]);
    home.wait_state("a", "running");
}

/// SCH-12: runs of exclusive harnesses in one directory wait for one another; a stop ends one that waits.
#[test]
fn exclusive_runs_wait_for_one_another() {
    let job = |name: &str| {
        format!("[harness.{name}]\noneshot = true\ncmd = \"sleep\"\nargs = [\"612\"]\nexclusive = true\n")
    };
    let mut home = Home::new(&format!("{}{}", job("a"), job("b")));
    home.start_daemon();
    home.ok(&["start", "a", "b"]);
    home.wait_state("a", "running");
    assert_eq!(home.wait_state("b", "starting")["waiting"], serde_json::json!({"reason": "workdir"}));
    home.ok(&["stop", "b", "--wait"]);
    let ended = home.ended_run("b");
    assert_eq!((&ended["outcome"], &ended["cause"]), (&"stopped".into(), &"asked to stop".into()));
    assert!(ended.get("started_at").is_none(), "{ended}");
}

/// SCH-5, SCH-11: slots that pass while the daemon is down are one row.
#[test]
fn slots_that_pass_while_the_daemon_is_down_are_recorded() {
    let mut home = Home::new(
        "[harness.beat]\noneshot = true\ncmd = \"true\"\nschedule = \"@every 1s\"\ncatch_up = \"none\"\n",
    );
    home.start_daemon();
    until("it has fired", || home.runs("beat").first().cloned());
    home.stop_daemon();
    // Nothing but time passes slots.
    std::thread::sleep(std::time::Duration::from_millis(3200));
    home.start_daemon();
    let missed = until("the slots are recorded", || {
        home.runs("beat").into_iter().find(|run| run["outcome"] == "missed")
    });
    assert_eq!(
        (&missed["trigger"], &missed["cause"]),
        (&"schedule".into(), &"the daemon was down when it was due".into())
    );
    assert!(missed["missed"]["count"].as_u64().is_some_and(|count| count >= 2), "{missed}");
    assert_eq!(missed["planned_at"], missed["missed"]["last"]);
    until("it goes on", || (home.runs("beat")[0]["outcome"] == "ok").then_some(()));
}
