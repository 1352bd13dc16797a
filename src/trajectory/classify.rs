//! What a tool call does and what it is about (TRJ-4), by one table of the tools of all agents.
//!
//! Invariant: only a name that stands in the table has a class; whatever is unknown is `other`. A shell
//! command is judged by what it would execute, never by what its text contains.

mod command;
mod shell;

use std::borrow::Cow;

use serde_json::Value;

use super::model::Action;

/// So many targets of one call are named.
const TARGETS: usize = 64;

/// What a tool is, as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    /// Its class is always the same.
    Always(Action),
    /// It changes files as a patch says.
    Patch,
    /// It executes a command of a shell.
    Shell,
    /// An editor whose `command` says what it does.
    Editor,
}

/// The class of a call and its targets. `input` may also be the text of a JSON object, a patch or a command.
pub(super) fn classify(tool: &str, input: &Value) -> (Action, Vec<String>) {
    let input = parsed(input);
    let (action, mut targets) = match kind(tool) {
        Tool::Always(action) => (action, named(&input)),
        Tool::Patch => (Action::Edit, patched(&input)),
        Tool::Shell => command::classify(&input),
        Tool::Editor => {
            let views = matches!(input.get("command").and_then(Value::as_str), Some("view" | "read"));
            (if views { Action::Read } else { Action::Edit }, named(&input))
        }
    };
    let mut seen = Vec::new();
    targets.retain(|target| {
        let fresh = !target.is_empty() && target.len() <= 4096 && !seen.contains(target);
        if fresh {
            seen.push(target.clone());
        }
        fresh
    });
    targets.truncate(TARGETS);
    (action, targets)
}

/// The table. Names of built-in tools only: a tool of an MCP server that is named alike is not one of them.
fn kind(tool: &str) -> Tool {
    const NAMESPACES: [&str; 4] = ["functions.", "file_system.", "developer__", "default_api:"];
    let plain = NAMESPACES.iter().find_map(|space| tool.strip_prefix(space)).unwrap_or(tool);
    match plain {
        // claude-code, kimi
        "Bash" | "Shell" => Tool::Shell,
        "Read" | "NotebookRead" | "ReadMediaFile" | "ReadFile" => Tool::Always(Action::Read),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "WriteFile" | "StrReplaceFile" => {
            Tool::Always(Action::Edit)
        }
        "Grep" | "Glob" | "LS" => Tool::Always(Action::Search),
        // codex
        "exec_command" | "shell_command" | "local_shell" | "local_shell_call" | "container.exec" => {
            Tool::Shell
        }
        "exec" | "write_stdin" | "js" | "js_repl" => Tool::Always(Action::Exec),
        "apply_patch" => Tool::Patch,
        "view_image" => Tool::Always(Action::Read),
        // opencode, crush, pi, copilot
        "bash" | "powershell" => Tool::Shell,
        "read" | "view" => Tool::Always(Action::Read),
        "write" | "edit" | "multiedit" | "create" => Tool::Always(Action::Edit),
        "grep" | "glob" | "find" | "ls" | "list" | "rg" | "codesearch" => Tool::Always(Action::Search),
        "patch" => Tool::Patch,
        "write_bash" | "write_powershell" => Tool::Always(Action::Exec),
        // gemini, qwen
        "run_shell_command" => Tool::Shell,
        "read_file" | "read_many_files" => Tool::Always(Action::Read),
        "write_file" | "replace" => Tool::Always(Action::Edit),
        "search_file_content" | "grep_search" | "list_directory" | "ripgrep" => Tool::Always(Action::Search),
        // grok
        "run_terminal_command" | "run_terminal_cmd" => Tool::Shell,
        "search_replace" => Tool::Always(Action::Edit),
        "list_dir" => Tool::Always(Action::Search),
        // goose, hermes, vibe
        "shell" | "terminal" => Tool::Shell,
        "text_editor" | "str_replace_editor" | "str_replace_based_edit_tool" => Tool::Editor,
        "read_image" => Tool::Always(Action::Read),
        "tree" | "search_files" => Tool::Always(Action::Search),
        "execute_code" | "run_typescript" => Tool::Always(Action::Exec),
        // antigravity
        "run_command" => Tool::Shell,
        "view_file" | "view_file_outline" | "view_code_item" | "view_content_chunk" => {
            Tool::Always(Action::Read)
        }
        "write_to_file" | "replace_file_content" | "multi_replace_file_content" => Tool::Always(Action::Edit),
        "find_by_name" | "codebase_search" => Tool::Always(Action::Search),
        _ => Tool::Always(Action::Other),
    }
}

/// The arguments, which some agents keep as the text of JSON.
fn parsed(input: &Value) -> Cow<'_, Value> {
    match input {
        Value::String(text) if text.trim_start().starts_with('{') => match serde_json::from_str(text) {
            Ok(value @ Value::Object(_)) => Cow::Owned(value),
            _ => Cow::Borrowed(input),
        },
        _ => Cow::Borrowed(input),
    }
}

/// Paths and addresses that arguments name; without any, the pattern of names that is looked for.
fn named(input: &Value) -> Vec<String> {
    const NAMES: [&str; 24] = [
        "file_path",
        "filePath",
        "path",
        "paths",
        "file_paths",
        "files",
        "file",
        "filename",
        "notebook_path",
        "absolute_path",
        "AbsolutePath",
        "TargetFile",
        "target_file",
        "target_directory",
        "directory",
        "dir_path",
        "DirectoryPath",
        "SearchPath",
        "SearchDirectory",
        "url",
        "urls",
        "Url",
        "uri",
        "relative_path",
    ];
    let mut targets = Vec::new();
    for name in NAMES {
        match input.get(name) {
            Some(Value::String(target)) => targets.push(target.clone()),
            Some(Value::Array(list)) => targets.extend(list.iter().take(TARGETS).filter_map(|item| {
                let item = item.get("path").or_else(|| item.get("file_path")).unwrap_or(item);
                item.as_str().map(str::to_owned)
            })),
            _ => {}
        }
    }
    if targets.is_empty() {
        let pattern = input.get("pattern").or_else(|| input.get("glob")).and_then(Value::as_str);
        // A pattern of text is no path, one of names has a `*` or a `/`, and no blank.
        let path = |text: &&str| text.contains(['*', '/']) && !text.contains(char::is_whitespace);
        targets.extend(pattern.filter(path).map(str::to_owned));
    }
    targets
}

/// The files that a patch changes.
fn patched(input: &Value) -> Vec<String> {
    const TEXTS: [&str; 6] = ["input", "patch", "patchText", "patch_text", "diff", "content"];
    let mut targets = named(input);
    if let Some(Value::Object(changes)) = input.get("changes") {
        targets.extend(changes.keys().take(TARGETS).cloned());
    }
    if let Some(text) = input.as_str().or_else(|| TEXTS.iter().find_map(|name| input.get(*name)?.as_str())) {
        targets.extend(files_of_patch(text));
    }
    targets
}

/// The files that the text of a patch names.
fn files_of_patch(text: &str) -> impl Iterator<Item = String> + '_ {
    const MARKS: [&str; 5] =
        ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"];
    text.lines()
        .filter_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)))
        .map(|path| path.trim().to_owned())
        .take(TARGETS)
}

#[cfg(test)]
mod tests;
