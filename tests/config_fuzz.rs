//! CFG-8: whatever stands in the files, reading and judging them ends in an answer that can be shown.
//!
//! A few hundred executions by default, 1,000,000 with `HARNESSD_FULL=1`, as many as wanted with
//! `HARNESSD_ROUNDS=N`; `HARNESSD_SEED=N` looks at that one alone. The same each time.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

#[path = "sources/seeds.rs"]
mod seeds;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use camino::Utf8Path;
use harnessd::base::{Format, Random, Severity, render};
use harnessd::config::{
    CODES, EnvFile, FileKind, Input, Lookup, PromptFile, Surroundings, TableKind, decode, definition_json,
    known_keys, load,
};
use seeds::seeds;

/// Files are as the lengths of their names have it.
struct ByLength;

impl Lookup for ByLength {
    fn prompt_file(&self, path: &Utf8Path) -> PromptFile {
        match path.as_str().len() % 4 {
            0 => PromptFile::Missing,
            1 => PromptFile::Unreadable("permission denied".into()),
            _ => PromptFile::Good,
        }
    }

    fn env_file(&self, path: &Utf8Path) -> EnvFile {
        if path.as_str().len().is_multiple_of(3) { EnvFile::Missing } else { EnvFile::Good }
    }
}

struct Dice(Random);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.0.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Pieces of TOML, and characters that are easily mistaken.
const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'",
    "\"\"\"",
    "=",
    ".",
    ",",
    "#",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{200b}",
    "\u{85}",
    "ä",
    "\u{10ffff}",
    "~",
    "~/",
    "../",
    "{workdir}",
    "\\u0000",
    "\\U0010FFFF",
    "inf",
    "nan",
    "-1",
    "9223372036854775807",
    "1e999",
    "0x7f",
    "1979-05-27",
    "true",
    "\"\"",
    "[]",
    "{}",
    "a.b.c",
    "\n[harness.a]\n",
    "\n[defaults]\n",
    "\n[project]\n",
    "\n[daemon]\n",
    "\n[notify]\n",
    "\n[adapter.mine]\ncommands = [\"mine\"]\n",
    "\n[profile.x]\n",
    "\n[harness.a.env]\n",
    "\n[[harness]]\n",
    "@daily",
    "* * * * *",
    "0s",
    "1h 30m",
    "64 MiB",
];

/// What is mutated: the samples and the examples; and what is put in: keys with values, and pieces.
struct Corpus {
    files: Vec<Vec<u8>>,
    pieces: Vec<Vec<u8>>,
}

impl Corpus {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        for kind in ["valid", "invalid"] {
            let cases = fs::read_dir(root.join("tests/data/config").join(kind)).unwrap();
            let mut cases: Vec<_> = cases.map(|case| case.unwrap().path()).collect();
            cases.sort();
            for name in ["harness.toml", "drop-in.toml", "project.toml", "other.toml"] {
                files.extend(cases.iter().filter_map(|case| fs::read(case.join(name)).ok()));
            }
        }
        let examples = ["harness.toml.example", "examples/project/harness.toml"];
        files.extend(examples.map(|name| fs::read(root.join(name)).unwrap()));
        // A prompt that is too long is a matter of its length alone, and makes everything slow.
        files.retain(|file| file.len() < 10_000);
        let tables = [
            TableKind::Harness,
            TableKind::Daemon,
            TableKind::Notify,
            TableKind::Profile,
            TableKind::Project,
        ];
        let keys = tables.into_iter().flat_map(known_keys);
        let mut pieces: Vec<Vec<u8>> = keys.map(|key| format!("\n{}\n", key.example).into_bytes()).collect();
        pieces.extend(PIECES.iter().map(|piece| piece.as_bytes().to_vec()));
        Self { files, pieces }
    }

    fn text(&self, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = dice.of(&self.files).clone();
        for _ in 0..dice.below(8) {
            self.mutate(&mut bytes, dice);
        }
        bytes
    }

    /// One change: a byte, a piece left out, repeated, put in or replaced, lines of another file, or an end.
    fn mutate(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        let at = dice.below(bytes.len() + 1);
        let to = (at + dice.below(32)).min(bytes.len());
        match dice.below(8) {
            0 if at < bytes.len() => bytes[at] = dice.below(256).to_le_bytes()[0],
            1 => drop(bytes.drain(at..to)),
            2 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => drop(bytes.splice(at..to, dice.of(&self.pieces).iter().copied())),
            4 if dice.below(4) == 0 => bytes.truncate(at),
            5 => {
                let lines: Vec<&[u8]> = dice.of(&self.files).split_inclusive(|byte| *byte == b'\n').collect();
                let from = dice.below(lines.len()).min(lines.len());
                let some = lines[from..(from + 1 + dice.below(6)).min(lines.len())].concat();
                let line = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                bytes.splice(line..line, some);
            }
            6 => {
                let depth = 1 << dice.below(9);
                let open = *dice.of(&["[", "{a=", "a.", "\"\\"]);
                bytes.splice(at..at, open.repeat(depth).into_bytes());
            }
            _ => drop(bytes.splice(at..at, dice.of(&self.pieces).iter().copied())),
        }
    }
}

