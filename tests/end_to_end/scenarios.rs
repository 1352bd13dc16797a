//! The scenarios of the source specification, by their names, with the stand-in agent.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::support::{Home, path_with, skill, stand_in_dir, until};

/// A home in which `claude` is the stand-in.
fn home(config: &str) -> Home {
    let mut home = Home::new(config);
    home.set("PATH", &path_with(&stand_in_dir()));
    home
}

/// The argument vector that the stand-in reports.
fn argv(log: &str) -> Vec<String> {
    let lines = log.lines().filter_map(|line| line.strip_prefix("argv "));
    lines.skip(1).map(|line| serde_json::from_str(line.split_once(' ').unwrap().1).unwrap()).collect()
}

/// The skills that the stand-in sees: `where name seen "description"`.
fn skills_seen(log: &str) -> Vec<String> {
    log.lines().filter_map(|line| line.strip_prefix("skill ")).map(str::to_owned).collect()
}

/// CFG-6: Scenario "Adapter inferred from cmd".
#[test]
fn adapter_inferred_from_cmd() {
    let home = home("[harness.a]\ncmd = \"claude\"\n[harness.b]\ncmd = \"/opt/agents/claude\"\n");
    for name in ["a", "b"] {
        assert_eq!(home.ok(&["skills", name, "--json"]).json()["adapter"], "claude-code");
    }
}

/// CFG-6, ADP-1: Scenario "Explicit agent overrides inference".
#[test]
fn explicit_agent_overrides_inference() {
    let home = home("[harness.a]\ncmd = \"my-wrapper\"\nagent = \"claude-code\"\n");
    assert_eq!(home.ok(&["skills", "a", "--json"]).json()["adapter"], "claude-code");
}

/// ADP-1: Scenario "Unknown tool degrades to generic": it starts normally and receives no projection.
#[test]
fn unknown_tool_degrades_to_generic() {
    let mut home = home("[harness.a]\noneshot = true\ncmd = \"echo\"\nargs = [\"hello\"]\nworkdir = \"~\"\n");
    skill(&home, ".claude/skills", "own", "home");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let run = &home.runs("a")[0];
    assert_eq!(
        (&run["adapter"], &run["skills"], &run["command"]),
        (&json!("generic"), &json!([]), &json!(["echo", "hello"]))
    );
    assert!(!home.path(".local/state/harnessd/skills").exists());
}

/// CFG-8, CFG-10: Scenario "Unknown adapter name is rejected": and the last good configuration stays in
/// force.
#[test]
fn unknown_adapter_name_is_rejected() {
    let good = "[daemon]\nwatch = false\n[harness.a]\ncmd = \"sleep\"\nargs = [\"600\"]\nenabled = true\n";
    let mut home = home(good);
    home.start_daemon();
    home.wait_state("a", "running");
    let pid = home.pid("a");
    home.configure(&format!("{good}agent = \"nonexistent\"\n"));
    let said = home.harnessd(&["validate", "--json"]);
    assert_eq!(said.code, 1);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let one = &found["diagnostics"][0];
    assert_eq!((&one["code"], &one["harness"]), (&json!("harnessd::config::unknown_adapter"), &json!("a")));
    assert!(one["message"].as_str().unwrap().contains("`nonexistent`"), "{one}");
    assert_eq!(home.harnessd(&["reload"]).code, 1);
    assert_eq!(home.pid("a"), pid);
}

