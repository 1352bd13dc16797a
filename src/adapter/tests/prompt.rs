//! How a prompt reaches an agent, whatever it looks like.

use super::{PLAIN, builtin, one_shot, overlaid};
use crate::adapter::{Invocation, Registry, SynthesisError};

/// Prompts that something on the way could bend.
const ODD: [&str; 14] = [
    "-x",
    "--",
    "--help",
    "- a list\n- of things",
    "  blanks around \n\n",
    "{prompt} {workdir} {options}",
    "$HOME ${HOME} `id` $(id)",
    "\"quoted\" 'quoted' \\",
    "tab\there",
    "CR\r\nLF",
    "/slash",
    "resume",
    "日本語 🙂",
    "@file",
];

/// Flags to which some agents take the prompt attached.
const FLAGS: [&str; 6] =
    ["--prompt=", "--prompt-interactive=", "--interactive=", "--text=", "--query=", "--single="];

/// The prompt in an argument, which some agents take attached to a flag.
fn without_flag(last: &str) -> &str {
    FLAGS.iter().find_map(|flag| last.strip_prefix(flag)).unwrap_or(last)
}

/// PRM-1: a prompt is passed on byte for byte, by argument after `--`, attached, or by stdin.
#[test]
fn an_odd_prompt_arrives_byte_for_byte() {
    let mut refused = Vec::new();
    for adapter in Registry::builtin().all().iter().filter(|adapter| adapter.takes_prompt()) {
        for prompt in ODD {
            let made = match adapter.synthesize(&one_shot(prompt, &PLAIN)) {
                Ok(made) => made,
                Err(error) => {
                    refused.push(error.to_string());
                    continue;
                }
            };
            let carried = match made.stdin {
                Some(bytes) => String::from_utf8(bytes).unwrap(),
                None => {
                    let [.., before, last] = made.argv.as_slice() else { panic!("{:?}", made.argv) };
                    let alone = without_flag(last);
                    // Of antigravity it is not known whether `--` ends its options.
                    let apart = before == "--" || alone != last || adapter.id() == "antigravity";
                    assert!(apart, "{} {prompt:?}", adapter.id());
                    alone.to_owned()
                }
            };
            assert_eq!(carried, prompt, "{}", adapter.id());
        }
    }
    let odd = ODD.iter().filter(|prompt| prompt.starts_with('-')).count();
    let expected = std::iter::once("adapter `hermes` takes a prompt like `--` for something else")
        .chain(std::iter::repeat_n("adapter `antigravity` takes a prompt like `-*` for something else", odd));
    assert_eq!(refused, expected.collect::<Vec<_>>());
}

