//! Recorded sessions: what is told of each is compared whole.

use harnessd::trajectory::{Decoder, Event, Format, Needs, Oddities};

use crate::drive::{self, Documents};

/// A stream in `tests/data/trajectory/AGENT/CASE`, and where it lay in the store.
pub(crate) struct Recorded {
    pub(crate) format: Format,
    pub(crate) case: &'static str,
    pub(crate) stream: &'static str,
    pub(crate) path: &'static str,
    /// Names in the layout and in the case, where `{stem}` is that of the stream.
    pub(crate) documents: &'static [(&'static str, &'static str)],
}

impl Recorded {
    /// TRJ-2, TRJ-3, USE-2: the session and its events are those of `STREAM.events`, however it is read: first
    /// what is known of the session, then an event a line, last what was odd, if anything was.
    pub(crate) fn holds(&self) {
        let (decoder, events) = self.read();
        let mut told = format!("{}\n{}", drive::facts(&decoder), drive::shown(&events));
        if *decoder.oddities() != Oddities::default() {
            told += &(serde_json::to_string(decoder.oddities()).unwrap() + "\n");
        }
        let expected = format!("{}/{}", self.case, self.stream.replace(".jsonl", ".events"));
        drive::expected(self.format.as_str(), &expected, &told);
        self.with(|documents, lines| drive::same_in_pieces(self.format, self.path, documents, lines));
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
        let stem = self.stream.trim_end_matches(".jsonl");
        drive::data(self.format.as_str(), &format!("{}/{}", self.case, name.replace("{stem}", stem)))
    }
}

/// Lines in which `'` stands for `"`.
pub(crate) fn quoted(lines: &[impl AsRef<str>]) -> Vec<String> {
    lines.iter().map(|line| line.as_ref().replace('\'', "\"")).collect()
}

/// What lines made by hand give.
pub(crate) fn told(format: Format, path: &str, lines: &[impl AsRef<str>]) -> (Decoder, Vec<Event>) {
    let text: String = lines.iter().map(|line| format!("{}\n", line.as_ref())).collect();
    drive::same_in_pieces(format, path, &[], text.as_bytes());
    drive::whole(format, path, &[], text.as_bytes(), Needs::Everything)
}

/// The same, with the events as JSON, one a line.
pub(crate) fn made(format: Format, path: &str, lines: &[impl AsRef<str>]) -> (Decoder, String) {
    let (decoder, events) = told(format, path, lines);
    (decoder, drive::shown(&events))
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