/// PRM-1, PRM-2, PRM-5: Scenario "Prompt file supplies the agent instruction": byte for byte, by exactly
/// the adapter's argv,
/// and the stored configuration still carries the path.
#[test]
fn prompt_file_supplies_the_agent_instruction() {
    let mut home = home(
        "[harness.sweep]\nagent = \"claude-code\"\nprompt_file = \"./prompts/sweep.md\"\nmodel = \"opus\"\nmax_turns = 7\nworkdir = \"~\"\n\
         auto_accept = true\nenv = { STAND_IN = \"argv env=IS_SANDBOX,CLAUDECODE\" }\n",
    );
    home.set("CLAUDECODE", "1");
    let prompt = "-begins with a dash\n  \"quotes\" $HOME {workdir} \\ é\n";
    home.write(".config/harnessd/prompts/sweep.md", prompt);
    home.start_daemon();
    home.ok(&["start", "sweep", "--wait"]);
    let log = home.log("sweep");
    let argv = argv(&log);
    let state = home.text(".local/state/harnessd/skills/sweep");
    let settings = json!({"permissions": {"additionalDirectories": [state]}}).to_string();
    // The id of its session is chosen for it (COR-8).
    let session = argv.get(2).cloned().unwrap_or_default();
    assert!(session.parse::<uuid::Uuid>().is_ok_and(|id| id.get_version_num() == 4), "{log}");
    let options = [
        "-p",
        "--session-id",
        &session,
        "--output-format",
        "stream-json",
        "--verbose",
        "--model",
        "opus",
        "--dangerously-skip-permissions",
        "--max-turns",
        "7",
    ];
    let skills = ["--plugin-dir", &state, "--settings", &settings];
    assert_eq!(argv, [&options[..], &skills[..], &["--", prompt][..]].concat(), "{log}");
    assert!(log.contains("env IS_SANDBOX \"1\"") && log.contains("env CLAUDECODE unset"), "{log}");
    let described = home.ok(&["describe", "sweep", "--json"]).json();
    assert_eq!(described["definition"]["prompt_file"], home.text(".config/harnessd/prompts/sweep.md"));
    assert!(!described.to_string().contains("begins with a dash"));
    assert_eq!(described["command"].as_array().unwrap().last().unwrap(), "<prompt>");
}

fn mistakes(home: &Home) -> Vec<(String, String)> {
    let said = home.harnessd(&["validate", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    found["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["code"]), text(&one["message"])))
        .collect()
}

/// CFG-8: Scenario "Prompt and prompt file are mutually exclusive".
#[test]
fn prompt_and_prompt_file_are_mutually_exclusive() {
    let home = home("[harness.a]\nagent = \"claude-code\"\nprompt = \"x\"\nprompt_file = \"p.md\"\n");
    home.write(".config/harnessd/p.md", "y");
    let found = mistakes(&home);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1.contains("`prompt`") && found[0].1.contains("`prompt_file`"), "{found:?}");
}

/// PRM-2: Scenario "Missing prompt file fails the load": naming the harness and the resolved path.
#[test]
fn missing_prompt_file_fails_the_load() {
    let home = home("[harness.a]\nagent = \"claude-code\"\nprompt_file = \"~/nowhere.md\"\n");
    let said = home.harnessd(&["validate", "--json"]);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(found["diagnostics"][0]["harness"], "a");
    assert!(
        found["diagnostics"][0]["message"].as_str().unwrap().contains(&home.text("nowhere.md")),
        "{found}"
    );
}

/// Scenario "Prompt file satisfies the prompt-dependent keys".
#[test]
fn prompt_file_satisfies_the_prompt_dependent_keys() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt_file = \"p.md\"\nschedule = \"0 3 * * *\"\nmodel = \"m\"\nauto_accept = true\nmax_turns = 3\nquiet = true\n",
    );
    home.write(".config/harnessd/p.md", "go");
    home.ok(&["validate"]);
    home.start_daemon();
    let described = home.ok(&["describe", "a", "--json"]).json();
    assert_eq!((&described["definition"]["restart"], &described["oneshot"]), (&json!("no"), &json!(true)));
}

/// CFG-7: Scenario "Relative prompt file resolves against its config".
#[test]
fn relative_prompt_file_resolves_against_its_config() {
    let home = home("");
    home.write(
        "src/app/harness.toml",
        "[harness.a]\nagent = \"claude-code\"\nprompt_file = \"./prompts/sweep.md\"\n",
    );
    home.write("src/app/prompts/sweep.md", "stand-in:prompt");
    fs::create_dir_all(home.path("src/app/sub")).unwrap();
    let output = home.command(&["once", "a"]).current_dir(home.path("src/app/sub")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("\"stand-in:prompt\""));
}

