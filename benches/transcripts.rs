//! Reading transcripts as the daemon does. `transcripts make FORMAT DIR MEGABYTES FILES` writes streams as the
//! agent lays them out (`claude-code`, `codex`; the same for the same arguments);
//! `transcripts follow FORMAT DIR STATE` looks at them for a run whose window covers all until there is no
//! more, and commits each look to the account in `STATE`, then looks twice more, and prints how long both
//! took; `transcripts sum STATE` prints what is in the account; `transcripts timed PROGRAM ARG…` runs a program and prints its times and
//! the largest memory that it had.
//!
//! Run by hand or by `benches/run.py`. Without arguments, as under `cargo bench`, it measures nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program of its own, read by a script")]

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use harnessd::base::{HarnessName, RunIds, Wall};
use harnessd::store::{AccountQuery, Store};
use harnessd::trajectory::Needs;
use harnessd::transcripts::{Follower, Look, Subject};
use harnessd::wire::{StorePlace, Trail};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::json;

type Done<T> = Result<T, Box<dyn Error>>;

/// Where all that `make` writes was recorded.
const WORKDIR: &str = "/home/u/project";
/// The session whose sub-agents they are.
const ROOT: &str = "00000000-0000-4000-8000-000000000000";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["make", format, dir, megabytes, files] => make(format, Path::new(dir), megabytes, files),
        ["follow", format, dir, state] => follow(format, Utf8Path::new(dir), Utf8Path::new(state)),
        ["sum", state] => sum(Utf8Path::new(state)),
        ["timed", program, ref arguments @ ..] => timed(program, arguments),
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

/// The program's own output goes to the standard error stream.
fn timed(program: &str, arguments: &[&str]) -> Done<()> {
    let begun = Instant::now();
    let child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(std::io::stderr()).spawn();
    let ended = child?.wait()?;
    let wall = begun.elapsed();
    if !ended.success() {
        return Err(format!("{program}: {ended}").into());
    }
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let (user, system) = (used.user_time().num_microseconds(), used.system_time().num_microseconds());
    let told = json!({"wall": wall.as_micros(), "user": user, "system": system, "peak_kib": used.max_rss()});
    println!("{told}");
    Ok(())
}

fn follow(format: &str, dir: &Utf8Path, state: &Utf8Path) -> Done<()> {
    fs::create_dir_all(state)?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    let now = Wall(i64::try_from(now.as_micros())?);
    let subject = Subject {
        run: RunIds::new(7).next(now),
        harness: HarnessName::parse("bench")?,
        trail: Trail {
            format: Some(format.to_owned()),
            workdir: Some(WORKDIR.to_owned()),
            stores: vec![StorePlace { path: dir.canonicalize_utf8()?.into_string(), named: true, cwd: None }],
            session: None,
        },
        // A window in which all of it was written, and that is still open.
        from: now - Duration::from_secs(400 * 86_400),
        to: None,
        processes: Vec::new(),
        needs: Needs::Usage,
    };
    let mut place = Place { store: Store::open(state)?, subject, now, state: state.to_owned() };
    let begun = Instant::now();
    let mut follower = Follower::new(&place.state);
    let (mut looks, mut calls) = (1, 0);
    loop {
        let look = place.look(&mut follower)?;
        calls += look.progress.calls.len();
        if !look.more {
            break;
        }
        looks += 1;
    }
    let first = begun.elapsed();
    place.look(&mut follower)?;
    let begun = Instant::now();
    let look = place.look(&mut follower)?;
    let unchanged = begun.elapsed();
    if !look.progress.is_empty() {
        return Err("nothing has changed, and yet something was read".into());
    }
    let told = json!({"looks": looks, "calls": calls, "first": first.as_micros(),
        "unchanged": unchanged.as_micros()});
    println!("{told}");
    Ok(())
}

