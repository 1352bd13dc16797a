//! TRJ-3: whatever the bytes are, a reader neither panics nor stops nor keeps them.
//!
//! A few hundred executions a reader by default, 1,000,000 with `HARNESSD_FULL=1`, as many as wanted with
//! `HARNESSD_ROUNDS=N`; `HARNESSD_SEED=N` looks at that one alone. The same each time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use harnessd::trajectory::{Decoder, Format, Layout, Needs, Row};
use serde_json::Value;

use crate::drive::Dice;
use crate::rows::Store;
use crate::seeds::seeds;
use crate::{corpus, memory};

/// Memory is at most so many times the bytes that are given: a parsed list of digits is the worst, at two bytes
/// an item.
const TIMES: usize = 64;
/// What a reader may hold besides.
const BESIDES: usize = 32 << 10;

macro_rules! readers {
    ($($name:ident: $format:ident,)+) => {
        $(
            #[test]
            fn $name() {
                fuzz(Format::$format);
            }
        )+
    };
}

readers! {
    claude_code: ClaudeCode,
    codex: Codex,
    opencode: OpenCode,
    crush: Crush,
    pi: Pi,
    gemini: Gemini,
    qwen: Qwen,
    copilot: Copilot,
    kimi: Kimi,
    grok: Grok,
    goose: Goose,
    hermes: Hermes,
    vibe: Vibe,
    antigravity: Antigravity,
}

/// Each execution decodes one mutation, in memory that is bounded by what is given.
#[expect(clippy::print_stdout, reason = "how much was tried is shown with `--nocapture`")]
fn fuzz(format: Format) {
    let target = if corpus::is_of_files(format) { Target::files(format) } else { Target::rows(format) };
    let (begun, mut most, mut slowest) = (Instant::now(), (0, 0), (0, 0));
    for seed in seeds(400, 1_000_000) {
        let mut dice = Dice(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let needs = if dice.below(2) == 0 { Needs::Everything } else { Needs::Usage };
        let at = Instant::now();
        let run = catch_unwind(AssertUnwindSafe(|| target.run(format, needs, &mut dice)));
        let (held, given) = run.unwrap_or_else(|_| panic!("{format}: HARNESSD_SEED={seed}, as said above"));
        assert!(held <= given * TIMES + BESIDES, "{format}, HARNESSD_SEED={seed}: {held} bytes for {given}");
        most = most.max((held, seed));
        slowest = slowest.max((at.elapsed().as_micros(), seed));
    }
    println!(
        "{format}: {} executions in {:.1} s; most bytes held {}, slowest {} µs (seeds {}, {})",
        seeds(400, 1_000_000).count(),
        begun.elapsed().as_secs_f64(),
        most.0,
        slowest.0,
        most.1,
        slowest.1,
    );
}

/// What is mutated.
enum Target {
    Files { streams: Vec<corpus::Stream>, foreign: Vec<u8> },
    Rows { head: fn(&Row) -> Option<harnessd::trajectory::Head>, heads: Vec<Row>, records: Vec<Row> },
}

impl Target {
    fn files(format: Format) -> Self {
        let of = |format| corpus::cases(format).into_iter().flat_map(|case| case.streams);
        let others = corpus::FORMATS.into_iter().filter(|other| *other != format);
        let mut foreign = Vec::new();
        others.flat_map(of).for_each(|stream| foreign.extend(stream.lines));
        Self::Files { streams: of(format).collect(), foreign }
    }

    fn rows(format: Format) -> Self {
        let Layout::Database(layout) = format.layout() else { panic!("{format}") };
        let store = Store::of(format, &corpus::recorded(format));
        let (database, heads) = (store.open(), store.heads());
        let mut records = Vec::new();
        for head in heads.iter().filter_map(layout.head) {
            let all = Decoder::new(format, "").watermark();
            database.records(&head.id, &all, &mut |row| records.push(row.clone())).unwrap();
        }
        Self::Rows { head: layout.head, heads, records }
    }

    /// Gives the most bytes that decoding held, and how many it was given.
    fn run(&self, format: Format, needs: Needs, dice: &mut Dice) -> (usize, usize) {
        match self {
            Self::Files { streams, foreign } => stream(format, streams, foreign, needs, dice),
            Self::Rows { head, heads, records } => rows(format, *head, heads, records, needs, dice),
        }
    }
}

fn stream(
    format: Format,
    streams: &[corpus::Stream],
    foreign: &[u8],
    needs: Needs,
    dice: &mut Dice,
) -> (usize, usize) {
    let chosen = &streams[dice.below(streams.len())];
    let mut documents = chosen.documents.clone();
    // A piece of the stream, with a piece of another agent's or of another of its own now and then.
    let mut bytes = some_lines(&chosen.lines, dice).to_vec();
    match dice.below(8) {
        0 => bytes.extend_from_slice(some_lines(foreign, dice)),
        1 => drop(bytes.splice(0..0, some_lines(foreign, dice).iter().copied())),
        2 => bytes.extend_from_slice(some_lines(&streams[dice.below(streams.len())].lines, dice)),
        _ => {}
    }
    for _ in 0..=dice.below(6) {
        let at = dice.below(documents.len() * 2 + 4);
        mutate(documents.get_mut(at).map_or(&mut bytes, |(_, text)| text), dice);
    }
    bytes.push(b'\n');
    let given = bytes.len() + documents.iter().map(|(_, text)| text.len()).sum::<usize>();
    let (again, written) = (dice.below(64), dice.below(4) == 0);
    let held = memory::most(|| {
        let mut decoder = Decoder::new(format, &chosen.path);
        let document = |decoder: &mut Decoder| {
            for (name, text) in &documents {
                decoder.document(name, text, needs, &mut |_| ());
            }
        };
        document(&mut decoder);
        let mut offset = 0;
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            decoder.line(line, offset, needs, &mut |_| ());
            offset += line.len() as u64 + 1;
            if number == again {
                document(&mut decoder);
                decoder.finish(needs, &mut |_| ());
            }
            if written && number % 8 == 0 {
                decoder = serde_json::from_str(&serde_json::to_string(&decoder).unwrap()).unwrap();
            }
        }
        decoder.finish(needs, &mut |_| ());
        decoder.skipped();
        serde_json::to_string(&decoder).unwrap();
    });
    (held, given)
}

