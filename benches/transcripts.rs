//! Reading transcripts, timed from inside. `transcripts make FORMAT DIR MEGABYTES FILES` writes streams as
//! the agent lays them out (`claude-code`, `codex`; the same for the same arguments), and
//! `transcripts read FORMAT DIR NEEDS` decodes all of them (`usage` or `everything`) and prints files, lines,
//! bytes, calls, milliseconds, megabytes a second and the largest memory in KiB.
//!
//! Run by hand or by `benches/run.py`. Without arguments, as under `cargo bench`, it measures nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, read by a script")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use harnessd::trajectory::{Decoder, Format, Needs, What};

type Done<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["make", format, dir, megabytes, files] => make(format, Path::new(dir), megabytes, files),
        ["read", format, dir, needs] => read(format, Path::new(dir), needs).map(|line| println!("{line}")),
        _ => Ok(()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("transcripts: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn read(format: &str, dir: &Path, needs: &str) -> Done<String> {
    let format: Format = serde_json::from_value(format.into())?;
    let needs = if needs == "everything" { Needs::Everything } else { Needs::Usage };
    let mut paths = Vec::new();
    walk(dir, &mut paths)?;
    let (mut lines, mut bytes, mut calls) = (0_u64, 0_u64, 0_u64);
    let mut buffer = vec![0; 1 << 18];
    let begun = Instant::now();
    for path in &paths {
        let name = path.strip_prefix(dir)?.to_string_lossy();
        let mut decoder = Decoder::new(format, &name);
        let mut emit = |event: harnessd::trajectory::Event| {
            calls += u64::from(matches!(event.what, What::Usage(_)));
        };
        let mut file = File::open(path)?;
        let (mut offset, mut held) = (0, 0);
        loop {
            if held == buffer.len() {
                buffer.resize(held * 2, 0);
            }
            let got = file.read(&mut buffer[held..])?;
            if got == 0 {
                break;
            }
            let whole = &buffer[..held + got];
            let mut from = 0;
            // What was held has no line break in it.
            for end in memchr::memchr_iter(b'\n', &whole[held..]).map(|at| held + at) {
                decoder.line(&whole[from..end], offset, needs, &mut emit);
                offset += (end + 1 - from) as u64;
                from = end + 1;
                lines += 1;
            }
            held = whole.len() - from;
            bytes += got as u64;
            buffer.copy_within(from..from + held, 0);
        }
        decoder.finish(needs, &mut emit);
    }
    let took = begun.elapsed();
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let speed = bytes as f64 / 1e6 / took.as_secs_f64();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?").trim();
    Ok(format!(
        "{} files, {lines} lines, {bytes} bytes, {calls} calls, {} ms, {speed:.0} MB/s, {peak}",
        paths.len(),
        took.as_millis()
    ))
}

fn walk(dir: &Path, paths: &mut Vec<PathBuf>) -> Done<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, paths)?;
        } else if path.extension().is_some_and(|end| end == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(())
}

fn make(format: &str, dir: &Path, megabytes: &str, files: &str) -> Done<()> {
    let files: u64 = files.parse()?;
    let size = megabytes.parse::<u64>()? * 1_000_000 / files.max(1);
    for number in 0..files {
        let id = format!("{number:08x}-0000-4000-8000-{number:012x}");
        let path = match format {
            "codex" => format!("2026/11/{:02}/rollout-2026-11-30T10-00-00-{id}.jsonl", 1 + number % 28),
            // About as many sub-agents as a real store has.
            _ if number % 4 == 3 => {
                format!(
                    "-home-u-{}/{:08x}-0000-4000-8000-000000000000/subagents/agent-{id}.jsonl",
                    number % 9,
                    0
                )
            }
            _ => format!("-home-u-{}/{id}.jsonl", number % 9),
        };
        let path = dir.join(path);
        fs::create_dir_all(path.parent().ok_or("no directory")?)?;
        let mut file = Counted { to: BufWriter::new(File::create(path)?), bytes: 0 };
        let mut writer = Writer { dice: number + 1, id, turn: 0 };
        if format == "codex" {
            writer.codex_head(&mut file)?;
        }
        while file.bytes < size {
            if format == "codex" { writer.codex(&mut file)? } else { writer.claude(&mut file)? }
        }
        file.to.flush()?;
    }
    Ok(())
}

struct Counted {
    to: BufWriter<File>,
    bytes: u64,
}

impl Counted {
    fn line(&mut self, line: &str) -> Done<()> {
        self.bytes += line.len() as u64 + 1;
        self.to.write_all(line.as_bytes())?;
        Ok(self.to.write_all(b"\n")?)
    }
}

/// Writes a conversation that nobody had.
struct Writer {
    dice: u64,
    id: String,
    turn: u64,
}

