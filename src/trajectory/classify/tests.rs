//! TRJ-4 as a table of calls.

use serde_json::{Value, json};

use super::classify;
use crate::trajectory::model::Action;

/// The class of a shell command in an agent's shell.
fn command(text: &str) -> Action {
    classify("Bash", &json!({ "command": text })).0
}

#[track_caller]
fn all_are(action: Action, commands: &[&str]) {
    let other: Vec<(&str, Action)> =
        commands.iter().map(|text| (*text, command(text))).filter(|(_, found)| *found != action).collect();
    assert_eq!(other, [], "expected {action:?}");
}

#[track_caller]
fn is(tool: &str, input: &Value, action: Action, targets: &[&str]) {
    let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
    assert_eq!(classify(tool, input), (action, targets), "{tool} {input}");
}

/// TRJ-4: tests, builds and linters are `verify`, however they are wrapped.
#[test]
fn tests_builds_and_linters_verify() {
    all_are(
        Action::Verify,
        &[
            "cargo test",
            "cargo nextest run",
            "cargo clippy --all-targets -- -D warnings",
            "cargo check",
            "cargo build --release",
            "cargo fmt --all --check",
            "cargo +nightly test",
            "cargo -q test",
            "go test ./...",
            "go vet ./...",
            "go build ./cmd/x",
            "npm test",
            "npm t",
            "npm run build",
            "npm run test:unit",
            "npm run lint -- --fix",
            "pnpm test",
            "pnpm -r test",
            "pnpm --filter web test",
            "yarn test",
            "yarn lint",
            "yarn run build",
            "bun test",
            "bun run typecheck",
            "npm --prefix web test",
            "pytest -q tests/",
            "python -m pytest",
            "python3 -m unittest discover",
            "tox -e py312",
            "nox",
            "ruff check .",
            "ruff format --check",
            "mypy src",
            "black --check .",
            "make",
            "make test",
            "make -j8 check",
            "make -C sub test",
            "just test",
            "./gradlew :app:testDebug",
            "gradle build",
            "mvn -q verify",
            "./mvnw test",
            "ctest --output-on-failure",
            "cmake --build build",
            "eslint .",
            "npx eslint src",
            "npx -y tsc --noEmit",
            "tsc -p .",
            "swift test",
            "swift build",
            "dotnet test",
            "bazel test //...",
            "bundle exec rspec",
            "uv run pytest",
            "uv run --with x pytest",
            "poetry run mypy .",
            ".venv/bin/pytest",
            "/usr/bin/make test",
            "cd sub && cargo test",
            "cd 'a b'; cargo test",
            "RUST_LOG=debug cargo test",
            "env -i A=b cargo test",
            "sudo -u nobody make check",
            "timeout 60 cargo test",
            "timeout -k 5 60s nice -n 19 cargo test",
            "time cargo test",
            "cargo test 2>&1 | tail -20",
            "cargo test > log.txt",
            "npm ci && npm test",
            "cargo test || true",
            "(cd sub; go test ./...)",
            "if cargo test; then echo ok; fi",
            "bash -lc 'cargo test'",
            "sh -c \"cd x && npm test\"",
            "cargo test\nls",
            "cargo \\\n  test",
            "cargo test $(cat names)",
        ],
    );
}

/// TRJ-4: what is only written, said or looked for is not executed.
#[test]
fn words_in_quotes_comments_and_documents_are_no_commands() {
    all_are(
        Action::Exec,
        &[
            "echo \"cargo test\"",
            "echo 'a && cargo test'",
            "echo a \\; cargo test",
            "# cargo test",
            "cat > run.sh <<'EOF'\ncargo test\nEOF",
            "cat > run.sh <<-EOF\n\tcargo test\n\tEOF\necho",
            "git commit -m 'cargo test; npm test'",
            "x='cargo test'",
            "python -c 'print(\"go test\")'",
            "echo `cargo test`",
            "echo $(cargo test)",
            "echo \"$(cargo test)\"",
            "touch cargo test",
            "bash run.sh -c 'cargo test'",
            "",
        ],
    );
    all_are(Action::Search, &["grep -rn 'cargo test' .", "rg \"npm test && x\" | head"]);
}

