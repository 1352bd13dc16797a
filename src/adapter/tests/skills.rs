//! How an agent is told of its skills, and what is hidden from it.

use camino::Utf8Path;
use serde_json::{Value, json};

use super::{PLAIN, builtin, command, one_shot, strings, variables};
use crate::adapter::{
    Handover, Invocation, NativeBase, NativeSkill, PromptOptions, SkillFacts, Synthesis, TargetKind,
};

fn native(name: &str, dir: &str, shadowed: bool, projected: bool) -> NativeSkill {
    NativeSkill { name: name.to_owned(), dir: dir.into(), shadowed, projected }
}

/// A shadowed, a winning and an unmerged copy.
fn copies(root: &str) -> Vec<NativeSkill> {
    vec![
        native("lost", &format!("{root}/lost"), true, true),
        native("won", &format!("{root}/won"), false, true),
        native("left", &format!("{root}/left"), false, false),
    ]
}

fn told(agent: &str, target: &str, native: &[NativeSkill]) -> Synthesis {
    let skills = Some(Handover { target: Utf8Path::new(target), native });
    builtin(agent).synthesize(&Invocation { skills, ..one_shot("P", &PLAIN) }).unwrap()
}

fn facts(agent: &str, env: &[(&str, &str)]) -> SkillFacts {
    builtin(agent).skill_facts(&variables(env), Utf8Path::new("/h"))
}

/// What claude is told where nothing is hidden.
const READABLE: &str = r#"{"permissions":{"additionalDirectories":["/d"]}}"#;

/// A one-shot of claude with its skills in `/d`.
fn claude_handed(settings: &str) -> [&str; 11] {
    [
        "claude",
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--plugin-dir",
        "/d",
        "--settings",
        settings,
        "--",
        "P",
    ]
}

/// SKL-7: the private directory is handed over by the agent's own means. No `--add-dir`: in the
/// terminal mode it stops at a question of trust at each start.
#[test]
fn claude_is_handed_a_plugin_directory() {
    let made = told("claude-code", "/d", &[]);
    assert_eq!(made.argv, claude_handed(READABLE));
    let manifest = (".claude-plugin/plugin.json".to_owned(), "{\"name\":\"harnessd\"}\n".to_owned());
    assert_eq!(made.documents, [manifest]);
    let private = TargetKind::Private { subdir: Some("skills".to_owned()) };
    assert_eq!(facts("claude-code", &[]).target, Some(private));
}

/// The document of claude's `--settings`.
fn settings(made: &Synthesis) -> Value {
    let at = made.argv.iter().position(|word| word == "--settings").unwrap();
    serde_json::from_str(&made.argv[at + 1]).unwrap()
}

/// SKL-14: claude's native copies are switched off, but one that won keeps its `/NAME`.
#[test]
fn claude_hides_native_copies_by_name() {
    let made = told("claude-code", "/d", &copies("/h/.claude/skills"));
    let overlay = concat!(
        r#"{"permissions":{"additionalDirectories":["/d"]},"#,
        r#""skillOverrides":{"left":"off","lost":"off","won":"user-invocable-only"}}"#
    );
    assert_eq!(made.argv, claude_handed(overlay));
    assert_eq!(made.shown.last().unwrap(), "<prompt>");
}

/// Of two `--settings` claude heeds the last alone: what an option needs and what the projection
/// needs is one document.
#[test]
fn claude_gets_one_settings_document() {
    let skills = Some(Handover { target: Utf8Path::new("/d"), native: &[native("x", "/h/x", true, true)] });
    let options = PromptOptions { auto_accept: true, ..PLAIN };
    let wanted = Invocation { resident: true, skills, ..one_shot("P", &options) };
    let made = builtin("claude-code").synthesize(&wanted).unwrap();
    assert_eq!(made.argv[1..5], ["--dangerously-skip-permissions", "--plugin-dir", "/d", "--settings"]);
    assert_eq!(made.argv[6..], ["--", "P"]);
    let expected = json!({
        "permissions": {"additionalDirectories": ["/d"]},
        "skillOverrides": {"x": "off"},
        "skipDangerousModePermissionPrompt": true,
    });
    assert_eq!(settings(&made), expected);
}

