"""One home, configuration, state and daemon: those of one agent as one user.

Everything of it lies below one directory, which is given to the user. A harness is declared by a drop-in file and
driven by `harnessd … --json`, as a person would drive it.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agents import Agent
from cells import Failed
from install import Installed
from model import Exchange, Model
from sandbox import User

CLIENT_SECONDS = 300
DAEMON_SECONDS = 15
TIMEOUT = 14.0
"""Seconds that a run may take at all after its start; most take one or two."""

STOP_TIMEOUT = "3s"
NAP = 0.05


def until(condition: Callable[[], object], seconds: float, what: str) -> object:
    """Waits for the condition to hold, and answers what it answered; a check fails where it does not in time."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        if time.monotonic() > end:
            raise Failed(f"{what} within {seconds:g} s")
        time.sleep(NAP)
    return answer


def everything(top: Path, hidden: bool = True) -> Iterator[Path]:
    """What lies below `top`, where links are not followed; without `hidden`, not what begins with a dot right there."""
    for place, directories, files in os.walk(top):
        if not hidden and Path(place) == top:
            directories[:] = [name for name in directories if not name.startswith(".")]
            files = [name for name in files if not name.startswith(".")]
        yield from (Path(place, name) for name in [*directories, *files])


def finish(begun: subprocess.Popen[str], seconds: float, what: str) -> subprocess.CompletedProcess[str]:
    """Waits for a verb; a check fails where it does not end in time."""
    try:
        said, errors = begun.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        begun.kill()
        begun.communicate()
        raise Failed(f"{what} within {seconds:g} s") from None
    return subprocess.CompletedProcess(begun.args, begun.returncode, said, errors)


@dataclass
class World:
    """The world of one agent as one user.

    `adapter` is text for the global configuration (`[adapter.NAME]` …) that replaces fields of the built-in adapter;
    `spoil` changes what the server is taken to have served; `after` is called with each run that has ended, before it
    is checked. With any of them a check that is sound must fail.
    """

    agent: Agent
    installed: Installed
    program: Path
    harnessd: Path
    user: User
    model: Model
    root: Path
    adapter: str = ""
    spoil: Callable[[list[Exchange]], list[Exchange]] = field(default=lambda exchanges: exchanges)
    after: Callable[[dict], None] = field(default=lambda run: None)
    main: Daemon = field(init=False)
    tags: list[str] = field(default_factory=list, init=False)

    _tags = itertools.count(1)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True)
        for directory in (self.root / "work", self.root / "flags"):
            directory.mkdir()
        self.agent.prepare(self.home, self.model.url)
        self.main = Daemon(self, self.root / "main")

    @property
    def home(self) -> Path:
        """The user's own home."""
        return self.root / "home"

    def tag(self, scenario: str) -> str:
        """A name for one run that no other has."""
        tag = f"{self.agent.id}-{self.user.kind}-{scenario}-{next(self._tags)}"
        self.tags.append(tag)
        return tag

    def workdir(self, name: str) -> Path:
        """A fresh working directory; a second one of the name is another."""
        directory = self.root / "work" / name
        number = itertools.count(2)
        while directory.exists():
            directory = self.root / "work" / f"{name} {next(number)}"
        directory.mkdir(parents=True)
        self.agent.trust(self.home, directory)
        return directory

    def give(self, *paths: Path) -> None:
        """Gives `paths`, with all below them, to the user."""
        if os.geteuid() != self.user.uid:
            for path in paths:
                for below in [path, *everything(path)]:
                    # What agents are at work on beside this may be gone.
                    with suppress(FileNotFoundError):
                        os.chown(below, self.user.uid, self.user.gid, follow_symlinks=False)

    def served(self, tag: str) -> list[Exchange]:
        """What the server served of `tag`."""
        return self.spoil(self.model.served(tag))

    def environment(self) -> dict[str, str]:
        """What daemon and clients inherit, and by that the agents."""
        path = [str(entry) for entry in self.agent.path(self.installed)]
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join([*path, "/usr/local/bin:/usr/bin:/bin"]),
            "USER": self.user.name,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(self.root / "tmp"),
        }

    def close(self) -> None:
        """Ends the daemon with all that it runs."""
        self.main.close()

    def keep(self) -> None:
        """Writes what the server was asked beside the rest, for a look: one file a run."""
        place = self.root / "asked"
        place.mkdir(exist_ok=True)
        for tag in self.tags:
            exchanges = [asdict(exchange) for exchange in self.model.served(tag)]
            (place / f"{tag}.json").write_text(json.dumps(exchanges, indent=1, ensure_ascii=False), encoding="utf-8")

    def remove(self) -> None:
        """Removes everything of it."""
        shutil.rmtree(self.root, ignore_errors=True)


