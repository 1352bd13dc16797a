//! What a shell command does, judged by the programs that it would execute.

use serde_json::Value;

use super::shell::{Segment, segments};
use super::{files_of_patch, named};
use crate::trajectory::model::Action;

/// A longer command is executed, and not looked into.
const LONGEST: usize = 256 * 1024;

/// What a segment does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    Verify,
    Search(Vec<String>),
    Read(Vec<String>),
    Patch,
    /// It changes nothing and tells nothing of what the whole is for.
    Nothing,
    Exec,
}

/// The class of a call of a shell, and what it is about.
pub(super) fn classify(input: &Value) -> (Action, Vec<String>) {
    const NAMES: [&str; 6] = ["command", "cmd", "CommandLine", "command_line", "script", "action"];
    let value = if input.is_object() { NAMES.iter().find_map(|name| input.get(*name)) } else { Some(input) };
    // Codex' older shell keeps the list of words inside an `action`.
    let value = value.map(|value| value.get("command").unwrap_or(value));
    match value {
        Some(Value::String(text)) => of_text(text, 0),
        Some(Value::Array(words)) => {
            let words = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let segment = Segment { words, ..Segment::default() };
            let text = segment.words.join("\n");
            combined(&[does(&segment, 0)], &text)
        }
        _ => (Action::Exec, named(input)),
    }
}

fn of_text(text: &str, depth: u32) -> (Action, Vec<String>) {
    if text.len() > LONGEST || depth > 4 {
        return (Action::Exec, Vec::new());
    }
    let does: Vec<Does> = segments(text).iter().map(|segment| does(segment, depth)).collect();
    combined(&does, text)
}

/// The class of the whole: it verifies if any part does; it searches or reads only if no part does more.
fn combined(parts: &[Does], text: &str) -> (Action, Vec<String>) {
    if parts.contains(&Does::Verify) {
        return (Action::Verify, Vec::new());
    }
    if parts.contains(&Does::Patch) {
        return (Action::Edit, files_of_patch(text).collect());
    }
    let (mut action, mut targets) = (Action::Exec, Vec::new());
    for part in parts {
        match part {
            Does::Search(paths) => {
                action = Action::Search;
                targets.extend_from_slice(paths);
            }
            Does::Read(paths) => {
                if action == Action::Exec {
                    action = Action::Read;
                }
                targets.extend_from_slice(paths);
            }
            Does::Nothing => {}
            Does::Verify | Does::Patch | Does::Exec => return (Action::Exec, Vec::new()),
        }
    }
    (action, targets)
}

fn does(segment: &Segment, depth: u32) -> Does {
    let words: Vec<&str> = segment.words.iter().map(String::as_str).collect();
    let words = unwrapped(&words);
    let Some((first, arguments)) = words.split_first() else {
        return if segment.writes || segment.opaque { Does::Exec } else { Does::Nothing };
    };
    let program = first.rsplit('/').next().unwrap_or(first);
    if matches!(program, "bash" | "sh" | "zsh" | "dash") {
        return match script(arguments) {
            Some(script) if depth < 4 => match of_text(script, depth + 1) {
                (Action::Verify, _) => Does::Verify,
                (Action::Edit, _) => Does::Patch,
                (Action::Search, paths) if !segment.writes => Does::Search(paths),
                (Action::Read, paths) if !segment.writes => Does::Read(paths),
                _ => Does::Exec,
            },
            _ => Does::Exec,
        };
    }
    if program == "apply_patch" || program == "applypatch" {
        return Does::Patch;
    }
    if verifies(program, arguments) {
        return Does::Verify;
    }
    if segment.writes || segment.opaque { Does::Exec } else { looks(program, arguments) }
}

/// The script of `sh -c SCRIPT`.
fn script<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    let at = arguments
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    arguments[..at].iter().all(|word| word.starts_with('-')).then(|| arguments.get(at + 1).copied())?
}

