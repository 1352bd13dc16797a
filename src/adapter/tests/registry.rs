//! What must hold of every adapter, built in or a user's.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::{builtin, overlaid, variables};
use crate::adapter::check::check;
use crate::adapter::template::holes;
use crate::adapter::{
    Adapter, Fulfilment, Handover, Invocation, NativeSkill, OptionKey, PromptOptions, Registry, Session,
    Synthesis,
};
use crate::report::Format;

const USERS: &str = "
[mine]
aliases = ['my-agent', 'MINE2']
commands = ['mine', 'mine-nightly']
quieten.args = ['--calm']
oneshot.argument = ['{quieten}', '{options}', '{skills}', '--ask={prompt}']
oneshot.model.args = ['--model={value}']
skills = { target = '{private}/s', args = ['--skills', '{private}/s'], roots = ['~/.mine/skills'] }
trajectory = { format = 'mine', stores = ['${MINE_HOME:-~/.mine}/log'] }
[codex]
commands = ['codex', 'codex-nightly']
oneshot.max_turns.args = ['--turns', '{value}']
";

/// The built-in registry and one with a user's tables over it.
fn registries() -> [Registry; 2] {
    [(*Registry::builtin()).clone(), overlaid(USERS).unwrap()]
}

/// Every command that an adapter can be asked for.
fn everything(adapter: &Adapter) -> Vec<Synthesis> {
    let native = [
        NativeSkill { name: "a".to_owned(), dir: "/h/s/a".into(), shadowed: true, projected: true },
        NativeSkill { name: "b".to_owned(), dir: "/h/s/b".into(), shadowed: false, projected: true },
        NativeSkill { name: "c".to_owned(), dir: "/h/s/c".into(), shadowed: false, projected: false },
    ];
    let args = ["x".to_owned()];
    let long = "y".repeat(200_000);
    let can = |key| adapter.fulfils(key) != Fulfilment::Never;
    let options = PromptOptions {
        model: can(OptionKey::Model).then(|| "m".to_owned()),
        auto_accept: can(OptionKey::AutoAccept),
        max_turns: can(OptionKey::MaxTurns).then_some(7),
        quiet: true,
    };
    let resident_options = PromptOptions { max_turns: None, model: None, auto_accept: false, quiet: true };
    let mut made = Vec::new();
    for skills in [None, Some(Handover { target: Utf8Path::new("/d"), native: &native })] {
        let base = Invocation {
            program: Some("p"),
            args: &[],
            prompt: None,
            resident: false,
            options: &options,
            workdir: None,
            skills,
            session: None,
        };
        made.push(adapter.synthesize(&Invocation { args: &args, ..base }).unwrap());
        if adapter.takes_prompt() {
            made.push(adapter.synthesize(&Invocation { prompt: Some("hi"), ..base }).unwrap());
            if adapter.prompt_bound().is_none() {
                made.push(adapter.synthesize(&Invocation { prompt: Some(&long), ..base }).unwrap());
            }
        }
        if adapter.resident_takes_prompt() {
            let wanted =
                Invocation { prompt: Some("hi"), resident: true, options: &resident_options, ..base };
            made.push(adapter.synthesize(&wanted).unwrap());
        }
        for resident in [false, true] {
            let wanted = Invocation { prompt: Some("hi"), resident, options: &resident_options, ..base };
            let fresh = Session::Fresh("id");
            let resume = adapter.resumes(resident).then_some(Session::Resume("id"));
            let fork = adapter.forks(resident).then_some(Session::Fork { of: "id", fresh: "new" });
            let possible = if resident { adapter.resident_takes_prompt() } else { adapter.takes_prompt() };
            for session in [Some(fresh), resume, fork].into_iter().flatten().filter(|_| possible) {
                made.push(adapter.synthesize(&Invocation { session: Some(session), ..wanted }).unwrap());
            }
        }
    }
    made
}