/// TRJ-4: other commands of the same programs do not verify.
#[test]
fn programs_that_also_verify_execute_otherwise() {
    all_are(
        Action::Exec,
        &[
            "cargo fmt",
            "cargo run",
            "cargo add serde",
            "go run .",
            "go mod tidy",
            "npm install",
            "npm run dev",
            "npm start",
            "yarn add x",
            "bun install",
            "ruff format",
            "black .",
            "make install",
            "just deploy",
            "gradle run",
            "mvn clean",
            "cmake -S . -B build",
            "dotnet run",
            "swift run",
            "python script.py",
            "uv sync",
        ],
    );
}

/// TRJ-4: a pipeline searches only if none of its parts does more than look.
#[test]
fn searching_changes_nothing() {
    all_are(
        Action::Search,
        &[
            "grep -rn foo src",
            "rg foo",
            "rg foo | head -5",
            "rg foo 2>/dev/null",
            "rg foo 2>&1 | sort | uniq -c",
            "find . -name '*.rs'",
            "find . -type f | xargs grep foo",
            "fd '\\.rs$'",
            "ls",
            "ls -la src",
            "tree -L 2",
            "git grep foo",
            "git -C sub ls-files",
            "cat a | grep b",
            "cd src && rg foo && ls",
            "ag foo; pwd",
            "/usr/bin/grep foo a",
            "bash -c 'rg foo'",
            "LC_ALL=C grep foo a",
            "rg '>' src",
            "rg \"a|b;c\" src",
        ],
    );
    all_are(
        Action::Exec,
        &[
            "rg foo > out.txt",
            "grep foo a >> b",
            "find . -name x -delete",
            "find . -exec rm {} +",
            "find . -fprint out",
            "fd -x rm",
            "fd --exec rm",
            "rg foo && rm a",
            "rg foo | xargs rm",
            "rg foo | tee out",
            "rg foo &> out",
            "ls | sh",
            "rg $(rm x)",
            "rg --pre ./x foo",
            "tree -o out",
            "find . | sort -o out",
        ],
    );
}

/// TRJ-4: so does reading.
#[test]
fn reading_changes_nothing() {
    all_are(
        Action::Read,
        &[
            "cat a.txt",
            "head -n 5 a",
            "tail -20 a",
            "nl -ba a",
            "less a",
            "bat a",
            "sed -n '1,20p' a",
            "sed -ne 1p a",
            "git show HEAD",
            "git --no-pager diff -- a",
            "git log --oneline | head",
            "cat a | wc -l",
            "cd x && cat a",
            "cat < a",
        ],
    );
    all_are(
        Action::Exec,
        &[
            "cat a > b",
            "sed -i s/a/b/ a",
            "sed -n -i 1p a",
            "sed s/a/b/ a",
            "git commit -am x",
            "git diff --output=x",
            "cat a | sh",
        ],
    );
}

/// TRJ-4: targets are what is looked into, not what is looked for.
#[test]
fn commands_name_their_targets() {
    let shell = |text: &str| json!({ "cmd": text });
    is("exec_command", &shell("grep -A 3 -rn foo src tests"), Action::Search, &["src", "tests"]);
    is("exec_command", &shell("rg -e foo src | head -n 3"), Action::Search, &["src"]);
    is("exec_command", &shell("find src 'a b' -name x"), Action::Search, &["src", "a b"]);
    is("exec_command", &shell("sed -n 1,20p src/a.rs"), Action::Read, &["src/a.rs"]);
    is("exec_command", &shell("cat a b a"), Action::Read, &["a", "b"]);
    is("exec_command", &shell("git diff HEAD -- a"), Action::Read, &["a"]);
    is("exec_command", &shell("cargo test -p a"), Action::Verify, &[]);
}

