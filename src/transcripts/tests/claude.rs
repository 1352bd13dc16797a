//! What Claude Code has that others have not: sub-agents in files of their own, and an index of processes.

use std::fs;

use serde_json::json;

use super::world::{AGENTS, World, append, now};
use crate::base::RunId;
use crate::correlate::Known;
use crate::host::tree;
use crate::trajectory::{Format, Kinship, Needs, Parent};
use crate::wire::Evidence;

const SESSION: &str = "00000005-0000-4000-8000-000000000005";

fn sub_agent(world: &World, number: u64) -> String {
    json!({"type": "assistant", "isSidechain": true, "agentId": "x", "sessionId": SESSION,
        "cwd": world.root, "timestamp": world.at(number), "uuid": format!("s-{number}"),
        "message": {"id": format!("msg_s_{number}"), "type": "message", "role": "assistant", "model": "claude-x",
            "content": [{"type": "text", "text": "done"}], "usage": {"input_tokens": number, "output_tokens": 1}}})
    .to_string()
        + "\n"
}

/// COR-1, USE-3: a sub-agent is where its parent is, also if it works in another directory.
#[test]
fn a_sub_agent_shares_the_fate_of_its_parent() {
    let mut world = World::new(AGENTS[0]);
    let run = world.run(Needs::Usage);
    let place = world.place(&world.work, SESSION);
    world.write(&place, &world.session(SESSION, &world.work, 1));
    let stream = place.replace(".jsonl", "/subagents/agent-x.jsonl");
    let path = world.write(&stream, &sub_agent(&world, 1));
    world.look(std::slice::from_ref(&run));
    assert_eq!(world.ledger().input(), [1, 22]);
    append(&path, sub_agent(&world, 2).as_bytes());
    world.look(std::slice::from_ref(&run));
    assert_eq!(world.ledger().input(), [1, 2, 22]);
    // That of a session of another directory is not read, though it works here.
    let other = "00000006-0000-4000-8000-000000000006";
    let place = world.place(&world.root, other);
    world.write(&place, &world.session(other, &world.root, 1));
    let text = sub_agent(&world, 9).replace(SESSION, other).replace(world.root.as_str(), world.work.as_str());
    world.write(&place.replace(".jsonl", "/subagents/agent-y.jsonl"), &text);
    world.restart();
    world.look(&[run]);
    assert_eq!(world.ledger().input(), [1, 2, 22]);
}

/// COR-8: the agent's own index of processes ties a session to the run of the process, once.
#[test]
fn the_index_of_processes_is_evidence() {
    let mut world = World::new(AGENTS[0]);
    let mut run = world.run(Needs::Usage);
    let pid = i32::try_from(std::process::id()).unwrap();
    run.processes = vec![pid];
    let start = tree::facts(pid).unwrap().start_time.to_string();
    let note = json!({"pid": pid, "sessionId": SESSION, "procStart": start, "startedAt": now().0 / 1000});
    fs::create_dir(world.root.join("sessions")).unwrap();
    let index = world.root.join(format!("sessions/{pid}.json"));
    fs::write(&index, note.to_string()).unwrap();
    world.look(std::slice::from_ref(&run));
    world.look(std::slice::from_ref(&run));
    let known = |run: RunId| Known {
        run,
        format: Format::ClaudeCode,
        session: SESSION.to_owned(),
        evidence: Evidence::Pid,
    };
    assert_eq!(world.ledger().known, [known(run.run)]);
    // Bad input: a corrupt one is named, and the rest goes on.
    fs::write(&index, "{").unwrap();
    world.write_own(1);
    let look = world.look(&[run]);
    assert_eq!(look.warnings.len(), 1);
    assert!(look.warnings[0].path.ends_with(&format!("sessions/{pid}.json")));
    assert_eq!(world.ledger().ids(), ["one"]);
}

/// TRJ-8: a session that a process went over to from another one, as after `/clear`, is linked with that one; a
/// session that was there before is not.
#[test]
fn a_session_that_ends_in_another_one_is_linked_with_it() {
    let (next, old) = ("00000007-0000-4000-8000-000000000007", "00000008-0000-4000-8000-000000000008");
    let continued = "00000009-0000-4000-8000-000000000009";
    let mut world = World::new(AGENTS[0]);
    let mut run = world.run(Needs::Usage);
    let pid = i32::try_from(std::process::id()).unwrap();
    run.processes = vec![pid];
    let index = world.root.join(format!("sessions/{pid}.json"));
    fs::create_dir(world.root.join("sessions")).unwrap();
    let start = tree::facts(pid).unwrap().start_time.to_string();
    let goes_on = |world: &mut World, session: &str| {
        let note = json!({"pid": pid, "sessionId": session, "procStart": start, "startedAt": 1});
        fs::write(&index, note.to_string()).unwrap();
        world.write(&world.place(&world.work, session), &world.session(session, &world.work, 1));
        world.look(std::slice::from_ref(&run));
        let sessions = world.ledger().sessions;
        sessions.into_values().find(|row| row.id == session).unwrap().parent
    };
    assert_eq!(goes_on(&mut world, SESSION), None);
    let began = std::mem::replace(&mut world.from, now());
    let reset = Parent { id: SESSION.to_owned(), kinship: Kinship::Reset };
    assert_eq!(goes_on(&mut world, next), Some(reset.clone()));
    assert_eq!(goes_on(&mut world, next), Some(reset), "it stays so");
    world.from = began;
    assert_eq!(goes_on(&mut world, old), None, "it had begun before");
    world.write(&world.place(&world.work, "kept"), &world.session(continued, &world.work, 1));
    world.from = now();
    assert_eq!(goes_on(&mut world, continued), None, "it had begun in another file");
}

/// Bad input: a document that is corrupt is named, and its stream is read all the same.
#[test]
fn a_corrupt_document_is_named() {
    let mut world = World::new(AGENTS[0]);
    let run = world.run(Needs::Usage);
    let path = world.write_own(1);
    let document = path.as_str().replace(".jsonl", ".meta.json");
    fs::write(&document, "{\"description\":").unwrap();
    let look = world.look(std::slice::from_ref(&run));
    assert_eq!(world.warnings(&look), [world.short(&format!("{document}: it is malformed"))]);
    assert_eq!(world.ledger().ids(), ["one"]);
    fs::remove_file(&document).unwrap();
    fs::create_dir(&document).unwrap();
    let look = world.look(&[run]);
    let message = "it is a directory, not a regular file";
    assert_eq!(world.warnings(&look), [world.short(&format!("{document}: {message}"))]);
}