/// ADP-2: the built-in adapters are documents of a user's form, and read without loss.
#[test]
fn the_built_in_documents_read_and_hold() {
    let registry = Registry::builtin();
    assert_eq!(
        registry.ids(),
        [
            "claude-code",
            "codex",
            "opencode",
            "pi",
            "gemini",
            "qwen",
            "copilot",
            "crush",
            "goose",
            "hermes",
            "kimi",
            "grok",
            "vibe",
            "antigravity",
            "generic"
        ]
    );
    for text in crate::adapter::registry::DOCUMENTS {
        let value = crate::adapter::document::read(text).unwrap();
        let mut problems = Vec::new();
        crate::adapter::shape::ADAPTER.check(&value, &[], &mut problems);
        assert_eq!(problems, []);
        let adapter: Adapter = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(check(&adapter), []);
        let back = serde_json::to_value(&adapter).unwrap();
        assert_eq!(serde_json::from_value::<Adapter>(back).unwrap(), adapter);
        assert_eq!(*registry.find(adapter.id()).unwrap(), adapter);
    }
}

/// ADP-4: ids and aliases are unique, trimmed and found whatever their case; ids are
/// advertised, aliases only accepted; `unknown` is no id.
#[test]
fn every_name_in_the_registry_is_unique_and_found() {
    for registry in registries() {
        let mut seen = BTreeSet::new();
        for adapter in registry.all() {
            for name in adapter.aliases().iter().map(String::as_str).chain([adapter.id()]) {
                assert!(seen.insert(name.to_lowercase()), "{name}");
                assert_ne!(name.to_lowercase(), "unknown");
                assert_eq!(name.trim(), name);
                for spelt in [name.to_owned(), name.to_uppercase(), format!(" {name}\t")] {
                    assert_eq!(registry.find(&spelt).as_ref(), Some(adapter), "{spelt:?}");
                }
            }
            for alias in adapter.aliases() {
                assert!(!registry.ids().contains(&alias.as_str()), "{alias}");
            }
        }
        assert_eq!(registry.find("unknown"), None);
        assert_eq!(registry.find(""), None);
        assert_eq!(registry.ids().last(), Some(&"generic"));
    }
}

/// ADP-4: no command infers two adapters.
#[test]
fn no_command_infers_two_adapters() {
    for registry in registries() {
        let mut seen = BTreeSet::new();
        for adapter in registry.all() {
            for command in adapter.commands() {
                assert!(seen.insert(command.clone()), "{command}");
                assert_eq!(registry.infer(command), *adapter);
            }
        }
    }
}

/// ADP-4: every template expands with no placeholder left.
#[test]
fn every_template_expands_with_no_placeholder_left() {
    for registry in registries() {
        for adapter in registry.all() {
            for made in everything(adapter) {
                let documents = made.documents.iter().flat_map(|(path, text)| [path, text]);
                for text in made.argv.iter().chain(&made.shown).chain(made.env.values()).chain(documents) {
                    assert_eq!(holes(text), [""; 0], "{} {text}", adapter.id());
                }
            }
        }
    }
}

/// ADP-3, ADP-5: where a login or a retention shows resolves to a path, also with no variable set.
#[test]
fn every_probed_file_resolves_to_a_path() {
    let env = variables(&[]);
    for adapter in Registry::builtin().all() {
        let login = adapter.login_files(&env, Utf8Path::new("/h"));
        let settings: Option<Utf8PathBuf> =
            adapter.retention(&env, Utf8Path::new("/h")).map(|said| said.file.into());
        assert_eq!(
            login.len(),
            adapter.probe.as_ref().map_or(0, |probe| probe.login.len()),
            "{}",
            adapter.id()
        );
        assert_eq!(settings.is_some(), adapter.retention.is_some(), "{}", adapter.id());
        assert!(login.into_iter().chain(settings).all(|file| file.is_absolute()), "{}", adapter.id());
    }
}

