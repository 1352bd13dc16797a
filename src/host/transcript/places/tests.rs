//! Stores with what agents, and accidents, put there.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use camino::{Utf8Path, Utf8PathBuf};

use super::{document_of, fits, is_directory, search};

struct Store(#[expect(dead_code, reason = "it is removed with this")] tempfile::TempDir, Utf8PathBuf);

fn store(files: &[&str]) -> Store {
    let dir = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap().canonicalize_utf8().unwrap();
    for file in files {
        let file = path.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
    Store(dir, path)
}

/// The streams that are found, and what is said of others, without the store's own path.
fn found(store: &Store, patterns: &[&str], under: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut streams, mut problems) = (Vec::new(), Vec::new());
    let under: Vec<String> = under.iter().map(|one| (*one).to_owned()).collect();
    search(&store.1, patterns, &under, &mut |path, _| streams.push(path), &mut |problem| {
        problems.push(problem.to_string().replace(&format!("{}/", store.1), ""));
    });
    streams.sort();
    problems.sort();
    (streams, problems)
}

#[test]
fn a_star_stands_for_any_text_within_a_name() {
    let names = ["a.jsonl", "agent-1.jsonl", "agent-.jsonl", ".jsonl", "agent-1.json", "agent.jsonl"];
    let of = |pattern: &str| names.into_iter().filter(|name| fits(pattern, name)).collect::<Vec<_>>();
    assert_eq!(of("*"), names);
    assert_eq!(of("*.jsonl"), ["a.jsonl", "agent-1.jsonl", "agent-.jsonl", ".jsonl", "agent.jsonl"]);
    assert_eq!(of("agent-*.jsonl"), ["agent-1.jsonl", "agent-.jsonl"]);
    assert_eq!(of("*e*t*.json*"), ["agent-1.jsonl", "agent-.jsonl", "agent-1.json", "agent.jsonl"]);
    assert_eq!(of("a*a.jsonl"), Vec::<&str>::new());
    assert_eq!(of("a.jsonl"), ["a.jsonl"]);
}

/// TRJ-5: streams are found by their patterns, and below the agent's directory of a workdir alone if one is
/// named.
#[test]
fn streams_are_found_by_pattern_and_below_a_directory() {
    let store = store(&[
        "projects/-a/1.jsonl",
        "projects/-a/1/subagents/agent-x.jsonl",
        "projects/-a/1/subagents/other.jsonl",
        "projects/-b/2.jsonl",
        "projects/-b/2.json",
        "projects/3.jsonl",
        "elsewhere/-a/4.jsonl",
    ]);
    let patterns = ["projects/*/*.jsonl", "projects/*/*/subagents/agent-*.jsonl"];
    let all = ["projects/-a/1.jsonl", "projects/-a/1/subagents/agent-x.jsonl", "projects/-b/2.jsonl"];
    let texts = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
    assert_eq!(found(&store, &patterns, &[]), (texts(&all), vec![]));
    assert_eq!(found(&store, &patterns, &["projects/-a"]), (texts(&all[..2]), vec![]));
    assert_eq!(found(&store, &patterns, &["projects/-c", "projects/-b"]), (texts(&all[2..]), vec![]));
    // A directory is a name, whatever it looks like.
    assert_eq!(found(&store, &patterns, &["projects/*"]), (vec![], vec![]));
    assert_eq!(found(&store, &patterns, &["projects/.."]), (vec![], vec![]));
}

/// Bad input: what is no file, has no name in UTF-8 or leads nowhere is said, and the rest goes on.
#[test]
fn what_is_no_transcript_is_named_and_the_rest_goes_on() {
    let store = store(&["projects/-a/1.jsonl", "projects/-a/dir.jsonl/x"]);
    let dir = store.1.join("projects/-a");
    nix::unistd::mkfifo(dir.join("fifo.jsonl").as_std_path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(dir.as_std_path().join(OsStr::from_bytes(b"\xff.jsonl")), "x").unwrap();
    symlink("nowhere", dir.join("gone.jsonl")).unwrap();
    symlink("loop.jsonl", dir.join("loop.jsonl")).unwrap();
    symlink("..", dir.join("up")).unwrap();
    symlink(".", store.1.join("projects/self")).unwrap();
    let (streams, problems) = found(&store, &["projects/*/*.jsonl", "projects/*/*/*.jsonl"], &[]);
    assert_eq!(
        streams,
        [
            "projects/-a/1.jsonl",
            // Through the links the same file comes again; whoever reads recognises it.
            "projects/self/-a/1.jsonl",
        ]
    );
    assert_eq!(
        problems,
        [
            "projects/-a/dir.jsonl: it is a directory, not a regular file",
            "projects/-a/fifo.jsonl: it is a FIFO, not a regular file",
            "projects/-a/\u{fffd}.jsonl: its name is not UTF-8",
            "projects/self/-a/dir.jsonl: it is a directory, not a regular file",
            "projects/self/-a/fifo.jsonl: it is a FIFO, not a regular file",
            "projects/self/-a/\u{fffd}.jsonl: its name is not UTF-8",
        ]
    );
}

#[test]
fn documents_stay_within_the_store() {
    assert_eq!(document_of("a/b/c.jsonl", "{stem}.meta.json").as_deref(), Some("a/b/c.meta.json"));
    assert_eq!(document_of("a/b/c.jsonl", "../x.json").as_deref(), Some("a/x.json"));
    assert_eq!(document_of("a/b/c.jsonl", "../../x.json").as_deref(), Some("x.json"));
    assert_eq!(document_of("a/b/c.jsonl", "../../../x.json"), None);
    assert_eq!(document_of("c.jsonl", "x.json").as_deref(), Some("x.json"));
}

/// TRJ-5, bad input: a store that is not there, and one that is something else.
#[test]
fn a_store_of_files_is_a_directory() {
    let store = store(&["file"]);
    assert_eq!(is_directory(&store.1), Ok(true));
    assert_eq!(is_directory(&store.1.join("gone")), Ok(false));
    let file = store.1.join("file");
    assert_eq!(is_directory(&file).unwrap_err().to_string(), format!("{file}: it is not a directory"));
    assert_eq!(is_directory(&file.join("below")), Ok(false));
}