/// PRM-1: the same in the terminal mode, where some take it attached.
#[test]
fn an_odd_prompt_arrives_in_the_terminal_mode_too() {
    let mut refused = Vec::new();
    for adapter in Registry::builtin().all().iter().filter(|adapter| adapter.resident_takes_prompt()) {
        for prompt in ODD {
            match adapter.synthesize(&Invocation { resident: true, ..one_shot(prompt, &PLAIN) }) {
                Ok(made) => {
                    let last = made.argv.last().unwrap();
                    assert_eq!(without_flag(last), prompt, "{}", adapter.id());
                }
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    let misread =
        |agent: &str, like| format!("adapter `{agent}` takes a prompt like `{like}` for something else");
    let dashes = ODD.iter().filter(|prompt| prompt.starts_with('-')).map(|_| misread("antigravity", "-*"));
    let expected = [misread("pi", "@*"), misread("qwen", "\"*")].into_iter().chain(dashes);
    assert_eq!(refused, expected.collect::<Vec<_>>());
}

/// PRM-1: what the argument form would take for something else goes by stdin.
#[test]
fn a_prompt_that_would_be_misread_goes_by_stdin() {
    for (agent, prompt, by_stdin) in [
        ("codex", "-", true),
        ("codex", "-x", false),
        ("codex", "@x", false),
        ("pi", "@x", true),
        ("pi", "-", false),
        ("pi", "a @x", false),
        ("qwen", "\"x\"", true),
        ("qwen", "'x' y", true),
        ("qwen", "-x", false),
        ("gemini", "-x", false),
        ("copilot", "-x", false),
        ("claude-code", "-", false),
        ("claude-code", "@x", false),
    ] {
        let made = builtin(agent).synthesize(&one_shot(prompt, &PLAIN)).unwrap();
        assert_eq!(made.stdin.is_some(), by_stdin, "{agent} {prompt}");
    }
}

/// PRM-4: a prompt over the limit of one argument goes by stdin.
#[test]
fn a_long_prompt_goes_by_stdin() {
    let longest = "x".repeat(131_071);
    let longer = "x".repeat(131_072);
    for (agent, argv) in [
        ("claude-code", &["claude", "-p", "--output-format", "stream-json", "--verbose"] as &[&str]),
        (
            "codex",
            &["codex", "exec", "--skip-git-repo-check", "-c", "analytics.enabled=false", "--json", "-"],
        ),
        ("pi", &["pi", "-p", "--mode", "json"]),
    ] {
        let made = builtin(agent).synthesize(&one_shot(&longest, &PLAIN)).unwrap();
        assert_eq!((made.argv.last(), made.stdin), (Some(&longest), None), "{agent}");

        let made = builtin(agent).synthesize(&one_shot(&longer, &PLAIN)).unwrap();
        assert_eq!(made.argv, argv, "{agent}");
        assert_eq!(made.shown, argv, "{agent}");
        assert_eq!(made.stdin.as_deref(), Some(longer.as_bytes()), "{agent}");
        assert_eq!(builtin(agent).prompt_bound(), None, "{agent}");
    }
    for agent in ["opencode", "gemini", "qwen", "copilot", "grok"] {
        assert_eq!(builtin(agent).prompt_bound(), None, "{agent}");
        assert_eq!(
            builtin(agent).synthesize(&one_shot(&longer, &PLAIN)).unwrap().stdin.unwrap().len(),
            131_072
        );
    }
}

/// PRM-4: where there is no other way it is an error that states both sizes.
#[test]
fn a_long_prompt_without_another_way_states_both_sizes() {
    let registry = overlaid(
        "[mine]\ncommands = ['mine']\noneshot.argument = ['--ask={prompt}']\n\
         resident.argument = ['{prompt}']\n",
    )
    .unwrap();
    let mine = registry.find("mine").unwrap();
    let longer = "x".repeat(131_066);
    assert_eq!(mine.prompt_bound(), Some(131_065));
    assert_eq!(mine.resident_prompt_bound(), Some(131_071));
    assert!(mine.synthesize(&one_shot(&longer[1..], &PLAIN)).is_ok());
    let error = mine.synthesize(&one_shot(&longer, &PLAIN)).unwrap_err();
    assert_eq!(error.to_string(), "the prompt is 131066 bytes, adapter `mine` can be handed at most 131065");
}

/// An argument cannot hold a NUL: stdin can, else it is an error.
#[test]
fn a_prompt_with_a_nul_goes_by_stdin_or_not_at_all() {
    let made = builtin("claude-code").synthesize(&one_shot("a\0b", &PLAIN)).unwrap();
    assert_eq!(made.stdin.as_deref(), Some(b"a\0b".as_slice()));
    let wanted = Invocation { resident: true, ..one_shot("a\0b", &PLAIN) };
    let error = builtin("claude-code").synthesize(&wanted).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the prompt holds a NUL byte, which adapter `claude-code` cannot be handed"
    );
}

/// PRM-3: an agent is never launched with an empty prompt.
#[test]
fn a_blank_prompt_is_refused() {
    for adapter in Registry::builtin().all().iter().filter(|adapter| adapter.takes_prompt()) {
        for prompt in ["", " ", "\n\t \r\n"] {
            let error = adapter.synthesize(&one_shot(prompt, &PLAIN)).unwrap_err();
            assert_eq!(error, SynthesisError::EmptyPrompt, "{}", adapter.id());
            assert_eq!(error.to_string(), "the prompt is empty");
        }
    }
}

/// ADP-1: `generic` takes no prompt and has no command of its own.
#[test]
fn generic_takes_no_prompt() {
    let generic = builtin("generic");
    assert!(!generic.takes_prompt());
    let wanted = Invocation { program: Some("x"), ..one_shot("P", &PLAIN) };
    let error = generic.synthesize(&wanted).unwrap_err();
    assert_eq!(error.to_string(), "adapter `generic` takes no prompt");
    let error = generic.synthesize(&one_shot("P", &PLAIN)).unwrap_err();
    assert_eq!(error.to_string(), "adapter `generic` has no command of its own: `cmd` is required");
}

/// An agent whose terminal mode takes no prompt says so.
#[test]
fn a_terminal_mode_without_a_prompt_says_so() {
    let registry = overlaid("[mine]\ncommands = ['mine']\noneshot.argument = ['{prompt}']\n").unwrap();
    let wanted = Invocation { resident: true, ..one_shot("P", &PLAIN) };
    let error = registry.find("mine").unwrap().synthesize(&wanted).unwrap_err();
    assert_eq!(error.to_string(), "adapter `mine` takes no prompt in its terminal mode (`oneshot = false`)");
}
