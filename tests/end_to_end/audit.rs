//! The daemon's own log, and what must never be in it (CTL-12).

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Home, path_with, skill, stand_in_dir, until};

/// Runs the daemon with its log in `file` until it is ready and stopped again.
fn logged(home: &Home, args: &[&str], journal: impl Fn(&fs::Metadata) -> Option<String>) -> String {
    let path = home.path("the.log");
    let file = fs::File::create(&path).unwrap();
    let mut command = home.command(args);
    if let Some(stream) = journal(&file.metadata().unwrap()) {
        command.env("JOURNAL_STREAM", stream);
    }
    let mut daemon = command.stdout(Stdio::null()).stderr(file).spawn().unwrap();
    until("it is ready", || home.read("the.log").contains("ready").then_some(()));
    crate::support::kill(i32::try_from(daemon.id()).unwrap(), nix::libc::SIGTERM);
    assert!(daemon.wait().unwrap().success());
    home.read("the.log")
}

/// CTL-12: text with a time and a level, JSON with `--log-format json`, and under systemd, when standard error
/// really is the journal, priorities instead of both.
#[test]
fn the_log_is_text_json_or_the_journals() {
    let home = Home::new("");
    let identity = |found: &fs::Metadata| Some(format!("{}:{}", found.dev(), found.ino()));
    let journal = logged(&home, &["run"], identity);
    // Whether there are control groups depends on the machine.
    let lines: Vec<&str> = journal.lines().filter(|line| !line.contains("control group")).collect();
    assert!(lines[0].starts_with("<6>ready socket="), "{journal}");
    assert_eq!(&lines[1..], ["<6>stopping at_once=false", "<6>stopped"]);

    for other in [|_: &fs::Metadata| None, |_: &fs::Metadata| Some("8:1".to_owned())] {
        let text = logged(&home, &["run"], other);
        let line = text.lines().find(|line| line.contains("ready socket=")).unwrap();
        assert!(line.starts_with("20") && line.contains("Z  INFO ready socket="), "{text}");
    }
    let json = logged(&home, &["run", "--log-format", "json"], identity);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ready = lines.iter().find(|line| line["message"] == "ready");
    assert_eq!(ready.map(|line| &line["level"]), Some(&"INFO".into()), "{json}");
}

/// CTL-12: a warning and an error have their own priorities in the journal.
#[test]
fn the_journal_is_told_how_bad_it_is() {
    let home = Home::new("[harness.a]\ncmd = \"true\"\nenv_file = \"missing.env\"\n[harness.b]\ncmd = 1\n");
    let journal = logged(&home, &["run"], |found| Some(format!("{}:{}", found.dev(), found.ino())));
    let starts = |mark: &str| journal.lines().any(|line| line.starts_with(mark));
    assert!(starts("<3>") && starts("<4>") && starts("<6>"), "{journal}");
    assert!(journal.lines().all(|line| line.starts_with('<')), "{journal}");
}

/// Every file below `path` that holds one of `secrets`.
fn leaks(path: &Path, secrets: &[&str], into: &mut Vec<String>) {
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            leaks(&entry.path(), secrets, into);
        } else if entry.file_type().unwrap().is_file() {
            let bytes = fs::read(entry.path()).unwrap();
            let found = secrets
                .iter()
                .filter(|secret| bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
            into.extend(found.map(|secret| format!("{secret} in {}", entry.path().display())));
        }
    }
}

