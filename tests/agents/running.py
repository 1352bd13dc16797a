"""Runs a program to its end, within a time, and says in words what became of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


_under_way: set[int] = set()
"""The sessions of the programs that run now."""


@dataclass(frozen=True)
class Ended:
    """A program that ran; `status` is None where it did not start or not end in time."""

    status: int | None
    output: str
    fault: str = ""

    def first_line(self) -> str:
        """What it said first."""
        return next((line.strip() for line in self.output.splitlines() if line.strip()), "nothing")

    def told(self) -> str:
        """What became of it, as the end of a sentence."""
        if self.status is None:
            return self.fault
        how = f"ended with status {self.status}" if self.status > 0 else f"was killed by signal {-self.status}"
        return f"{how}: {short(self.first_line())}"


def run(command: list[str], directory: Path, environment: Mapping[str, str], seconds: int) -> Ended:
    """Runs `command` in a session of its own, which is killed as a whole where it takes too long."""
    try:
        child = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            umask=0o022,
            start_new_session=True,
        )
    except OSError as error:
        return Ended(None, "", f"could not be started: {error.strerror}")
    _under_way.add(child.pid)
    try:
        output, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        output, _ = child.communicate()
        return Ended(None, output, f"did not end within {seconds} s")
    finally:
        _under_way.discard(child.pid)
    return Ended(child.returncode, output)


def end_all() -> None:
    """Kills what still runs, for a program that is about to end itself."""
    for session in list(_under_way):
        with suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)


def short(text: str) -> str:
    """The beginning of a text, for a sentence."""
    return text if len(text) <= 160 else f"{text[:159]}…"
