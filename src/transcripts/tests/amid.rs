//! Reading on while an agent writes, and being killed meanwhile.

use std::fs;

use super::world::{AGENTS, Agent, Ledger, World, append};
use crate::base::Random;
use crate::store::Store;
use crate::trajectory::Needs;
use crate::transcripts::follow::Follower;

/// What one look at the whole gives.
fn whole(agent: Agent, calls: u64) -> (World, Ledger) {
    let mut world = World::new(agent);
    let run = world.run(Needs::Everything);
    world.write_own(calls);
    world.look(&[run]);
    let ledger = world.ledger();
    assert_eq!(ledger.input(), (1..=calls).map(|number| number + 21).collect::<Vec<_>>());
    assert_eq!(ledger.ids(), ["one"]);
    assert!(ledger.events.len() as u64 >= 2 * calls, "the events are told: {:?}", ledger.events);
    (world, ledger)
}

/// TRJ-3, USE-2: a file that grows byte by byte is read as one that is whole.
#[test]
fn a_file_that_grows_byte_by_byte_gives_what_one_reading_gives() {
    for agent in AGENTS {
        let (mut world, expected) = whole(agent, 3);
        let path = world.store.join(world.place(&world.work, "one"));
        let text = fs::read(&path).unwrap();
        fs::write(&path, "").unwrap();
        *world.ledger.lock().unwrap() = Ledger::default();
        world.restart();
        let run = world.run(Needs::Everything);
        for byte in &text {
            append(&path, &[*byte]);
            world.look(std::slice::from_ref(&run));
        }
        assert_eq!(world.ledger().facts(), expected.facts(), "{}", agent.format);
    }
}

/// USE-2: a kill at any instant, before or after what a look brought is committed, loses and repeats nothing.
#[test]
fn a_kill_at_any_instant_loses_and_repeats_nothing() {
    for agent in AGENTS {
        let (mut world, expected) = whole(agent, 6);
        let path = world.store.join(world.place(&world.work, "one"));
        let text = fs::read(&path).unwrap();
        for seed in 0..16 {
            let mut random = Random::new(seed);
            fs::write(&path, "").unwrap();
            *world.ledger.lock().unwrap() = Ledger::default();
            world.restart();
            let run = world.run(Needs::Everything);
            let mut rest = text.as_slice();
            while !rest.is_empty() {
                let length = 1 + usize::try_from(random.next() % 400).unwrap();
                let (piece, after) = rest.split_at(length.min(rest.len()));
                append(&path, piece);
                rest = after;
                let look = world.follower.look(std::slice::from_ref(&run), super::world::now());
                match random.next() % 4 {
                    // Killed before the commit: nobody has heard of it.
                    0 => world.restart(),
                    // Killed right after it.
                    1 => {
                        world.ledger.lock().unwrap().commit(&look);
                        world.restart();
                    }
                    _ => world.ledger.lock().unwrap().commit(&look),
                }
            }
            world.look(std::slice::from_ref(&run));
            assert_eq!(world.ledger().facts(), expected.facts(), "{} {seed}", agent.format);
        }
    }
}

/// USE-2: the decoder of a stream that rests is let go of, and comes back from the account.
#[test]
fn a_stream_that_rests_for_long_is_read_on() {
    for agent in AGENTS {
        let (_, expected) = whole(agent, 4);
        let mut world = World::new(agent);
        let run = world.run(Needs::Everything);
        let path = world.write_own(2);
        world.look(std::slice::from_ref(&run));
        for _ in 0..20 {
            assert!(world.look(std::slice::from_ref(&run)).progress.is_empty());
        }
        let more = world.call("one", &world.work, 3) + &world.call("one", &world.work, 4);
        append(&path, more.as_bytes());
        world.look(std::slice::from_ref(&run));
        assert_eq!(world.ledger().input(), expected.input(), "{}", agent.format);
        assert_eq!(world.ledger().events.len(), expected.events.len(), "{}", agent.format);
    }
}

/// USE-2: what was written anew is read anew, and neither counted nor told twice; what is new in it is.
#[test]
fn a_file_that_is_written_anew_is_read_anew() {
    for agent in AGENTS {
        for replace in [false, true] {
            let (_, expected) = whole(agent, 5);
            let mut world = World::new(agent);
            let run = world.run(Needs::Everything);
            let path = world.write_own(3);
            world.look(std::slice::from_ref(&run));
            // Under the same inode it is shorter first; as another file it is longer at once.
            let text = world.session("one", &world.work, 5);
            if replace {
                let beside = world.root.join("beside");
                fs::write(&beside, &text).unwrap();
                fs::rename(&beside, &path).unwrap();
            } else {
                fs::write(&path, &text[..100]).unwrap();
                world.look(std::slice::from_ref(&run));
                append(&path, &text.as_bytes()[100..]);
            }
            world.look(std::slice::from_ref(&run));
            assert_eq!(world.ledger().input(), expected.input(), "{} {replace}", agent.format);
            assert_eq!(world.ledger().events.len(), expected.events.len(), "{} {replace}", agent.format);
        }
    }
}

/// USE-2: how far a file is read that was begun anew under its inode is in the account, though it was longer
/// before: another daemon tells nothing of it once more.
#[test]
fn how_far_a_file_begun_anew_is_read_is_kept() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = [world.run(Needs::Everything)];
        let state = world.root.join("state");
        let mut store = Store::open(&state).unwrap();
        let mut events = 0;
        let mut look = |follower: &mut Follower| {
            let look = follower.look(&run, super::world::now());
            store.commit_progress(&look.progress).unwrap();
            events += look.events.len();
            events
        };
        let mut follower = Follower::new(&state);
        let path = world.write_own(6);
        look(&mut follower);
        // Its first record is there again, and a later call, which is news.
        fs::write(&path, world.session("one", &world.work, 0)).unwrap();
        look(&mut follower);
        append(&path, world.call("one", &world.work, 7).as_bytes());
        let told = look(&mut follower);
        assert_eq!(look(&mut Follower::new(&state)), told, "{}", agent.format);
    }
}

/// TRJ-3: one look takes so much and no more; a run is settled when all is read.
#[test]
fn a_look_is_bounded_and_says_that_there_is_more() {
    // A millisecond each, within the window.
    const CALLS: u64 = 5000;
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        world.write_own(CALLS);
        run.to = Some(world.at(3_600_000));
        let first = world.look(std::slice::from_ref(&run));
        assert_eq!((first.more, first.progress.calls.len()), (true, 4096));
        assert!(first.progress.settled.is_empty());
        // The daemon may be another one meanwhile.
        world.restart();
        let second = world.look(std::slice::from_ref(&run));
        assert_eq!((second.more, second.progress.settled), (false, vec![run.run]));
        let ledger = world.ledger();
        assert_eq!(ledger.calls.len() as u64, CALLS);
        assert_eq!(ledger.input().iter().sum::<u64>(), CALLS * (CALLS + 1) / 2 + 21 * CALLS);
    }
}
