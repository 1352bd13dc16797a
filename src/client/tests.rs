//! The client against a daemon that is a thread with a script.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Client, ConnectError};
use crate::base::{HarnessName, State, Wall};
use crate::wire::{ErrorBody, ErrorCode, Event, EventKind, MAX_LINE, Op, Request, decode_request};

struct Place {
    _temp: TempDir,
    path: Utf8PathBuf,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(temp.path()).unwrap().join("d.sock");
    Place { _temp: temp, path }
}

/// The daemon's end of one connection.
struct Peer(BufReader<UnixStream>);

impl Peer {
    fn heard(&mut self) -> Request {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).unwrap();
        decode_request(&line).unwrap()
    }

    fn say(&mut self, line: &Value) {
        // The client may have hung up already; then its own result tells what it saw.
        let _ = self.0.get_mut().write_all(format!("{line}\n").as_bytes());
    }

    fn welcome(&mut self) {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(self.heard(), Request { id: 1, op: Op::Hello { protocol: 1, version } });
        self.say(&json!({"id": 1, "ok": {"protocol": 1, "version": "9.9.9", "new": true}}));
    }
}

/// Runs `client` against a listener that plays `daemon`.
fn with_daemon<T>(daemon: impl FnOnce(Peer) + Send, client: impl FnOnce(&Utf8Path) -> T) -> T {
    let place = place();
    let listener = UnixListener::bind(&place.path).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || daemon(Peer(BufReader::new(listener.accept().unwrap().0))));
        client(&place.path)
    })
}

fn refused(error: &ConnectError) -> (ErrorCode, String, Option<String>) {
    let ErrorBody { code, message, help } = error.body();
    (code, message, help)
}

/// CTL-7: without a daemon the code is `no_daemon`, and the help line tells how to start one.
#[test]
fn no_daemon_is_said() {
    let place = place();
    let expected = |path: &Utf8Path| {
        let help = Some("start it with `harnessd run`".to_owned());
        (ErrorCode::NoDaemon, format!("no daemon answers at `{path}`"), help)
    };
    assert_eq!(refused(&Client::connect(&place.path).unwrap_err()), expected(&place.path));
    drop(UnixListener::bind(&place.path).unwrap());
    assert_eq!(refused(&Client::connect(&place.path).unwrap_err()), expected(&place.path), "stale socket");
    let below = place.path.join("d.sock");
    assert_eq!(refused(&Client::connect(&below).unwrap_err()), expected(&below), "not a directory");
}

/// CTL-3: a path that does not fit into an address is a clear error.
#[test]
fn a_path_that_is_too_long_is_said() {
    let path = Utf8PathBuf::from(format!("/{}", "x".repeat(107)));
    assert_eq!(
        refused(&Client::connect(&path).unwrap_err()),
        (
            ErrorCode::Internal,
            format!("the path of the socket is too long: `{path}` has 108 bytes, 107 are allowed"),
            Some("choose a shorter one with `--socket` or `HARNESSD_SOCKET`".to_owned())
        )
    );
}

/// CTL-3: a socket of somebody else is a clear error (root may use any).
#[test]
fn a_socket_of_somebody_else_is_said() {
    let place = place();
    let listener = UnixListener::bind(&place.path).unwrap();
    std::fs::set_permissions(&place.path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if nix::unistd::geteuid().is_root() {
        nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65534));
        std::fs::set_permissions(place.path.parent().unwrap(), std::fs::Permissions::from_mode(0o755))
            .unwrap_err();
    }
    let error = Client::connect(&place.path).unwrap_err();
    nix::unistd::setfsuid(nix::unistd::geteuid());
    drop(listener);
    assert_eq!(
        refused(&error),
        (
            ErrorCode::NotPermitted,
            format!("the socket `{}` may not be used: permission denied", place.path),
            Some("only the daemon's own user and root may use it".to_owned())
        )
    );
}

/// CTL-4: a version is exchanged first; another protocol is refused by either side.
#[test]
fn another_protocol_is_refused() {
    let error = with_daemon(
        |mut peer| {
            peer.heard();
            peer.say(&json!({"id": 1, "ok": {"protocol": 2, "version": "3.0.0"}}));
        },
        |path| {
            let error = Client::connect(path).unwrap_err();
            let ConnectError::VersionMismatch { version, theirs, .. } = &error else { panic!("{error}") };
            assert_eq!((version.as_str(), *theirs), ("3.0.0", 2));
            let (code, message, help) = refused(&error);
            (code, message.replace(path.as_str(), "PATH"), help)
        },
    );
    assert_eq!(
        error,
        (
            ErrorCode::VersionMismatch,
            "the daemon at `PATH` (3.0.0) speaks protocol 2, this program speaks 1".to_owned(),
            Some("restart the daemon with this version of `harnessd`".to_owned())
        )
    );
    let error = with_daemon(
        |mut peer| {
            peer.heard();
            let error =
                json!({"code": "version_mismatch", "message": "this daemon speaks 2", "help": "upgrade"});
            peer.say(&json!({"id": 1, "error": error}));
        },
        |path| refused(&Client::connect(path).unwrap_err()).1.replace(path.as_str(), "PATH"),
    );
    assert_eq!(error, "the daemon at `PATH` refuses: this daemon speaks 2");
}

/// CTL-4: what a daemon says before it hangs up is not lost (64 clients, another user).
#[test]
fn a_refusal_before_the_greeting_is_heard() {
    let error = with_daemon(
        |mut peer| {
            peer.say(&json!({"id": 0, "error": {"code": "too_large", "message": "64 clients are connected"}}))
        },
        |path| {
            let (code, message, help) = refused(&Client::connect(path).unwrap_err());
            (code, message.replace(path.as_str(), "PATH"), help)
        },
    );
    let message = "the daemon at `PATH` refuses: 64 clients are connected".to_owned();
    assert_eq!(error, (ErrorCode::TooLarge, message, None));
}

