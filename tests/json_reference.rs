//! `docs/json.md` names every key, word, op and code that the wire types have.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::collections::BTreeSet;

use harnessd::base::{Outcome, State, Trigger};
use harnessd::trajectory::{Action, Kinship, What};
use harnessd::wire::{
    AgentsView, Description, DoctorView, ErrorBody, ErrorCode, Event, EventKind, Evidence, FiringsView,
    Judge, Level, Login, Op, Origin, PlanView, PlannedInput, PlannedSession, Planner, Reply, RootState,
    RunSkill, RunView, SkillRank, SkillState, StatusView, SyncView, TrajectoriesView, UsageView,
    WaitingReason, Welcome,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn reference() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/json.md")).unwrap()
}

/// All keys at any depth of a value.
fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                into.insert(key.clone());
                keys(value, into);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, into)),
        _ => {}
    }
}

/// The words that an enum of words has, as serde lists them when it refuses another one.
fn words<T: DeserializeOwned>(probe: Value) -> Vec<String> {
    let message = serde_json::from_value::<T>(probe).err().expect("no word is `?`").to_string();
    let (_, list) = message.split_once("expected").unwrap();
    list.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// Reads `value` as a `T` and writes it again: what remains is what `T` has, and it must be all of `value`.
fn whole<T: DeserializeOwned + serde::Serialize>(value: Value) -> Value {
    let read: T = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
    value
}

fn run() -> Value {
    let at = "2026-11-30T12:00:00.000Z";
    let skill = whole::<RunSkill>(json!({"name": "a", "source": "/a", "hash": "0"}));
    json!({"id": "0192a000-0000-7000-8000-000000000001", "harness": "a", "trigger": "boot", "attempt": 1,
        "planned_at": at, "started_at": at, "ended_at": at, "outcome": "ok", "cause": "c", "until": at,
        "lingered": true, "missed": {"first": at, "last": at, "count": 1}, "exit_code": 0, "signal": "SIGKILL",
        "pid": 1, "process_start": 1, "adapter": "generic", "agent_version": "1", "command": [], "workdir": "/",
        "git_before": "a", "git_after": "b", "definition_hash": "0", "log": "/l", "report": "r", "dropped_bytes": 1,
        "skills": [skill]})
}

fn usage() -> Value {
    json!({"input": 1, "cached": 1, "output": 1, "cost_usd": 0.5, "calls": 1, "unpriced_calls": 1})
}

fn trajectories() -> Value {
    let at = "2026-11-30T12:00:00.000Z";
    let id = "0192a000-0000-7000-8000-000000000001";
    whole::<TrajectoriesView>(
        json!({"trajectories": [{"id": "0", "harness": "a", "agent": "pi", "native_id": "n",
        "source": "native", "run": id, "evidence": "inferred", "started_at": at, "ended_at": at, "cwd": "/",
        "parent": {"id": "0", "native_id": "n", "kinship": "resumed"}, "models": []}],
        "excluded": [{"native_id": "n", "started_at": at, "claimants": ["a"], "reason": "r"}], "warnings": []}),
    )
}

/// A run with what is known of its trajectories.
fn run_view() -> Value {
    let mut view = run();
    view["sessions"] = json!([{"id": "0", "evidence": "exact: pid"}]);
    view["usage"] = usage();
    whole::<RunView>(view)
}

fn used() -> Value {
    let mut row = json!({"key": {"harness": "a", "run": "0192a000-0000-7000-8000-000000000001",
        "day": "2026-11-30", "model": "m", "project": "p"}});
    row.as_object_mut().unwrap().extend(usage().as_object().unwrap().clone());
    whole::<UsageView>(json!({"rows": [row], "total": usage()}))
}

fn projection() -> Value {
    json!({"target": "/t", "private": true, "write": [], "keep": [], "remove": [], "occupied": [], "left_out": [],
        "shadowed": [{"name": "a", "source": "/a", "copies": [{"source": "/b", "rank": "adapter"}]}]})
}

fn plan() -> Value {
    let at = "2026-11-30T12:00:00.000Z";
    let firings = json!([{"utc": at, "local": at, "delayed_until": at}]);
    let failure = json!({"code": "internal", "message": "m"});
    let fails =
        json!({"harness": "a", "adapter": "pi", "made_by": "daemon", "firings": [], "failure": failure});
    let fails = whole::<PlanView>(fails);
    let executes =
        whole::<PlanView>(json!({"harness": "a", "adapter": "pi", "made_by": "daemon", "firings": firings,
        "program": "/p", "command": [], "workdir": "/", "env": [], "stdin": "nothing", "session": "new",
        "log": "/l", "skills": projection(), "documents": [], "warnings": []}));
    json!([fails, executes])
}

fn sync() -> Value {
    whole::<SyncView>(
        json!({"harness": "a", "adapter": "pi", "dry_run": true, "skills": projection(), "warnings": []}),
    )
}

fn description() -> Value {
    let at = "2026-11-30T12:00:00.000Z";
    let skills = json!({"harness": "a", "adapter": "generic", "target": "/t", "private": true,
        "roots": [{"path": "/r", "rank": "adapter", "state": "ok"}],
        "skills": [{"name": "a", "source": "/a", "rank": "global", "shadowed": [{"source": "/b", "rank": "adapter"}],
            "state": "projected", "warnings": []}],
        "native": [{"name": "a", "source": "/a", "visible": true, "shadowed": false}], "warnings": []});
    whole::<Description>(json!({"name": "a", "project": "p", "adapter": "generic", "state": "running",
        "enabled": true, "oneshot": false, "pid": 1, "run": "0192a000-0000-7000-8000-000000000001", "restarts": 0,
        "schedule": "@daily", "next_firing": at, "waiting": {"reason": "backoff", "until": at}, "changed": false, "changed_since_up": true,
        "description": "d", "last_run": run(), "definition": 1, "source": {"file": "f", "line": 1}, "command": [],
        "skills": skills}))
}

fn agents() -> Value {
    let supports = json!({"prompt": true, "prompt_bytes": 1, "resident_prompt": true, "model": "by-flag",
        "auto_accept": "already", "max_turns": "never", "quiet": "already", "skills": "private",
        "hides_native_skills": true, "trajectory": true, "gateway": true, "mcp": true, "outcome": true,
        "session_id": true, "resume": true, "resident_resume": true, "fork": true});
    whole::<AgentsView>(
        json!({"judged_by": "daemon", "agents": [{"id": "pi", "aliases": [], "commands": ["pi"], "verified": "1.0",
        "supports": supports, "installed": true, "path": "/pi", "version": "1", "version_trouble": "t",
        "login": "yes", "login_files": [], "retention": {"file": "/f", "key": "k", "value": "1", "default": "30 days",
        "trouble": "t"}, "check": {"verdict": "unknown", "version": "1.0", "why": "w"}}]}),
    )
}

/// CTL-7: every key of every object is documented.
#[test]
fn every_key_is_documented() {
    let at = "2026-11-30T12:00:00.000Z";
    let status = whole::<StatusView>(json!({"version": "v", "pid": 1, "started_at": at,
        "config": {"files": [], "state": "ok", "diagnostics": []}, "profile": "p", "harnesses": {},
        "projects": [{"name": "p", "file": "f", "listed": false, "state": "ok", "changed_since_up": true}],
        "attention": [{"harness": "a", "reason": "r"}], "problems": [], "trouble": []}));
    let error = whole::<ErrorBody>(json!({"code": "internal", "message": "m", "help": "h"}));
    let mut all = BTreeSet::new();
    for value in [
        description(),
        status,
        whole::<FiringsView>(json!({"expression": "@daily", "timezone": "UTC", "firings": []})),
        whole::<Welcome>(json!({"protocol": 1, "version": "v"})),
        whole::<Reply>(json!({"id": 1, "ok": 1, "error": error})),
        whole::<Event>(
            json!({"seq": 1, "at": at, "event": "state_changed", "harness": "a", "from": "stopped", "to": "failed"}),
        ),
        whole::<Event>(json!({"seq": 1, "at": at, "event": "run_ended", "run": run()})),
        whole::<Event>(
            json!({"seq": 1, "at": at, "event": "config_reloaded", "added": [], "removed": [], "changed": []}),
        ),
        whole::<Event>(json!({"seq": 1, "at": at, "event": "config_rejected", "errors": 1})),
        whole::<Event>(json!({"seq": 1, "at": at, "event": "flapping", "harness": "a", "exits": 5})),
        whole::<Event>(json!({"seq": 1, "at": at, "event": "trajectory_event", "harness": "a",
            "run": "0192a000-0000-7000-8000-000000000001", "session": "0", "kind": "usage", "native_id": "n",
            "name": "n", "action": "read", "model": "m", "usage": usage(), "used": 1, "window": 1})),
        plan(),
        sync(),
        run_view(),
        trajectories(),
        used(),
        agents(),
        whole::<DoctorView>(json!({"judged_by": "caller", "sections": [{"name": "disk", "findings": [
            {"level": "ok", "text": "t", "help": "h"}]}]})),
    ] {
        keys(&value, &mut all);
    }
    let text = reference();
    let missing: Vec<_> = all
        .iter()
        .filter(|key| !text.contains(&format!("`{key}`")) && !text.contains(&format!("\"{key}\"")))
        .collect();
    assert!(missing.is_empty(), "not in docs/json.md: {missing:?}");
}

/// CTL-7: every word that a value can be is documented, and so is every code, op and event.
#[test]
fn every_word_is_documented() {
    let mut all: Vec<String> = Vec::new();
    all.extend(State::ALL.iter().map(ToString::to_string));
    all.extend(Outcome::ALL.iter().map(ToString::to_string));
    all.extend(Trigger::ALL.iter().map(ToString::to_string));
    all.extend(Evidence::ALL.iter().map(ToString::to_string));
    all.extend(Origin::ALL.iter().map(ToString::to_string));
    all.extend(Kinship::ALL.iter().map(ToString::to_string));
    all.extend(Action::ALL.iter().map(ToString::to_string));
    all.extend(words::<What>(json!({"kind": "?"})));
    all.extend(words::<WaitingReason>(json!("?")));
    all.extend(words::<Planner>(json!("?")));
    all.extend(words::<PlannedInput>(json!("?")));
    all.extend(words::<PlannedSession>(json!("?")));
    all.extend(words::<ErrorCode>(json!("?")));
    all.extend(words::<SkillRank>(json!("?")));
    all.extend(words::<SkillState>(json!("?")));
    all.extend(words::<RootState>(json!("?")));
    all.extend(words::<Judge>(json!("?")));
    all.extend(words::<Level>(json!("?")));
    all.extend(words::<Login>(json!("?")));
    all.extend(words::<Op>(json!({"op": "?"})));
    all.extend(words::<EventKind>(json!({"event": "?"})));
    assert!(all.len() > 60, "{all:?}");
    let text = reference();
    let missing: Vec<_> = all.iter().filter(|word| !text.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "not in docs/json.md: {missing:?}");
}

/// CTL-4: the example of a refusal in the reference is what the program says.
#[test]
fn the_example_of_a_refusal_is_true() {
    let text = reference();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("\"id\":3")).collect();
    let [request, reply] = lines[..] else { panic!("{lines:?}") };
    let (id, error) =
        harnessd::wire::decode_request(request.trim_start_matches("→ ").as_bytes()).unwrap_err();
    let said = serde_json::to_string(&Reply::error(id.unwrap_or(0), error)).unwrap();
    assert_eq!(format!("← {said}"), reply);
}

/// SKL-13: every finding of `skills check` is documented.
#[test]
fn every_finding_about_a_skill_is_documented() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/skills.md")).unwrap();
    let missing: Vec<_> =
        harnessd::skills::CODES.iter().filter(|(code, _)| !page.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "not in docs/skills.md: {missing:?}");
}
