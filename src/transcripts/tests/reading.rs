//! Reading a whole session.

use super::world::{AGENTS, World, append};
use crate::trajectory::{Event, Needs, Session, What};
use crate::transcripts::read::{SessionPlace, read_session};

fn read(world: &World, streams: &[&str]) -> Result<(Session, Vec<Event>), String> {
    let mut events = Vec::new();
    let place = SessionPlace {
        format: world.agent.format,
        id: "one".to_owned(),
        store: world.store.to_string(),
        streams: streams.iter().map(|stream| (*stream).to_owned()).collect(),
    };
    match read_session(&place, Needs::Everything, &mut |event| events.push(event)) {
        Ok(session) => Ok((session, events)),
        Err(error) => Err(world.short(&error.to_string())),
    }
}

fn inputs(events: &[Event]) -> Vec<u64> {
    let calls = events.iter().filter_map(|event| match &event.what {
        What::Usage(call) => call.tokens,
        _ => None,
    });
    calls.map(|tokens| tokens.input).collect()
}

/// TRJ-3: what an agent is writing just now is not part of it.
#[test]
fn a_session_is_read_up_to_its_last_whole_line() {
    for agent in AGENTS {
        let world = World::new(agent);
        let path = world.write_own(2);
        append(&path, world.call("one", &world.work, 3).trim_end().as_bytes());
        let before = world.listing();
        let (session, events) = read(&world, &[&world.place(&world.work, "one")]).unwrap();
        assert_eq!(inputs(&events), [22, 23], "{}", agent.format);
        assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("one", Some(world.work.as_str())));
        assert_eq!(session.started_at, Some(world.at(1)));
        assert_eq!(session.last_at, Some(world.at(3)));
        assert_eq!(session.models, ["claude-x"]);
        assert_eq!(world.listing(), before);
    }
}

/// A session that was resumed into another file is told in the order in which it happened.
#[test]
fn several_streams_of_a_session_are_told_by_time() {
    for agent in AGENTS {
        let world = World::new(agent);
        let (first, second) = (world.place(&world.work, "b"), world.place(&world.work, "a"));
        let begin = world.session("one", &world.work, 0);
        let call = |number| world.call("one", &world.work, number);
        world.write(&first, &(begin.clone() + &call(1) + &call(2) + &call(5)));
        // One that is out of order stays behind what it stands behind.
        world.write(&second, &(begin + &call(3) + &call(1) + &call(4) + &call(6)));
        let (_, events) = read(&world, &[&second, &first]).unwrap();
        assert_eq!(inputs(&events), [22, 23, 24, 22, 25, 26, 27], "{}", agent.format);
    }
}

#[test]
fn what_cannot_be_read_is_said() {
    for agent in AGENTS {
        let world = World::new(agent);
        world.write_own(1);
        let own = world.place(&world.work, "one");
        let directory = own.replace("/one.jsonl", "");
        assert_eq!(
            read(&world, &[&own, "gone"]),
            Err("/store/gone: the file does not exist any more".to_owned())
        );
        assert_eq!(
            read(&world, &[&directory]),
            Err(format!("/store/{}: it is a directory, not a regular file", world.short(&directory)))
        );
    }
}
