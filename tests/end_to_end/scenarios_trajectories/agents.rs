//! Stand-ins for Claude Code and Crush, and a home that has them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Home;

/// Writes what Claude Code writes, as the words of `STEPS` say:
///
/// - `own`: the session has an id that the agent made up, whatever it was told; `at=TIME`: it began then
/// - `call`: a prompt and a model call of 100 tokens of input, 40 of them cached, and 10 of output
/// - `sub`: a sub-agent makes such a call
/// - `say`: the session's id in machine-readable output
/// - `note`: which process works on which session, in the agent's own index
/// - `clear`: a new session, as by `/clear`
/// - `until=FILE`: waits for that file in the home directory
const CLAUDE: &str = r##"#!/usr/bin/env python3
import json, os, re, sys, time, uuid
from datetime import datetime, timezone

if "--version" in sys.argv:
    sys.exit(print("2.1.332 (Claude Code)"))
home, cwd, at, calls = os.environ["HOME"], os.getcwd(), None, 0
root = os.environ.get("CLAUDE_CONFIG_DIR", home + "/.claude")
place = root + "/projects/" + re.sub("[^a-zA-Z0-9]", "-", cwd)
chosen = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word in ("--session-id", "--resume")]
session = chosen[0] if chosen else str(uuid.uuid4())

def write(path, kind, message, **more):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    now = at or datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    row = {"type": kind, "message": message, "uuid": str(uuid.uuid4()), "timestamp": now, "cwd": cwd,
           "sessionId": session, "isSidechain": "agentId" in more, **more}
    with open(path, "a") as out:
        out.write(json.dumps(row) + "\n")

def call(path, **more):
    global calls
    calls += 1
    write(path, "user", {"role": "user", "content": "do it"}, **more)
    write(path, "assistant", {"id": "msg_%s_%d" % (session, calls), "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "secret-%d" % calls}],
        "usage": {"input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 40,
                  "output_tokens": 10}}, **more)

for step in os.environ["STEPS"].split():
    word, _, value = step.partition("=")
    if word == "own" or word == "clear":
        session = str(uuid.uuid4())
    elif word == "at":
        at = value
    elif word == "call":
        call("%s/%s.jsonl" % (place, session))
    elif word == "sub":
        call("%s/%s/subagents/agent-a1b2c3.jsonl" % (place, session), agentId="a1b2c3")
    elif word == "say":
        print(json.dumps({"type": "system", "subtype": "init", "cwd": cwd, "session_id": session}), flush=True)
    elif word == "note":
        os.makedirs(root + "/sessions", exist_ok=True)
        with open("%s/sessions/%d.json" % (root, os.getpid()), "w") as out:
            json.dump({"pid": os.getpid(), "sessionId": session, "cwd": cwd}, out)
    elif word == "until":
        while not os.path.exists(home + "/" + value):
            time.sleep(0.02)
if "stream-json" in sys.argv:
    print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "done"}), flush=True)
"##;

/// Writes a session of Crush into `--data-dir DIR`, else `STORE`, else `.crush`, with the connection open until
/// the file `UNTIL` is there. A copy of the session that does not belong there goes to `DECOY`.
const CRUSH: &str = r##"#!/usr/bin/env python3
import json, os, sqlite3, sys, time, uuid

if "--version" in sys.argv:
    sys.exit(print("crush version v0.90.0"))
given = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word in ("--data-dir", "-D")]

def write(directory, title):
    os.makedirs(directory, exist_ok=True)
    db = sqlite3.connect(directory + "/crush.db")
    db.execute("PRAGMA journal_mode = WAL")
    if not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        db.executescript(open(os.environ["HOME"] + "/crush.sql").read())
    now, session = int(time.time()), title + "-" + str(uuid.uuid4())
    db.execute("INSERT INTO sessions (id, title, message_count, prompt_tokens, cost, updated_at, created_at) "
               "VALUES (?, ?, 2, 100, 0.25, ?, ?)", (session, title, now, now))
    for role in ("user", "assistant"):
        parts = [{"type": "text", "data": {"text": title}}, {"type": "finish", "data": {"reason": "stop", "time": now}}]
        db.execute("INSERT INTO messages (id, session_id, role, parts, model, created_at, updated_at, finished_at) "
                   "VALUES (?, ?, ?, ?, 'mock', ?, ?, ?)", (str(uuid.uuid4()), session, role, json.dumps(parts), now, now, now))
    db.commit()
    return db

if "DECOY" in os.environ:
    write(os.environ["DECOY"], "decoy").close()
db = write(given[0] if given else os.environ.get("STORE", ".crush"), os.environ.get("TITLE", "own"))
while "UNTIL" in os.environ and not os.path.exists(os.environ["HOME"] + "/" + os.environ["UNTIL"]):
    time.sleep(0.02)
"##;

/// A home with both stand-ins, and a directory to work in.
pub(super) fn home() -> Home {
    let home = Home::new("");
    for (name, text) in [("claude", CLAUDE), ("crush", CRUSH)] {
        home.write(format!("bin/{name}"), text);
        fs::set_permissions(home.path(format!("bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
    }
    home.write("crush.sql", include_str!("../../data/trajectory/crush/schema.sql"));
    fs::create_dir(home.path("work")).unwrap();
    home
}

/// A harness of the stand-in for Claude Code.
pub(super) fn claude(home: &Home, name: &str, steps: &str, more: &str) -> String {
    let program = home.text("bin/claude");
    format!(
        "[harness.{name}]\ncmd = \"{program}\"\nworkdir = \"~/work\"\nprompt = \"go\"\n\
         env = {{ STEPS = \"{steps}\" }}\n{more}\n"
    )
}

/// A harness of the stand-in for Crush.
pub(super) fn crush(home: &Home, name: &str, args: &str, more: &str) -> String {
    let program = home.text("bin/crush");
    format!(
        "[harness.{name}]\ncmd = \"{program}\"\nworkdir = \"~/work\"\noneshot = true\nharvest = true\n\
         args = [{args}]\n{more}\n"
    )
}
