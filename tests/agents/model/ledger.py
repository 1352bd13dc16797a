"""What was asked and what was served, with numbers of tokens that no two answers share."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MOST = 10_000
"""So many exchanges are kept; an agent that asks more is broken."""

PRIME = 20_011
"""One above twice `MOST`."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one answer as `harnessd usage` states them: `input` is the whole prompt side, `cached` a part of it."""

    input: int
    cached: int
    output: int

    @classmethod
    def of(cls, number: int) -> Usage:
        """Those of the answer of this number.

        No input and no output comes twice, and by the squares no two answers sum up to what another two do. They stay
        far below the context of a model: an agent that sees it full begins to make it shorter.
        """
        return cls(
            input=5_003 + 1_009 * number % PRIME,
            cached=1_013 + 211 * number % 3_989,
            output=101 + number * number % PRIME,
        )


@dataclass(frozen=True)
class Exchange:
    """One request, and what it was answered."""

    n: int
    at: float
    """Seconds of the monotonic clock."""
    dialect: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, object]
    tag: str
    sub: bool
    """Whether a sub-agent asked."""
    kind: Literal["turn", "side"]
    """`side` is an errand of the agent, such as a title: it offers no tools."""
    step: int
    status: int
    usage: Usage | None
    """What was served; nothing where it was an error, a hang, or was cut."""


@dataclass
class Ledger:
    """All exchanges, by the tag of the run."""

    _by_tag: dict[str, list[Exchange]] = field(default_factory=dict)
    _numbers: itertools.count = field(default_factory=lambda: itertools.count(1))
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def number(self) -> int:
        """A number that no other exchange has."""
        with self._changed:
            return next(self._numbers)

    def add(self, exchange: Exchange) -> None:
        """Writes one down."""
        with self._changed:
            if exchange.n > MOST:
                raise OverflowError(f"more than {MOST} requests")
            self._by_tag.setdefault(exchange.tag, []).append(exchange)
            self._changed.notify_all()

    def served(self, tag: str) -> list[Exchange]:
        """Those of a run, its sub-agents' too, in the order in which they came."""
        with self._changed:
            return sorted(self._by_tag.get(tag, ()), key=lambda exchange: exchange.n)

    def wait_for(self, tag: str, count: int, seconds: float) -> bool:
        """Waits until a run has asked `count` times; whether it has."""
        end = time.monotonic() + seconds
        with self._changed:
            while len(self._by_tag.get(tag, ())) < count:
                if (left := end - time.monotonic()) <= 0:
                    return False
                self._changed.wait(left)
            return True
