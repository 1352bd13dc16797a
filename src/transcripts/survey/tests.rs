//! Which runs a session has a part in, where its topmost parent has several.

use std::collections::HashMap;

use super::{Credited, Survey};
use crate::base::{HarnessName, RunId, Wall};
use crate::correlate::{Attribution, Facts, Window};
use crate::store::SessionRow;
use crate::trajectory::{Format, Kinship, Parent};
use crate::wire::Evidence;

fn id(number: u64) -> RunId {
    format!("00000000-0000-7000-8000-{number:012}").parse().unwrap()
}

fn at(seconds: i64) -> Wall {
    Wall(seconds * 1_000_000)
}

fn window(number: u64, from: i64, to: Option<i64>) -> Window {
    Window {
        run: id(number),
        harness: HarnessName::parse("h").unwrap(),
        adapter: "claude-code".to_owned(),
        format: Some(Format::ClaudeCode),
        workdir: Some("/w".to_owned()),
        stores: Vec::new(),
        from: at(from),
        to: to.map(at),
        live: to.is_none(),
    }
}

/// A session of the runs 1, 2 and 3; with a parent it is a sub-agent's.
fn session(name: &str, parent: Option<&str>, from: Option<i64>, to: Option<i64>) -> Credited {
    let parent = parent.map(|id| Parent { id: id.to_owned(), kinship: Kinship::SubAgent });
    Credited {
        top: parent.as_ref().map_or(name, |parent| &parent.id).to_owned(),
        row: SessionRow {
            format: Format::ClaudeCode,
            id: name.to_owned(),
            store: "/s".to_owned(),
            streams: Vec::new(),
            parent,
            cwd: Some("/w".to_owned()),
            started_at: from.map(at),
            last_at: to.map(at),
            models: Vec::new(),
        },
        whose: Attribution::To((1..=3).map(|run| (id(run), Evidence::LaunchId)).collect()),
    }
}

/// COR-7, TRJ-7: a sub-agent's session is listed for those runs of its topmost parent that it went on in.
#[test]
fn a_sub_agent_has_a_part_in_the_runs_that_it_went_on_in() {
    let windows = vec![window(1, 100, Some(110)), window(2, 200, Some(210)), window(3, 300, None)];
    let survey = Survey {
        windows: windows.iter().enumerate().map(|(place, window)| (window.run, place)).collect(),
        facts: Facts { windows, now: at(400), ..Facts::default() },
        sessions: Vec::new(),
        index: HashMap::new(),
    };
    let runs = |one: Credited| survey.parts(&one).into_iter().map(|(run, _)| run).collect::<Vec<_>>();
    let all = [id(1), id(2), id(3)];
    assert_eq!(runs(session("top", None, Some(100), Some(105))), all, "its evidence is its own");
    assert_eq!(runs(session("a", Some("top"), Some(102), Some(105))), [id(1)]);
    assert_eq!(runs(session("a", Some("top"), Some(201), Some(212))), [id(2)], "give or take two seconds");
    assert_eq!(runs(session("a", Some("top"), Some(399), Some(399))), [id(3)]);
    assert_eq!(
        runs(session("a", Some("top"), Some(102), Some(204))),
        [id(1), id(2)],
        "it was taken up again"
    );
    assert_eq!(runs(session("a", Some("top"), Some(150), Some(160))), [], "by hand");
    assert_eq!(runs(session("a", Some("top"), None, None)), all, "nothing is known of its times");
}
