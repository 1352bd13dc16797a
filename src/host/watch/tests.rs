//! The ways in which editors, dotfile managers and orchestrators replace a file.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;

use camino::{Utf8Path, Utf8PathBuf};
use nix::poll::{PollFd, PollFlags, poll};

use super::Watcher;

fn base(directory: &tempfile::TempDir) -> Utf8PathBuf {
    Utf8Path::from_path(directory.path()).unwrap().to_owned()
}

/// inotify queues an event before the call that causes it returns, but for the closing of a file whose
/// descriptor a process has that another test is just starting: that is waited for.
fn is_seen(watcher: &mut Watcher, file: &Utf8Path) -> bool {
    for _ in 0..300 {
        let seen = watcher.read().unwrap();
        if !seen.is_empty() {
            return seen.iter().eq([file]);
        }
        poll(&mut [PollFd::new(watcher.as_fd(), PollFlags::POLLIN)], 100_u8).unwrap();
    }
    false
}

fn nothing_is_seen(watcher: &mut Watcher) -> bool {
    watcher.read().unwrap().is_empty()
}

/// CFG-10: a watched path is watched by its directory, so that writing,
/// replacing by rename, removing and making it are all seen.
#[test]
fn every_way_to_change_a_file_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let (file, other) = (base(&directory).join("harness.toml"), base(&directory).join("other"));
    let mut watcher = Watcher::new().unwrap();
    watcher.watch([file.clone()]).unwrap();
    assert!(nothing_is_seen(&mut watcher));
    fs::write(&file, "made").unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(&file, "written").unwrap();
    assert_eq!(poll(&mut [PollFd::new(watcher.as_fd(), PollFlags::POLLIN)], 0_u8), Ok(1));
    assert!(is_seen(&mut watcher, &file));
    fs::write(&other, "new").unwrap();
    assert!(nothing_is_seen(&mut watcher), "a neighbour is nobody's business");
    fs::rename(&other, &file).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::remove_file(&file).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(&other, "linked").unwrap();
    fs::hard_link(&other, &file).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::read(&file).unwrap();
    assert!(nothing_is_seen(&mut watcher), "reading changes nothing");
}

/// CFG-10: a file made and not yet closed is not read half-written.
#[test]
fn a_file_that_is_being_written_is_reported_when_it_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let file = base(&directory).join("harness.toml");
    let mut watcher = Watcher::new().unwrap();
    watcher.watch([file.clone()]).unwrap();
    let open = fs::File::create(&file).unwrap();
    assert!(nothing_is_seen(&mut watcher));
    drop(open);
    assert!(is_seen(&mut watcher, &file));
}

/// CFG-10: dotfile managers: the file is a link, and so may a directory on the way be.
#[test]
fn a_link_on_the_way_is_seen_to_change_and_so_is_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let base = base(&directory);
    for version in ["v1", "v2"] {
        fs::create_dir_all(base.join(version)).unwrap();
        fs::write(base.join(version).join("real.toml"), version).unwrap();
    }
    fs::create_dir(base.join("config")).unwrap();
    symlink("v1", base.join("current")).unwrap();
    symlink("../current/real.toml", base.join("config/harness.toml")).unwrap();
    let file = base.join("config/harness.toml");
    let mut watcher = Watcher::new().unwrap();
    watcher.watch([file.clone()]).unwrap();
    fs::write(base.join("v1/real.toml"), "edited").unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(base.join("v2/real.toml"), "not ours").unwrap();
    assert!(nothing_is_seen(&mut watcher));
    symlink("v2", base.join("next")).unwrap();
    fs::rename(base.join("next"), base.join("current")).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(base.join("v2/real.toml"), "ours now").unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(base.join("v1/real.toml"), "no more").unwrap();
    assert!(nothing_is_seen(&mut watcher));
}

/// CFG-10: a directory that comes into being, and one that goes, change the file in it.
#[test]
fn a_file_is_waited_for_though_its_directory_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let file = base(&directory).join("a/b/harness.toml");
    let mut watcher = Watcher::new().unwrap();
    watcher.watch([file.clone()]).unwrap();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::write(&file, "").unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::rename(file.parent().unwrap(), base(&directory).join("gone")).unwrap();
    assert!(is_seen(&mut watcher, &file));
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert!(is_seen(&mut watcher, &file));
    watcher.watch([]).unwrap();
    fs::write(&file, "").unwrap();
    assert!(nothing_is_seen(&mut watcher));
}

/// CFG-2, CFG-10: of a directory that is watched as a whole every fitting name counts, new ones too, also once the
/// directory is made, replaced or removed.
#[test]
fn a_whole_directory_is_seen() {
    let directory = tempfile::tempdir().unwrap();
    let dir = base(&directory).join("harness.d");
    let mut watcher = Watcher::new().unwrap();
    watcher.watch_whole(dir.clone(), |name| name.ends_with(".toml")).unwrap();
    assert!(nothing_is_seen(&mut watcher));
    fs::create_dir(&dir).unwrap();
    assert!(is_seen(&mut watcher, &dir));
    fs::write(dir.join("one.toml"), "made").unwrap();
    assert!(is_seen(&mut watcher, &dir));
    fs::write(dir.join("README"), "made").unwrap();
    assert!(nothing_is_seen(&mut watcher));
    fs::remove_file(dir.join("one.toml")).unwrap();
    assert!(is_seen(&mut watcher, &dir));
    fs::rename(&dir, base(&directory).join("away")).unwrap();
    assert!(is_seen(&mut watcher, &dir));
}