/// PRM-2: Scenario "Writers round-trip the path, not the contents": nothing that harnessd writes holds the
/// contents: not the store, not a log of its own, not an answer. (Verbs that edit the file come later.)
#[test]
fn writers_round_trip_the_path_not_the_contents() {
    let secret = "s3cret-instruction-7f1e";
    let mut home = home("[harness.a]\nagent = \"claude-code\"\nprompt_file = \"~/p.md\"\n");
    home.write("p.md", &format!("{secret} stand-in:say=done"));
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let said = [
        home.ok(&["describe", "a", "--json"]).out,
        home.ok(&["runs", "--json"]).out,
        home.ok(&["status", "--json"]).out,
        home.daemon_log(),
    ];
    assert!(said.iter().all(|text| !text.contains(secret)));
    home.stop_daemon();
    let mut looked = 0;
    let mut pending = vec![home.path(".local/state/harnessd"), home.path(".config")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            looked += 1;
            let bytes = fs::read(&path).unwrap();
            assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()), "{}", path.display());
        }
    }
    assert!(looked >= 4, "the state directory was searched");
    assert!(home.ok(&["runs", "--json"]).out.contains("<prompt>"));
}

/// PRM-3: Scenario "Prompt file deleted between load and spawn": the start fails, naming harness and path,
/// and
/// no agent is launched.
#[test]
fn prompt_file_deleted_between_load_and_spawn() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt_file = \"~/p.md\"\nenv = { STAND_IN = \"say=launched\" }\n",
    );
    home.write("p.md", "go");
    home.start_daemon();
    let path = home.text("p.md");
    fs::remove_file(home.path("p.md")).unwrap();
    let gone = home.harnessd(&["start", "a", "--wait", "--json"]);
    assert_eq!(gone.code, 1);
    let error: Value = serde_json::from_str(&gone.err).unwrap();
    assert_eq!(error["error"]["code"], "prompt_unreadable");
    assert_eq!(
        error["error"]["message"],
        format!("harness `a` could not be started: prompt file `{path}`: the file does not exist")
    );
    home.write("p.md", " \n\t\n");
    let blank = home.harnessd(&["start", "a", "--wait"]);
    assert_eq!(
        blank.err,
        format!(
            "error: harness `a` could not be started: prompt file `{path}`: it is blank\n\
             \x20 help: mend the file: it is read at every start\n"
        )
    );
    assert!(home.runs("a").iter().all(|run| run["outcome"] == "spawn-failed" && run.get("pid").is_none()));
    home.write("p.md", "go");
    home.ok(&["start", "a", "--wait"]);
}

/// PRM-3, PRM-4: Scenario "Edited prompt file takes effect without a reload".
#[test]
fn edited_prompt_file_takes_effect_without_a_reload() {
    let mut home =
        home("[daemon]\nwatch = false\n[harness.a]\nagent = \"claude-code\"\nprompt_file = \"~/p.md\"\n");
    home.write("p.md", "stand-in:say=one");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert!(home.log("a").contains("one\n"));
    home.write("p.md", "stand-in:say=two");
    home.ok(&["start", "a", "--wait"]);
    assert!(home.log("a").contains("two\n"));
    // PRM-4: a prompt that fits into no argument goes by standard input.
    home.write("p.md", &format!("stand-in:stdin {}", "x".repeat(200_000)));
    home.ok(&["start", "a", "--wait"]);
    assert!(home.log("a").contains("stdin 200015 "), "{}", &home.log("a")[..200]);
}

fn roots(home: &Home, name: &str) -> Vec<(String, String)> {
    let view = home.ok(&["skills", name, "--json"]).json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    view["roots"].as_array().unwrap().iter().map(|root| (text(&root["path"]), text(&root["rank"]))).collect()
}

