//! CFG-12: what `[profile.*]` says.

use super::{complaints, global, loaded, project};
use crate::base::{HarnessName, Severity};
use crate::config::{Input, Profile};

const TWO: &str = "[harness.web]\ncmd = \"serve\"\n[harness.docs]\ncmd = \"serve\"\n";

fn profile(inputs: &[Input], name: &str) -> Profile {
    loaded(inputs).configuration.unwrap().profiles[name].clone()
}

fn severities(inputs: &[Input]) -> Vec<Severity> {
    loaded(inputs).diagnostics.iter().map(|one| one.severity).collect()
}

/// CFG-12: a profile keeps its members in their order, each once, and starts nothing at boot unless it says so.
#[test]
fn a_profile_is_what_it_says() {
    let text = format!(
        "[profile.day]\ndescription = \"by day\"\nharnesses = [\"web\", \"app/worker\", \"docs\", \"web\"]\n\
         autostart = true\n[profile.idle]\n{TWO}"
    );
    let parse = |name: &str| HarnessName::parse(name).unwrap();
    let expected = Profile {
        description: Some("by day".to_owned()),
        harnesses: vec![parse("web"), parse("app/worker"), parse("docs")],
        autostart: true,
    };
    assert_eq!(profile(&[global(&text)], "day"), expected);
    assert_eq!(profile(&[global(&text)], "idle"), Profile::default());
}

/// CFG-12: a member that is declared, however badly, is no unknown one: one mistake is told once.
#[test]
fn a_member_with_mistakes_is_known() {
    let text = "[profile.day]\nharnesses = [\"web\"]\n[harness.web]\ncmd = 3\n";
    assert_eq!(
        complaints(&[global(text)]),
        ["4:7 web: `cmd` takes a program's name or path, not an integer"]
    );
}

/// CFG-12: while a file cannot be parsed nobody knows what it declares.
#[test]
fn members_are_not_missed_while_a_file_is_broken() {
    let mut broken = global("[harness.web\n");
    broken.file = "/home/u/.config/harnessd/harness.d/web.toml".into();
    let inputs = [global("[profile.day]\nharnesses = [\"web\"]\n"), broken];
    let found = complaints(&inputs);
    assert!(matches!(found.as_slice(), [one] if one.contains("this is no TOML")), "{found:?}");
}

/// CFG-12, CFG-10: what a project says or leaves out is told and refuses nothing, since it is accepted by itself.
#[test]
fn a_member_of_a_project_is_warned_of() {
    let text = "[profile.day]\nharnesses = [\"app/web\", \"app/wbe\", \"app/sweep\", \"other/web\"]\n";
    let scheduled = "[harness.web]\ncmd = \"serve\"\n[harness.sweep]\ncmd = \"sweep\"\noneshot = true\nschedule = \"@daily\"\n";
    let inputs = [global(text), project(scheduled)];
    let expected = [
        "2:25 -: profile `day` names `app/wbe`, which project `app` does not declare",
        "2:36 -: profile `day` names `app/sweep`, which has a schedule",
    ];
    assert_eq!(complaints(&inputs), expected);
    assert_eq!(severities(&inputs), [Severity::Warning; 2]);
    assert_eq!(complaints(&[global(text)]), [""; 0], "nobody knows what these projects declare");
    assert_eq!(profile(&inputs, "day").harnesses.len(), 4);
}

/// CFG-12: a bare name is a global harness's, never a project's.
#[test]
fn a_bare_name_is_no_member_of_a_project() {
    let inputs =
        [global("[profile.day]\nharnesses = [\"web\"]\n"), project("[harness.web]\ncmd = \"serve\"\n")];
    let found = loaded(&inputs).diagnostics;
    assert_eq!(found[0].message, "profile `day` names `web`, which no file declares");
    assert_eq!(found[0].help.as_deref(), Some("did you mean `app/web`?"));
}

/// CFG-8, CFG-12: however long or deceptive a name is, what is said of it is short and plain.
#[test]
fn what_a_profile_names_is_quoted_in_a_bounded_way() {
    let long = "k".repeat(10_000);
    let text = format!("[profile.\"{long}\"]\nharnesses = [\"{long}\", \"we\u{202e}b\"]\nautostart = true\n");
    let text = format!("{text}[profile.\"{long}2\"]\nautostart = true\n");
    let shown = complaints(&[global(&text)]);
    assert_eq!(shown.len(), 5, "{shown:?}");
    assert!(shown.iter().all(|one| one.len() < 400 && !one.contains('\u{202e}')), "{shown:?}");
}