/// The words without what only wraps the program: assignments, `sudo`, `timeout 5`, `npx`, `uv run` and so on.
fn unwrapped<'a, 'b>(mut words: &'a [&'b str]) -> &'a [&'b str] {
    while let Some((first, rest)) = words.split_first() {
        let second = rest.first().copied().unwrap_or_default();
        words = match first.rsplit('/').next().unwrap_or(first) {
            "if" | "then" | "elif" | "else" | "do" | "while" | "until" | "!" | "{" | "time" | "command"
            | "nohup" | "exec" | "setsid" | "builtin" => after_options(rest, &[]),
            "sudo" | "doas" => after_options(rest, &["-u", "-g", "-C", "-h", "-p", "-D"]),
            "env" => after_options(rest, &["-u", "-C", "-S"]),
            "nice" => after_options(rest, &["-n"]),
            "ionice" => after_options(rest, &["-c", "-n"]),
            "stdbuf" => after_options(rest, &["-i", "-o", "-e"]),
            "xvfb-run" => after_options(rest, &["-n", "-s"]),
            "timeout" | "gtimeout" => after_options(rest, &["-k", "-s"]).get(1..).unwrap_or_default(),
            "xargs" => after_options(rest, &["-I", "-n", "-P", "-L", "-d", "-a", "-s"]),
            "npx" | "bunx" => after_options(rest, &["-p", "--package"]),
            "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" if second == "run" => {
                after_options(&rest[1..], &["--with", "--python", "-p", "--group", "--extra"])
            }
            "pnpm" if matches!(second, "exec" | "dlx") => after_options(&rest[1..], &[]),
            "bundle" | "npm" | "yarn" if second == "exec" => after_options(&rest[1..], &[]),
            "python" | "python3" if second == "-m" => &rest[1..],
            word if assigns(word) && words.len() > 1 => rest,
            _ => return words,
        };
    }
    words
}

fn assigns(word: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(plain) && !name.as_bytes()[0].is_ascii_digit()
    })
}

/// The words after leading options; `valued` are those that take the next word.
fn after_options<'a, 'b>(mut words: &'a [&'b str], valued: &[&str]) -> &'a [&'b str] {
    while let Some((first, rest)) = words.split_first() {
        if *first == "--" {
            return rest;
        }
        if !first.starts_with('-') || *first == "-" {
            break;
        }
        words = if valued.contains(first) { rest.get(1..).unwrap_or_default() } else { rest };
    }
    words
}