/// SKL-2: Scenario "Configured paths add to defaults".
#[test]
fn configured_paths_add_to_defaults() {
    let home = home("[harness.a]\nagent = \"claude-code\"\nskill_paths = [\"~/work/team-skills\"]\n");
    assert_eq!(
        roots(&home, "a"),
        [
            (home.text(".claude/skills"), "adapter".to_owned()),
            (home.text("work/team-skills"), "global".to_owned())
        ]
    );
}

/// SKL-2: Scenario "Defaults can be dropped".
#[test]
fn defaults_can_be_dropped() {
    let home = home(
        "[harness.a]\nagent = \"claude-code\"\nskill_paths = [\"~/team\"]\nuse_default_skill_paths = false\n",
    );
    assert_eq!(roots(&home, "a"), [(home.text("team"), "global".to_owned())]);
}

/// Scenario "Project files may carry skill paths": SKL-2, with all ranks in their order.
#[test]
fn project_files_may_carry_skill_paths() {
    let home = home("[defaults]\nskill_paths = [\"~/everywhere\"]\n");
    home.write("src/app/harness.toml", "[project]\nname = \"app\"\nskills = true\n[harness.a]\nagent = \"claude-code\"\nskill_paths = [\"./skills-of-app\"]\n");
    let output = home.command(&["skills", "a", "--json"]).current_dir(home.path("src/app")).output().unwrap();
    let view: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let found: Vec<_> = view["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| (root["path"].as_str().unwrap().to_owned(), root["rank"].as_str().unwrap().to_owned()))
        .collect();
    let root = |path: &str, rank: &str| (home.text(path), rank.to_owned());
    assert_eq!(
        found,
        [
            root(".claude/skills", "adapter"),
            root("everywhere", "global"),
            root("src/app/skills-of-app", "project"),
            root("src/app/.agents/skills", "project-local"),
            root("src/app/.claude/skills", "project-local"),
            root("src/app/skills", "project-local"),
        ]
    );
}

/// SKL-2, SKL-3, SKL-6: Scenarios "Nearer root wins a name collision" and "Merged set lands before exec":
/// the stand-in sees
/// the winning copy, complete, when it starts.
#[test]
fn nearer_root_wins_a_name_collision() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nworkdir = \"~/app\"\nskill_paths = [\"~/team\"]\n",
    );
    skill(&home, ".claude/skills", "playbook", "home");
    skill(&home, ".claude/skills", "native", "home");
    skill(&home, "team", "playbook", "team");
    skill(&home, "team", "only-team", "team");
    skill(&home, "app/.claude/skills", "only-project", "project");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let seen = skills_seen(&home.log("a"));
    let visible: Vec<&str> =
        seen.iter().filter(|line| line.contains(" visible ")).map(String::as_str).collect();
    // SKL-14: the merged set, all of it from the projection, and nothing else.
    assert_eq!(
        visible,
        [
            "plugin \"native\" visible \"from home\"",
            "plugin \"only-project\" visible \"from project\"",
            "plugin \"only-team\" visible \"from team\"",
            "plugin \"playbook\" visible \"from team\"",
        ],
        "{seen:?}"
    );
    let run = &home.runs("a")[0];
    let names: Vec<_> = run["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| (skill["name"].as_str().unwrap(), skill["source"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(names[3], ("playbook", home.text("team/playbook")));
    assert_eq!(names.len(), 4);
}

/// ADP-3, SKL-14: an agent that is sent elsewhere by the harness's own `env` looks there, so that
/// is where its default root is and what has to be hidden.
#[test]
fn the_agents_places_follow_the_environment_of_the_harness() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nworkdir = \"~/app\"\n\
         skill_paths = [\"~/team\"]\nenv_file = \"~/own.env\"\n\
         [harness.b]\nagent = \"claude-code\"\nenv = { HOME = \"/nowhere\" }\n",
    );
    home.write("own.env", &format!("CLAUDE_CONFIG_DIR={}\n", home.text("own")));
    home.write("app/.git/HEAD", "");
    skill(&home, "own/skills", "playbook", "own");
    skill(&home, "own/skills", "only-own", "own");
    skill(&home, ".claude/skills", "elsewhere", "home");
    skill(&home, "team", "playbook", "team");
    assert_eq!(roots(&home, "a")[0], (home.text("own/skills"), "adapter".to_owned()));
    assert_eq!(roots(&home, "b")[0], ("/nowhere/.claude/skills".to_owned(), "adapter".to_owned()));
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    let command = home.runs("a")[0]["command"].as_array().unwrap().clone();
    let at = command.iter().position(|word| word == "--settings").unwrap();
    let settings: Value = serde_json::from_str(command[at + 1].as_str().unwrap()).unwrap();
    assert_eq!(settings["skillOverrides"], json!({"only-own": "user-invocable-only", "playbook": "off"}));
}

