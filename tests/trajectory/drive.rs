//! Driving a decoder over recorded data in all the ways that the daemon may.

use std::fs;
use std::path::{Path, PathBuf};

use harnessd::base::Wall;
use harnessd::trajectory::{Decoder, Event, Format, Needs, What};

/// A recorded file of an agent: `claude-code`, `tool-call/x.jsonl`.
pub(crate) fn data(agent: &str, path: &str) -> Vec<u8> {
    let path = dir(agent).join(path);
    fs::read(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// The folder of an agent's recorded files.
pub(crate) fn dir(agent: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trajectory").join(agent)
}

/// A stream with the documents beside it: name in the layout and contents.
pub(crate) type Documents<'a> = &'a [(&'a str, &'a [u8])];

/// What one reading gives: the decoder at its end, and all events.
pub(crate) fn whole(
    format: Format,
    path: &str,
    documents: Documents<'_>,
    lines: &[u8],
    needs: Needs,
) -> (Decoder, Vec<Event>) {
    let (mut decoder, mut events) = begin(format, path, documents, needs);
    each_line(lines, |line, offset| decoder.line(line, offset, needs, &mut |event| events.push(event)));
    decoder.finish(needs, &mut |event| events.push(event));
    (decoder, events)
}

/// The same, with the state written down and read back after every line.
pub(crate) fn pieces(
    format: Format,
    path: &str,
    documents: Documents<'_>,
    lines: &[u8],
    needs: Needs,
) -> (Decoder, Vec<Event>) {
    let (mut decoder, mut events) = begin(format, path, documents, needs);
    each_line(lines, |line, offset| {
        let written = serde_json::to_string(&decoder).unwrap();
        // The title is never written down; the documents that may hold it are read again.
        decoder = serde_json::from_str(&written).unwrap();
        decoder.line(line, offset, needs, &mut |event| events.push(event));
    });
    decoder.finish(needs, &mut |event| events.push(event));
    (decoder, events)
}

/// TRJ-3, USE-2: reading on from any whole line gives what one reading gives, and asking for usage alone
/// gives the same usage and the same session.
pub(crate) fn same_in_pieces(format: Format, path: &str, documents: Documents<'_>, lines: &[u8]) {
    let (all, events) = whole(format, path, documents, lines, Needs::Everything);
    let (again, same) = pieces(format, path, documents, lines, Needs::Everything);
    assert_eq!(same, events);
    assert_eq!(written(&again), written(&all));
    let (brief, usage) = whole(format, path, documents, lines, Needs::Usage);
    assert_eq!(calls(&usage), calls(&events));
    assert_eq!(lasting(&brief), lasting(&all));
    let (brief, usage) = pieces(format, path, documents, lines, Needs::Usage);
    assert_eq!(calls(&usage), calls(&events));
    assert_eq!(lasting(&brief), lasting(&all));
}

/// What is known of the session, as it is written down: times are whole microseconds.
fn written(decoder: &Decoder) -> serde_json::Value {
    serde_json::to_value(decoder.session()).unwrap()
}

/// What is known of the session and may be written down, as JSON for people.
pub(crate) fn facts(decoder: &Decoder) -> serde_json::Value {
    let mut facts = written(decoder);
    for key in ["started_at", "last_at"] {
        if let Some(at) = facts[key].as_i64() {
            facts[key] = Wall(at).rfc3339().into();
        }
    }
    facts
}

/// The facts without those that may come from a record without usage, which may be passed over unparsed.
fn lasting(decoder: &Decoder) -> serde_json::Value {
    let mut facts = written(decoder);
    for passing in ["last_at", "context"] {
        facts.as_object_mut().unwrap().remove(passing);
    }
    facts
}

/// The usage among events, without where it stands.
pub(crate) fn calls(events: &[Event]) -> Vec<serde_json::Value> {
    let usage = events.iter().filter(|event| matches!(event.what, What::Usage(_)));
    usage.map(|event| serde_json::to_value(event).unwrap()).collect()
}

/// Events as JSON, one a line: what tests compare whole.
pub(crate) fn shown(events: &[Event]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

/// Compares what was told with the recorded file that says what is to be. `HARNESSD_BLESS=1` rewrites it: read it
/// then.
pub(crate) fn expected(agent: &str, path: &str, told: &str) {
    let path = dir(agent).join(path);
    if std::env::var_os("HARNESSD_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, told).unwrap();
    }
    assert_eq!(told, fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
}

fn begin(format: Format, path: &str, documents: Documents<'_>, needs: Needs) -> (Decoder, Vec<Event>) {
    let (mut decoder, mut events) = (Decoder::new(format, path), Vec::new());
    for (name, text) in documents {
        decoder.document(name, text, needs, &mut |event| events.push(event));
    }
    (decoder, events)
}

fn each_line(bytes: &[u8], mut each: impl FnMut(&[u8], u64)) {
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        // A torn last line is not consumed.
        if let Some(line) = line.strip_suffix(b"\n") {
            each(line, offset);
        }
        offset += line.len() as u64;
    }
}

/// A seeded source of numbers.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (bound.max(1) as u64)).unwrap_or(0)
    }
}