impl Writer {
    fn below(&mut self, bound: u64) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice % bound
    }

    /// Source code as it stands in JSON, of some length below `most`.
    fn text(&mut self, most: u64) -> String {
        const PIECES: [&str; 6] = [
            "    let usage = reader.next()?;\\n",
            "fn main() {\\n\\tprintln!(\\\"{}\\\", 1);\\n}\\n",
            "The tests pass now, and the warning is gone. ",
            "src/trajectory/model.rs:42: error[E0308]: mismatched types\\n",
            "grüße — naïve café ",
            "{\\\"usage\\\": {\\\"input_tokens\\\": 7}}\\n",
        ];
        let length = usize::try_from(self.below(most)).unwrap_or(0);
        let mut text = String::with_capacity(length + 64);
        while text.len() < length {
            text.push_str(PIECES[usize::try_from(self.below(6)).unwrap_or(0)]);
        }
        text
    }

    fn time(&self) -> String {
        let second = self.turn % 86_400;
        format!("2026-11-30T{:02}:{:02}:{:02}.123Z", second / 3600, second / 60 % 60, second % 60)
    }

    /// Two rows of one message, the answer of its tool, and now and then a long one.
    fn claude(&mut self, file: &mut Counted) -> Done<()> {
        self.turn += 1;
        let (id, at, turn) = (self.id.clone(), self.time(), self.turn);
        let tail = format!(
            "\"userType\":\"external\",\"entrypoint\":\"cli\",\"cwd\":\"/home/u/project\",\"sessionId\":\"{id}\",\
             \"version\":\"2.1.332\",\"gitBranch\":\"main\",\"timestamp\":\"{at}\"}}"
        );
        let (cached, output) = (self.below(150_000), self.below(2000));
        for block in 0..2 {
            let content = match block {
                0 => format!("{{\"type\":\"text\",\"text\":\"{}\"}}", self.text(900)),
                _ => format!(
                    "{{\"type\":\"tool_use\",\"id\":\"toolu_{id}{turn}\",\"name\":\"Bash\",\
                     \"input\":{{\"command\":\"{}\"}}}}",
                    self.text(800)
                ),
            };
            file.line(&format!(
                "{{\"parentUuid\":\"{id}\",\"isSidechain\":false,\"message\":{{\"id\":\"msg_{id}{turn}\",\
                 \"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[{content}],\
                 \"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":{turn},\
                 \"cache_creation_input_tokens\":900,\"cache_read_input_tokens\":{cached},\"output_tokens\":{},\
                 \"server_tool_use\":{{\"web_search_requests\":0}},\"service_tier\":\"standard\"}}}},\
                 \"requestId\":\"req_{id}{turn}\",\"type\":\"assistant\",\"uuid\":\"{turn}-{block}-{id}\",{tail}",
                if block == 0 { 1 } else { output }
            ))?;
        }
        let most = if turn.is_multiple_of(40) { 60_000 } else { 3200 };
        let answer = self.text(most);
        file.line(&format!(
            "{{\"parentUuid\":\"{id}\",\"isSidechain\":false,\"type\":\"user\",\"message\":{{\"role\":\"user\",\
             \"content\":[{{\"tool_use_id\":\"toolu_{id}{turn}\",\"type\":\"tool_result\",\"content\":\"{answer}\"}}]}},\
             \"uuid\":\"{turn}-r-{id}\",\"toolUseResult\":{{\"stdout\":\"\",\"interrupted\":false}},{tail}"
        ))?;
        let note = self.text(1200);
        file.line(&format!(
            "{{\"parentUuid\":\"{id}\",\"isSidechain\":false,\"type\":\"attachment\",\"attachment\":{{\"type\":\
             \"edited_text_file\",\"snippet\":\"{note}\"}},\"uuid\":\"{turn}-a-{id}\",{tail}"
        ))
    }

    fn codex_head(&mut self, file: &mut Counted) -> Done<()> {
        let (id, at) = (self.id.clone(), self.time());
        let rules = self.text(20_000);
        file.line(&format!(
            "{{\"timestamp\":\"{at}\",\"ordinal\":0,\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\
             \"timestamp\":\"{at}\",\"cwd\":\"/home/u/project\",\"originator\":\"codex_exec\",\"source\":\"exec\",\
             \"base_instructions\":\"{rules}\"}}}}"
        ))?;
        file.line(&format!(
            "{{\"timestamp\":\"{at}\",\"ordinal\":1,\"type\":\"turn_context\",\"payload\":{{\"cwd\":\"/home/u/project\",\
             \"model\":\"gpt-6-codex\",\"effort\":\"high\"}}}}"
        ))
    }

    /// A call of a tool, what it used, its answer, and the running total.
    fn codex(&mut self, file: &mut Counted) -> Done<()> {
        self.turn += 1;
        let (id, at, turn) = (self.id.clone(), self.time(), self.turn);
        let (command, thought) = (self.text(700), self.text(1500));
        let most = if turn.is_multiple_of(40) { 60_000 } else { 3200 };
        let answer = self.text(most);
        let head = format!("{{\"timestamp\":\"{at}\",\"ordinal\":{turn},\"type\"");
        let usage = |times: u64| {
            format!(
                "{{\"input_tokens\":{},\"cached_input_tokens\":{},\"output_tokens\":{},\"total_tokens\":{}}}",
                1000 * times,
                900 * times,
                30 * times,
                1030 * times
            )
        };
        let (one, all) = (usage(1), usage(turn));
        for line in [
            format!(
                "{head}:\"response_item\",\"payload\":{{\"type\":\"reasoning\",\"summary\":[],\
                 \"encrypted_content\":\"{thought}\"}}}}"
            ),
            format!(
                "{head}:\"response_item\",\"payload\":{{\"type\":\"function_call\",\"name\":\"exec_command\",\
                 \"arguments\":\"{{}}\",\"note\":\"{command}\",\"call_id\":\"call_{turn}\"}}}}"
            ),
            format!(
                "{head}:\"token_usage_record\",\"payload\":{{\"thread_id\":\"{id}\",\"response_id\":\"resp_{turn}\",\
                 \"usage\":{one},\"thread_token_usage\":{all}}}}}"
            ),
            format!(
                "{head}:\"response_item\",\"payload\":{{\"type\":\"function_call_output\",\"call_id\":\"call_{turn}\",\
                 \"output\":\"{answer}\"}}}}"
            ),
            format!(
                "{head}:\"event_msg\",\"payload\":{{\"type\":\"token_count\",\"info\":{{\"total_token_usage\":{all},\
                 \"last_token_usage\":{one},\"model_context_window\":258400}}}}}}"
            ),
        ] {
            file.line(&line)?;
        }
        Ok(())
    }
}