/// A daemon that hangs does not hang whoever greets it.
#[test]
fn a_silent_daemon_is_said() {
    let place = place();
    let _listener = UnixListener::bind(&place.path).unwrap();
    let error = Client::connect_within(&place.path, Duration::from_millis(50)).unwrap_err();
    assert_eq!(
        refused(&error),
        (
            ErrorCode::NoDaemon,
            format!("the daemon at `{}` does not answer", place.path),
            Some("look whether it is stopped or stuck, and start it again".to_owned())
        )
    );
}

/// CTL-4: requests are numbered, answers are values or structured errors, in whatever pieces they come.
#[test]
fn calls_are_answered() {
    with_daemon(
        |mut peer| {
            peer.welcome();
            assert_eq!(peer.heard(), Request { id: 2, op: Op::List });
            let answer = format!("{}\n", json!({"id": 2, "ok": {"harnesses": []}}));
            for piece in answer.as_bytes().chunks(5) {
                peer.0.get_mut().write_all(piece).unwrap();
            }
            assert_eq!(peer.heard(), Request { id: 3, op: Op::Describe { name: "swep".into() } });
            let error = json!({"code": "unknown_harness", "message": "unknown harness `swep`",
                "help": "did you mean `sweep`?"});
            peer.say(&json!({"id": 3, "error": error}));
            assert_eq!(peer.heard().op, Op::Reload);
        },
        |path| {
            let mut client = Client::connect(path).unwrap();
            assert_eq!(client.daemon_version(), "9.9.9");
            assert_eq!(client.call(Op::List), Ok(json!({"harnesses": []})));
            assert_eq!(
                client.call(Op::Describe { name: "swep".into() }),
                Err(ErrorBody::new(ErrorCode::UnknownHarness, "unknown harness `swep`")
                    .help("did you mean `sweep`?"))
            );
            let gone = client.call(Op::Reload).unwrap_err();
            assert_eq!(gone.code, ErrorCode::NoDaemon);
            assert_eq!(gone.message, format!("the daemon at `{path}` went away"));
        },
    );
}

/// CTL-4: a request over 1 MiB is refused before it is sent, and the connection lives on.
#[test]
fn a_request_that_is_too_large_is_not_sent() {
    with_daemon(
        |mut peer| {
            peer.welcome();
            assert_eq!(peer.heard(), Request { id: 3, op: Op::Status });
            peer.say(&json!({"id": 3, "ok": {}}));
        },
        |path| {
            let mut client = Client::connect(path).unwrap();
            let error = client.call(Op::Show { run: "x".repeat(MAX_LINE) }).unwrap_err();
            assert_eq!(
                error,
                ErrorBody::new(ErrorCode::TooLarge, "the request has 1048606 bytes, 1048576 are allowed")
            );
            assert_eq!(client.call(Op::Status), Ok(json!({})));
        },
    );
}

/// CTL-5: `--wait` may last for hours, so only the greeting has a deadline.
#[test]
fn a_waiting_call_has_no_deadline() {
    with_daemon(
        |mut peer| peer.welcome(),
        |path| {
            let client = Client::connect(path).unwrap();
            assert_eq!(client.stream.read_timeout().unwrap(), None);
            assert_eq!(client.stream.write_timeout().unwrap(), None);
        },
    );
}

fn change(seq: u64) -> Event {
    let harness = HarnessName::parse("tick").unwrap();
    let kind = EventKind::StateChanged { harness, from: State::Starting, to: State::Running };
    Event { seq, at: Wall(1_764_504_000_000_000), kind }
}

/// LIF-10, CTL-4: a subscription yields every event in order, and the reason why it ends.
#[test]
fn a_subscription_yields_events_until_it_ends() {
    with_daemon(
        |mut peer| {
            peer.welcome();
            assert_eq!(peer.heard(), Request { id: 2, op: Op::Subscribe });
            // An event may overtake the answer.
            peer.say(&serde_json::to_value(change(1)).unwrap());
            peer.say(&json!({"id": 2, "ok": {}}));
            peer.say(&serde_json::to_value(change(2)).unwrap());
            peer.say(&json!({"id": 0, "error": {"code": "too_large", "message": "too slow a reader"}}));
        },
        |path| {
            let mut client = Client::connect(path).unwrap();
            let events: Vec<_> = client.subscribe().unwrap().collect();
            let dropped = ErrorBody::new(ErrorCode::TooLarge, "too slow a reader");
            assert_eq!(events, [Ok(change(1)), Ok(change(2)), Err(dropped)]);
        },
    );
}

/// Whatever else answers there, it is said and not believed.
#[test]
fn a_stranger_is_not_believed() {
    let answered = |line: &'static str| {
        with_daemon(
            move |mut peer| {
                peer.heard();
                peer.0.get_mut().write_all(line.as_bytes()).unwrap();
            },
            |path| Client::connect(path).unwrap_err().to_string().replace(path.as_str(), "PATH"),
        )
    };
    assert_eq!(
        answered("HTTP/1.1 400 Bad Request\n"),
        "the socket `PATH`: a line that is no reply: expected value at line 1 column 1"
    );
    assert_eq!(answered("{\"id\":7,\"ok\":{}}\n"), "the socket `PATH`: a reply to nothing that was asked");
    assert_eq!(
        answered("{\"id\":1,\"ok\":{}}\n"),
        "the socket `PATH`: no greeting: missing field `protocol`"
    );
    assert_eq!(answered("{\"id\":1"), "no daemon answers at `PATH`");
}
