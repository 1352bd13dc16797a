//! Which sessions are found, and whose they may be.

use std::fs;
use std::os::unix::fs::symlink;

use rusqlite::Connection;
use serde_json::json;

use super::world::{AGENTS, Ledger, World, age, append};
use crate::correlate::Known;
use crate::trajectory::{Format, Kinship, Layout, Needs, Parent};
use crate::transcripts::follow::Look;
use crate::wire::Evidence;

/// TRJ-1: nothing of a store changes by being looked at.
#[test]
fn a_store_is_left_as_it_was() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Everything);
        world.write_own(3);
        world.write(&world.place(&world.root, "other"), &world.session("other", &world.root, 1));
        let before = world.listing();
        world.look(std::slice::from_ref(&run));
        world.look(std::slice::from_ref(&run));
        run.to = Some(world.at(1000));
        world.look(&[run]);
        assert_eq!(world.listing(), before, "{}", agent.format);
    }
}

#[test]
fn an_unchanged_store_brings_nothing() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Everything);
        world.write_own(3);
        assert!(!world.look(std::slice::from_ref(&run)).progress.is_empty());
        assert_eq!(world.look(std::slice::from_ref(&run)), Look::default());
        world.restart();
        assert_eq!(world.look(&[run]), Look::default(), "{}", agent.format);
    }
}

/// COR-1 (2): a session of another directory, also of one below, is not read; one whose directory is the
/// workdir by another name is.
#[test]
fn only_sessions_of_the_workdir_itself_are_read() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        let (below, link) = (world.work.join("below"), world.root.join("link"));
        fs::create_dir(&below).unwrap();
        symlink(&world.work, &link).unwrap();
        for (id, cwd) in [("below", &below), ("above", &world.root.clone()), ("link", &link)] {
            world.write(&world.place(cwd, id), &world.session(id, cwd, 2));
        }
        world.look(std::slice::from_ref(&run));
        assert_eq!(world.ledger().ids(), ["link"]);
        let rows: Vec<_> = world.ledger().sessions.into_values().map(|row| row.cwd).collect();
        assert_eq!(rows, [Some(world.work.to_string())]);
        // What another run works on is read as soon as it is looked for.
        let mut other = world.run(Needs::Usage);
        other.trail.workdir = Some(below.to_string());
        world.look(&[run, other]);
        assert_eq!(world.ledger().ids(), ["below", "link"]);
    }
}

/// COR-7, USE-3: what was last written before a run began is not opened for it; once it is resumed it is read.
#[test]
fn an_old_session_is_read_when_it_is_resumed() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        let path = world.write_own(2);
        age(&path, 3600);
        world.look(std::slice::from_ref(&run));
        assert_eq!(world.ledger(), Ledger::default());
        append(&path, world.call("one", &world.work, 3).as_bytes());
        world.look(&[run]);
        assert_eq!(world.ledger().input(), [22, 23, 24], "{}", agent.format);
    }
}

/// COR-7: events are told of the time of the run alone, and usage is counted whenever it was.
#[test]
fn events_are_told_within_the_window_only() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Everything);
        let path = world.write_own(2);
        run.from = world.at(10_000);
        // A call eleven seconds after everything else.
        append(&path, world.call("one", &world.work, 11_000).as_bytes());
        world.look(&[run]);
        let ledger = world.ledger();
        assert_eq!(ledger.input(), [22, 23, 11_021], "{}", agent.format);
        assert!(!ledger.events.is_empty());
        let early = ledger.events.iter().filter(|(_, _, event)| event.at < Some(world.at(8_000)));
        assert_eq!(early.count(), 0, "{}", agent.format);
    }
}

/// TRJ-5: an agent that names directories in another way is noticed, and its sessions are found all the same.
#[test]
fn another_encoding_of_directories_is_said_and_searched() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        let strange = world.place(&world.work, "one").replace("-work", "-elsewhere");
        world.write(&strange, &world.session("one", &world.work, 1));
        let look = world.look(std::slice::from_ref(&run));
        assert_eq!(world.ledger().ids(), ["one"]);
        let expected = world.place(&world.work, "one").replace("/one.jsonl", "");
        assert_eq!(
            world.warnings(&look),
            [world.short(&format!(
                "{}: the agent encodes directories in another way: `{expected}` was expected",
                world.store.join(&strange).parent().unwrap()
            ))]
        );
        world.write(&strange.replace("one", "two"), &world.session("two", &world.work, 1));
        assert_eq!(world.look(&[run]).warnings, []);
        assert_eq!(world.ledger().ids(), ["one", "two"], "{}", agent.format);
    }
}

/// A second session of the workdir is found by a look into its directory alone.
#[test]
fn a_new_session_is_found_between_the_first_look_and_the_last() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        world.write_own(1);
        world.look(std::slice::from_ref(&run));
        world.write(&world.place(&world.work, "two"), &world.session("two", &world.work, 2));
        world.look(&[run]);
        assert_eq!(world.ledger().ids(), ["one", "two"], "{}", agent.format);
    }
}

