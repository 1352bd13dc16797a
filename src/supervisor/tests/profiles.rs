//! Named groups of harnesses: CFG-12, LIF-2.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::config::Profile;
use crate::supervisor::Snapshot;

type Named<'a> = (&'a str, &'a [&'a str]);

fn profiles(list: &[Named<'_>]) -> BTreeMap<String, Profile> {
    let one = |(profile, members): &Named<'_>| {
        let harnesses = members.iter().map(|member| name(member)).collect();
        ((*profile).to_owned(), Profile { harnesses, ..Profile::default() })
    };
    list.iter().map(one).collect()
}

/// A configuration whose profile `autostart` starts at boot, if it is one of them.
fn grouped(
    harnesses: impl IntoIterator<Item = Harness>,
    list: &[Named<'_>],
    autostart: &str,
) -> Arc<Configuration> {
    let mut made = Arc::unwrap_or_clone(configuration(harnesses));
    made.profiles = profiles(list);
    if let Some(profile) = made.profiles.get_mut(autostart) {
        profile.autostart = true;
    }
    Arc::new(made)
}

fn boot(configuration: Arc<Configuration>, remembered: Remembered) -> Rig {
    let mut rig = Rig { fleet: Supervisor::new(5), now: start(), effects: Vec::new(), tickets: 0 };
    rig.tell(Event::Boot { configuration, remembered });
    rig
}

fn start() -> Now {
    Now { mono: Mono(HOUR), wall: NOON }
}

fn used(text: &str) -> Remembered {
    Remembered { profile: Some(text.to_owned()), ..Remembered::default() }
}

/// The last asking's answer.
fn choose(rig: &mut Rig, profile: &str, exclusive: bool) -> Result<Value, ErrorBody> {
    let ticket = rig.ticket();
    rig.tell(Event::UseProfile { ticket, profile: profile.to_owned(), exclusive, wait: false });
    rig.reply(ticket).expect("it is answered at once")
}

/// Each harness of an answer with its word.
fn words(answer: Result<Value, ErrorBody>) -> Vec<(String, String)> {
    let answer = answer.expect("the answer is good");
    let text = |one: &Value, key: &str| one[key].as_str().unwrap().to_owned();
    answer["harnesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(one, "name"), text(one, "result")))
        .collect()
}

fn said(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned())).collect()
}

fn remembers(rig: &Rig) -> Vec<&str> {
    let profile = |effect| match effect {
        &Effect::Record(Record::Profile { ref name }) => Some(name.as_str()),
        _ => None,
    };
    rig.effects.iter().filter_map(profile).collect()
}

const DAY: Named<'_> = ("day", &["a", "b"]);
const NIGHT: Named<'_> = ("night", &["b", "c"]);

/// CFG-12: a profile starts its members in their order and stops nothing; it is remembered, once.
#[test]
fn a_profile_starts_its_members_and_stops_nothing() {
    let fleet = [enabled("a"), resident("b"), resident("c"), resident("d")];
    let mut rig = boot(grouped(fleet, &[DAY, NIGHT], ""), Remembered::default());
    rig.spawn("a");
    assert_eq!(rig.fleet.profile(), None);
    let answer = choose(&mut rig, "night", false);
    assert_eq!(words(answer), said(&[("b", "starting"), ("c", "starting")]));
    assert_eq!(remembers(&rig), ["night"]);
    assert_eq!(rig.intents(), [("b", true), ("c", true)], "as by `start`");
    assert_eq!((rig.state("a"), rig.state("d")), (State::Running, State::Stopped));
    let answer = choose(&mut rig, "day", false).unwrap();
    assert_eq!(answer["profile"], "day");
    assert_eq!(answer["warnings"], json!([]));
    assert_eq!(words(Ok(answer)), said(&[("a", "already-running"), ("b", "starting")]));
    assert_eq!(rig.fleet.profile(), Some("day"), "one at a time");
    choose(&mut rig, "day", false).unwrap();
    assert_eq!(remembers(&rig), [""; 0], "it is remembered already");
}

/// CFG-12: `--exclusive` stops what other profiles name and this one does not, and nothing else.
#[test]
fn an_exclusive_profile_stops_what_the_others_name() {
    let fleet =
        [enabled("a"), enabled("b"), enabled("d"), resident("c"), scheduled("s", "@hourly", Overlap::Skip)];
    let list = [DAY, NIGHT, ("odd", &["s", "gone"][..])];
    let mut rig = boot(grouped(fleet, &list, ""), Remembered::default());
    for one in ["a", "b", "d"] {
        rig.spawn(one);
    }
    let answer = choose(&mut rig, "night", true);
    assert_eq!(words(answer), said(&[("b", "already-running"), ("c", "starting"), ("a", "stopping")]));
    assert_eq!(rig.intents(), [("a", false), ("b", true), ("c", true)]);
    assert_eq!((rig.state("a"), rig.state("d")), (State::Stopping, State::Running));
}