/// CTL-12: no value of an `env_file` and no text of a prompt file is in the daemon's log, an event, an answer
/// on the socket, the store, or what a verb prints, whatever goes well or wrong with the harness.
#[test]
fn no_secret_is_anywhere() {
    const VALUE: &str = "VALUE-of-the-env-file-5121";
    const PROMPT: &str = "TEXT-of-the-prompt-file-7733";
    let agent = "agent = \"claude-code\"\nprompt_file = \"~/p.md\"\nenv_file = \"~/own.env\"\nskill_paths = [\"~/team\"]\n";
    let mut home = Home::new(&format!(
        "[harness.good]\n{agent}[harness.bad]\n{agent}env = {{ STAND_IN = \"exit=3\" }}\n\
         [harness.none]\noneshot = true\ncmd = \"~/no-such-program\"\nenv_file = \"~/own.env\"\n\
         [harness.torn]\noneshot = true\ncmd = \"true\"\nenv_file = \"~/torn.env\"\n\
         [harness.timed]\n{agent}schedule = \"@every 1s\"\n\
         [harness.loop]\ncmd = \"false\"\nenv_file = \"~/own.env\"\nrestart_delay = \"0s\"\n"
    ));
    home.set("PATH", &path_with(&stand_in_dir()));
    // As much as there is, where a level can be asked for.
    home.set("RUST_LOG", "trace");
    home.write("p.md", &format!("{PROMPT} stand-in:say=done\n"));
    home.write("own.env", &format!("API_KEY={VALUE}\n"));
    home.write("torn.env", &format!("API_KEY={VALUE}\nthis line {VALUE} is wrong\n"));
    for file in ["own.env", "torn.env"] {
        fs::set_permissions(home.path(file), fs::Permissions::from_mode(0o600)).unwrap();
    }
    skill(&home, "team", "one", "team");
    home.start_daemon();
    let mut events = UnixStream::connect(home.path(".local/state/harnessd/harnessd.sock")).unwrap();
    events
        .write_all(b"{\"id\":1,\"op\":\"hello\",\"protocol\":1,\"version\":\"t\"}\n{\"id\":2,\"op\":\"subscribe\"}\n")
        .unwrap();
    let mut said = String::new();
    let mut say = |home: &Home, args: &[&str]| {
        for args in [args.to_vec(), [args, &["--json"]].concat()] {
            let one = home.harnessd(&args);
            said += &format!("{args:?}: {}{}\n", one.out, one.err);
        }
    };
    home.ended_run("timed");
    let names = ["good", "bad", "none", "torn", "timed", "loop"];
    for name in names {
        for verb in [&["start"][..], &["start", "--wait"], &["once"], &["describe"], &["skills"], &["runs"]] {
            // Its own output is for whoever runs it.
            if verb != ["once"] {
                say(&home, &[verb, &[name]].concat());
            } else {
                home.harnessd(&["once", name, "--json"]);
            }
        }
        let newest = home.runs(name).first().map(|run| run["id"].as_str().unwrap().to_owned());
        newest.iter().for_each(|id| say(&home, &["show", id]));
        say(&home, &["restart", name]);
        say(&home, &["stop", name, "--wait"]);
    }
    for verb in [
        &["list"][..],
        &["status"],
        &["runs"],
        &["runs", "--failed"],
        &["reload"],
        &["validate"],
        &["agents"],
        &["doctor"],
    ] {
        say(&home, verb);
    }
    home.configure(&format!("{}[harness.broken\n", home.read(".config/harnessd/harness.toml")));
    say(&home, &["reload"]);
    say(&home, &["validate"]);
    home.stop_daemon();
    let mut told = String::new();
    events.read_to_string(&mut told).unwrap();
    assert!(
        told.contains("run_ended") && said.contains("no-such-program") && said.contains("own.env"),
        "{said}"
    );
    let log = home.daemon_log();
    assert!(log.contains("ended harness=bad"), "{log}");
    for secret in [VALUE, PROMPT] {
        for (what, text) in [("verbs", &said), ("events", &told), ("log", &log)] {
            let line = text.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} in {what}");
        }
    }
    let mut found = Vec::new();
    leaks(&home.path(".local/state/harnessd"), &[VALUE, PROMPT], &mut found);
    assert_eq!(found, [""; 0]);
}

/// CTL-12: a secret that somebody has written among the arguments reaches the agent, and neither the store, an
/// answer on the socket, a notice nor the log.
#[test]
fn a_secret_among_the_arguments_is_not_recorded() {
    const SECRET: &str = "word-of-the-owner-9127";
    let mut home = Home::new(&format!(
        "[notify]\ncommand = [\"sh\", \"-c\", 'cat > told.new; mv told.new told']\non = [\"ok\"]\n\
         [harness.a]\noneshot = true\ncmd = \"sh\"\nworkdir = \"~\"\n\
         args = [\"-c\", 'printf %s \"$2\" > got', \"x\", \"--api-key\", \"{SECRET}\", \"--token={SECRET}\"]\n\
         check = [\"sh\", \"-c\", \"true\", \"PASSWORD={SECRET}\"]\nenv = {{ MY_TOKEN = \"{SECRET}\" }}\n"
    ));
    home.start_daemon();
    home.ok(&["start", "a", "--wait"]);
    assert_eq!(home.read("got"), SECRET);
    until("it is told", || home.path("told").exists().then_some(()));
    let run = &home.runs("a")[0];
    let command: Vec<&str> =
        run["command"].as_array().unwrap().iter().skip(3).map(|one| one.as_str().unwrap()).collect();
    assert_eq!(command, ["x", "--api-key", "<secret>", "--token=<secret>"]);
    let mut said = home.read("told") + &home.daemon_log() + &home.log("a");
    for args in [&["describe", "a"][..], &["show", run["id"].as_str().unwrap()], &["runs"], &["list"]] {
        said += &(home.ok(args).out + &home.ok(&[args, &["--json"]].concat()).out);
    }
    let line = said.lines().find(|line| line.contains(SECRET));
    assert_eq!(line, None);
    home.stop_daemon();
    let mut found = Vec::new();
    leaks(&home.path(".local/state/harnessd"), &[SECRET], &mut found);
    assert_eq!(found, [""; 0]);
}
