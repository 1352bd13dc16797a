"""Runs the suite in namespaces of its own, and as which users.

The network namespace holds nothing but the loopback, so no agent speaks with anybody but the model server. The
PID namespace ends with the run, and every process in it. In the mount namespace paths become reachable for the
ordinary user that are not so on the machine. As root this takes no user namespace; for an ordinary user one is
made that keeps the user's id. What the machine does not allow is said in one line each, and the run goes on.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

CARRIED = "HARNESSD_AGENTS_INSIDE"
"""Names the file that the outer process leaves for the inner one."""

NOBODY = "nobody"
OUTER_SECONDS = 20
CLEAR_SECONDS = 20
WITHOUT = "agents may reach the network, and what they leave stays"


@dataclass(frozen=True)
class Inside:
    """Where the run is: its namespaces, what was not allowed, and what the outer process handed over."""

    namespaces: frozenset[str]
    lacks: tuple[str, ...]
    carried: object


@dataclass(frozen=True)
class User:
    """A user that agents run as; `prefix` goes in front of a command line."""

    kind: str
    name: str
    uid: int
    gid: int
    prefix: tuple[str, ...]


def inside() -> Inside | None:
    """What the outer process handed over, or nothing in that one. Forks, where this is the first process in there.

    To be called before any thread is started.
    """
    left = os.environ.pop(CARRIED, None)
    if left is None:
        return None
    with open(left, encoding="utf-8") as file:
        stated = json.load(file)
    os.unlink(left)
    entered = Inside(frozenset(stated["namespaces"]), tuple(stated["lacks"]), stated["carried"])
    if "net" in entered.namespaces:
        bring_loopback_up()
    if "user" in entered.namespaces:
        drop_ambient_capabilities()
    if os.getpid() == 1:
        _be_first_process()
    return entered


def enter(argv: Sequence[str], carried: object) -> Inside:
    """Executes the program anew inside namespaces, with `carried` (JSON) for `inside` there.

    Comes back only where none is allowed.
    """
    namespaces, lacks = allowed()
    if not namespaces:
        return Inside(namespaces, lacks, carried)
    with tempfile.NamedTemporaryFile("w", prefix="agents-inside.", delete=False, encoding="utf-8") as file:
        json.dump({"namespaces": sorted(namespaces), "lacks": lacks, "carried": carried}, file)
    os.environ[CARRIED] = file.name
    sys.stdout.flush()
    sys.stderr.flush()
    command = ["unshare", *flags(namespaces), "--", sys.executable, *argv]
    os.execvp(command[0], command)


def flags(namespaces: Iterable[str]) -> list[str]:
    """The options of `unshare` for these namespaces."""
    options = {
        "user": ["--user", "--map-current-user", "--keep-caps"],
        "net": ["--net"],
        "mount": ["--mount", "--propagation", "private"],
        "pid": ["--pid", "--fork", "--kill-child=TERM", "--mount-proc"],
    }
    return [option for kind in options if kind in set(namespaces) for option in options[kind]]


def allowed() -> tuple[frozenset[str], tuple[str, ...]]:
    """Which namespaces this machine gives to this user, and a line for each that it does not."""
    if shutil.which("unshare") is None:
        return frozenset(), (f"no namespaces: there is no `unshare`; {WITHOUT}",)
    base = frozenset() if os.geteuid() == 0 else frozenset({"user"})
    refused = _refusal(base) if base else None
    if refused is not None:
        return frozenset(), (f"no namespaces: {refused}; {WITHOUT}",)
    given, lacks = base, []
    for kind, meaning in {
        "net": "agents may reach the network",
        "mount": "what the ordinary user may not enter stays so, and there is no PID namespace",
        "pid": "what agents leave behind stays after the run",
    }.items():
        if kind == "pid" and "mount" not in given:
            continue
        refused = _refusal(given | {kind})
        if refused is None:
            given |= {kind}
        else:
            lacks.append(f"no {kind} namespace: {refused}; {meaning}")
    return (given if given != base else frozenset()), tuple(lacks)


def _refusal(namespaces: frozenset[str]) -> str | None:
    """Why these namespaces cannot be had together; nothing where they can."""
    command = ["unshare", *flags(namespaces), "--", "true"]
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=OUTER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return None
    said = ended.stderr.strip().splitlines()
    return said[-1] if said else f"`unshare` ended with status {ended.returncode}"


def bring_loopback_up() -> None:
    """A new network namespace has its loopback down."""
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, get_flags, struct.pack("16sH22x", b"lo", 0))
        now = struct.unpack_from("16xH", request)[0]
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH22x", b"lo", now | up))


def drop_ambient_capabilities() -> None:
    """What a user namespace gave for our own mounts is not for the agents."""
    pr_cap_ambient, clear_all = 47, 4
    ctypes.CDLL(None, use_errno=True).prctl(pr_cap_ambient, clear_all, 0, 0, 0)


def _be_first_process() -> None:
    """Goes on in a child, and here stays as the one who reaps what processes leave; ends as the child does.

    A signal that ends it, or the end of `unshare` outside, lets the child clear up, within a time.
    """
    child = os.fork()
    if child == 0:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end(number: int, _frame: object) -> None:
        os.kill(child, number)
        signal.alarm(CLEAR_SECONDS)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGALRM, lambda _number, _frame: os.kill(child, signal.SIGKILL))
    while True:
        ended, status = os.wait()
        if ended == child:
            os._exit(os.waitstatus_to_exitcode(status) % 256 if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def users(wanted: str) -> tuple[list[User], list[str]]:
    """The users of a run (`root`, `ordinary` or `both` are wanted), and why one of them is not among them."""
    found: list[User] = []
    lacks: list[str] = []
    if os.geteuid() != 0:
        if wanted != "ordinary":
            lacks.append("not as root: the run is an ordinary user's")
        if wanted != "root":
            found.append(User("ordinary", _name(os.geteuid()), os.geteuid(), os.getegid(), ()))
        return found, lacks
    if wanted != "ordinary":
        found.append(User("root", "root", 0, 0, ()))
    if wanted != "root":
        ordinary = _ordinary()
        if isinstance(ordinary, User):
            found.append(ordinary)
        else:
            lacks.append(f"not as an ordinary user: {ordinary}")
    return found, lacks


def _ordinary() -> User | str:
    """The user `nobody`, or why it cannot be had."""
    if shutil.which("setpriv") is None:
        return "there is no `setpriv`"
    try:
        entry = pwd.getpwnam(NOBODY)
    except KeyError:
        return f"there is no user `{NOBODY}`"
    prefix = ("setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups", "--inh-caps=-all")
    ordinary = User("ordinary", NOBODY, entry.pw_uid, entry.pw_gid, prefix)
    ended = subprocess.run([*prefix, "true"], capture_output=True, text=True, timeout=OUTER_SECONDS, check=False)
    return ordinary if ended.returncode == 0 else ended.stderr.strip() or "`setpriv` failed"


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def closed_above(path: Path) -> Path | None:
    """The topmost directory on the way to `path` that not every user may enter."""
    for above in reversed(path.parents):
        if not above.stat().st_mode & 0o001:
            return above
    return None


def expose(paths: Iterable[Path]) -> list[str]:
    """Lets every user reach `paths` by their own names; for the mount namespace of the run alone.

    A directory that may not be entered is covered by an empty one that holds nothing but what is asked for, so
    nothing else of it is shown to anybody in there, nor can it be changed. This checkout and this interpreter are
    always asked for. The answer: a line for each failure.
    """
    covered: dict[Path, list[Path]] = {}
    for path in sorted({*paths, Path(sys.base_prefix), Path(sys.prefix), Path(__file__).resolve().parents[2]}):
        closed = closed_above(path)
        if closed is not None and path.exists():
            kept = covered.setdefault(closed, [])
            if not any(path.is_relative_to(other) for other in kept):
                kept.append(path)
    return [fault for closed, kept in covered.items() if (fault := _cover(closed, kept)) is not None]


def _cover(closed: Path, kept: Sequence[Path]) -> str | None:
    """Puts an empty directory over `closed`, and what is kept of it into that one."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="agents-cover.") as scratch:
        held = [Path(scratch, str(number)) for number in range(len(kept))]
        try:
            for path, handle in zip(kept, held):
                _make_place(path, handle)
                _mount("--rbind", str(path), str(handle))
            _mount("-t", "tmpfs", "-o", "mode=0755", "tmpfs", str(closed))
            for path, handle in zip(kept, held):
                path.parent.mkdir(parents=True, exist_ok=True)
                _make_place(handle, path)
                _mount("--move", str(handle), str(path))
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            return f"{closed} stays closed to the ordinary user: {said.strip()}"
    if here.is_relative_to(closed):
        os.chdir(here if here.exists() else "/")
    return None


def _make_place(like: Path, place: Path) -> None:
    """An empty file or directory at `place`, as `like` is one, for a mount."""
    if like.is_dir():
        place.mkdir(exist_ok=True)
    else:
        place.touch()


def _mount(*arguments: str) -> None:
    command = ["mount", *arguments]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=OUTER_SECONDS)


def closed_to(user: User, program: Path, needs: Iterable[Path] = ()) -> str | None:
    """Why `user` cannot start `program`, which needs these directories, by trying; nothing where they can."""
    for path in (program, *needs):
        command = [*user.prefix, "test", "-r", str(path), "-a", "-x", str(path)]
        if subprocess.run(command, capture_output=True, timeout=OUTER_SECONDS, check=False).returncode != 0:
            return f"not as {user.name}, who may not use {path}: `--cache` names a place that all may enter"
    return None