/// CFG-12: a profile without members, used exclusively, stops what the others name.
#[test]
fn an_empty_profile_is_answered() {
    let mut rig =
        boot(grouped([enabled("a"), resident("b")], &[DAY, ("idle", &[])], ""), Remembered::default());
    rig.spawn("a");
    assert_eq!(words(choose(&mut rig, "idle", false)), said(&[]));
    let answer = choose(&mut rig, "idle", true);
    assert_eq!(words(answer), said(&[("a", "stopping"), ("b", "already-stopped")]));
}

/// CFG-12: with `--wait` the answer comes when all that starts runs and all that stops is gone.
#[test]
fn a_profile_can_be_waited_for() {
    let mut rig =
        boot(grouped([enabled("a"), resident("b"), resident("c")], &[DAY, NIGHT], ""), Remembered::default());
    rig.spawn("a");
    let ticket = rig.ticket();
    rig.tell(Event::UseProfile { ticket, profile: "night".to_owned(), exclusive: true, wait: true });
    assert_eq!(rig.reply(ticket), None);
    rig.spawn("b");
    rig.spawn("c");
    assert_eq!(rig.reply(ticket), None, "`a` still lives");
    rig.exit("a", GOOD);
    let answer = rig.reply(ticket).unwrap();
    assert_eq!(words(answer), said(&[("b", "started"), ("c", "started"), ("a", "stopped")]));
}

