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

fn refused(harnesses: impl IntoIterator<Item = Harness>) -> Arc<Configuration> {
    Arc::new(Configuration { partial: true, ..Configuration::clone(&configuration(harnesses)) })
}

/// LIF-2, CFG-10: what a refused file keeps out of the first configuration comes as at boot when it is mended:
/// by intent, with its last run, and its schedule has missed what fell due.
#[test]
fn what_was_refused_at_boot_comes_as_at_boot_later() {
    let claim = (BTreeMap::from([(name("s"), ("@hourly".to_owned(), NOON))]), BTreeMap::new());
    let remembered = Remembered { last_firings: claim.0, last_runs: claim.1, ..remembered("a", true) };
    let mut rig = Rig::boot([]);
    rig.fleet = Supervisor::new(5);
    rig.tell(Event::Boot { configuration: refused([enabled("b")]), remembered });
    assert_eq!(rig.launches(), [("b".to_owned(), Trigger::Boot, 1)]);
    let forgets = |rig: &Rig| {
        rig.effects.iter().any(|effect| matches!(effect, Effect::Record(Record::Disarmed { .. })))
    };
    assert!(!forgets(&rig), "what is owed is not forgotten");
    rig.tell(Event::Configure(refused([enabled("b"), resident("a")])));
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Boot, 1)]);
    assert!(!forgets(&rig));
    rig.tell(Event::Configure(configuration([enabled("b"), resident("a"), resident("c")])));
    assert_eq!(rig.launches(), [], "and what is new then is not intended");
    assert!(forgets(&rig), "now it is known what is gone");
}
