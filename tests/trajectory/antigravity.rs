//! Antigravity CLI, by what is published of its transcripts; no program was tried.

use harnessd::trajectory::{Format, Layout};

use crate::recorded::Recorded;

const PATH: &str = "brain/5d0a7f0e/.system_generated/logs/transcript.jsonl";

/// TRJ-2: a step is told once, when it is done; no usage and no working directory are stated.
#[test]
fn a_transcript_as_it_is_published() {
    let (case, stream) = ("from-sources", "transcript.jsonl");
    Recorded { format: Format::Antigravity, case, stream, path: PATH, documents: &[] }.holds();
}

/// COR-8: a file that a process holds open tells the session.
#[test]
fn a_file_that_is_held_open_names_its_session() {
    let Layout::Files(files) = Format::Antigravity.layout() else { panic!("files") };
    let held = files.held.unwrap();
    assert_eq!(held(PATH).as_deref(), Some("5d0a7f0e"));
    assert_eq!(held("conversations/5d0a7f0e.db"), None);
}
