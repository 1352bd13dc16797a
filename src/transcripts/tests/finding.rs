//! Which sessions are found, and whose they may be.

use std::fs;
use std::os::unix::fs::symlink;

use super::world::{AGENTS, Ledger, World, age, append};
use crate::correlate::Known;
use crate::trajectory::Needs;
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