/// The same with settings among the user's own arguments, which win. A file's name and what
/// follows `--` stay as they are.
#[test]
fn claude_gets_the_users_settings_in_the_same_document() {
    let theirs = r#"{"model":"m","permissions":{"additionalDirectories":["/e"]}}"#;
    let attached = r#"--settings={"skillOverrides":{"x":"on"}}"#;
    let last = ["--", "--settings", "{}"];
    let args =
        strings(&["-d", "--settings", theirs, attached, "--settings", "f.json", last[0], last[1], last[2]]);
    let skills = Some(Handover { target: Utf8Path::new("/d"), native: &[native("x", "/h/x", true, true)] });
    let made = builtin("claude-code").synthesize(&Invocation { skills, ..command("claude", &args) }).unwrap();
    let expected = json!({
        "model": "m",
        "permissions": {"additionalDirectories": ["/d", "/e"]},
        "skillOverrides": {"x": "on"},
    });
    assert_eq!(settings(&made), expected);
    assert_eq!(made.argv[..3], ["claude", "--plugin-dir", "/d"]);
    assert_eq!(made.argv[5..], ["-d", "--settings", "f.json", last[0], last[1], last[2]]);
}

/// SKL-14: of two native copies of a name the shadowed one decides, in any order.
#[test]
fn a_shadowed_copy_switches_the_name_off() {
    let mut both = vec![native("x", "/w/.claude/skills/x", false, true), native("x", "/h/x", true, true)];
    for _ in 0..2 {
        let made = told("claude-code", "/d", &both);
        assert_eq!(settings(&made)["skillOverrides"], json!({"x": "off"}));
        both.reverse();
    }
}

/// SKL-14: a name cannot break out of the settings document.
#[test]
fn a_hidden_name_is_quoted() {
    let odd = [native("a\"},\"x\":{\"{private}", "/h/a", true, true)];
    let made = told("claude-code", "/d", &odd);
    let overrides = json!({"a\"},\"x\":{\"{private}": "off"});
    assert_eq!(settings(&made)["skillOverrides"], overrides);
}

/// SKL-7, SKL-14: codex has a shared target; every copy but the projected one is hidden by its file.
#[test]
fn codex_hides_native_copies_by_path() {
    let mut found = copies("/h/.agents/skills");
    found.push(native("won", "/w/.codex/skills/won", true, true));
    found.push(native("own", "/w/.codex/skills/own", false, false));
    let made = told("codex", "/w/.codex/skills", &found);
    let list = "skills.config=[{path=\"/h/.agents/skills/left/SKILL.md\",enabled=false},\
                {path=\"/h/.agents/skills/lost/SKILL.md\",enabled=false},\
                {path=\"/h/.agents/skills/won/SKILL.md\",enabled=false},\
                {path=\"/w/.codex/skills/own/SKILL.md\",enabled=false}]";
    let argv = [
        "codex",
        "exec",
        "--skip-git-repo-check",
        "-c",
        "analytics.enabled=false",
        "--json",
        "-c",
        list,
        "--",
        "P",
    ];
    assert_eq!(made.argv, argv);
    assert_eq!((made.documents, made.env.len()), (vec![], 0));
    assert_eq!(facts("codex", &[]).target, Some(TargetKind::Shared { dir: ".codex/skills".to_owned() }));
    assert_eq!(
        told("codex", "/w/.codex/skills", &[]).argv[3..],
        ["-c", "analytics.enabled=false", "--json", "--", "P"]
    );
}

/// SKL-14: whatever a directory is called, codex is given one TOML string.
#[test]
fn a_hidden_path_is_quoted() {
    for dir in ["/h/a\"b", "/h/a'b\"", "/h/new\nline", "/h/back\\slash", "/h/{path}{hidden}", "/h/\u{7f}é"] {
        let made = told("codex", "/w/.codex/skills", &[native("x", dir, true, true)]);
        let config = made.argv.iter().find(|word| word.starts_with("skills.config=")).unwrap();
        let document = crate::adapter::document::read(config).unwrap();
        let expected = json!({"skills": {"config": [{"path": format!("{dir}/SKILL.md"), "enabled": false}]}});
        assert_eq!(document, expected, "{dir}");
    }
}

