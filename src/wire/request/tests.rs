//! CTL-4: what is a request and what is none.

use serde_json::{Value, json};

use super::{OPS, decode_request};
use crate::wire::{ErrorBody, ErrorCode, Op, Request, Which};

fn refused(line: &str) -> (Option<u64>, String, Option<String>) {
    let (id, ErrorBody { code, message, help }) = decode_request(line.as_bytes()).unwrap_err();
    assert_eq!(code, ErrorCode::BadRequest);
    (id, message, help)
}

fn said(id: Option<u64>, message: &str, help: Option<&str>) -> (Option<u64>, String, Option<String>) {
    (id, message.to_owned(), help.map(ToOwned::to_owned))
}

/// The backticked words after `expected` in serde's refusal.
fn expected_by_serde(probe: Value) -> Vec<String> {
    let message = serde_json::from_value::<Op>(probe).unwrap_err().to_string();
    let (_, list) = message.split_once("expected").unwrap_or_else(|| panic!("{message}"));
    list.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// CTL-4: the table that requests are checked against knows exactly the ops and fields of `Op`.
#[test]
fn the_table_of_ops_is_current() {
    let ops: Vec<&str> = OPS.iter().map(|(op, _)| *op).collect();
    assert_eq!(ops, expected_by_serde(json!({"op": "?"})));
    for (op, fields) in OPS {
        let mut whole = serde_json::Map::new();
        whole.insert("op".into(), (*op).into());
        for field in *fields {
            let value = [json!("x"), json!(["x"]), json!(true), json!(1)]
                .into_iter()
                .find(|value| field.kind.fits(value))
                .unwrap();
            whole.insert(field.name.into(), value);
        }
        for field in *fields {
            let mut less = whole.clone();
            less.remove(field.name);
            let missing = serde_json::from_value::<Op>(less.into()).is_err();
            assert_eq!(missing, field.needed, "`{}` of `{op}`", field.name);
        }
        serde_json::from_value::<Op>(whole.clone().into()).unwrap();
        if !fields.is_empty() {
            whole.insert("?".into(), Value::Null);
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names, expected_by_serde(whole.into()), "{op}");
        }
    }
}

