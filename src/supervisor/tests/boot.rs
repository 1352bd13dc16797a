//! What starts when the daemon starts: LIF-2.

use super::*;

fn remembered(text: &str, wanted: bool) -> Remembered {
    Remembered { intents: BTreeMap::from([(name(text), wanted)]), ..Remembered::default() }
}

fn starts(harness: Harness, remembered: Remembered) -> bool {
    let rig = Rig::boot_with([harness], remembered);
    let launches = rig.launches();
    assert!(launches.iter().all(|(_, trigger, attempt)| (*trigger, *attempt) == (Trigger::Boot, 1)));
    !launches.is_empty()
}

/// LIF-2: every enabled harness starts at boot, one-shots too; others do not.
#[test]
fn what_is_enabled_starts_at_boot() {
    let rig = Rig::boot([
        enabled("a"),
        resident("b"),
        Harness { enabled: true, ..oneshot("c") },
        oneshot("d"),
        scheduled("e", "@hourly", Overlap::Skip),
    ]);
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Boot, 1), ("c".to_owned(), Trigger::Boot, 1)]);
}

/// LIF-2: a start by hand of a resident harness is remembered until it is stopped.
#[test]
fn a_start_by_hand_is_remembered_until_a_stop() {
    let mut rig = Rig::boot([resident("a")]);
    rig.start("a", false);
    assert_eq!(rig.intents(), [("a", true)]);
    rig.start("a", false);
    assert_eq!(rig.intents(), [], "it is remembered already");
    rig.stop("a", false);
    assert_eq!(rig.intents(), [("a", false)]);
    assert!(starts(resident("a"), remembered("a", true)));
    assert!(!starts(resident("a"), remembered("a", false)));
}

/// LIF-2: a restart of the daemon does not run a one-shot again that somebody once started.
#[test]
fn a_oneshot_is_not_run_again_at_boot() {
    let mut rig = Rig::boot([oneshot("a")]);
    rig.start("a", false);
    assert_eq!(rig.intents(), []);
    assert!(!starts(oneshot("a"), remembered("a", true)));
}

/// LIF-3: a stop by hand outlives the daemon under `unless-stopped`, and under no other policy.
#[test]
fn a_stop_by_hand_outlives_the_daemon_under_unless_stopped_only() {
    for policy in RestartPolicy::ALL {
        let survives = *policy == RestartPolicy::UnlessStopped;
        let harness = with_restart(enabled("a"), *policy);
        assert_eq!(starts(harness.clone(), remembered("a", false)), !survives, "{policy}");
        assert!(starts(harness.clone(), remembered("a", true)), "{policy}");
        assert!(starts(harness, Remembered::default()), "{policy}");
    }
    let mut rig = Rig::boot([with_restart(enabled("a"), RestartPolicy::UnlessStopped)]);
    rig.stop("a", false);
    assert_eq!(rig.intents(), [("a", false)]);
}

/// LIF-2: the last run of a harness is shown from what the store remembers.
#[test]
fn the_last_run_is_remembered() {
    let mut rig = Rig::boot([oneshot("a")]);
    rig.start("a", false);
    rig.spawn("a");
    rig.exit("a", BAD);
    let run = rig.ended().unwrap().clone();
    let last_runs = BTreeMap::from([(name("a"), run.clone())]);
    let rig = Rig::boot_with([oneshot("a")], Remembered { last_runs, ..Remembered::default() });
    assert_eq!(rig.fleet.view(&name("a")).unwrap().last_run, Some(run));
}