/// TRJ-4: every agent's tools, with their own names of arguments.
#[test]
fn tools_of_all_agents() {
    let command = json!({ "command": "cargo test" });
    for shell in [
        "Bash",
        "bash",
        "exec_command",
        "shell",
        "run_shell_command",
        "run_terminal_command",
        "terminal",
        "run_command",
        "file_system.bash",
        "developer__shell",
        "Shell",
    ] {
        is(shell, &command, Action::Verify, &[]);
    }
    is("run_command", &json!({ "CommandLine": "ls src", "Cwd": "/w" }), Action::Search, &["src"]);
    is("shell", &json!({ "command": ["bash", "-lc", "go test ./..."] }), Action::Verify, &[]);
    is("shell", &json!({ "command": ["cat", "a b"] }), Action::Read, &["a b"]);
    is("local_shell_call", &json!({ "action": { "command": ["ls"] } }), Action::Search, &[]);
    is("exec_command", &json!("{\"cmd\":\"cat x\"}"), Action::Read, &["x"]);
    is("bash", &json!("cat x"), Action::Read, &["x"]);
    is("bash", &json!({}), Action::Exec, &[]);
    is("Read", &json!({ "file_path": "/a" }), Action::Read, &["/a"]);
    is("read", &json!({ "filePath": "/a" }), Action::Read, &["/a"]);
    is("view", &json!({ "path": "/a" }), Action::Read, &["/a"]);
    is("read_many_files", &json!({ "paths": ["a", "b"] }), Action::Read, &["a", "b"]);
    is("view_file", &json!({ "AbsolutePath": "/a" }), Action::Read, &["/a"]);
    is("Edit", &json!({ "file_path": "/a", "old_string": "x" }), Action::Edit, &["/a"]);
    is("NotebookEdit", &json!({ "notebook_path": "/a" }), Action::Edit, &["/a"]);
    is("search_replace", &json!({ "file_path": "a" }), Action::Edit, &["a"]);
    is("replace_file_content", &json!({ "TargetFile": "/a" }), Action::Edit, &["/a"]);
    is("text_editor", &json!({ "command": "view", "path": "a" }), Action::Read, &["a"]);
    is("developer__text_editor", &json!({ "command": "write", "path": "a" }), Action::Edit, &["a"]);
    is("Grep", &json!({ "pattern": "a/b", "path": "src" }), Action::Search, &["src"]);
    is("Grep", &json!({ "pattern": "fn main" }), Action::Search, &[]);
    is("Glob", &json!({ "pattern": "src/**/*.rs" }), Action::Search, &["src/**/*.rs"]);
    is("list_directory", &json!({ "dir_path": "src" }), Action::Search, &["src"]);
    is("WebFetch", &json!({ "url": "https://example.org/" }), Action::Other, &["https://example.org/"]);
    is("mcp__lab__bash", &command, Action::Other, &[]);
    is("Task", &json!({ "prompt": "cargo test" }), Action::Other, &[]);
    is("", &Value::Null, Action::Other, &[]);
}

/// TRJ-4: a patch names the files that it changes, also where a shell applies it.
#[test]
fn patches_name_their_files() {
    let patch = "*** Begin Patch\n*** Add File: a.rs\n+cargo test\n*** Update File: b.rs\n*** Move to: c.rs\n*** End Patch";
    let files: &[&str] = &["a.rs", "b.rs", "c.rs"];
    is("apply_patch", &json!(patch), Action::Edit, files);
    is("apply_patch", &json!({ "input": patch }), Action::Edit, files);
    is("patch", &json!({ "patchText": patch }), Action::Edit, files);
    is("exec_command", &json!({ "cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF") }), Action::Edit, files);
    is("shell", &json!({ "command": ["apply_patch", patch] }), Action::Edit, files);
    is("apply_patch", &json!({ "changes": { "x": {} } }), Action::Edit, &["x"]);
}

/// TRJ-3: no text, however broken or deep, makes it stop or grow.
#[test]
fn broken_commands_are_executed() {
    all_are(Action::Exec, &["echo 'x", "echo \"x", "echo $(", "echo `", "a >", "a \\", "&&&|||;;;()"]);
    let deep = (0..10).fold("cargo test".to_owned(), |inner, _| format!("sh -c {inner:?}"));
    assert_eq!(command(&deep[..deep.len().min(100_000)].replace('\n', " ")), Action::Exec);
    assert_eq!(command(&"(".repeat(100_000)), Action::Exec);
    let many: Vec<String> = (0..1000).map(|number| format!("f{number}")).collect();
    assert_eq!(classify("bash", &json!({ "command": format!("cat {}", many.join(" ")) })).1, many[..64]);
}
