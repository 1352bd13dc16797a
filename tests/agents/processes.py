"""Which processes are alive that belong to a run or to a world, and their end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def processes(mark: str) -> list[int]:
    """The processes that carry `mark` in their arguments or their environment, zombies not counted."""
    needle = mark.encode()
    return [pid for pid in _pids() if any(needle in text for text in _texts(pid))]


def commands(mark: str) -> list[int]:
    """The processes that carry `mark` as an argument of its own."""
    needle = mark.encode()
    return [pid for pid in _pids() if needle in _read(pid, "cmdline").split(b"\0")]


def kill(mark: str) -> None:
    """Kills the processes that `processes` answers."""
    for pid in processes(mark):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _pids() -> Iterable[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _texts(pid: int) -> tuple[bytes, bytes]:
    return _read(pid, "cmdline"), _read(pid, "environ")


def _read(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except OSError:
        return b""
