"""The cells of the matrix in their groups, and what a cell can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GROUPS: Mapping[str, Mapping[str, str]] = {
    "argv": {
        "argv.plain": "prompt: plain",
        "argv.dash": "prompt: beginning with `-`",
        "argv.quotes": "prompt: quotes and newlines",
        "argv.large": "prompt: 200 KB",
        "argv.model": "`model`",
        "argv.auto_accept": "`auto_accept`",
        "argv.max_turns": "`max_turns`",
        "argv.quiet": "`quiet`",
    },
    "skills": {
        "skills.merged": "the model sees the merged set alone",
        "skills.untouched": "home and project untouched",
        "skills.script": "a script inside a skill runs",
    },
    "outcome": {
        "outcome.ok": "ok",
        "outcome.401": "the server answers 401",
        "outcome.429": "429",
        "outcome.500": "500 for ever",
        "outcome.max_turns": "turns used up",
        "outcome.hang": "no first byte, `timeout`",
        "outcome.stop": "`stop` during a tool call",
        "outcome.killed": "the agent is killed during one",
    },
    "session": {
        "session.plain": "a plain workdir",
        "session.dotted": "a dotted and spaced one",
        "session.symlink": "a symlinked one",
        "session.two": "two harnesses in one at once",
    },
    "usage": {
        "usage.tool": "a tool call",
        "usage.resume": "a resume",
        "usage.fork": "a fork",
        "usage.subagent": "a sub-agent",
        "usage.killed": "the agent killed",
        "usage.daemon_killed": "the daemon killed",
    },
}
"""Every cell by its id, with the words of its row."""

CELLS: tuple[str, ...] = tuple(cell for cells in GROUPS.values() for cell in cells)

YES, NO, NA = "yes", "no", "na"
SIGNS = {YES: "✓", NO: "✗", NA: "n/a"}


BROKEN = ("the suite broke", "the scenario did not come to it", "the daemon", "`harnessd reload` failed")
"""How the reasons begin that say nothing of an agent."""


@dataclass(frozen=True)
class Cell:
    """What was found. `reason` says why it is no ✓, or is a note on one; `detail` is what was measured, which may be
    other numbers each time: it is printed, and neither recorded nor compared."""

    state: str
    reason: str = ""
    detail: str = field(default="", compare=False)

    @property
    def broken(self) -> bool:
        """Whether it was the suite or its daemon that failed, so that nothing is known of the agent."""
        return self.state == NO and (self.detail or self.reason).startswith(BROKEN)

    def __str__(self) -> str:
        return SIGNS[self.state] + (f" {self.reason}" if self.reason else "")


def yes(note: str = "") -> Cell:
    """The check held."""
    return Cell(YES, note)


def no(reason: str, detail: str = "") -> Cell:
    """The check failed."""
    return Cell(NO, reason, detail)


def na(why: str) -> Cell:
    """The cell does not apply."""
    return Cell(NA, why)


class Failed(Exception):
    """A check that did not hold: its reason in fixed words, and the numbers of this time."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
