//! Databases in which very many records have one time, as an import may leave them.

use harnessd::trajectory::{Decoder, Event, Format, Needs, What};
use serde_json::{Value, json};

use crate::rows::{Store, recorded};

/// So many records of one time.
const MANY: usize = 300;

/// A session with these messages of one time.
fn crowded(format: Format, path: &str, session: &str, table: &str) -> (Store, Value) {
    let rows = recorded(format.as_str(), path);
    let of = |table: &str| rows.iter().find(|row| row["table"] == table).unwrap().clone();
    let store = Store::new(format);
    let named = if format == Format::Crush { "sessions" } else { "session" };
    store.put(rows.iter().find(|row| row["table"] == named && row["id"] == session).unwrap());
    let mut message = of(table);
    message["session_id"] = session.into();
    (store, message)
}

/// The texts that were said, as often as they were told.
fn said(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match &event.what {
        What::User { text } => Some(text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// TRJ-3: however many records have one time, each is told once, what is remembered of them is bounded, and
/// what was told long before is not asked for again.
fn holds(format: Format, path: &str, session: &str, table: &str, write: &dyn Fn(&Store, &Value, usize)) {
    let (store, message) = crowded(format, path, session, table);
    let (mut decoder, mut events) = (Decoder::new(format, session), Vec::new());
    for nth in 0..MANY {
        write(&store, &message, nth);
        if nth % 30 == 0 {
            store.feed(&mut decoder, session, Needs::Everything, &mut events);
            let written = serde_json::to_string(&decoder).unwrap();
            assert!(written.len() < 8 * 1024, "{format}: {} bytes of state", written.len());
            decoder = serde_json::from_str(&written).unwrap();
        }
    }
    store.feed(&mut decoder, session, Needs::Everything, &mut events);
    decoder.finish(Needs::Everything, &mut |event| events.push(event));
    assert_eq!(said(&events), (0..MANY).map(|nth| format!("words {nth}")).collect::<Vec<_>>(), "{format}");
    let mut again = 0;
    store.open().records(session, &decoder.watermark(), &mut |_| again += 1).unwrap();
    assert!(again < MANY / 2, "{format}: {again} rows again");
}

#[test]
fn a_crowded_second_of_crush_is_told_once() {
    let session = "5a0f8e0c-6d0e-4b8e-9a54-0d6f1c1f2a01";
    holds(Format::Crush, "sessions.rows.jsonl", session, "messages", &|store, message, nth| {
        let mut message = message.clone();
        // Ids have no order here.
        message["id"] = format!("{:08x}-of-no-order", (nth as u32).wrapping_mul(2_654_435_761)).into();
        message["role"] = "user".into();
        message["parts"] =
            json!([{"type": "text", "data": {"text": format!("words {nth}")}}]).to_string().into();
        store.put(&message);
    });
}

#[test]
fn a_crowded_millisecond_of_opencode_is_told_once() {
    let session = "ses_dd4030484ffezbObDjiQuizBMU";
    let path = "tool_then_resumed.rows.jsonl";
    let part = recorded("opencode", path).into_iter().find(|row| row["table"] == "part").unwrap();
    holds(Format::OpenCode, path, session, "message", &|store, message, nth| {
        let (mut message, mut part) = (message.clone(), part.clone());
        message["id"] = format!("msg_{nth:06}").into();
        (part["id"], part["message_id"]) = (format!("prt_{nth:06}").into(), message["id"].clone());
        part["data"] = json!({"type": "text", "text": format!("words {nth}")}).to_string().into();
        store.put(&message);
        store.put(&part);
    });
}