/// SKL-7, SKL-14: opencode is told by one JSON variable, and by another to overlook foreign places.
#[test]
fn opencode_is_told_by_its_configuration_variable() {
    let made = told("opencode", "/d", &copies("/h/.config/opencode/skills"));
    assert_eq!(made.argv, ["opencode", "run", "--format", "json"]);
    assert_eq!(made.env["OPENCODE_DISABLE_EXTERNAL_SKILLS"], "1");
    let content: Value = serde_json::from_str(&made.env["OPENCODE_CONFIG_CONTENT"]).unwrap();
    let expected = json!({"skills": {"paths": ["/d"]}, "permission": {"skill": {"left": "deny"}}});
    assert_eq!(content, expected);
    assert_eq!(made.json, ["OPENCODE_CONFIG_CONTENT"]);
    let bare = told("opencode", "/d", &[]);
    assert_eq!(bare.env["OPENCODE_CONFIG_CONTENT"], r#"{"skills":{"paths":["/d"]}}"#);
}

/// SKL-7, SKL-14: pi is told to look nowhere else.
#[test]
fn pi_sees_the_private_directory_only() {
    let made = told("pi", "/d", &copies("/h/.agents/skills"));
    assert_eq!(made.argv, ["pi", "-p", "--mode", "json", "--no-skills", "--skill", "/d", "--", "P"]);
    assert!(facts("pi", &[]).native.iter().all(|place| place.hides(true) && place.hides(false)));
}

/// SKL-7: a plain command sees the projection too, its flags before the user's words.
#[test]
fn a_plain_command_is_handed_its_skills_first() {
    let args = strings(&["exec", "hello {workdir}"]);
    let found = copies("/h/s");
    let skills = Some(Handover { target: Utf8Path::new("/d"), native: &found[..1] });
    for (agent, argv) in [
        (
            "claude-code",
            &[
                "p",
                "--plugin-dir",
                "/d",
                "--settings",
                r#"{"permissions":{"additionalDirectories":["/d"]},"skillOverrides":{"lost":"off"}}"#,
                "exec",
                "hello /w",
            ] as &[&str],
        ),
        (
            "codex",
            &["p", "-c", "skills.config=[{path=\"/h/s/lost/SKILL.md\",enabled=false}]", "exec", "hello /w"],
        ),
        ("opencode", &["p", "exec", "hello /w"]),
        ("pi", &["p", "--no-skills", "--skill", "/d", "exec", "hello /w"]),
        ("gemini", &["p", "exec", "hello /w"]),
        ("qwen", &["p", "exec", "hello /w"]),
        ("copilot", &["p", "--add-dir", "/d", "exec", "hello /w"]),
        ("generic", &["p", "exec", "hello /w"]),
    ] {
        let made = builtin(agent).synthesize(&Invocation { skills, ..command("p", &args) }).unwrap();
        assert_eq!(made.argv, argv, "{agent}");
        assert_eq!(made.shown, argv, "{agent}");
    }
}

/// A resident agent with a prompt is handed its skills before the prompt.
#[test]
fn a_resident_prompt_comes_after_the_skills() {
    let skills = Some(Handover { target: Utf8Path::new("/d"), native: &[] });
    let wanted = Invocation { resident: true, skills, ..one_shot("P", &PLAIN) };
    let made = builtin("claude-code").synthesize(&wanted).unwrap();
    assert_eq!(made.argv, ["claude", "--plugin-dir", "/d", "--settings", READABLE, "--", "P"]);
}

/// ADP-3: default roots follow the agent's own variables.
#[test]
fn default_roots_are_the_agents_own_lowest_first() {
    for (agent, env, roots, project) in [
        (
            "claude-code",
            &[] as &[_],
            &["/h/.claude/skills"] as &[&str],
            &[".agents/skills", ".claude/skills"] as &[&str],
        ),
        (
            "claude-code",
            &[("CLAUDE_CONFIG_DIR", "/c")],
            &["/c/skills"],
            &[".agents/skills", ".claude/skills"],
        ),
        ("codex", &[], &["/h/.agents/skills", "/h/.codex/skills"], &[".agents/skills", ".codex/skills"]),
        (
            "codex",
            &[("CODEX_HOME", "/c")],
            &["/h/.agents/skills", "/c/skills"],
            &[".agents/skills", ".codex/skills"],
        ),
        (
            "opencode",
            &[],
            &["/h/.config/opencode/skills", "/h/.agents/skills", "/h/.claude/skills"],
            &[".claude/skills", ".agents/skills", ".opencode/skills"],
        ),
        ("pi", &[], &["/h/.pi/agent/skills", "/h/.agents/skills"], &[".agents/skills", ".pi/skills"]),
        (
            "gemini",
            &[("GEMINI_CLI_HOME", "/g")],
            &["/g/.gemini/skills", "/g/.agents/skills"],
            &[".gemini/skills", ".agents/skills"],
        ),
        (
            "qwen",
            &[("QWEN_HOME", "/q")],
            &["/h/.agents/skills", "/q/skills"],
            &[".agents/skills", ".qwen/skills"],
        ),
        (
            "copilot",
            &[("COPILOT_HOME", "/c")],
            &["/h/.agents/skills", "/c/skills"],
            &[".claude/skills", ".agents/skills", ".github/skills"],
        ),
        (
            "crush",
            &[],
            &[
                "/h/.config/crush/skills",
                "/h/.config/agents/skills",
                "/h/.agents/skills",
                "/h/.claude/skills",
            ],
            &[".agents/skills", ".claude/skills", ".cursor/skills", ".crush/skills"],
        ),
        (
            "goose",
            &[],
            &[
                "/h/.claude/skills",
                "/h/.agents/skills",
                "/h/.config/agents/skills",
                "/h/.config/goose/skills",
            ],
            &[".claude/skills", ".agents/skills", ".goose/skills"],
        ),
        ("hermes", &[], &[], &[]),
        (
            "kimi",
            &[("KIMI_CODE_HOME", "/k")],
            &["/k/skills", "/h/.agents/skills"],
            &[".agents/skills", ".kimi-code/skills"],
        ),
        (
            "grok",
            &[],
            &["/h/.cursor/skills", "/h/.claude/skills", "/h/.agents/skills", "/h/.grok/skills"],
            &[".claude/skills", ".agents/skills", ".grok/skills"],
        ),
        ("vibe", &[], &["/h/.agents/skills", "/h/.vibe/skills"], &[".agents/skills", ".vibe/skills"]),
        ("antigravity", &[], &[], &[]),
        ("generic", &[], &[], &[]),
    ] {
        let facts = facts(agent, env);
        assert_eq!(facts.default_roots, roots, "{agent}");
        assert_eq!(facts.project_dirs, project, "{agent}");
    }
}

/// SKL-14: every place that is a root by default or in a project is known as a native one, or unread.
#[test]
fn native_places_say_by_what_they_are_hidden() {
    let claude = facts("claude-code", &[("CLAUDE_CONFIG_DIR", "/c")]).native;
    assert_eq!(claude[0].base, NativeBase::Home("/c/skills".into()));
    assert_eq!((&claude[1].base, claude[1].upward), (&NativeBase::Workdir(".claude/skills".into()), true));

    let codex = facts("codex", &[]).native;
    let upward: Vec<_> = codex.iter().map(|place| (&place.base, place.upward)).collect();
    assert_eq!(
        upward[2..],
        [
            (&NativeBase::Workdir(".codex/skills".into()), true),
            (&NativeBase::Workdir(".agents/skills".into()), true),
        ]
    );

    let visible: Vec<String> = facts("opencode", &[("OPENCODE_CONFIG_DIR", "/o")])
        .native
        .iter()
        .filter(|place| !place.hides(true))
        .map(|place| match &place.base {
            NativeBase::Home(path) | NativeBase::Workdir(path) => path.to_string(),
        })
        .collect();
    let left = [
        "/h/.config/opencode/skills",
        "/h/.config/opencode/skill",
        "/h/.opencode/skills",
        "/o/skills",
        "/o/skill",
        ".opencode/skills",
        ".opencode/skill",
    ];
    assert_eq!(visible, left);
    assert_eq!(facts("opencode", &[]).native.len(), 9);
    assert!(facts("opencode", &[]).native.iter().all(|place| place.hides(false)));
    for agent in ["claude-code", "codex", "pi"] {
        assert!(facts(agent, &[]).native.iter().all(|place| place.hides(true)), "{agent}");
    }
}

/// The harness's own variables win; of a JSON document both halves count.
#[test]
fn own_variables_win_and_json_documents_are_joined() {
    let made = told("opencode", "/d", &[]);
    let inherited = variables(&[("HOME", "/h"), ("OPENCODE_DISABLE_AUTOUPDATE", "0"), ("A", "inherited")]);
    let own = variables(&[
        ("A", "own"),
        ("OPENCODE_DISABLE_EXTERNAL_SKILLS", "0"),
        ("OPENCODE_CONFIG_CONTENT", r#"{"model":"m","skills":{"paths":["/mine"]}}"#),
    ]);
    let all = made.environment(&inherited, &own);
    assert_eq!(all["HOME"], "/h");
    assert_eq!(all["A"], "own");
    assert_eq!(all["OPENCODE_DISABLE_AUTOUPDATE"], "1");
    assert_eq!(all["OPENCODE_DISABLE_EXTERNAL_SKILLS"], "0");
    let content: Value = serde_json::from_str(&all["OPENCODE_CONFIG_CONTENT"]).unwrap();
    assert_eq!(content, json!({"skills": {"paths": ["/d", "/mine"]}, "model": "m"}));

    let theirs = variables(&[("OPENCODE_CONFIG_CONTENT", "// comment\n{}")]);
    assert_eq!(made.environment(&inherited, &theirs)["OPENCODE_CONFIG_CONTENT"], "// comment\n{}");
    let inherited = variables(&[("OPENCODE_CONFIG_CONTENT", r#"{"model":"m"}"#)]);
    let content = &made.environment(&inherited, &variables(&[]))["OPENCODE_CONFIG_CONTENT"];
    assert_eq!(content, r#"{"skills":{"paths":["/d"]},"model":"m"}"#);
}