/// SKL-14: outside a repository an agent was seen to look in every parent of its workdir.
#[test]
fn native_copies_are_hidden_in_every_parent_up_to_the_repository() {
    for (repository, hidden) in [
        (None, json!({"far": "off", "here": "user-invocable-only", "near": "off"})),
        (Some("a/b/.git/HEAD"), json!({"here": "user-invocable-only", "near": "off"})),
    ] {
        let home = home(
            "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nworkdir = \"~/a/b/c\"\n",
        );
        repository.into_iter().for_each(|head| home.write(head, ""));
        skill(&home, "a/.claude/skills", "far", "far");
        skill(&home, "a/b/.claude/skills", "near", "near");
        skill(&home, "a/b/c/.claude/skills", "here", "here");
        home.ok(&["once", "a"]);
        let command = home.runs("a")[0]["command"].as_array().unwrap().clone();
        let at = command.iter().position(|word| word == "--settings").unwrap();
        let settings: Value = serde_json::from_str(command[at + 1].as_str().unwrap()).unwrap();
        assert_eq!(settings["skillOverrides"], hidden);
    }
}

/// SKL-6: Scenario "Merged set lands before exec": on every start, the first and a restart alike.
#[test]
fn merged_set_lands_before_exec() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nskill_paths = [\"~/team\"]\n",
    );
    skill(&home, "team", "one", "first");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert!(home.log("a").contains("skill plugin \"one\" visible \"from first\""), "{}", home.log("a"));
    skill(&home, "team", "one", "second");
    skill(&home, "team", "two", "second");
    home.ok(&["start", "a", "--wait"]);
    let seen = skills_seen(&home.log("a"));
    assert_eq!(seen, ["plugin \"one\" visible \"from second\"", "plugin \"two\" visible \"from second\""]);
    fs::remove_dir_all(home.path("team/one")).unwrap();
    home.ok(&["start", "a", "--wait"]);
    assert_eq!(skills_seen(&home.log("a")), ["plugin \"two\" visible \"from second\""]);
}

/// SKL-6: The second half of that scenario: a harness that changes its copy leaves the source as it was.
#[test]
fn a_harness_that_edits_its_copy_leaves_the_source_unchanged() {
    let mut home = home(
        "[harness.a]\noneshot = true\nagent = \"claude-code\"\ncmd = \"~/edit\"\nskill_paths = [\"~/team\"]\n",
    );
    // An agent that writes into the directory that it was handed (its second argument).
    home.write("edit", "#!/bin/sh\necho edited > \"$2/skills/one/SKILL.md\"\n");
    fs::set_permissions(home.path("edit"), fs::Permissions::from_mode(0o755)).unwrap();
    skill(&home, "team", "one", "team");
    let before = home.read("team/one/SKILL.md");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert_eq!(home.read(".local/state/harnessd/skills/a/skills/one/SKILL.md"), "edited\n");
    assert_eq!(home.read("team/one/SKILL.md"), before);
}

