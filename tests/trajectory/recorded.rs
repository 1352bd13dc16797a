//! Recorded sessions: what is told of each is compared whole.

use harnessd::trajectory::{Decoder, Event, Format, Needs, Tokens, What};

use crate::drive::{self, Documents};

/// A stream in `tests/data/trajectory/AGENT/CASE`, and where it lay in the store.
pub(crate) struct Recorded {
    pub(crate) format: Format,
    pub(crate) case: &'static str,
    pub(crate) stream: &'static str,
    pub(crate) path: &'static str,
    /// Names in the layout and in the case.
    pub(crate) documents: &'static [(&'static str, &'static str)],
}

impl Recorded {
    /// TRJ-2, TRJ-3, USE-2: the session and its events are those of `STREAM.expected`, however it is read.
    pub(crate) fn holds(&self) {
        self.with(|documents, lines| {
            let (decoder, events) = drive::whole(self.format, self.path, documents, lines, Needs::Everything);
            let told = format!("{}\n{}", drive::facts(&decoder), drive::shown(&events));
            let expected = self.file(&self.stream.replace(".jsonl", ".expected"));
            assert_eq!(told, String::from_utf8(expected).unwrap(), "{}", self.case);
            assert_eq!(*decoder.oddities(), harnessd::trajectory::Oddities::default(), "{}", self.case);
            drive::same_in_pieces(self.format, self.path, documents, lines);
        });
    }

    /// What one reading of it gives.
    pub(crate) fn read(&self) -> (Decoder, Vec<Event>) {
        self.with(|documents, lines| {
            drive::whole(self.format, self.path, documents, lines, Needs::Everything)
        })
    }

    fn with<T>(&self, work: impl FnOnce(Documents<'_>, &[u8]) -> T) -> T {
        let texts: Vec<Vec<u8>> = self.documents.iter().map(|(_, file)| self.file(file)).collect();
        let named = self.documents.iter().zip(&texts);
        let documents: Vec<(&str, &[u8])> = named.map(|((name, _), text)| (*name, text.as_slice())).collect();
        work(&documents, &self.file(self.stream))
    }

    fn file(&self, name: &str) -> Vec<u8> {
        drive::data(self.format.as_str(), &format!("{}/{name}", self.case))
    }
}

/// What lines made by hand give: the decoder, and the events as JSON, one a line.
pub(crate) fn made(format: Format, path: &str, lines: &[&str]) -> (Decoder, String) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    drive::same_in_pieces(format, path, &[], text.as_bytes());
    let (decoder, events) = drive::whole(format, path, &[], text.as_bytes(), Needs::Everything);
    (decoder, drive::shown(&events))
}

/// The calls that count: the last one of each key; their number and their sum.
pub(crate) fn spent(events: &[Event]) -> (usize, Tokens) {
    let mut calls = std::collections::BTreeMap::new();
    for event in events {
        if let What::Usage(call) = &event.what {
            calls.insert(call.key.clone(), call.tokens.unwrap_or_default());
        }
    }
    let sum = calls.values().fold(Tokens::default(), |sum, call| Tokens {
        input: sum.input + call.input,
        cached: sum.cached + call.cached,
        output: sum.output + call.output,
    });
    (calls.len(), sum)
}

/// So many calls as the model server answered them, each with these tokens.
pub(crate) fn served(calls: usize, input: u64, cached: u64, output: u64) -> (usize, Tokens) {
    let many = calls as u64;
    (calls, Tokens { input: many * input, cached: many * cached, output: many * output })
}

/// USE-1: what came from the cache is a part of the prompt side, also where an agent states more.
#[test]
fn cached_tokens_are_no_more_than_the_input() {
    let (_, gemini) = made(
        Format::Gemini,
        "p/chats/session-x.jsonl",
        &[r#"{"id":"m","type":"gemini","tokens":{"input":5,"output":1,"cached":9,"total":6},"model":"x"}"#],
    );
    let (_, qwen) = made(
        Format::Qwen,
        "-w/chats/s.jsonl",
        &[
            r#"{"uuid":"a","type":"assistant","usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"totalTokenCount":6,"cachedContentTokenCount":9}}"#,
        ],
    );
    let (_, copilot) = made(
        Format::Copilot,
        "s/events.jsonl",
        &[
            r#"{"type":"session.usage_record","id":"b","data":{"usage":{"inputTokens":5,"outputTokens":1,"cacheReadTokens":9}}}"#,
        ],
    );
    for events in [gemini, qwen, copilot] {
        assert!(events.contains(r#""tokens":{"input":5,"cached":5,"output":1}"#), "{events}");
    }
}
