//! One projection of skills, timed from inside: `projection ROOT WORK` surveys the skills of ROOT,
//! projects them to a private target in WORK, and prints nanoseconds, skills written and skills
//! kept. A second call with the same WORK is the unchanged case.
//!
//! Run by `benches/run.py`. Without arguments, as under `cargo bench`, it measures nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, read by a script")]

use std::process::ExitCode;
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::base::HarnessName;
use harnessd::skills::{Bounds, Job, Root, Target, project, survey};
use harnessd::wire::SkillRank;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(root), Some(work)) = (words.next(), words.next()) else { return ExitCode::SUCCESS };
    match measure(Utf8PathBuf::from(root), Utf8Path::new(&work)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("projection: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn measure(root: Utf8PathBuf, work: &Utf8Path) -> Result<String, Box<dyn std::error::Error>> {
    let job = Job {
        harness: HarnessName::parse("bench")?,
        adapter: "bench".to_owned(),
        roots: vec![Root { path: root, rank: SkillRank::Global }],
        target: Some(Target { dir: work.join("target"), private: true }),
        learned: work.join("learned"),
        displaced: work.join("displaced"),
        native: Vec::new(),
        unseen: None,
        bounds: Bounds::default(),
    };
    let begun = Instant::now();
    let done = project(&job, &survey(&job))?;
    let took = begun.elapsed().as_nanos();
    Ok(format!("{took} {} {}", done.changes.written.len(), done.changes.kept.len()))
}
