//! What a reader remembers, which is written down at each commit: little, however long a session is, and no text.

use harnessd::trajectory::{Decoder, Format, Needs};
use serde_json::{Map, Value};

use crate::drive;

/// Recorded streams: the case, and where it lay in the store.
const STREAMS: [(Format, &str, &str); 15] = [
    (Format::ClaudeCode, "tool-call", "-p/00000001-0000-4000-8000-000000000001.jsonl"),
    (Format::ClaudeCode, "tool-call", "-p/renamed.jsonl"),
    (Format::Codex, "", "2026/11/30/rollout-x.jsonl"),
    (Format::Pi, "", "--p--/x.jsonl"),
    (Format::Gemini, "tool-call", "p/chats/session-x.jsonl"),
    (Format::Gemini, "thoughts", "p/chats/session-x.jsonl"),
    (Format::Qwen, "tool-call", "-p/chats/s.jsonl"),
    (Format::Qwen, "fork", "-p/chats/s.jsonl"),
    (Format::Copilot, "tool-call", "s/events.jsonl"),
    (Format::Copilot, "sub-agent", "s/events.jsonl"),
    (Format::Kimi, "resume", "w/session_x/agents/main/wire.jsonl"),
    (Format::Kimi, "older-cli", "w/s/wire.jsonl"),
    (Format::Grok, "sub-agent", "c/S/updates.jsonl"),
    (Format::Vibe, "tool-call", "S/journal/0.jsonl"),
    (Format::Antigravity, "from-sources", "brain/S/.system_generated/logs/transcript.jsonl"),
];

/// The records of all streams in a case, or in all cases.
fn records(format: Format, case: &str) -> Vec<Value> {
    fn gather(path: &std::path::Path, into: &mut Vec<Value>) {
        if path.is_dir() {
            let mut inside: Vec<_> =
                std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
            inside.sort();
            inside.iter().for_each(|path| gather(path, into));
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            let text = std::fs::read_to_string(path).unwrap();
            into.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
        }
    }
    let mut all = Vec::new();
    gather(&drive::dir(format.as_str()).join(case), &mut all);
    assert!(!all.is_empty(), "{format:?} {case}");
    all
}

fn written(decoder: &Decoder) -> String {
    serde_json::to_string(decoder).unwrap()
}

fn take(decoder: &mut Decoder, record: &Value, offset: u64) {
    decoder.line(record.to_string().as_bytes(), offset, Needs::Everything, &mut |_| ());
}

/// Changes each text of a record that `at` a key.
fn change(value: &mut Value, key: &str, with: &dyn Fn(&str, &mut String)) {
    match value {
        Value::String(text) => with(key, text),
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, key, with)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| change(value, key, with)),
        _ => {}
    }
}

/// USE-2, TRJ-3: after thousands of records with identities of their own the state is a few KiB, as after one hundred
/// thousand: what is remembered of them is bounded in number and length.
#[test]
fn the_state_of_a_long_session_is_small() {
    for (format, case, path) in STREAMS {
        let records = records(format, case);
        let mut decoder = Decoder::new(format, path);
        let rounds = 3_000 / records.len() + 1;
        let mut largest = 0;
        for round in 0..rounds {
            let fresh = |_: &str, text: &mut String| {
                let id = text.len() >= 6 && text.bytes().any(|byte| byte.is_ascii_digit());
                if id && !text.contains([' ', '/', '.']) && text.len() <= 64 {
                    text.push_str(&format!("{round:06}"));
                }
            };
            for (nth, record) in records.iter().enumerate() {
                let mut record = record.clone();
                change(&mut record, "", &fresh);
                take(&mut decoder, &record, (round * records.len() + nth) as u64);
            }
            if round % 64 == 0 {
                largest = largest.max(written(&decoder).len());
            }
        }
        largest = largest.max(written(&decoder).len());
        assert!(largest <= 24 * 1024, "{format:?} {case}: {largest} bytes of state");
    }
}

/// CTL-12, TRJ-3: what stands at any key of a record, and is longer than any name, is not remembered.
#[test]
fn no_text_of_any_record_reaches_the_state() {
    let mut kept = Vec::new();
    for (format, case, path) in STREAMS {
        let records = records(format, case);
        let mut keys = Map::new();
        let mut all = Value::from(records.clone());
        let seen = std::cell::RefCell::new(&mut keys);
        change(&mut all, "", &|key, _| drop(seen.borrow_mut().insert(key.to_owned(), Value::Null)));
        let words = "canary words ".repeat(1000);
        for key in keys.keys() {
            let mut decoder = Decoder::new(format, path);
            for (nth, record) in records.iter().enumerate() {
                let mut record = record.clone();
                change(&mut record, "", &|at, text| {
                    if at == key {
                        words.clone_into(text);
                    }
                });
                take(&mut decoder, &record, nth as u64);
                if written(&decoder).contains("canary") {
                    kept.push(format!("{format} {case} {key}"));
                    break;
                }
            }
        }
    }
    assert_eq!(kept, Vec::<String>::new());
}

/// TRJ-3: a record that is nested deeper than any parser goes is one that makes no sense, and stops nothing.
#[test]
fn a_deeply_nested_record_is_passed_over() {
    for (format, _, path) in STREAMS {
        let deep =
            format!("{{\"type\":\"user\",\"message\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for needs in [Needs::Usage, Needs::Everything] {
            let mut decoder = Decoder::new(format, path);
            decoder.line(deep.as_bytes(), 0, needs, &mut |_| ());
            decoder.line(b"[[[[", 1, needs, &mut |_| ());
        }
    }
}