/// SKL-3: Scenario "Shadowed copies are attributable".
#[test]
fn shadowed_copies_are_attributable() {
    let home = home(
        "[harness.a]\nagent = \"claude-code\"\nworkdir = \"~/app\"\nskill_paths = [\"~/low\", \"~/high\"]\n",
    );
    for (root, label) in
        [(".claude/skills", "home"), ("low", "low"), ("high", "high"), ("app/.claude/skills", "project")]
    {
        skill(&home, root, "playbook", label);
    }
    let view = home.ok(&["skills", "a", "--json"]).json();
    let one = &view["skills"][0];
    let copy =
        |root: &str, rank: &str| json!({"source": home.text(format!("{root}/playbook")), "rank": rank});
    assert_eq!(
        (&one["source"], &one["rank"]),
        (&json!(home.text("app/.claude/skills/playbook")), &json!("project-local"))
    );
    assert_eq!(
        one["shadowed"],
        json!([copy("high", "global"), copy("low", "global"), copy(".claude/skills", "adapter")])
    );
    let text = home.ok(&["skills", "a"]).out;
    assert!(text.contains(&format!("shadows {}", home.text("low/playbook"))), "{text}");
}

/// Scenario "Generic adapter skips projection": SKL-12.
#[test]
fn generic_adapter_skips_projection() {
    let mut home = home("[harness.a]\noneshot = true\ncmd = \"true\"\nskill_paths = [\"~/team\"]\n");
    skill(&home, "team", "one", "team");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert!(!home.path(".local/state/harnessd/skills").exists());
}

/// SKL-11: Scenario "An unreadable skill root does not block startup": a warning names the path and its
/// cause.
#[test]
fn an_unreadable_skill_root_does_not_block_startup() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nskill_paths = [\"~/file/below\", \"~/loop\", \"~/team\"]\n",
    );
    home.write("file", "not a directory");
    symlink(home.path("loop"), home.path("loop")).unwrap();
    skill(&home, "team", "one", "team");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert_eq!(skills_seen(&home.log("a")), ["plugin \"one\" visible \"from team\""]);
    let log = home.daemon_log();
    assert!(log.contains(&home.text("file/below")) && log.contains("not a directory"), "{log}");
    assert!(log.contains(&home.text("loop")) && log.contains("too many symbolic links encountered"), "{log}");
    let view = home.ok(&["skills", "a", "--json"]).json();
    let states: Vec<_> = view["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["state"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(states, ["missing", "unreadable", "unreadable", "ok"]);
}

/// SKL-11: Scenario "A failed projection is attributable": adapter, target and cause; and the start fails.
#[test]
fn a_failed_projection_is_attributable() {
    let mut home = home(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:say=launched\"\nskill_paths = [\"~/team\"]\n",
    );
    skill(&home, "team", "one", "team");
    home.write(".local/state/harnessd/skills", "a file where the directory should be");
    home.start_daemon();
    let said = home.harnessd(&["start", "a", "--wait", "--json"]);
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["error"]["code"], "target_not_writable");
    let message = error["error"]["message"].as_str().unwrap();
    let target = home.text(".local/state/harnessd/skills/a");
    assert!(
        message.starts_with(&format!(
            "harness `a` could not be started: adapter claude-code: project skills: write {target}"
        )),
        "{message}"
    );
    assert!(message.ends_with(": not a directory"), "{message}");
    assert!(home.runs("a").iter().all(|run| run.get("pid").is_none()));
}