/// CTL-4: what a client writes is what the daemon reads, for every op, and nothing absent is `null`.
#[test]
fn requests_read_back() {
    let name = || "web/sweep".to_owned();
    let names = || vec![name()];
    let ops = [
        Op::Hello { protocol: 1, version: "0.1.0".into() },
        Op::Status,
        Op::List,
        Op::Describe { name: name() },
        Op::Start { names: names(), all: false, wait: true, resume: None, fork: None },
        Op::Start { names: names(), all: false, wait: false, resume: Some(Which::Last), fork: None },
        Op::Start {
            names: names(),
            all: false,
            wait: false,
            resume: None,
            fork: Some(Which::Session("0a1b".into())),
        },
        Op::Stop { names: Vec::new(), all: true, wait: false },
        Op::Restart { names: names(), all: false, wait: false },
        Op::UseProfile { name: "night".into(), exclusive: true, wait: false },
        Op::Reload,
        Op::Runs { name: None, limit: None, failed: false, since: None },
        Op::Runs {
            name: Some(name()),
            limit: Some(3),
            failed: true,
            since: Some("2026-11-30T00:00:00Z".into()),
        },
        Op::Show { run: "0192".into() },
        Op::Skills { name: name() },
        Op::Trajectories { name: None, run: None, from: None, to: None, limit: None },
        Op::Trajectories {
            name: Some(name()),
            run: Some("0192".into()),
            from: Some("2026-11-30T00:00:00Z".into()),
            to: Some("2026-11-30T01:00:00Z".into()),
            limit: Some(3),
        },
        Op::Trajectory { session: "0192".into(), skip: None, limit: None },
        Op::Trajectory { session: "0192".into(), skip: Some(1), limit: Some(2) },
        Op::Usage { name: None, by: None, since: None },
        Op::Usage { name: Some(name()), by: Some("day".into()), since: Some("2026-11-30T00:00:00Z".into()) },
        Op::Subscribe,
    ];
    for op in ops {
        let request = Request { id: 7, op };
        let line = serde_json::to_string(&request).unwrap();
        assert!(!line.contains("null") && line.starts_with(r#"{"id":7,"op":""#), "{line}");
        assert_eq!(decode_request(line.as_bytes()), Ok(request), "{line}");
    }
    let short = br#"{"op":"stop","id":1}"#;
    let op = Op::Stop { names: Vec::new(), all: false, wait: false };
    assert_eq!(decode_request(short), Ok(Request { id: 1, op }));
}

/// CTL-4: an unknown op gets a structured error with the nearest known one.
#[test]
fn an_unknown_op_is_refused() {
    assert_eq!(
        refused(r#"{"id":3,"op":"strat","names":[]}"#),
        said(Some(3), "unknown op `strat`", Some("did you mean `start`?"))
    );
    assert_eq!(
        refused(r#"{"id":3,"op":"zzzzzzzz\n"}"#),
        said(
            Some(3),
            r"unknown op `zzzzzzzz\n`",
            Some(
                "the ops are `hello`, `status`, `list`, `describe`, `start`, `stop`, `restart`, `use-profile`, `reload`, `reexec`, `runs`, `show`, `skills`, `trajectories`, `trajectory`, `usage`, `subscribe`"
            )
        )
    );
}

/// CTL-4: an unknown field gets a structured error, ops without fields included.
#[test]
fn an_unknown_field_is_refused() {
    assert_eq!(
        refused(r#"{"id":4,"op":"start","name":["a"]}"#),
        said(Some(4), "op `start` has no field `name`", Some("did you mean `names`?"))
    );
    assert_eq!(
        refused(r#"{"id":4,"op":"stop","timeout":3}"#),
        said(Some(4), "op `stop` has no field `timeout`", Some("its fields are `names`, `all`, `wait`"))
    );
    assert_eq!(
        refused(r#"{"id":4,"op":"status","verbose":true}"#),
        said(Some(4), "op `status` has no field `verbose`", Some("it takes no fields"))
    );
}

/// CTL-4: a field of a wrong type, a missing one and `null` are refused by name.
#[test]
fn a_field_of_a_wrong_type_is_refused() {
    let cases = [
        (r#"{"id":5,"op":"start","names":"a"}"#, "field `names` of op `start` must be a list of strings"),
        (r#"{"id":5,"op":"start","names":[1]}"#, "field `names` of op `start` must be a list of strings"),
        (r#"{"id":5,"op":"stop","all":1}"#, "field `all` of op `stop` must be `true` or `false`"),
        (
            r#"{"id":5,"op":"start","resume":false}"#,
            "field `resume` of op `start` must be `true` or the id of a session",
        ),
        (
            r#"{"id":5,"op":"start","fork":""}"#,
            "field `fork` of op `start` must be `true` or the id of a session",
        ),
        (
            r#"{"id":5,"op":"runs","limit":-1}"#,
            "field `limit` of op `runs` must be a whole number from 0 to 4294967295",
        ),
        (r#"{"id":5,"op":"runs","name":null}"#, "field `name` of op `runs` must be a string"),
        (r#"{"id":5,"op":"describe"}"#, "op `describe` needs the field `name`"),
        (r#"{"id":5,"op":7}"#, "`op` must be a string"),
        (r#"{"id":5}"#, "the request has no `op`"),
    ];
    for (line, message) in cases {
        assert_eq!(refused(line), said(Some(5), message, None), "{line}");
    }
}

/// CTL-4: a line that is no request is refused without an id.
#[test]
fn a_line_that_is_no_request_is_refused() {
    let cases = [
        ("", "a request must be a JSON object: EOF while parsing a value at line 1 column 0"),
        ("[]", "a request must be a JSON object"),
        ("{\"id\":1", "a request must be a JSON object: EOF while parsing an object at line 1 column 7"),
        (r#"{"op":"list"}"#, "the request has no `id`"),
        (r#"{"id":"1","op":"list"}"#, "`id` must be a whole number from 0"),
        (r#"{"id":-1,"op":"list"}"#, "`id` must be a whole number from 0"),
    ];
    for (line, message) in cases {
        assert_eq!(refused(line), said(None, message, None), "{line}");
    }
    let deep = "[".repeat(100_000);
    assert!(decode_request(deep.as_bytes()).unwrap_err().1.message.contains("recursion limit"));
    assert!(decode_request(b"{\"id\":1,\"op\":\"\xff\"}").is_err());
}
