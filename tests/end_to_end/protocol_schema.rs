//! What both sides really say fits `harnessd schema protocol`; completions are scripts that complete.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::checker::misfits;
use crate::control::connect;
use crate::support::Home;

const FLEET: &str = r#"
[harness.sleeper]
cmd = "sleep"
args = ["600"]
description = "sleeps"

[profile.day]
harnesses = ["sleeper"]

[harness.quick]
cmd = "sh"
args = ["-c", "echo done"]
oneshot = true
schedule = "@yearly"
harvest = true
"#;

struct Line {
    to: UnixStream,
    from: BufReader<UnixStream>,
    schema: Value,
}

impl Line {
    fn open(home: &Home, schema: &Value) -> Self {
        let (to, from) = connect(home);
        Self { to, from, schema: schema.clone() }
    }

    /// The next line of the daemon.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|cause| panic!("{cause}: {line:?}"));
        assert_eq!(misfits(&self.schema, "", &said), [""; 0], "{said}");
        said
    }

    /// The answer to a request, which is no error; both fit.
    fn ask(&mut self, request: &Value) -> Value {
        let op = request["op"].as_str().unwrap();
        let wrong = misfits(&self.schema, &format!("/$defs/{op}.request"), request);
        assert_eq!(wrong, [""; 0], "{request}");
        self.to.write_all(format!("{request}\n").as_bytes()).unwrap();
        let reply = self.hear();
        assert_eq!(reply["id"], request["id"], "{reply}");
        let wrong = misfits(&self.schema, &format!("/$defs/{op}.answer"), &reply["ok"]);
        assert_eq!(wrong, [""; 0], "{reply}");
        reply["ok"].clone()
    }
}

/// CFG-11, CTL-4: each request and its real answer fit the definitions that the schema has for them, and so
/// do errors and events.
#[test]
fn what_is_said_fits_the_schema_of_the_protocol() {
    let mut home = Home::new(FLEET);
    let schema = home.ok(&["schema", "protocol"]).json();
    home.write("app/harness.toml", "[harness.one]\ncmd = \"true\"\n");
    home.start_daemon();
    let hello = json!({"id": 1, "op": "hello", "protocol": 1, "version": "test"});
    let mut line = Line::open(&home, &schema);
    line.ask(&hello);

    let mut listener = Line::open(&home, &schema);
    listener.ask(&hello);
    listener.ask(&json!({"id": 2, "op": "subscribe"}));

    let run = line.ask(&json!({"id": 3, "op": "start", "names": ["quick"], "wait": true}));
    let run = run["harnesses"][0]["run"].as_str().unwrap().to_owned();
    let mut events = BTreeSet::new();
    while !events.contains("run_ended") {
        events.insert(listener.hear()["event"].as_str().unwrap().to_owned());
    }
    assert!(events.contains("state_changed") && events.contains("run_started"), "{events:?}");

    let requests = [
        json!({"id": 4, "op": "start", "names": ["sleeper"], "wait": true}),
        json!({"id": 5, "op": "restart", "names": ["sleeper"], "wait": true}),
        json!({"id": 6, "op": "list"}),
        json!({"id": 7, "op": "status"}),
        json!({"id": 8, "op": "describe", "name": "quick"}),
        json!({"id": 9, "op": "skills", "name": "quick"}),
        json!({"id": 10, "op": "runs", "limit": 10}),
        json!({"id": 11, "op": "show", "run": run}),
        json!({"id": 12, "op": "trajectories", "name": "quick"}),
        json!({"id": 13, "op": "trajectory", "session": run, "limit": 1}),
        json!({"id": 14, "op": "usage", "by": "day"}),
        json!({"id": 15, "op": "stop", "all": true, "wait": true}),
        json!({"id": 16, "op": "use-profile", "name": "day", "wait": true}),
        json!({"id": 17, "op": "reload"}),
        json!({"id": 18, "op": "reexec"}),
        json!({"id": 19, "op": "agents"}),
        json!({"id": 20, "op": "doctor"}),
        json!({"id": 21, "op": "plan", "name": "quick"}),
        json!({"id": 22, "op": "skills-sync", "name": "quick", "dry_run": true}),
        json!({"id": 23, "op": "up", "file": home.text("app/harness.toml")}),
        json!({"id": 24, "op": "ps"}),
        json!({"id": 25, "op": "down", "name": "app"}),
    ];
    let asked = requests.iter().map(|request| request["op"].as_str().unwrap());
    let asked: BTreeSet<&str> = asked.chain(["hello", "subscribe"]).collect();
    let known: BTreeSet<&str> = schema["$defs"]
        .as_object()
        .unwrap()
        .keys()
        .filter_map(|name| name.strip_suffix(".request"))
        .collect();
    assert_eq!(asked, known, "this test asks for each op once");
    for request in requests {
        line.ask(&request);
    }
    let wrong = json!({"id": 26, "op": "lsit"});
    assert!(!misfits(&schema, "/$defs/request", &wrong).is_empty());
    line.to.write_all(format!("{wrong}\n").as_bytes()).unwrap();
    assert_eq!(line.hear()["error"]["code"], "bad_request");
}

/// CTL-10: in bash the script completes verbs, options and their values; hidden verbs stay hidden.
#[test]
fn bash_completes_the_command_line() {
    let home = Home::new("");
    let script = home.ok(&["completions", "bash"]).out;
    let said = home.ok(&["completions", "bash", "--json"]).json();
    assert_eq!(said, json!({"shell": "bash", "script": script}));
    if Command::new("bash").arg("-c").arg("true").stdin(Stdio::null()).status().is_err() {
        eprintln!("no bash: its completions are not tried");
        return;
    }
    home.write("completions.bash", &script);
    // The last word is what stands under the cursor.
    let complete = |words: &str| {
        let source = home.text("completions.bash");
        let last = words.split(' ').next_back().unwrap();
        let before = words.split(' ').rev().nth(1).unwrap();
        let text = format!(
            ". '{source}'; COMP_WORDS=({words}); [ -n '{last}' ] || COMP_WORDS+=(''); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _harnessd harnessd '{last}' '{before}'; echo \"${{COMPREPLY[@]}}\""
        );
        let said = Command::new("bash").arg("-c").arg(text).output().unwrap();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("harnessd val"), "validate");
    assert_eq!(complete("harnessd schema g"), "global");
    assert_eq!(complete("harnessd probe"), "");
    assert_eq!(complete("harnessd list --j"), "--json");
}