fn rows(
    format: Format,
    head: fn(&Row) -> Option<harnessd::trajectory::Head>,
    heads: &[Row],
    records: &[Row],
    needs: Needs,
    dice: &mut Dice,
) -> (usize, usize) {
    let (mut given, mut steps) = (0, Vec::new());
    for _ in 0..=dice.below(5) {
        let mut first = heads[dice.below(heads.len())].clone();
        let mut begin = dice.below(records.len());
        mangle(&mut first, records, dice);
        let mut some = Vec::new();
        for _ in 0..dice.below(12) {
            // In their order mostly.
            begin = if dice.below(4) == 0 { dice.below(records.len()) } else { (begin + 1) % records.len() };
            let mut row = records[begin].clone();
            mangle(&mut row, records, dice);
            given += size(&row);
            some.push(row);
        }
        given += size(&first);
        steps.push((first, some, dice.below(3) == 0));
    }
    let held = memory::most(|| {
        let mut decoder = Decoder::new(format, "x");
        let mut number = 0;
        for (first, some, finish) in &steps {
            decoder.head(first, needs, &mut |_| ());
            head(first);
            for row in some {
                decoder.row(row, number, needs, &mut |_| ());
                number += 1;
            }
            if *finish {
                decoder.finish(needs, &mut |_| ());
            }
            let _asked = decoder.watermark();
            decoder = serde_json::from_str(&serde_json::to_string(&decoder).unwrap()).unwrap();
        }
    });
    (held, given)
}

/// So many bytes as JSON has of it.
fn size(row: &Row) -> usize {
    row.iter().map(|(name, value)| name.len() + value.as_str().map_or(8, str::len)).sum()
}

/// Whole lines one after the other, mostly from the beginning on.
fn some_lines<'a>(bytes: &'a [u8], dice: &mut Dice) -> &'a [u8] {
    let length = bytes.len().min(512 << dice.below(7));
    let begin = if dice.below(2) == 0 { 0 } else { dice.below(bytes.len() - length + 1) };
    let line = |at: usize| {
        let before = bytes.get(..at).unwrap_or_default();
        memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
    };
    &bytes[line(begin)..line(begin + length).max(line(begin))]
}

/// One change of some bytes: a flipped, removed, repeated or foreign piece, another number, an end, or lines in
/// another order.
fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const PIECES: [&[u8]; 16] = [
        b"null",
        b"{}",
        b"[]",
        b"-1",
        b"1e999",
        b"18446744073709551615",
        b"18446744073709551616",
        b"-9223372036854775808",
        b"\"\"",
        b"\xff\xfe",
        b"\n",
        b"\\u0000",
        b"\\ud800",
        b"true",
        b"{\"a\":",
        b"0.1",
    ];
    if bytes.is_empty() {
        return bytes.extend_from_slice(PIECES[dice.below(PIECES.len())]);
    }
    let at = dice.below(bytes.len());
    let to = (at + dice.below(64)).min(bytes.len());
    match dice.below(9) {
        0 => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
        1 => drop(bytes.drain(at..to)),
        2 => {
            let piece = bytes[at..to].to_vec();
            bytes.splice(at..at, piece);
        }
        3 => drop(bytes.splice(at..to, PIECES[dice.below(PIECES.len())].iter().copied())),
        4 => bytes.truncate(at),
        5 => {
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(0, |end| at + end + 1);
            bytes.rotate_left(end);
        }
        // A value in the place of another one keeps the line a record.
        6 => {
            let begin = memchr::memchr(b':', &bytes[at..]).map_or(at, |colon| at + colon + 1);
            let rest = &bytes[begin..];
            let end = rest.iter().position(|byte| b",}]\n".contains(byte)).unwrap_or(rest.len());
            bytes.splice(begin..begin + end, PIECES[dice.below(PIECES.len())].iter().copied());
        }
        // A record again.
        7 => {
            let begin = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
            let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end + 1);
            let line = bytes[begin..end].to_vec();
            bytes.extend_from_slice(&line);
        }
        _ => {
            let depth = 1 << dice.below(9);
            bytes.splice(at..at, std::iter::repeat_n(b"[{"[dice.below(2)], depth));
        }
    }
}

fn mangle(row: &mut Row, others: &[Row], dice: &mut Dice) {
    for _ in 0..dice.below(3) {
        let at = dice.below(row.len());
        let value = row.values_mut().nth(at).unwrap();
        match value {
            Value::String(text) if dice.below(3) > 0 && !text.is_empty() => {
                let mut bytes = std::mem::take(text).into_bytes();
                mutate(&mut bytes, dice);
                *text = String::from_utf8_lossy(&bytes).into_owned();
            }
            value => {
                let other = &others[dice.below(others.len())];
                *value = match dice.below(8) {
                    0 => Value::Null,
                    1 => (-1).into(),
                    2 => i64::MAX.into(),
                    3 => i64::MIN.into(),
                    4 => 1e300.into(),
                    5 => "\u{fffd}{[".into(),
                    _ => other.values().nth(dice.below(other.len())).unwrap().clone(),
                }
            }
        }
    }
}