/// CFG-12: members that nothing declares or that only a schedule starts are said, in the answer and until
/// it is mended; the others start.
#[test]
fn an_unknown_and_a_scheduled_member_are_said() {
    let fleet = [resident("a"), scheduled("app/s", "@hourly", Overlap::Skip)];
    let list: [Named<'_>; 1] = [("day", &["app/gone", "app/s", "a"])];
    let mut rig = boot(grouped(fleet, &list, "day"), Remembered::default());
    assert_eq!(rig.launches(), [("a".to_owned(), Trigger::Boot, 1)]);
    let expected = [
        "profile `day` names `app/gone`, which nothing that is in force declares",
        "profile `day` names `app/s`, which has a schedule: only that starts it",
    ];
    assert_eq!(rig.fleet.profile_trouble(), expected);
    let answer = choose(&mut rig, "day", false);
    assert_eq!(words(answer), said(&[("app/gone", "unknown"), ("app/s", "scheduled"), ("a", "starting")]));
    rig.tell(Event::Configure(grouped([resident("a")], &[("day", &["a"])], "day")));
    assert_eq!(rig.fleet.profile_trouble(), [""; 0]);
}

/// CFG-12: a profile that was used and is declared no more is said: by itself, and by the use of another.
#[test]
fn a_remembered_profile_that_is_gone_is_said() {
    let mut rig = boot(grouped([resident("a"), resident("b")], &[DAY], ""), used("nihgt"));
    let gone = "profile `nihgt`, which was used last, is no longer declared";
    assert_eq!((rig.fleet.profile(), rig.fleet.profile_trouble()), (None, vec![gone.to_owned()]));
    let expected =
        ErrorBody::new(ErrorCode::UnknownProfile, "profile `nihgt` was used last and is no longer declared");
    assert_eq!(choose(&mut rig, "nihgt", false), Err(expected.help("the profiles are `day`")));
    let answer = choose(&mut rig, "day", false).unwrap();
    assert_eq!(answer["warnings"], json!([gone]));
    assert_eq!(rig.fleet.profile_trouble(), [""; 0]);
    rig.tell(Event::Configure(grouped([resident("a"), resident("b")], &[], "")));
    let gone = "profile `day`, which was used last, is no longer declared";
    assert_eq!(rig.fleet.profile_trouble(), [gone]);
    assert_eq!(rig.launches(), [], "what runs goes on, nothing else starts");
}

/// CFG-12: an unknown profile does nothing, and the nearest are named.
#[test]
fn an_unknown_profile_is_refused() {
    let refused = |rig: &mut Rig, profile| choose(rig, profile, true).unwrap_err();
    let error = |message: &str, help: &str| ErrorBody::new(ErrorCode::UnknownProfile, message).help(help);
    let mut rig = boot(grouped([resident("a")], &[DAY, NIGHT], ""), Remembered::default());
    let expected = error("no profile is named `nigth`", "did you mean `night`?");
    assert_eq!(refused(&mut rig, "nigth"), expected);
    assert_eq!(remembers(&rig), [""; 0]);
    let expected = error("no profile is named `x\\u{1b}yz`", "the profiles are `day`, `night`");
    assert_eq!(refused(&mut rig, "x\u{1b}yz"), expected);
    let mut rig = Rig::boot([resident("a")]);
    let help = "no profile is declared: write `[profile.NAME]` in the global file, or see by `harnessd status` \
                why what it says is not in force";
    assert_eq!(refused(&mut rig, "day"), error("no profile is named `day`", help));
}

/// CFG-12: a daemon that shuts down takes no profile into use.
#[test]
fn no_profile_is_used_during_a_shutdown() {
    let mut rig = boot(grouped([resident("a"), resident("b")], &[DAY], ""), Remembered::default());
    rig.tell(Event::Shutdown { at_once: false });
    let expected =
        ErrorBody::new(ErrorCode::AlreadyStopping, "use profile `day`: the daemon is shutting down");
    assert_eq!(choose(&mut rig, "day", false), Err(expected));
    assert_eq!(remembers(&rig), [""; 0]);
}

/// LIF-2: every member of the profile that starts at boot starts then, as what is enabled does; another
/// profile that was used last starts nothing by itself.
#[test]
fn members_of_an_autostarting_profile_start_at_boot() {
    let fleet = || [resident("a"), oneshot("b"), resident("c"), enabled("d")];
    let booted = |autostart, remembered| {
        let rig = boot(grouped(fleet(), &[DAY, NIGHT], autostart), remembered);
        let launched: BTreeSet<String> = rig.launches().into_iter().map(|(name, _, _)| name).collect();
        (launched.into_iter().collect::<Vec<_>>().join(" "), rig.fleet.profile().map(str::to_owned))
    };
    let expected = |launched: &str, profile: &str| (launched.to_owned(), Some(profile.to_owned()));
    assert_eq!(booted("day", Remembered::default()), expected("a b d", "day"));
    assert_eq!(booted("day", used("night")), expected("a b d", "night"));
    assert_eq!(booted("", used("night")), expected("d", "night"));
}

/// LIF-3: a stop by hand of a member outlives the daemon under `unless-stopped`, as if it were enabled.
#[test]
fn a_stopped_member_stays_stopped_under_unless_stopped() {
    for policy in [RestartPolicy::Always, RestartPolicy::UnlessStopped] {
        let intents = BTreeMap::from([(name("a"), false)]);
        let fleet = [with_restart(resident("a"), policy), resident("b")];
        let rig = boot(grouped(fleet, &[DAY], "day"), Remembered { intents, ..Remembered::default() });
        let starts = rig.launches().iter().any(|(name, _, _)| name == "a");
        assert_eq!(starts, policy == RestartPolicy::Always, "{policy}");
    }
}

/// CFG-10: a member that a reload adds starts if its profile starts at boot; a change of profiles alone
/// starts and stops nothing.
#[test]
fn a_reload_of_profiles_bounces_nothing() {
    let mut rig = boot(grouped([resident("a")], &[], ""), Remembered::default());
    rig.tell(Event::Configure(grouped([resident("a"), resident("b")], &[("day", &["a", "b"])], "day")));
    assert_eq!(rig.launches(), [("b".to_owned(), Trigger::Boot, 1)]);
    rig.spawn("b");
    rig.tell(Event::Configure(grouped([resident("a"), resident("b")], &[NIGHT], "night")));
    assert_eq!((rig.launches().len(), rig.state("a"), rig.state("b")), (0, State::Stopped, State::Running));
}

/// CTL-11: the profile in use and a use that is waited for cross a re-execution.
#[test]
fn a_profile_crosses_a_reexecution() {
    let declared = grouped([resident("a"), resident("b")], &[DAY], "");
    let mut rig = boot(Arc::clone(&declared), Remembered::default());
    let ticket = rig.ticket();
    rig.tell(Event::UseProfile { ticket, profile: "day".to_owned(), exclusive: false, wait: true });
    let (a, b) = (rig.run("a"), rig.run("b"));
    let text = serde_json::to_string(&rig.fleet.snapshot()).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&text).unwrap();
    rig.fleet = Supervisor::restore(snapshot, &declared, 7);
    assert_eq!(rig.fleet.profile(), Some("day"));
    rig.tell(spawned(a));
    rig.tell(spawned(b));
    let answer = rig.reply(ticket).unwrap().unwrap();
    assert_eq!(answer["profile"], "day");
    assert_eq!(words(Ok(answer)), said(&[("a", "started"), ("b", "started")]));
}

/// LIF-9: a store that is made anew is told of the profile in use.
#[test]
fn the_profile_is_among_what_is_known() {
    let mut rig = boot(grouped([resident("a"), resident("b")], &[DAY], ""), Remembered::default());
    choose(&mut rig, "day", false).unwrap();
    assert!(rig.fleet.known().contains(&Record::Profile { name: "day".to_owned() }));
}
