//! Recorded streams, each beside the events and the session that it is to give.

use std::fs;
use std::path::Path;

use harnessd::trajectory::{Decoder, Event, Format, Needs};

use crate::drive;

/// Reads `CASE/NAME.jsonl` as the stream `path` and compares all that it tells with `CASE/NAME.events`: first
/// the session, then an event a line. With `BLESS` set the file is written instead, to be read by a person.
pub(crate) fn compare(agent: &str, case: &str, path: &str) {
    let (name, lines, documents) = stream(agent, case, path);
    let documents: Vec<(&str, &[u8])> =
        documents.iter().map(|(name, text)| (*name, text.as_slice())).collect();
    let format: Format = format(agent);
    let (decoder, events) = drive::whole(format, path, &documents, &lines, Needs::Everything);
    let mut told = drive::facts(&decoder).to_string() + "\n" + &drive::shown(&events);
    if *decoder.oddities() != harnessd::trajectory::Oddities::default() {
        told += &(serde_json::to_string(decoder.oddities()).unwrap() + "\n");
    }
    let expected = drive::dir(agent).join(case).join(format!("{name}.events"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&expected, &told).unwrap();
    }
    let expected = fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(told, expected, "{agent} {case} {path}");
    drive::same_in_pieces(format, path, &documents, &lines);
}

/// What a stream of these lines gives; `'` stands for `"`.
pub(crate) fn told(agent: &str, path: &str, lines: &[&str]) -> (Decoder, Vec<Event>) {
    let lines: String = lines.iter().map(|line| line.replace('\'', "\"") + "\n").collect();
    drive::same_in_pieces(format(agent), path, &[], lines.as_bytes());
    drive::whole(format(agent), path, &[], lines.as_bytes(), Needs::Everything)
}

type Stream = (String, Vec<u8>, Vec<(&'static str, Vec<u8>)>);

fn stream(agent: &str, case: &str, path: &str) -> Stream {
    let name = Path::new(path).file_stem().unwrap().to_str().unwrap().to_owned();
    let meta = fs::read(drive::dir(agent).join(case).join(format!("{name}.meta.json")));
    let lines = drive::data(agent, &format!("{case}/{name}.jsonl"));
    (name, lines, meta.ok().map(|text| ("{stem}.meta.json", text)).into_iter().collect())
}

fn format(agent: &str) -> Format {
    serde_json::from_value(agent.into()).unwrap()
}