const GLOBAL: &str = "/home/u/.config/harnessd/harness.toml";
const DROP_IN: &str = "/home/u/.config/harnessd/harness.d/10.toml";
const PROJECTS: [&str; 2] = ["/home/u/src/app/harness.toml", "/home/u/src/Ein Ärger/harness.toml"];

/// Reads a few files together; whether they made a configuration.
fn execute(corpus: &Corpus, dice: &mut Dice) -> bool {
    let global = (dice.below(3) > 0).then_some((GLOBAL, FileKind::Global));
    let drop_in = (dice.below(3) == 0).then_some((DROP_IN, FileKind::DropIn));
    let projects = PROJECTS.into_iter().take(dice.below(3)).map(|file| (file, FileKind::Project));
    let mut inputs = Vec::new();
    for (file, kind) in global.into_iter().chain(drop_in).chain(projects) {
        let bytes = corpus.text(dice);
        let text =
            decode(file.into(), bytes.clone()).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        inputs.push(Input { file: file.into(), kind, text });
    }
    let surroundings =
        Surroundings { home: "/home/u".into(), zone: chrono_tz::Tz::UTC, env: BTreeMap::new() };
    let loaded = load(&inputs, &surroundings, &ByLength);
    let failed = loaded.diagnostics.iter().any(|one| one.severity == Severity::Error);
    assert_eq!(loaded.configuration.is_none(), failed, "a configuration is what no error stands against");
    for one in &loaded.diagnostics {
        for place in one.related.iter().map(|other| &other.place).chain([&one.place]) {
            let text = loaded.sources.get(&place.file).unwrap().as_str();
            assert!(place.span.clone().is_none_or(|span| text.get(span).is_some()), "{one:?}");
        }
        assert!(!one.message.is_empty() && !one.message.contains(char::is_control), "{one:?}");
    }
    for harness in loaded.configuration.iter().flat_map(|whole| whole.harnesses.values()) {
        let name = harness.name.file_name();
        assert!(!name.contains(['/', '.', '\0']) && !name.is_empty(), "{name}");
        let _shown = definition_json(harness);
    }
    if dice.below(8) == 0 {
        let all =
            [Format::Human { color: false }, Format::Short, Format::Json, Format::Sarif { rules: CODES }];
        for format in all {
            let shown = render(&loaded.diagnostics, &loaded.sources, format);
            let steers = |c: char| {
                c.is_control() && !matches!(c, '\n' | '\t' | '\r') || ('\u{202a}'..='\u{202e}').contains(&c)
            };
            assert!(!shown.contains(steers), "{shown:?}");
        }
    }
    !failed
}

/// CFG-8: each execution reads up to four mutated files together.
#[test]
fn mutated_files_are_answered() {
    let corpus = Corpus::new();
    let (begun, mut valid, mut slowest) = (Instant::now(), 0_u64, (0, 0));
    for seed in seeds(400, 1_000_000) {
        let mut dice = Dice(Random::new(seed));
        let at = Instant::now();
        let run = catch_unwind(AssertUnwindSafe(|| execute(&corpus, &mut dice)));
        valid += u64::from(run.unwrap_or_else(|_| panic!("HARNESSD_SEED={seed}, as said above")));
        slowest = slowest.max((at.elapsed().as_micros(), seed));
    }
    let (count, seconds) = (seeds(400, 1_000_000).count(), begun.elapsed().as_secs_f64());
    let (longest, seed) = slowest;
    assert!(count < 100 || valid > 0, "none was valid");
    println!("{count} executions in {seconds:.1} s, {valid} valid; slowest {longest} µs (seed {seed})");
}
