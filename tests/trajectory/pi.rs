//! pi's session files.

use harnessd::trajectory::{Format, Kinship, Needs, Parent};

use crate::drive;
use crate::reckon::{served, sums};
use crate::recorded::{Recorded, made};

const DIRECTORY: &str =
    "--home-user-pi-w1-proj--/2026-11-30T10-26-39-110Z_11111111-2222-4333-8444-555555555555.jsonl";

const fn recorded(case: &'static str) -> Recorded {
    Recorded { format: Format::Pi, case, stream: "session.jsonl", path: DIRECTORY, documents: &[] }
}

const CASES: [Recorded; 5] = [
    recorded("resume"),
    recorded("fork"),
    recorded("killed"),
    recorded("sigterm"),
    recorded("sigterm-in-tool"),
];

/// TRJ-2: each recorded session is told as it stands in the file.
#[test]
fn recorded_sessions_are_told_whole() {
    CASES.iter().for_each(Recorded::holds);
}

/// USE-1, USE-6: input, cache reads and cache writes are the prompt side, the output holds the reasoning,
/// and the sums are those of what the model server served.
#[test]
fn the_sums_are_those_of_the_model_server() {
    let calls = CASES.map(|case| sums(&case.read().1));
    let expected = [5, 1, 1, 0, 1].map(|calls| served(calls, 1200, 1000, 34));
    assert_eq!(calls, expected);
}

/// D2, USE-3: a fork copies its parent's entries; they are neither its calls nor its beginning.
#[test]
fn a_fork_does_not_count_its_parents_calls_again() {
    let (parent, before) = recorded("resume").read();
    let (fork, after) = recorded("fork").read();
    let id = "11111111-2222-4333-8444-555555555555".to_owned();
    assert_eq!(fork.session().parent, Some(Parent { id, kinship: Kinship::Forked }));
    assert!(fork.session().started_at > parent.session().last_at);
    let together: Vec<_> = before.into_iter().chain(after).collect();
    assert_eq!(sums(&together), served(6, 1200, 1000, 34));
}

/// D9: a torn last line is not consumed; once it is whole, nothing is lost.
#[test]
fn a_torn_last_line_waits_for_its_rest() {
    let whole = drive::data("pi", "resume/session.jsonl");
    let (all, torn) = (sums(&recorded("resume").read().1), &whole[..whole.len() - 1]);
    assert_eq!(all, served(5, 1200, 1000, 34));
    let (_, events) = drive::whole(Format::Pi, DIRECTORY, &[], torn, Needs::Everything);
    assert_eq!(sums(&events), served(4, 1200, 1000, 34));
}

/// USE-1, USE-3: summaries and other requests that no message shows have their usage counted, each once;
/// entries of all kinds are kept.
#[test]
fn what_no_message_shows_is_counted_too() {
    let (decoder, events) = made(
        Format::Pi,
        "--w--/2026-01-01T00-00-00-000Z_s.jsonl",
        &[
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w"}"#,
            r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01Z","message":{"role":"user","content":"hi"}}"#,
            r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02Z","message":{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yo"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}}"#,
            r#"{"type":"compaction","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03Z","summary":"S","firstKeptEntryId":"b","tokensBefore":9,"usage":{"input":10,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.5}}}"#,
            r#"{"type":"branch_summary","id":"d","parentId":"a","timestamp":"2026-01-01T00:00:04Z","fromId":"b","summary":"S","usage":{"input":20,"output":2,"cacheRead":0,"cacheWrite":0}}"#,
            r#"{"type":"usage","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:05Z","kind":"cache_warm","model":"m","usage":{"input":0,"output":0,"cacheRead":50,"cacheWrite":0}}"#,
            r#"{"type":"thinking_level_change","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:06Z","thinkingLevel":"high"}"#,
            r#"{"type":"model_change","id":"g","parentId":"f","timestamp":"2026-01-01T00:00:07Z","provider":"p","modelId":"n"}"#,
            r#"{"type":"session_info","id":"h","parentId":"g","timestamp":"2026-01-01T00:00:08Z","name":"N"}"#,
            r#"{"type":"custom_message","id":"i","parentId":"h","timestamp":"2026-01-01T00:00:09Z","customType":"x","content":[{"type":"text","text":"injected"}],"display":true}"#,
            r#"{"type":"novelty","id":"j","parentId":"i","timestamp":"2026-01-01T00:00:10Z"}"#,
            "{not json",
            "{\"type\":\"label\",\"id\":\"k\",\"timestamp\":\"2026-01-01T00:00:11Z\",\"label\":\"\u{fffd}\"}",
        ],
    );
    let expected = r#"{"at":"2026-01-01T00:00:01.000Z","id":"a","kind":"user","text":"hi"}
{"at":"2026-01-01T00:00:02.000Z","kind":"model","model":"m"}
{"at":"2026-01-01T00:00:02.000Z","id":"b","kind":"reasoning","text":"hm"}
{"at":"2026-01-01T00:00:02.000Z","id":"b","kind":"assistant","text":"yo"}
{"at":"2026-01-01T00:00:02.000Z","id":"b","kind":"usage","key":"b@1767225602000000","model":"m","tokens":{"input":8,"cached":3,"output":2}}
{"at":"2026-01-01T00:00:02.000Z","kind":"context","used":8}
{"at":"2026-01-01T00:00:03.000Z","id":"c","kind":"compaction"}
{"at":"2026-01-01T00:00:03.000Z","id":"c","kind":"usage","key":"c@1767225603000000","tokens":{"input":10,"cached":0,"output":1},"cost_usd":0.5}
{"at":"2026-01-01T00:00:04.000Z","id":"d","kind":"other","name":"branch_summary"}
{"at":"2026-01-01T00:00:04.000Z","id":"d","kind":"usage","key":"d@1767225604000000","tokens":{"input":20,"cached":0,"output":2}}
{"at":"2026-01-01T00:00:05.000Z","id":"e","kind":"other","name":"usage"}
{"at":"2026-01-01T00:00:05.000Z","id":"e","kind":"usage","key":"e@1767225605000000","model":"m","tokens":{"input":50,"cached":50,"output":0}}
{"at":"2026-01-01T00:00:06.000Z","id":"f","kind":"effort","effort":"high"}
{"at":"2026-01-01T00:00:07.000Z","kind":"model","model":"n"}
{"at":"2026-01-01T00:00:08.000Z","id":"h","kind":"other","name":"session_info"}
{"at":"2026-01-01T00:00:09.000Z","id":"i","kind":"user","text":"injected"}
{"at":"2026-01-01T00:00:10.000Z","id":"j","kind":"other","name":"novelty"}
{"at":"2026-01-01T00:00:11.000Z","id":"k","kind":"other","name":"label"}
"#;
    assert_eq!(events, expected);
    assert_eq!(decoder.session().title.as_deref(), Some("N"));
    assert_eq!(decoder.session().models, ["m", "n"]);
    let oddities = decoder.oddities();
    assert_eq!((oddities.malformed, oddities.too_long), (1, 0));
    assert_eq!(oddities.unknown.iter().collect::<Vec<_>>(), [(&"novelty".to_owned(), &1)]);
}

/// TRJ-3: a byte that is no UTF-8 loses no record.
#[test]
fn a_stray_byte_loses_no_record() {
    let line = b"{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"\xff\"}}\n";
    let (_, events) = drive::whole(Format::Pi, DIRECTORY, &[], line, Needs::Everything);
    assert_eq!(drive::shown(&events), "{\"id\":\"a\",\"kind\":\"user\",\"text\":\"\u{fffd}\"}\n");
}
