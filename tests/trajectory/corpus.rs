//! All recorded data of a format, as it lies in a store.

use std::fs;
use std::path::{Path, PathBuf};

use harnessd::trajectory::{Format, Layout};
use serde_json::Value;

use crate::{crush, drive, goose, hermes, opencode, rows};

/// Every format there is.
pub(crate) const FORMATS: [Format; 14] = [
    Format::ClaudeCode,
    Format::Codex,
    Format::OpenCode,
    Format::Crush,
    Format::Pi,
    Format::Gemini,
    Format::Qwen,
    Format::Copilot,
    Format::Kimi,
    Format::Grok,
    Format::Goose,
    Format::Hermes,
    Format::Vibe,
    Format::Antigravity,
];

/// Streams that lay in one store.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) streams: Vec<Stream>,
}

/// A stream with its path in the store, and the documents beside it by their names in the layout.
pub(crate) struct Stream {
    pub(crate) path: String,
    pub(crate) documents: Vec<(&'static str, Vec<u8>)>,
    pub(crate) lines: Vec<u8>,
}

/// Whether the format's stores are files.
pub(crate) fn is_of_files(format: Format) -> bool {
    matches!(format.layout(), Layout::Files(_))
}

/// The recorded streams of a format of files, by the folder that they were recorded in.
pub(crate) fn cases(format: Format) -> Vec<Case> {
    let Layout::Files(layout) = format.layout() else { return Vec::new() };
    let root = drive::dir(format.as_str());
    let mut cases = Vec::new();
    for dir in folders(&root) {
        let name = dir.strip_prefix(&root).unwrap().to_str().unwrap().replace('/', "-");
        let mut streams = Vec::new();
        let stems = stems(&dir);
        let main = stems.iter().find(|stem| !stem.starts_with("agent")).unwrap_or(&name);
        for stem in &stems {
            let documents = layout.documents.iter().filter_map(|document| {
                let file = document.rsplit('/').next()?.trim_start_matches('.').replace("{stem}", stem);
                Some((*document, fs::read(dir.join(file)).ok()?))
            });
            streams.push(Stream {
                path: place(format, &name, main, stem),
                documents: documents.collect(),
                lines: fs::read(dir.join(format!("{stem}.jsonl"))).unwrap(),
            });
        }
        if !streams.is_empty() {
            cases.push(Case { name, streams });
        }
    }
    assert!(!cases.is_empty(), "{format}");
    cases
}

/// The recorded rows of a format of databases, as the agent wrote them one after the other, session by session.
pub(crate) fn written(format: Format) -> Vec<Vec<Value>> {
    match format {
        Format::OpenCode => [
            "tool_then_resumed.rows.jsonl",
            "fork.rows.jsonl",
            "killed9_during_tool.rows.jsonl",
            "api_error_401.rows.jsonl",
            "nongit_dotspace_cwd.rows.jsonl",
        ]
        .map(opencode::as_written)
        .to_vec(),
        Format::Crush => vec![crush::as_written()],
        Format::Goose => vec![goose::rows()],
        Format::Hermes => vec![hermes::as_written()],
        _ => panic!("{format} has no database"),
    }
}

/// The recorded rows of a format of databases, all of them as they were in the end.
pub(crate) fn recorded(format: Format) -> Vec<Value> {
    let root = drive::dir(format.as_str());
    let mut names: Vec<String> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rows.jsonl"))
        .collect();
    names.sort();
    names.iter().flat_map(|name| rows::recorded(format.as_str(), name)).collect()
}

/// Where a stream of a case lies.
fn place(format: Format, case: &str, main: &str, stem: &str) -> String {
    let agent = stem.starts_with("agent");
    match format {
        Format::ClaudeCode if agent => format!("w/{main}/subagents/{stem}.jsonl"),
        Format::ClaudeCode | Format::Pi => format!("w/{stem}.jsonl"),
        Format::Codex => format!("2026/11/30/{stem}.jsonl"),
        Format::Copilot => format!("{case}/events.jsonl"),
        Format::Gemini if agent => format!("w/chats/{case}/{stem}.jsonl"),
        Format::Gemini => format!("w/chats/session-{stem}.jsonl"),
        Format::Qwen if agent => format!("w/subagents/{case}/agent-{stem}.jsonl"),
        Format::Qwen => format!("w/chats/{stem}.jsonl"),
        Format::Kimi if case == "older-cli" => format!("w/{case}/wire.jsonl"),
        Format::Kimi if agent => format!("w/{case}/agents/{stem}/wire.jsonl"),
        Format::Kimi => format!("w/{case}/agents/main/wire.jsonl"),
        Format::Grok => format!("w/{case}/updates.jsonl"),
        Format::Vibe => format!("{case}/journal/{stem}.jsonl"),
        Format::Antigravity => format!("brain/{case}/.system_generated/logs/transcript.jsonl"),
        Format::OpenCode | Format::Crush | Format::Goose | Format::Hermes => {
            panic!("{format} has no streams")
        }
    }
}

/// A folder and all below it.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut below: Vec<PathBuf> =
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    below.sort();
    found.extend(below.iter().flat_map(|path| folders(path)));
    found
}

fn stems(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut stems: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".jsonl")?.to_owned())).collect();
    stems.sort();
    stems
}