class Daemon:
    """A daemon with a configuration, a state and a socket of its own, in a world's home."""

    def __init__(self, world: World, root: Path) -> None:
        self.world = world
        self.root = root
        self._lock = threading.Lock()
        (root / "harness.d").mkdir(parents=True)
        (root / "state").mkdir()
        (world.root / "tmp").mkdir(exist_ok=True)
        (root / "harness.toml").write_text(f"[daemon]\nwatch = false\n\n{world.adapter}", encoding="utf-8")
        world.give(world.root)
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with open(self.root / "daemon.log", "ab") as log:
            process = subprocess.Popen(
                self._command("run"),
                cwd=self.root,
                env=self.world.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            until(lambda: self._answers(process), DAEMON_SECONDS, "the daemon did not answer")
        except Failed:
            process.kill()
            process.wait()
            raise
        return process

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        if process.poll() is not None:
            said = (self.root / "daemon.log").read_text(errors="replace").strip().splitlines()
            raise Failed("the daemon ended at once", said[-1] if said else "")
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.root / "socket")) == 0

    def _command(self, *arguments: str) -> list[str]:
        places = {"--config": "harness.toml", "--state-dir": "state", "--socket": "socket"}
        options = [text for flag, name in places.items() for text in (flag, str(self.root / name))]
        return [*self.world.user.prefix, str(self.world.harnessd), *arguments, *options]

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Begins one verb."""
        return subprocess.Popen(
            self._command(*arguments),
            cwd=self.root,
            env=self.world.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def harnessd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs one verb to its end."""
        return finish(self.begin(*arguments), CLIENT_SECONDS, f"`harnessd {arguments[0]}` did not end")

    def ask(self, *arguments: str) -> dict:
        """What a verb prints with `--json`; a check fails where the verb does."""
        ended = self.harnessd(*arguments, "--json")
        if ended.returncode != 0:
            raise Failed(f"`harnessd {arguments[0]}` failed", ended.stderr.strip())
        return json.loads(ended.stdout)

    def declare(self, name: str, workdir: Path, prompt: str, **keys: object) -> Harness:
        """A harness of the world's agent, in force when this answers; `keys` go over those of the agent."""
        place = self.root / "prompts"
        place.mkdir(exist_ok=True)
        declared = {
            "agent": self.world.agent.id,
            "cmd": str(self.world.program),
            "workdir": str(workdir),
            "prompt_file": str(place / name),
            "harvest": True,
            "timeout": f"{TIMEOUT + self.world.agent.starts:g}s",
            "stop_timeout": STOP_TIMEOUT,
            **self.world.agent.keys(self.world.model.url),
            **keys,
        }
        harness = Harness(self, name, workdir, place / name)
        harness.say(prompt)
        with self._lock:
            (self.root / "harness.d" / f"{name}.toml").write_text(table(f"harness.{quoted(name)}", declared), "utf-8")
            self.world.give(self.root / "harness.d", workdir.resolve(), place)
            self.ask("reload")
        return harness

    def kill(self) -> None:
        """Kills it, and nothing of what it runs."""
        # `setpriv` has become it by `exec`.
        self.process.kill()
        self.process.wait(DAEMON_SECONDS)

    def restart(self) -> None:
        """Another one, after the first has died."""
        self.process = self._start()

    def close(self) -> None:
        """Ends it with all that it runs."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(DAEMON_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@dataclass(frozen=True)
class Harness:
    """A harness of a daemon, and what can be done with it."""

    daemon: Daemon
    name: str
    workdir: Path
    prompt_file: Path

    def say(self, prompt: str) -> None:
        """What its next run is given."""
        self.prompt_file.write_text(prompt, encoding="utf-8")
        self.daemon.world.give(self.prompt_file)

    def run(self, *options: str) -> dict:
        """Runs it to its end, and answers its RUN, whatever the outcome."""
        return self.ended(self.start(*options), CLIENT_SECONDS)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Starts it; what it answers is for `ended`."""
        return self.daemon.begin("start", "--wait", "--json", self.name, *options)

    def ended(self, started: subprocess.Popen[str], seconds: float) -> dict:
        """Waits until its run has ended, and answers its RUN."""
        ended = finish(started, seconds, "the run did not end")
        if ended.returncode != 0 and '"run_failed"' not in ended.stderr:
            raise Failed("`harnessd start` failed", ended.stderr.strip())
        return self.last()

    def last(self) -> dict:
        """The RUN of its newest run, in full."""
        runs = self.daemon.ask("runs", self.name)["runs"]
        if not runs:
            raise Failed("there is no record of the run")
        run = self.daemon.ask("show", runs[0]["id"])
        if "outcome" in run:
            self.daemon.world.after(run)
        return run

    def judged(self, seconds: float) -> dict:
        """The RUN of its newest run once it has an outcome, where nobody waits for it any more."""
        return until(lambda: (run := self.last()).get("outcome") and run, seconds, "the run did not end")

    def state(self) -> dict:
        """What `list` says of it."""
        return next(row for row in self.daemon.ask("list")["harnesses"] if row["name"] == self.name)

    def usage(self, run: str) -> dict:
        """The row of `run` in `usage --by run`; an empty one where there is none."""
        rows = self.daemon.ask("usage", self.name, "--by", "run")["rows"]
        return next((row for row in rows if row["key"].get("run") == run), {})

    def logs(self) -> str:
        """What `logs` prints of its newest run."""
        return self.daemon.harnessd("logs", "--all", self.name).stdout


def table(name: str, keys: Mapping[str, object]) -> str:
    """A table of TOML."""
    return "".join([f"[{name}]\n", *(f"{quoted(key)} = {value(said)}\n" for key, said in keys.items())])


def value(said: object) -> str:
    """A value of TOML."""
    if isinstance(said, bool):
        return str(said).lower()
    if isinstance(said, Mapping):
        return "{" + ", ".join(f"{quoted(key)} = {value(each)}" for key, each in said.items()) + "}"
    if isinstance(said, list | tuple):
        return "[" + ", ".join(map(value, said)) + "]"
    return quoted(said) if isinstance(said, str) else str(said)


def quoted(text: str) -> str:
    """A string of TOML; those of JSON are ones."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
