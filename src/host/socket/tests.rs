//! The socket's file: whose it is, who replaces it, who removes it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::sync::Barrier;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Accepted, Listener, SocketError, connect, is_welcome};

fn place(directory: &tempfile::TempDir) -> Utf8PathBuf {
    Utf8Path::from_path(directory.path()).unwrap().join("harnessd/harnessd.sock")
}

/// CTL-3: directory 0700, socket 0600, and a client of the same user is let in.
#[test]
fn the_socket_is_for_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let mut listener = Listener::bind(&path).unwrap();
    let mode = |path: &Utf8Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert!(listener.accept().unwrap().is_none());
    let mut client = connect(&path).unwrap();
    let Some(Accepted::Client(mut served)) = listener.accept().unwrap() else { panic!("not let in") };
    assert_eq!(served.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    served.write_all(b"x").unwrap();
    client.read_exact(&mut [0]).unwrap();
    drop(listener);
    assert!(!path.exists());
}

/// CTL-3: a stale socket is replaced, a live one never, and nothing else is touched.
#[test]
fn only_a_stale_socket_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "the standard library leaves its file behind");
    let first = Listener::bind(&path).unwrap();
    assert_eq!(Listener::bind(&path).unwrap_err().to_string(), format!("another process serves `{path}`"));
    connect(&path).unwrap();
    drop(first);
    fs::write(&path, "precious").unwrap();
    assert_eq!(Listener::bind(&path).unwrap_err().to_string(), format!("`{path}` is there and is no socket"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}

/// CTL-3: a path too long for a socket address is a clear error.
#[test]
fn a_path_too_long_says_both_lengths() {
    let path = Utf8PathBuf::from(format!("/{}", "x".repeat(107)));
    let expected = format!("socket path `{path}` is 108 bytes long, the system allows 107");
    assert_eq!(Listener::bind(&path).unwrap_err().to_string(), expected);
    assert_eq!(connect(&path).unwrap_err().to_string(), expected);
    let directory = tempfile::tempdir().unwrap();
    let base = Utf8Path::from_path(directory.path()).unwrap();
    let longest = base.join("x".repeat(106 - base.as_str().len()));
    assert_eq!(longest.as_str().len(), 107);
    drop(Listener::bind(&longest).unwrap());
}

/// Trap 22: a daemon that ends removes its own socket, not its successor's.
#[test]
fn a_dying_daemon_leaves_its_successor_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    let first = Listener::bind(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let second = Listener::bind(&path).unwrap();
    drop(first);
    connect(&path).unwrap();
    drop(second);
    let nobody = connect(&path).unwrap_err();
    assert_eq!(nobody.to_string(), format!("socket `{path}`: no such file or directory"));
}

/// Trap 22: of 20 that start at once on a stale socket exactly one serves it.
#[test]
fn of_twenty_at_once_exactly_one_serves() {
    let directory = tempfile::tempdir().unwrap();
    let path = place(&directory);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(UnixListener::bind(&path).unwrap());
    let (start, end) = (Barrier::new(20), Barrier::new(20));
    let serving: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let bound = Listener::bind(&path);
                    end.wait();
                    assert!(matches!(bound, Ok(_) | Err(SocketError::Live { .. })), "{bound:?}");
                    usize::from(bound.is_ok())
                })
            })
            .collect();
        racers.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(serving, 1);
}

/// CTL-3: the daemon's own user, or root, and nobody else.
#[test]
fn only_the_own_user_and_root_are_let_in() {
    assert!(is_welcome(1000, 1000) && is_welcome(0, 1000) && is_welcome(0, 0));
    assert!(!is_welcome(1001, 1000) && !is_welcome(1000, 0));
}
