//! Bad input: each is named, and everything else goes on.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use camino::Utf8Path;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::world::{AGENTS, World};
use crate::store::Cursor;
use crate::trajectory::{Format, Needs};
use crate::transcripts::cursors::Cursors;
use crate::transcripts::follow::{Follower, Look, Warning};
use crate::wire::StorePlace;

#[test]
fn a_fifo_a_directory_and_a_dead_link_are_no_transcripts() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        let dir = world.write_own(2).parent().unwrap().to_owned();
        mkfifo(dir.join("fifo.jsonl").as_std_path(), Mode::S_IRWXU).unwrap();
        fs::create_dir(dir.join("directory.jsonl")).unwrap();
        std::os::unix::fs::symlink("nowhere", dir.join("link.jsonl")).unwrap();
        let look = world.look(std::slice::from_ref(&run));
        let short = world.short(dir.as_str());
        assert_eq!(
            world.warnings(&look),
            [
                format!("{short}/directory.jsonl: it is a directory, not a regular file"),
                format!("{short}/fifo.jsonl: it is a FIFO, not a regular file"),
            ]
        );
        assert_eq!(world.ledger().input(), [22, 23], "{}", agent.format);
        // Each is said once.
        assert_eq!(world.look(&[run]), Look::default());
    }
}

/// TRJ-5: "wrote nothing" and "looked in the wrong place" never look alike.
#[test]
fn a_store_that_does_not_exist_after_a_run_is_said() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        fs::remove_dir(&world.store).unwrap();
        assert_eq!(world.look(std::slice::from_ref(&run)), Look::default());
        run.to = Some(world.at(100));
        let look = world.look(std::slice::from_ref(&run));
        let message = "it does not exist after a run of `sweep`, which wrote nothing or wrote it elsewhere";
        assert_eq!(world.warnings(&look), [format!("/store: {message}")]);
        assert_eq!(look.progress.settled, [run.run]);
        // An empty store is another matter.
        fs::create_dir(&world.store).unwrap();
        world.restart();
        assert_eq!(world.look(&[run]).warnings, []);
    }
}

/// Of several stores that are only inferred it is enough that one is there.
#[test]
fn an_inferred_store_may_be_missing_where_another_is_there() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        world.write_own(1);
        run.to = Some(world.at(100));
        let gone = StorePlace { path: world.root.join("gone").to_string(), named: false, cwd: None };
        run.trail.stores.push(gone);
        assert_eq!(world.look(std::slice::from_ref(&run)).warnings, []);
        run.trail.stores.remove(0);
        assert_eq!(world.look(&[run]).warnings.len(), 1);
    }
}

#[test]
fn a_file_in_place_of_a_store_is_said() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        world.write_own(1);
        let other = StorePlace { path: world.root.join("file").to_string(), named: true, cwd: None };
        fs::write(&other.path, "").unwrap();
        run.trail.stores.push(other);
        let look = world.look(&[run]);
        assert_eq!(world.warnings(&look), ["/file: it is not a directory"]);
        assert_eq!(world.ledger().ids(), ["one"], "{}", agent.format);
    }
}

/// For root everything is readable, so this is of use to others alone.
#[test]
fn what_may_not_be_read_is_said() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        world.write_own(1);
        let closed =
            world.write(&world.place(&world.work, "closed"), &world.session("closed", &world.work, 1));
        let directory = world.write(&world.place(&world.root, "x"), "").parent().unwrap().to_owned();
        let close = |path: &Utf8Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        close(&closed, 0o000);
        close(&directory, 0o000);
        let look = (fs::read(&closed).is_err()).then(|| world.look(&[run]));
        close(&closed, 0o600);
        close(&directory, 0o700);
        let Some(look) = look else { continue };
        let mut expected = [&closed, &directory]
            .map(|path| world.short(&format!("{path}: it cannot be read: permission denied")));
        expected.sort();
        assert_eq!(world.warnings(&look), expected);
        assert_eq!(world.ledger().ids(), ["one"], "{}", agent.format);
    }
}

/// TRJ-3: lines that are none, and what is no UTF-8, cost themselves alone.
#[test]
fn malformed_lines_are_passed_over_and_said_once() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let run = world.run(Needs::Usage);
        let mut bytes = world.session("one", &world.work, 1).into_bytes();
        bytes.extend_from_slice(b"{\"type\":\n\xff\xfe\n\n[]\n");
        bytes.extend_from_slice(world.call("one", &world.work, 2).as_bytes());
        let path = world.write(&world.place(&world.work, "one"), "");
        fs::write(&path, bytes).unwrap();
        world.look(std::slice::from_ref(&run));
        assert_eq!(world.ledger().input(), [22, 23], "{}", agent.format);
        assert!(world.look(&[run]).warnings.is_empty());
    }
}

/// A stream that vanishes takes nothing of what was read with it.
#[test]
fn a_stream_that_vanishes_is_no_obstacle() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        let path = world.write_own(2);
        let other = world.write(&world.place(&world.work, "two"), &world.session("two", &world.work, 1));
        world.look(std::slice::from_ref(&run));
        fs::remove_file(&path).unwrap();
        super::world::append(&other, world.call("two", &world.work, 2).as_bytes());
        run.to = Some(world.at(1000));
        let look = world.look(std::slice::from_ref(&run));
        assert_eq!((look.warnings, look.progress.settled), (vec![], vec![run.run]));
        assert_eq!(world.ledger().calls.len(), 4, "{}", agent.format);
    }
}

#[derive(Debug)]
struct Locked;

impl Cursors for Locked {
    fn of(&self, _: Format, _: &StorePlace) -> Result<Vec<Cursor>, Warning> {
        Err(Warning { path: "/state.db".to_owned(), message: "it is locked".to_owned(), store: None })
    }
}

/// USE-2: as long as the account cannot be read nothing is, since nobody knows what was told.
#[test]
fn without_its_account_a_follower_reads_nothing() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        world.write_own(1);
        run.to = Some(world.at(1000));
        world.follower = Follower::over(Box::new(Locked));
        let look = world.look(std::slice::from_ref(&run));
        let warnings =
            vec![Warning { path: "/state.db".to_owned(), message: "it is locked".to_owned(), store: None }];
        assert_eq!(look, Look { warnings, ..Look::default() });
    }
}

/// USE-2: a store that cannot be read when a run ends may be there again soon: the run is not settled at once,
/// and not for ever left unsettled either.
#[test]
fn a_run_whose_store_cannot_be_read_is_tried_again_for_a_while() {
    for agent in AGENTS {
        let mut world = World::new(agent);
        let mut run = world.run(Needs::Usage);
        world.write_own(2);
        let hidden = world.root.join("hidden");
        fs::rename(&world.store, &hidden).unwrap();
        fs::write(&world.store, "").unwrap();
        run.to = Some(world.at(5000));
        let look = world.look(std::slice::from_ref(&run));
        assert_eq!((world.warnings(&look).len(), look.progress.settled), (1, vec![]));
        fs::remove_file(&world.store).unwrap();
        fs::rename(&hidden, &world.store).unwrap();
        assert_eq!(world.look(std::slice::from_ref(&run)).progress.settled, [run.run]);
        assert_eq!(world.ledger().input(), [22, 23], "{}", agent.format);

        world.restart();
        fs::remove_dir_all(&world.store).unwrap();
        fs::write(&world.store, "").unwrap();
        run.from = world.from - Duration::from_secs(3600);
        run.to = Some(world.from - Duration::from_secs(1800));
        assert_eq!(world.look(std::slice::from_ref(&run)).progress.settled, [run.run], "it is given up");
    }
}
