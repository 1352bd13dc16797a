"""What the scenarios check: each either holds or raises `Failed` with a reason in words that stay the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from cells import Cell, Failed, na, no, yes
from model import Exchange, marker
from processes import processes
from world import Harness, World

OUTCOMES: Mapping[str, tuple[str, ...]] = {
    "outcome.ok": ("ok",),
    "outcome.401": ("auth-required",),
    "outcome.429": ("rate-limited",),
    "outcome.500": ("failed",),
    "outcome.max_turns": ("max-turns",),
    "outcome.hang": ("timeout",),
    "outcome.stop": ("stopped",),
    "outcome.killed": ("failed",),
}
"""The outcomes that are right."""

PATIENCE = 15.0
"""Seconds within which a run that meets an error must have ended."""

NUMBERS = ("input", "cached", "output", "calls")


@dataclass
class Found:
    """The cells that a scenario fills."""

    world: World
    cells: dict[str, Cell] = field(default_factory=dict)

    @contextmanager
    def __call__(self, cell: str) -> Iterator[None]:
        """Fills `cell` by whether the check in the block holds, unless it is filled already."""
        agent = self.world.agent
        try:
            yield
        except Failed as failed:
            said = detail(failed)
            self.cells.setdefault(cell, no(agent.reason(cell, failed.reason, said), said))
        else:
            holds = yes(agent.notes.get(cell, ""))
            if cell in agent.fickle:
                holds = no(agent.known[cell].why, "this time the check held")
            self.cells.setdefault(cell, holds)

    def applies(self, *cells: str) -> bool:
        """Whether any of these cells applies to the agent; those that do not are filled."""
        for cell in cells:
            if cell in self.world.agent.na:
                self.cells[cell] = na(self.world.agent.na[cell])
        return any(cell not in self.world.agent.na for cell in cells)


def detail(failed: Failed) -> str:
    """All that the check said: its reason, and what it measured."""
    return f"{failed.reason}: {failed.detail}" if failed.detail else failed.reason


def require(holds: object, reason: str, measured: object = "") -> None:
    """Raises `Failed` where it does not hold."""
    if not holds:
        raise Failed(reason, str(measured))


def strings(value: object) -> Iterator[str]:
    """All texts in a document, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def turns(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Those that are the agent's own work, not an errand like a title."""
    return [exchange for exchange in exchanges if exchange.kind != "side"]


def first_turn(world: World, tag: str) -> Exchange:
    """The first request of a run."""
    served = turns(world.served(tag))
    require(served, "no request reached the server")
    return served[0]


def prompt_arrived(world: World, tag: str, prompt: str) -> None:
    """The prompt is, byte for byte, part of one text of the first request."""
    texts = list(strings(first_turn(world, tag).body))
    if any(prompt in text for text in texts):
        return
    near = next((text for text in texts if marker(tag) in text), "")
    raise Failed("the model did not get the prompt byte for byte", json.dumps(near)[:300])


def model_asked_for(world: World, tag: str, model: str) -> None:
    """Each request of the run names the model."""
    wanted = world.agent.model_in_request(model)
    first_turn(world, tag)
    for exchange in turns(world.served(tag)):
        named = exchange.body.get("model")
        require(
            named == wanted or f"/{wanted}:" in exchange.path,
            "another model was asked for",
            f"{named or exchange.path}, not {wanted}",
        )


def outcome_is(world: World, run: Mapping, cell: str, usual: tuple[str, ...]) -> None:
    """The run ended with an outcome that is right for `cell`."""
    right = world.agent.accepts.get(cell, usual)
    cause = f"{run.get('cause', '')} (status {run.get('exit_code', run.get('signal'))})"
    require(run["outcome"] in right, f"the outcome was `{run['outcome']}`", cause)


def took(run: Mapping) -> float:
    """The seconds of a run."""
    return moment(run["ended_at"]) - moment(run["started_at"])


def moment(stated: str) -> float:
    """A time that harnessd states, in seconds since 1970."""
    return datetime.fromisoformat(stated).timestamp()


def at_once(runs: Iterable[Mapping]) -> None:
    """There was a time at which all of them ran."""
    runs = list(runs)
    begun, ended = max(moment(run["started_at"]) for run in runs), min(moment(run["ended_at"]) for run in runs)
    require(begun < ended, "the runs were not at once", f"{begun - ended:.1f} s between them")


def in_time(seconds: float, patience: float) -> None:
    """It did not take longer than it may."""
    require(seconds <= patience, f"it took longer than {patience:g} s", f"{seconds:.1f} s")


def nothing_left(run: Mapping, *marks: str) -> None:
    """No process of the run is alive, by the run's marker in the environment or a mark in the arguments."""
    for mark in (f"HARNESSD_RUN_ID={run['id']}", *marks):
        left = processes(mark)
        require(not left, "processes were left", left)


def answer_alone(log: str, answer: str, told_else: Iterable[str]) -> None:
    """The log ends with the answer, and tells nothing of tools nor shows a record; warnings may stand before it."""
    lines = log.splitlines()
    require(lines and lines[-1] == answer, "`logs` does not end with the answer", log[-300:])
    require(log.count(answer) == 1, "`logs` shows the answer twice", log[-300:])
    odd = [line for line in lines if line.startswith("{") or any(text in line for text in told_else)]
    require(not odd, "`logs` prints more than the answer", odd[0][:300] if odd else "")


def patience(world: World, cell: str) -> float:
    """The seconds that a run may take for `cell`."""
    return world.agent.patience.get(cell, PATIENCE)


def ended_as(world: World, run: Mapping, cell: str, seconds: float | None = None) -> None:
    """The right outcome, within the time, and no process left."""
    outcome_is(world, run, cell, OUTCOMES[cell])
    in_time(took(run), patience(world, cell) if seconds is None else seconds)
    nothing_left(run)


def exact(run: Mapping) -> None:
    """One session is the run's, by evidence and not by inference."""
    credited = [session for session in run.get("sessions", []) if not session.get("parent")]
    require(credited, "no session is credited to the run")
    evidence = sorted({session["evidence"].partition(":")[0] for session in credited})
    require(evidence == ["exact"], f"its session is `{', '.join(evidence)}`", credited)


def sessions(run: Mapping) -> set[str]:
    """The ids of the sessions that are credited to a run."""
    return {session["id"] for session in run.get("sessions", [])}


def sums(world: World, exchanges: Iterable[Exchange]) -> dict[str, int]:
    """What the server served, as `usage` states it; errors cost nothing."""
    counted = [exchange.usage for exchange in exchanges if exchange.usage is not None]
    served = {
        "input": sum(usage.input for usage in counted),
        "cached": sum(usage.cached for usage in counted),
        "output": sum(usage.output for usage in counted),
        "calls": len(counted),
    }
    return compared(world, served)


def compared(world: World, row: Mapping[str, int]) -> dict[str, int]:
    """The numbers of it that the agent states."""
    return {key: row.get(key, 0) for key in NUMBERS if key != "calls" or not world.agent.turns_at_once}


def usage_equals(
    world: World, harness: Harness, run: Mapping, tag: str, least: int, written_alone: bool = False
) -> None:
    """`show` and `usage --by run` both state what the server served in this run: `least` calls or more.

    With `written_alone`, what the agent writes nowhere does not count: where it is asked whose the rest is.
    """
    served = world.served(tag)
    require(len(turns(served)) >= least, f"fewer than {least} calls reached the server", len(served))
    if written_alone:
        served = [exchange for exchange in served if world.agent.unwritten(exchange) is None]
    shown = [run.get("usage", {}), harness.usage(run["id"])]
    stated = [compared(world, row) for row in shown]
    wanted = sums(world, served)
    if all(row == wanted for row in stated):
        return
    require(stated[0] == stated[1], "`show` and `usage` differ", stated)
    written = [exchange for exchange in served if world.agent.unwritten(exchange) is None]
    if len(written) < len(served) and stated[0] == sums(world, written):
        reasons = {reason for exchange in served if (reason := world.agent.unwritten(exchange)) is not None}
        raise Failed("; ".join(sorted(reasons)), difference(stated[0], wanted))
    raise Failed(f"{', '.join(wrong(stated[0], wanted))} of `usage` are not what was served", difference(stated[0], wanted))


def wrong(stated: Mapping[str, int], wanted: Mapping[str, int]) -> list[str]:
    """The numbers that differ."""
    return [key for key in stated if stated[key] != wanted[key]]


def difference(stated: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    """The numbers that differ, with their values."""
    return ", ".join(f"{key} {stated[key]} of {wanted[key]}" for key in wrong(stated, wanted))