/// ADP-4: every declared store resolves to a path, an undeclared one to none.
#[test]
fn every_declared_store_resolves_to_a_path() {
    for registry in registries() {
        for adapter in registry.all() {
            let stores = adapter.stores(&variables(&[]), Utf8Path::new("/h"));
            assert_eq!(stores.is_empty(), adapter.trajectory.is_none(), "{}", adapter.id());
            // Crush's lies in the working directory.
            let absolute = stores.iter().all(|store| store.is_absolute());
            assert_eq!(absolute, adapter.id() != "crush", "{}", adapter.id());
        }
    }
    let home = Utf8Path::new("/h");
    for (agent, env, store) in [
        ("claude-code", variables(&[]), "/h/.claude/projects"),
        ("claude-code", variables(&[("CLAUDE_CONFIG_DIR", "/c")]), "/c/projects"),
        ("codex", variables(&[("CODEX_HOME", "")]), "/h/.codex/sessions"),
        ("opencode", variables(&[]), "/h/.local/share/opencode/opencode.db"),
        ("opencode", variables(&[("OPENCODE_DB", "/x.db")]), "/x.db"),
        ("pi", variables(&[("PI_CODING_AGENT_DIR", "/p")]), "/p/sessions"),
        ("gemini", variables(&[]), "/h/.gemini/tmp"),
        ("gemini", variables(&[("GEMINI_CLI_HOME", "/g")]), "/g/.gemini/tmp"),
        ("qwen", variables(&[("QWEN_HOME", "/q")]), "/q/projects"),
        ("qwen", variables(&[("QWEN_HOME", "/q"), ("QWEN_RUNTIME_DIR", "/r")]), "/r/projects"),
        ("copilot", variables(&[("COPILOT_HOME", "/c")]), "/c/session-state"),
        ("crush", variables(&[]), ".crush/crush.db"),
        ("goose", variables(&[]), "/h/.local/share/goose/sessions/sessions.db"),
        ("goose", variables(&[("GOOSE_PATH_ROOT", "/g")]), "/g/data/sessions/sessions.db"),
        ("hermes", variables(&[("HERMES_HOME", "/x")]), "/x/state.db"),
        ("kimi", variables(&[]), "/h/.kimi-code/sessions"),
        ("kimi", variables(&[("KIMI_CODE_HOME", "/k")]), "/k/sessions"),
        ("grok", variables(&[("GROK_HOME", "/g")]), "/g/sessions"),
        ("vibe", variables(&[]), "/h/.vibe/logs/session/unified"),
        ("antigravity", variables(&[]), "/h/.gemini/antigravity-cli"),
    ] {
        assert_eq!(builtin(agent).stores(&env, home)[0], store, "{agent}");
    }
}

/// ADP-4: an adapter without an overlay produces none.
#[test]
fn an_adapter_without_skills_hands_nothing_over() {
    for made in everything(&builtin("generic")) {
        assert_eq!(made.argv, ["p", "x"]);
        assert_eq!((made.env.len(), made.json.len(), made.documents.len()), (0, 0, 0));
    }
}

