//! The scenarios of the source specification that configuration decides.

use camino::Utf8PathBuf;

use super::{complaints, global, harness, loaded, project};
use crate::config::{Declared, Mode, PromptSource, Work, definition_json};
use crate::lifecycle::RestartPolicy;

/// CFG-6: Scenario "Adapter inferred from cmd"
#[test]
fn adapter_inferred_from_cmd() {
    for cmd in ["claude", "/opt/bin/claude"] {
        let made = harness(&[global(&format!("[harness.a]\ncmd = \"{cmd}\"\n"))], "a");
        assert_eq!(made.adapter.id(), "claude-code", "{cmd}");
    }
}

/// CFG-6: Scenario "Explicit agent overrides inference"
#[test]
fn explicit_agent_overrides_inference() {
    let made = harness(&[global("[harness.a]\ncmd = \"my-wrapper\"\nagent = \"claude-code\"\n")], "a");
    assert_eq!(made.adapter.id(), "claude-code");
    let program = Some("my-wrapper".to_owned());
    assert_eq!(made.work, Work::Command { program, args: Vec::new() });
    let other = harness(&[global("[harness.a]\ncmd = \"codex\"\nagent = \"claude-code\"\n")], "a");
    assert_eq!(other.adapter.id(), "claude-code");
}

/// ADP-1: Scenario "Unknown tool degrades to generic"
#[test]
fn unknown_tool_degrades_to_generic() {
    let made = harness(&[global("[harness.a]\ncmd = \"my-tool\"\n")], "a");
    assert_eq!(made.adapter.id(), "generic");
    assert_eq!(made.mode, Mode::Resident { restart: RestartPolicy::Always });
    assert!(!made.tty);
}

/// CFG-8: Scenario "Unknown adapter name is rejected"
#[test]
fn unknown_adapter_name_is_rejected() {
    let inputs = [global("[harness.a]\nagent = \"nonexistent\"\n\n[harness.b]\ncmd = \"serve\"\n")];
    assert_eq!(complaints(&inputs), ["2:9 a: harness `a` names an unknown agent: `nonexistent`"]);
    assert!(loaded(&inputs).configuration.is_none(), "so that the last good one stays in force");
}

/// Scenario "Prompt and prompt file are mutually exclusive"
#[test]
fn prompt_and_prompt_file_are_mutually_exclusive() {
    let inputs = [global("[harness.a]\nagent = \"pi\"\nprompt = \"x\"\nprompt_file = \"p.md\"\n")];
    assert_eq!(complaints(&inputs), ["4:1 a: `prompt` and `prompt_file` exclude each other"]);
    assert!(loaded(&inputs).configuration.is_none());
}

/// PRM-2: Scenario "Missing prompt file fails the load"
#[test]
fn missing_prompt_file_fails_the_load() {
    let why = [
        ("missing.md", "does not exist"),
        ("secret.md", "cannot be read: permission denied"),
        ("empty.md", "holds nothing but white space"),
    ];
    for (name, why) in why {
        let inputs = [project(&format!("[harness.a]\nagent = \"pi\"\nprompt_file = \"p/{name}\"\n"))];
        let expected =
            format!("3:15 app/a: the prompt file `/home/u/src/app/p/{name}` of harness `app/a` {why}");
        assert_eq!(complaints(&inputs), [expected]);
    }
}

/// Scenario "Prompt file satisfies the prompt-dependent keys"
#[test]
fn prompt_file_satisfies_the_prompt_dependent_keys() {
    let text = "[harness.a]\nagent = \"claude-code\"\nprompt_file = \"p.md\"\nschedule = \"@daily\"\n\
                model = \"m\"\nauto_accept = true\nmax_turns = 3\nquiet = true\n";
    let made = harness(&[global(text)], "a");
    assert_eq!(made.restart(), RestartPolicy::No);
    assert!(made.oneshot() && made.timetable().is_some());
}

/// CFG-7: Scenario "Relative prompt file resolves against its config"
#[test]
fn relative_prompt_file_resolves_against_its_config() {
    let text = "[harness.a]\nagent = \"pi\"\nprompt_file = \"./prompts/sweep.md\"\n";
    let made = harness(&[project(text)], "app/a");
    let Work::Prompt { prompt: PromptSource::File(path), .. } = &made.work else { panic!("{made:?}") };
    assert_eq!(path, "/home/u/src/app/prompts/sweep.md");
}

/// PRM-2: Scenario "Prompt file supplies the agent instruction" (the half that is
/// configuration: the path is kept, and nothing but the path)
#[test]
fn prompt_file_supplies_the_agent_instruction() {
    let text = "[harness.a]\nagent = \"pi\"\nprompt_file = \"~/sweep.md\"\n";
    let shown = definition_json(&harness(&[global(text)], "a"));
    assert_eq!(shown["prompt_file"], "/home/u/sweep.md");
    assert!(shown.get("prompt").is_none());
}

/// SKL-2: Scenario "Configured paths add to defaults"
#[test]
fn configured_paths_add_to_defaults() {
    let text = "[harness.a]\nagent = \"pi\"\nskill_paths = [\"~/work/team-skills\"]\n";
    let made = harness(&[global(text)], "a");
    let path = Utf8PathBuf::from("/home/u/work/team-skills");
    assert_eq!(made.skill_paths, [(Declared::Global, path)]);
    assert!(made.use_default_skill_paths);
}

/// SKL-2: Scenario "Defaults can be dropped"
#[test]
fn defaults_can_be_dropped() {
    let text = "[harness.a]\nagent = \"pi\"\nskill_paths = [\"/s\"]\nuse_default_skill_paths = false\n";
    let made = harness(&[global(text)], "a");
    assert!(!made.use_default_skill_paths);
    assert_eq!(made.skill_paths.len(), 1);
}

/// CFG-4, SKL-2: Scenario "Project files may carry skill paths"
#[test]
fn project_files_may_carry_skill_paths() {
    let text = "[harness.a]\nagent = \"pi\"\nskill_paths = [\"./skills\"]\n";
    let made = harness(&[project(text)], "app/a");
    assert_eq!(made.skill_paths, [(Declared::Project, "/home/u/src/app/skills".into())]);
}