/// COR-5: a store that two harnesses share is read once, and each of them is told what may be its own.
#[test]
fn two_runs_of_one_store_and_workdir_share_one_reading() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let (one, two) = (world.run(Needs::Everything), world.run(Needs::Usage));
        world.write_own(2);
        let look = world.look(&[one.clone(), two]);
        assert_eq!((look.progress.cursors.len(), look.progress.calls.len()), (1, 2));
        assert!(look.events.iter().all(|(run, _, _)| *run == one.run));
        assert!(!look.events.is_empty(), "{}", agent.format);
    }
}

/// COR-8: the session that harnessd chose at the launch is tied to the run once it is there, and once only.
#[test]
fn a_session_chosen_at_the_launch_is_evidence() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        run.trail.session = Some("one".to_owned());
        assert_eq!(world.look(std::slice::from_ref(&run)), Look::default());
        world.write_own(1);
        world.look(std::slice::from_ref(&run));
        world.look(std::slice::from_ref(&run));
        let session = "one".to_owned();
        let known = Known { run: run.run, format: agent.format, session, evidence: Evidence::LaunchId };
        assert_eq!(world.ledger().known, [known]);
    }
}

/// COR-8: an id that was chosen at the launch is evidence, too, where the agent keeps it beside one of its own.
#[test]
fn an_id_beside_the_session_s_own_is_evidence() {
    let chosen = "4fba1f7a-3ea7-49bf-b07b-a4ca8e9e040a";
    let mut world = World::new(AGENTS[0]);
    let path = world.store.join("sessions.db");
    let mut run = world.run(Needs::Usage);
    run.trail.format = Some(Format::Goose.as_str().to_owned());
    run.trail.stores[0].path = path.to_string();
    run.trail.session = Some(chosen.to_owned());
    let work = world.work.clone();
    let agent = Connection::open(path).unwrap();
    agent
        .execute_batch(&format!(
            "CREATE TABLE sessions (id, name, session_type, working_dir, created_at, parent_session_id);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, message_id, session_id, role, content_json,
                created_timestamp INTEGER, metadata_json);
             CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id, created_timestamp INTEGER, model,
                input_tokens, output_tokens, total_tokens, cache_read_tokens, cost, cost_source, is_compaction);
             INSERT INTO sessions VALUES ('7', '{chosen}', 'user', '{work}', datetime('now'), NULL),
                ('8', 'a title', 'user', '{work}', datetime('now'), NULL);"
        ))
        .unwrap();
    world.look(std::slice::from_ref(&run));
    world.look(std::slice::from_ref(&run));
    let session = "7".to_owned();
    let known = Known { run: run.run, format: Format::Goose, session, evidence: Evidence::LaunchId };
    assert_eq!(world.ledger().known, [known]);
}

/// TRJ-8: a sub-agent whose own files do not say whose it is belongs to the session that says it started it,
/// also when that is read later, and by another daemon.
#[test]
fn a_sub_agent_is_known_by_what_its_parent_says() {
    let mut world = World::new(AGENTS[0]);
    let mut run = world.run(Needs::Usage);
    run.trail.format = Some(Format::Grok.as_str().to_owned());
    let Layout::Files(layout) = Format::Grok.layout() else { unreachable!("files") };
    let directory = (layout.directory.unwrap())(world.work.as_str());
    for id in ["child", "parent"] {
        let summary = json!({"info": {"id": id, "cwd": world.work}, "created_at": world.at(1)});
        world.write(&format!("{directory}/{id}/summary.json"), &summary.to_string());
    }
    let update = |of: &str, number: u64, update: serde_json::Value| {
        let meta =
            json!({"eventId": format!("{of}-{number}"), "agentTimestampMs": world.at(number).0 / 1000});
        json!({"params": {"update": update, "_meta": meta}}).to_string() + "\n"
    };
    let said = json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go"}});
    let spawned = json!({"sessionUpdate": "subagent_spawned", "child_session_id": "child"});
    let (first, second) = (update("child", 2, said.clone()), update("child", 5, said.clone()));
    let (began, then) = (update("parent", 1, said), update("parent", 3, spawned));
    let child = world.write(&format!("{directory}/child/updates.jsonl"), &first);
    let parent = world.write(&format!("{directory}/parent/updates.jsonl"), &began);
    let parent_of_child = |world: &mut World| {
        world.look(std::slice::from_ref(&run));
        let rows = world.ledger().sessions;
        rows.into_values().find(|row| row.id == "child").unwrap().parent
    };
    assert_eq!(parent_of_child(&mut world), None);
    append(&parent, then.as_bytes());
    let known = Some(Parent { id: "parent".to_owned(), kinship: Kinship::SubAgent });
    assert_eq!(parent_of_child(&mut world), known);
    world.restart();
    append(&child, second.as_bytes());
    assert_eq!(parent_of_child(&mut world), known);
}

/// COR-1: a run without a workdir of its own is credited with nothing, and one without a format has nothing.
#[test]
fn what_has_no_workdir_or_no_format_is_settled_at_once() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let (mut one, mut two) = (world.run(Needs::Usage), world.run(Needs::Usage));
        world.write_own(1);
        one.trail.workdir = None;
        two.trail.format = None;
        (one.to, two.to) = (Some(world.at(10)), Some(world.at(10)));
        world.look(&[one.clone(), two.clone()]);
        let expected = Ledger { settled: vec![one.run, two.run], ..Ledger::default() };
        assert_eq!(world.ledger(), expected);
    }
}
