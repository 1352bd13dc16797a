"""Checks that need no agent, and what becomes of one that fails: its own words, or a known reason that explains just those."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agents import NOTHING_STATED, Agent, Known
from cells import Failed, na, no, yes
from checks import Found, at_once
from scenarios import Scenario, play
from skillset import changed, listing


class Odd(Agent):
    """An agent that has a reason for one cell, and a note for it."""

    id = "codex"
    known = {"usage.killed": Known(NOTHING_STATED, "it never writes it")}
    notes = {"usage.killed": "by luck"}
    na = {"usage.fork": "it forks nothing"}


WORLD = SimpleNamespace(agent=Odd())
NOTHING = Failed("input, output of `usage` are not what was served", "input 0 of 12, output 0 of 3")
HALF = Failed("input, output of `usage` are not what was served", "input 6 of 12, output 0 of 3")
CELLS = ("usage.killed", "usage.fork")


def played(raised: Exception | None) -> dict:
    """The cells of a scenario whose one check raises this."""

    def check(_world: object, found: Found) -> None:
        with found("usage.killed"):
            if raised is not None:
                raise raised

    return play(WORLD, Scenario("odd", CELLS, check))


class AKnownReason(unittest.TestCase):
    def test_it_is_given_for_what_it_explains_alone(self) -> None:
        self.assertEqual(played(NOTHING)["usage.killed"], no("it never writes it"))
        self.assertEqual(played(HALF)["usage.killed"], no(HALF.reason))
        self.assertEqual(played(Failed("no request reached the server"))["usage.killed"], no("no request reached the server"))

    def test_what_the_check_said_stands_beside_it(self) -> None:
        self.assertEqual(played(NOTHING)["usage.killed"].detail, f"{NOTHING.reason}: {NOTHING.detail}")

    def test_a_check_that_holds_is_no_failure(self) -> None:
        self.assertEqual(played(None), {"usage.killed": yes("by luck"), "usage.fork": na("it forks nothing")})

    def test_one_that_holds_only_sometimes_is_a_failure_when_it_holds_too(self) -> None:
        with mock.patch.object(Odd, "fickle", frozenset({"usage.killed"})):
            for raised, reason in ((None, "it never writes it"), (NOTHING, "it never writes it"), (HALF, HALF.reason)):
                self.assertEqual(played(raised)["usage.killed"], no(reason))

    def test_a_scenario_that_breaks_tells_why_in_each_cell_that_applies(self) -> None:
        def breaks(_world: object, _found: Found) -> None:
            raise IndexError("none")

        found = play(WORLD, Scenario("odd", CELLS, breaks))
        self.assertEqual(found, {"usage.killed": no("the suite broke: IndexError"), "usage.fork": na("it forks nothing")})
        self.assertEqual(found["usage.killed"].detail, "the suite broke: IndexError: none")

    def test_a_scenario_that_fails_before_its_checks_is_explained_no_less(self) -> None:
        def fails(_world: object, _found: Found) -> None:
            raise NOTHING

        self.assertEqual(play(WORLD, Scenario("odd", CELLS, fails))["usage.killed"], no("it never writes it"))
        with mock.patch.object(Odd, "known", {}):
            self.assertEqual(play(WORLD, Scenario("odd", CELLS, fails))["usage.killed"], no(NOTHING.reason))


class TwoRuns(unittest.TestCase):
    def test_runs_one_after_the_other_are_not_at_once(self) -> None:
        day = "2026-12-01T10:00:0"
        first, later, between = (
            {"started_at": f"{day}{begun}+00:00", "ended_at": f"{day}{ended}+00:00"} for begun, ended in ((1, 3), (4, 6), (2, 5))
        )
        at_once([first, between])
        with self.assertRaisesRegex(Failed, "the runs were not at once"):
            at_once([first, later])


class WhatLies(unittest.TestCase):
    def test_links_are_told_and_not_followed_and_hidden_ones_right_there_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            top = Path(scratch, "top")
            (top / "a" / ".b").mkdir(parents=True)
            (top / "a" / "file").write_text("x")
            (top / ".agent").mkdir()
            (top / ".agent" / "file").write_text("x")
            (top / "link").symlink_to("a")
            shown = listing(top, hidden=False)
            self.assertEqual(sorted(shown), ["a", "a/.b", "a/file", "link"])
            self.assertEqual((shown["a"], shown["link"]), ("directory", "link to a"))
            self.assertEqual(sorted(listing(top).keys() - shown.keys()), [".agent", ".agent/file"])
            self.assertEqual(sorted(listing(top, top / "a" / ".b", hidden=False)), ["a/file", "link"])
            before = listing(top)
            (top / "a" / "file").chmod(0o755)
            self.assertEqual(changed(before, listing(top)), ["a/file"])


if __name__ == "__main__":
    unittest.main()
