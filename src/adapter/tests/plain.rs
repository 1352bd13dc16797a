//! Commands of the user's own words, which are kept as they are.

use super::{builtin, command, strings};
use crate::adapter::Invocation;

/// PRM-5: A plain command is the program and the user's words, in every adapter.
#[test]
fn a_plain_command_keeps_the_users_words() {
    let args = strings(&["--flag", "{prompt}", "{options}", "a b", ""]);
    for adapter in crate::adapter::Registry::builtin().all() {
        let made = adapter.synthesize(&command("prog", &args)).unwrap();
        let words = ["prog", "--flag", "{prompt}", "{options}", "a b", ""];
        assert_eq!(made.argv, words, "{}", adapter.id());
        assert_eq!(made.shown, words, "{}", adapter.id());
        assert_eq!(made.stdin, None, "{}", adapter.id());
        assert_eq!(made.report, None, "{}", adapter.id());
    }
}

/// `{workdir}` in an argument is the resolved workdir, nothing else is expanded.
#[test]
fn workdir_is_the_only_placeholder_of_arguments() {
    let args = strings(&["--cd={workdir}", "{workdir}/{workdir}", "{work}", "$HOME", "~", "{{workdir}}"]);
    let made = builtin("generic").synthesize(&command("p", &args)).unwrap();
    assert_eq!(made.argv, ["p", "--cd=/w", "/w//w", "{work}", "$HOME", "~", "{/w}"]);

    let wanted = Invocation { workdir: None, ..command("p", &args) };
    let error = builtin("generic").synthesize(&wanted).unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `--cd={workdir}` uses `{workdir}`, but the harness has no `workdir`"
    );
}

/// What is no prompt is still bounded: the error says what is too long.
#[test]
fn an_argument_that_linux_would_refuse_is_named() {
    let args = vec!["x".repeat(131_072)];
    let error = builtin("generic").synthesize(&command("p", &args)).unwrap_err();
    assert_eq!(error.to_string(), "argument 1 is 131072 bytes, at most 131071 can be passed on");
}