/// Whether a program tests, builds or lints.
fn verifies(program: &str, arguments: &[&str]) -> bool {
    let has = |word: &str| arguments.contains(&word);
    let plain = after_options(
        arguments,
        &["-C", "--prefix", "--filter", "-F", "-w", "--cwd", "-f", "--manifest-path"],
    );
    let first = plain.first().copied().unwrap_or_default();
    match program {
        "cargo" => {
            let plain =
                if first.starts_with('+') { after_options(&plain[1..], &["-C", "--config"]) } else { plain };
            match plain.first().copied().unwrap_or_default() {
                "fmt" => has("--check"),
                "test" | "t" | "nextest" | "clippy" | "check" | "c" | "build" | "b" | "llvm-cov" | "miri"
                | "tarpaulin" | "deny" | "audit" | "doc" => true,
                _ => false,
            }
        }
        "go" | "swift" => matches!(first, "test" | "vet" | "build"),
        "npm" | "pnpm" | "yarn" | "bun" => match first {
            "test" | "t" | "tst" => true,
            "run" | "run-script" => {
                after_options(&plain[1..], &[]).first().is_some_and(|script| task(script))
            }
            // Only these take a script, or a program of the project, without `run`.
            "build" if program == "npm" => false,
            script if program != "npm" => {
                task(script) || (matches!(script, "eslint" | "tsc" | "jest" | "vitest" | "mocha"))
            }
            _ => false,
        },
        "make" | "gmake" => {
            let mut goals = arguments.iter().filter(|word| !word.starts_with('-') && !word.contains('='));
            goals.clone().next().is_none() && !has("-n") || goals.any(|goal| task(goal))
        }
        "just" | "task" | "rake" | "composer" | "turbo" | "nx" | "mage" | "invoke" => {
            let mut tasks = plain.iter().filter(|word| !word.starts_with('-'));
            tasks.any(|name| task(name) || *name == "spec")
        }
        "gradle" | "gradlew" => arguments.iter().any(|word| {
            let name = word.rsplit(':').next().unwrap_or(word);
            !word.starts_with('-')
                && ["test", "check", "build", "assemble", "lint", "compile", "connectedCheck"]
                    .iter()
                    .any(|start| name.starts_with(start))
        }),
        "mvn" | "mvnw" => arguments.iter().any(|word| {
            matches!(
                *word,
                "test" | "verify" | "compile" | "test-compile" | "package" | "install" | "integration-test"
            )
        }),
        "cmake" => has("--build"),
        "ruff" | "biome" | "deno" => match first {
            "format" | "fmt" => has("--check"),
            "check" | "lint" | "ci" | "test" => true,
            _ => false,
        },
        "black" | "isort" | "rustfmt" | "yapf" => {
            arguments.iter().any(|word| word.starts_with("--check") || *word == "--diff")
        }
        "prettier" => has("--check") || has("-c") || has("-l") || has("--list-different"),
        "gofmt" => has("-l") || has("-d"),
        "dotnet" | "mix" | "sbt" | "bazel" | "bazelisk" | "buck2" | "zig" | "stack" | "cabal" | "flutter"
        | "dart" | "playwright" | "cypress" | "vite" | "next" | "meson" | "lein" | "xcodebuild"
        | "terraform" | "helm" | "pre-commit" => match first {
            "test" | "build" | "compile" | "analyze" | "lint" | "validate" | "credo" | "check" => true,
            "run" => matches!(program, "pre-commit" | "cypress"),
            _ => false,
        },
        "python" | "python3" => {
            first.ends_with("manage.py") && plain.get(1) == Some(&"test")
                || first == "setup.py" && matches!(plain.get(1), Some(&("test" | "build")))
        }
        "pytest" | "py.test" | "unittest" | "tox" | "nox" | "mypy" | "pyright" | "basedpyright"
        | "flake8" | "pylint" | "ctest" | "ninja" | "eslint" | "tsc" | "vue-tsc" | "oxlint" | "stylelint"
        | "jest" | "vitest" | "mocha" | "ava" | "tap" | "rspec" | "rubocop" | "phpunit" | "pest"
        | "phpstan" | "psalm" | "golangci-lint" | "staticcheck" | "gotestsum" | "shellcheck" | "hadolint"
        | "yamllint" | "markdownlint" | "actionlint" | "swiftlint" | "ktlint" | "detekt" | "clang-tidy"
        | "cppcheck" | "bats" | "tsx-test" | "karma" => true,
        _ => false,
    }
}

/// Whether a task of a project is named after a test, a build or a linter: `test`, `test:unit`, `lint-all`.
fn task(name: &str) -> bool {
    let word = name.split([':', '-', '_', '.']).next().unwrap_or(name);
    matches!(word, "test" | "tests" | "build" | "lint" | "check" | "typecheck" | "verify" | "ci" | "clippy")
        || name.starts_with("type-check")
}