/// SKL-7: two harnesses of one agent never meet; neither the user's home nor the project tree is touched.
#[test]
fn targets_are_private() {
    let config = "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nskill_paths = [\"~/one\"]\nworkdir = \"~/app\"\n\
        [harness.b]\nagent = \"claude-code\"\nprompt = \"stand-in:skills\"\nskill_paths = [\"~/two\"]\nworkdir = \"~/app\"\n";
    let mut home = home(config);
    skill(&home, "one", "one", "one");
    skill(&home, "two", "two", "two");
    skill(&home, "app/.claude/skills", "shared", "project");
    home.start_daemon();
    home.ok(&["start", "a", "b", "--wait"]);
    let seen = |name: &str| {
        skills_seen(&home.log(name)).into_iter().filter(|line| line.contains(" visible ")).count()
    };
    assert_eq!((seen("a"), seen("b")), (2, 2));
    let entries = |path: &str| {
        fs::read_dir(home.path(path))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(entries("app"), [".claude"]);
    assert_eq!(entries("app/.claude/skills"), ["shared"]);
    assert!(!home.path(".claude").exists());
}

/// LIF-6 with an agent: a grandchild in a session of its own that holds stdout ends with the run.
#[test]
fn what_an_agent_forks_away_ends_with_its_run() {
    let mark = crate::support::mark("agent");
    let mut home = home(&format!(
        "[harness.a]\nagent = \"claude-code\"\nprompt = \"stand-in:fork=600 stand-in:say=done stand-in:exit=4\"\nenv = {{ {mark} = \"1\" }}\nstop_timeout = \"1s\"\n"
    ));
    home.start_daemon();
    assert_eq!(home.harnessd(&["start", "a", "--wait"]).code, 1);
    let run = &home.runs("a")[0];
    assert_eq!((&run["outcome"], &run["exit_code"]), (&json!("failed"), &json!(4)));
    assert_eq!(home.processes_with(&mark), Vec::<i32>::new());
    until("the harness is stopped", || (home.harness("a")["state"] == "stopped").then_some(()));
}

/// RUN-1: A harness that hangs is stopped; one that dies by a signal says by which.
#[test]
fn an_agent_that_hangs_is_stopped_and_a_signal_is_named() {
    let mut home = home(
        "[harness.hangs]\nagent = \"claude-code\"\nprompt = \"stand-in:say=up stand-in:hang\"\n\
         [harness.dies]\nagent = \"claude-code\"\nprompt = \"stand-in:die=SEGV\"\n",
    );
    home.start_daemon();
    home.ok(&["start", "hangs"]);
    until("it hangs", || home.log("hangs").contains("up").then_some(()));
    home.ok(&["stop", "hangs", "--wait"]);
    assert_eq!(home.runs("hangs")[0]["outcome"], "stopped");
    assert_eq!(home.harnessd(&["start", "dies", "--wait"]).code, 1);
    assert_eq!(
        (&home.runs("dies")[0]["signal"], &home.runs("dies")[0]["cause"]),
        (&json!("SIGSEGV"), &json!("killed by SIGSEGV"))
    );
}

/// SKL-8, SKL-14: an agent that cannot be told where to look gets its copies into a directory of the
/// project, where a manifest says which are harnessd's; what the user has there is left alone, other
/// copies are hidden, and a removed harness gives its copies up.
#[test]
fn a_shared_target_belongs_to_its_user() {
    let config = "[harness.a]\nagent = \"codex\"\nprompt = \"stand-in:argv\"\nskill_paths = [\"~/team\"]\nworkdir = \"~/app\"\n";
    let mut home = home("");
    fs::create_dir(home.path("bin")).unwrap();
    symlink(stand_in_dir().join("claude"), home.path("bin/codex")).unwrap();
    home.set("PATH", &path_with(&home.path("bin")));
    home.configure(config);
    skill(&home, "team", "ours", "team");
    skill(&home, "team", "taken", "team");
    skill(&home, "app/.codex/skills", "taken", "user");
    skill(&home, ".codex/skills", "native", "home");
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert!(home.read("app/.codex/skills/ours/SKILL.md").contains("from team"));
    assert!(home.read("app/.codex/skills/taken/SKILL.md").contains("from user"));
    assert!(home.read("app/.codex/skills/native/SKILL.md").contains("from home"));
    let argv = argv(&home.log("a"));
    let hidden = argv.iter().find(|word| word.starts_with("skills.config=")).unwrap();
    assert!(
        hidden.contains(&home.text(".codex/skills/native/SKILL.md")),
        "the other copy is hidden: {hidden}"
    );
    assert!(!hidden.contains(&home.text("app/.codex/skills/ours")), "the projection is not: {hidden}");
    assert!(home.daemon_log().contains("taken"), "the occupied name is said: {}", home.daemon_log());
    home.configure("");
    until("the copies are given up", || {
        (!home.path("app/.codex/skills/ours").exists() && !home.path("app/.codex/skills/native").exists())
            .then_some(())
    });
    assert!(home.read("app/.codex/skills/taken/SKILL.md").contains("from user"));
}