/// Scenario "Adapter inferred from cmd": by the file name, exactly.
#[test]
fn adapter_inferred_from_cmd() {
    let registry = Registry::builtin();
    for (cmd, id) in [
        ("claude", "claude-code"),
        ("/opt/bin/claude", "claude-code"),
        ("../claude", "claude-code"),
        ("codex", "codex"),
        ("opencode", "opencode"),
        ("pi", "pi"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("copilot", "copilot"),
        ("crush", "crush"),
        ("goose", "goose"),
        ("hermes", "hermes"),
        ("kimi", "kimi"),
        ("grok", "grok"),
        ("vibe", "vibe"),
        ("agy", "antigravity"),
        ("Claude", "generic"),
        ("claude-code", "generic"),
        ("claude/", "generic"),
        ("pip", "generic"),
        ("", "generic"),
    ] {
        assert_eq!(registry.infer(cmd).id(), id, "{cmd}");
    }
}

/// Scenario "Explicit agent overrides inference": the name is looked up by itself.
#[test]
fn explicit_agent_overrides_inference() {
    let registry = Registry::builtin();
    assert_eq!(registry.infer("my-wrapper").id(), "generic");
    assert_eq!(registry.find("claude-code").unwrap().id(), "claude-code");
    assert_eq!(registry.find(" Claude ").unwrap().id(), "claude-code");
}

/// ADP-1: Scenario "Unknown tool degrades to generic": it starts, gets no projection, and has no transcript.
#[test]
fn unknown_tool_degrades_to_generic() {
    let adapter = Registry::builtin().infer("some-tool");
    assert_eq!(adapter, Registry::builtin().generic());
    assert_eq!(adapter.id(), "generic");
    let facts = adapter.skill_facts(&variables(&[]), Utf8Path::new("/h"));
    assert_eq!(facts, crate::adapter::SkillFacts::default());
    assert_eq!(adapter.stores(&variables(&[]), Utf8Path::new("/h")), [""; 0]);
    assert!(!adapter.resident_tty() && !adapter.takes_prompt());
}

/// ADP-4: Scenario "Unknown adapter name is rejected": the registry knows no such name.
#[test]
fn unknown_adapter_name_is_rejected() {
    assert_eq!(Registry::builtin().find("nonexistent"), None);
}

/// ADP-5: what is supported is derived from the data.
#[test]
fn the_table_of_agents_follows_from_the_data() {
    use Fulfilment::{Already, ByFlag, Never};
    for (agent, model, auto_accept, max_turns, quiet, skills) in [
        ("claude-code", ByFlag, ByFlag, ByFlag, Already, "private"),
        ("codex", ByFlag, ByFlag, Never, Already, "shared"),
        ("opencode", ByFlag, ByFlag, Never, Already, "private"),
        ("pi", ByFlag, Already, Never, Already, "private"),
        ("gemini", ByFlag, ByFlag, Never, Already, "shared"),
        ("qwen", ByFlag, ByFlag, ByFlag, Already, "shared"),
        ("copilot", ByFlag, ByFlag, Never, ByFlag, "private"),
        ("crush", ByFlag, Already, Never, Already, "private"),
        ("goose", ByFlag, ByFlag, ByFlag, Already, "shared"),
        ("hermes", ByFlag, ByFlag, ByFlag, Already, "none"),
        ("kimi", ByFlag, Already, ByFlag, Already, "private"),
        ("grok", ByFlag, ByFlag, ByFlag, Already, "shared"),
        ("vibe", ByFlag, ByFlag, ByFlag, Already, "private"),
        ("antigravity", Never, ByFlag, Never, Already, "none"),
        ("generic", Never, Never, Never, Never, "none"),
    ] {
        let adapter = builtin(agent);
        let view = adapter.view();
        let fulfilled: Vec<_> = OptionKey::ALL.iter().map(|key| adapter.fulfils(*key)).collect();
        assert_eq!(fulfilled, [model, auto_accept, max_turns, quiet], "{agent}");
        let words = [&view.supports.model, &view.supports.auto_accept, &view.supports.max_turns];
        assert_eq!(words, [model.as_str(), auto_accept.as_str(), max_turns.as_str()], "{agent}");
        assert_eq!(view.supports.skills, skills, "{agent}");
        assert_eq!(view.supports.prompt, agent != "generic", "{agent}");
        let hides = ["claude-code", "codex", "opencode", "pi", "crush", "kimi"].contains(&agent);
        assert_eq!(view.supports.hides_native_skills, hides, "{agent}");
        assert_eq!(adapter.resident_tty(), agent != "generic", "{agent}");
    }
}

/// CFG-6: `cmd` beats the override variable, which beats PATH, then the installers' places.
#[test]
fn a_program_is_looked_for_in_a_fixed_order() {
    let home = Utf8Path::new("/h");
    let claude = builtin("claude");
    let none = variables(&[]);
    let set = variables(&[("HARNESSD_COMMAND_CLAUDE_CODE", "/opt/c")]);
    let empty = variables(&[("HARNESSD_COMMAND_CLAUDE_CODE", "")]);
    let found = ["claude", "/h/.local/bin/claude", "/h/.claude/local/claude"];
    assert_eq!(claude.command_words(Some("wrap"), &set, home), ["wrap"]);
    assert_eq!(claude.command_words(None, &set, home), ["/opt/c"]);
    assert_eq!(claude.command_words(None, &none, home), found);
    assert_eq!(claude.command_words(None, &empty, home), found);
    assert_eq!(builtin("generic").command_words(None, &none, home), [""; 0]);
}

/// LIF-7: the session variables of every known agent are scrubbed, whichever is started.
#[test]
fn the_variables_of_any_outer_agent_are_known() {
    let registry = Registry::builtin();
    for name in ["CLAUDECODE", "CODEX_THREAD_ID", "OPENCODE_PID", "PI_SESSION_ID"] {
        assert!(registry.scrub().contains(&name), "{name}");
    }
    assert_eq!(builtin("codex").scrub(), ["CODEX_THREAD_ID", "CODEX_SESSION_ID"]);
}

/// RUN-0: what the schema and the reference say of `format` names each format that is read, in their order.
#[test]
fn every_format_is_told() {
    let schema = schemars::schema_for!(crate::adapter::model::Report);
    let said = schema.as_value()["properties"]["format"]["description"].as_str().unwrap();
    let told: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let read: Vec<&str> = Format::ALL.iter().map(|one| one.as_str()).collect();
    assert_eq!(told, read);
}