/// What a program does that changes nothing.
fn looks(program: &str, arguments: &[&str]) -> Does {
    let any = |words: &[&str]| arguments.iter().any(|word| words.contains(word));
    let starts = |start: &str| arguments.iter().any(|word| word.starts_with(start));
    match program {
        "cd" | "pwd" | "echo" | "printf" | "true" | "false" | ":" | "test" | "[" | "[[" | "uniq" | "cut"
        | "tr" | "column" | "set" | "for" | "done" | "fi" | "}" | "export" | "sleep" => Does::Nothing,
        "sort" if !starts("-o") && !starts("--output") => Does::Nothing,
        "grep" | "egrep" | "fgrep" | "zgrep" => Does::Search(paths_after_pattern(arguments)),
        "rg" | "ag" if !starts("--pre") && !starts("--pager") => Does::Search(paths_after_pattern(arguments)),
        "fd" | "fdfind" if !any(&["-x", "-X"]) && !starts("--exec") => {
            Does::Search(paths_after_pattern(arguments))
        }
        "find" if !any(&["-exec", "-execdir", "-ok", "-okdir", "-delete"]) && !starts("-f") => Does::Search(
            arguments
                .iter()
                .take_while(|word| !word.starts_with(['-', '(', '!']))
                .map(|word| (*word).to_owned())
                .collect(),
        ),
        "ls" | "ll" => Does::Search(paths(arguments, &[])),
        "tree" if !starts("-o") => Does::Search(paths(arguments, &["-L", "-I", "-P"])),
        "cat" | "less" | "more" | "bat" | "batcat" | "nl" | "wc" | "file" | "stat" | "diff" | "cmp"
        | "jq" | "od" | "xxd" | "hexdump" | "strings" | "tac" => {
            Does::Read(if program == "jq" { paths_after_pattern(arguments) } else { paths(arguments, &[]) })
        }
        "head" | "tail" => Does::Read(paths(arguments, &["-n", "-c"])),
        "sed" if sed_only_prints(arguments) => Does::Read(paths_after_pattern(arguments)),
        "git" => git(arguments),
        _ => Does::Exec,
    }
}

fn sed_only_prints(arguments: &[&str]) -> bool {
    let short =
        |word: &&str, letter| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    let quiet = |word: &&str| short(word, 'n') || matches!(*word, "--quiet" | "--silent");
    let in_place = |word: &&str| short(word, 'i') || word.starts_with("--in-place");
    arguments.iter().any(quiet) && !arguments.iter().any(in_place)
}

fn git(arguments: &[&str]) -> Does {
    let words = after_options(arguments, &["-C", "-c", "--git-dir", "--work-tree"]);
    let Some((verb, rest)) = words.split_first() else { return Does::Exec };
    if rest
        .iter()
        .any(|word| word.starts_with("--output") || word.starts_with("--ext-diff") || word.starts_with("-O"))
    {
        return Does::Exec;
    }
    let after_dashes = || {
        let paths = rest.iter().skip_while(|word| **word != "--").skip(1);
        paths.map(|word| (*word).to_owned()).collect()
    };
    match *verb {
        "grep" | "ls-files" | "ls-tree" => Does::Search(after_dashes()),
        "show" | "diff" | "log" | "blame" | "cat-file" | "status" => Does::Read(after_dashes()),
        _ => Does::Exec,
    }
}

/// The arguments that are no options and no values of them.
fn paths(arguments: &[&str], valued: &[&str]) -> Vec<String> {
    let (mut paths, mut skip, mut all) = (Vec::new(), false, false);
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        match *word {
            "--" if !all => all = true,
            option if !all && option.starts_with('-') => skip = valued.contains(&option),
            path => paths.push(path.to_owned()),
        }
    }
    paths
}

/// The same where the first of them is a pattern or a script, unless an option names that.
fn paths_after_pattern(arguments: &[&str]) -> Vec<String> {
    const VALUED: [&str; 16] = [
        "-A",
        "-B",
        "-C",
        "-m",
        "-e",
        "-f",
        "-g",
        "-t",
        "-T",
        "-d",
        "-E",
        "--glob",
        "--type",
        "--regexp",
        "--file",
        "--max-count",
    ];
    let named = arguments.iter().any(|word| {
        matches!(*word, "-e" | "-f" | "--files" | "--regexp")
            || word.starts_with("--regexp=")
            || word.starts_with("--file=")
    });
    let mut paths = paths(arguments, &VALUED);
    if !named && !paths.is_empty() {
        paths.remove(0);
    }
    paths
}