fn sum(state: &Utf8Path) -> Done<()> {
    let store = Store::open_read(state)?.ok_or("there is no account")?;
    let (mut input, mut output) = (0, 0);
    let calls = store.calls(&AccountQuery::default())?;
    for tokens in calls.iter().filter_map(|call| call.tokens) {
        input += tokens.input;
        output += tokens.output;
    }
    println!("{}", json!({"calls": calls.len(), "input": input, "output": output}));
    Ok(())
}

struct Place {
    store: Store,
    subject: Subject,
    now: Wall,
    state: Utf8PathBuf,
}

impl Place {
    /// Looks, and commits what that brings, as the daemon does.
    fn look(&mut self, follower: &mut Follower) -> Done<Look> {
        let look = follower.look(std::slice::from_ref(&self.subject), self.now);
        if let Some(warning) = look.warnings.first() {
            return Err(format!("{}: {}", warning.path, warning.message).into());
        }
        self.store.commit_progress(&look.progress)?;
        Ok(look)
    }
}

fn make(format: &str, dir: &Path, megabytes: &str, files: &str) -> Done<()> {
    let files: u64 = files.parse()?;
    let size = megabytes.parse::<u64>()? * 1_000_000 / files.max(1);
    for number in 0..files {
        let id = format!("{number:08x}-0000-4000-8000-{number:012x}");
        let path = match format {
            "codex" => format!("2026/11/{:02}/rollout-2026-11-30T10-00-00-{id}.jsonl", 1 + number % 28),
            // About as many sub-agents as a real store has.
            _ if number % 4 == 3 => format!("-home-u-project/{ROOT}/subagents/agent-{id}.jsonl"),
            _ => format!("-home-u-project/{id}.jsonl"),
        };
        let path = dir.join(path);
        fs::create_dir_all(path.parent().ok_or("no directory")?)?;
        let mut file = Counted { to: BufWriter::new(File::create(path)?), bytes: 0 };
        // Rows of a sub-agent name its parent's session.
        let session = if format != "codex" && number % 4 == 3 { ROOT.to_owned() } else { id.clone() };
        let mut writer = Writer { dice: number + 1, number, id, session, turn: 0, total: [0; 3] };
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
    number: u64,
    id: String,
    session: String,
    turn: u64,
    /// Input, cached and output tokens so far.
    total: [u64; 3],
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
        let thousandths = self.number % 1000;
        format!(
            "2026-11-29T{:02}:{:02}:{:02}.{thousandths:03}Z",
            second / 3600,
            second / 60 % 60,
            second % 60
        )
    }

    /// Two rows of one message, the answer of its tool, and now and then a long one.
    fn claude(&mut self, file: &mut Counted) -> Done<()> {
        self.turn += 1;
        let (id, session, at, turn) = (self.id.clone(), self.session.clone(), self.time(), self.turn);
        let tail = format!(
            "\"userType\":\"external\",\"entrypoint\":\"cli\",\"cwd\":\"{WORKDIR}\",\"sessionId\":\"{session}\",\
             \"version\":\"2.1.332\",\"gitBranch\":\"main\",\"timestamp\":\"{at}\"}}"
        );
        let (cached, output) = (self.below(150_000), 1 + self.below(2000));
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
             \"timestamp\":\"{at}\",\"cwd\":\"{WORKDIR}\",\"originator\":\"codex_exec\",\"source\":\"exec\",\
             \"base_instructions\":\"{rules}\"}}}}"
        ))?;
        file.line(&format!(
            "{{\"timestamp\":\"{at}\",\"ordinal\":1,\"type\":\"turn_context\",\"payload\":{{\"cwd\":\"{WORKDIR}\",\
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
        let one = [1000 + self.below(100_000), self.below(900), 1 + self.below(900)];
        self.total = [0, 1, 2].map(|place| self.total[place] + one[place]);
        let usage = |[input, cached, output]: [u64; 3]| {
            let total = input + output;
            format!(
                "{{\"input_tokens\":{input},\"cached_input_tokens\":{cached},\"output_tokens\":{output},\
                 \"total_tokens\":{total}}}"
            )
        };
        let (one, all) = (usage(one), usage(self.total));
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
