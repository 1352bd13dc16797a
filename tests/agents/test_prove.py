"""The proof by itself: what is broken, and when a cell has turned."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import breakages
from agents import agents
from breakages import Breakage
from cells import CELLS, na, no, yes
from model import Exchange, Usage
from processes import processes
from prove import Left, concerned, fault_of, wrapped


def exchange(number: int, usage: Usage | None) -> Exchange:
    return Exchange(number, 0.0, "chat", "/", {}, {}, "t", False, "turn", 0, 200 if usage else 500, usage)


class WhatIsBroken(unittest.TestCase):
    def test_every_cell_of_a_fast_agent_is_to_be_turned_by_something(self) -> None:
        for agent in (each for each in agents().values() if each.fast):
            with self.subTest(agent.id):
                named = {cell for breakage in breakages.breakages(agent) for cell in breakage.cells}
                applies = {cell for cell in CELLS if cell not in agent.na and cell not in agent.known}
                self.assertEqual(applies - named, set())
                self.assertEqual(named - set(CELLS), set())

    def test_no_two_breakages_of_an_agent_are_called_the_same(self) -> None:
        for agent in agents().values():
            names = [breakage.what for breakage in breakages.breakages(agent)]
            self.assertEqual(sorted(names), sorted(set(names)), agent.id)

    def test_each_agent_with_breakages_of_its_own_is_known(self) -> None:
        self.assertEqual(breakages.OWN.keys() - agents().keys(), set())

    def test_a_prompt_without_dashes_is_an_argument_of_its_own(self) -> None:
        for given, wanted in (
            (["-p", "{options}", "--", "{prompt}"], ["-p", "{options}", "{prompt}"]),
            (["{options}", "--single={prompt}"], ["{options}", "--single", "{prompt}"]),
        ):
            self.assertEqual(breakages.bare(given), wanted)

    def test_the_record_of_the_newest_answer_is_dropped_and_no_other(self) -> None:
        served = [exchange(1, Usage(9, 1, 1)), exchange(2, Usage(8, 1, 1)), exchange(3, None)]
        self.assertEqual(breakages.without_record(served), [served[0], replace(served[1], usage=None), served[2]])
        self.assertEqual(breakages.without_record([served[2]]), [served[2]])

    def test_one_token_more_is_served_with_each_answer(self) -> None:
        served = [exchange(1, Usage(9, 1, 1)), exchange(2, None)]
        self.assertEqual([each.usage for each in breakages.one_token_more(served)], [Usage(9, 1, 2), None])

    def test_cells_that_do_not_count_are_left_out(self) -> None:
        self.assertEqual(Breakage("x", ("argv.plain", "argv.dash")).within({"argv.dash"}), Breakage("x", ("argv.dash",)))


class WhenACellHasTurned(unittest.TestCase):
    def test_a_check_that_failed_is_a_proof_and_a_suite_that_broke_is_none(self) -> None:
        self.assertIsNone(fault_of(no("processes were left", "[7]")))
        self.assertEqual(fault_of(yes("with one retry")), "stays ✓")
        self.assertEqual(fault_of(na("it has none")), "stays n/a")
        for reason in ("the suite broke: KeyError", "the daemon did not answer within 15 s", "the scenario did not come to it"):
            self.assertEqual(fault_of(no(reason)), f"turns, but of something else: {reason}")
        self.assertEqual(fault_of(no("known", "the suite broke: x")), "turns, but of something else: the suite broke: x")

    def test_only_the_scenarios_of_the_cells_are_run(self) -> None:
        self.assertEqual([scenario.name for scenario in concerned(("argv.dash", "outcome.ok"))], ["plain", "dash"])


class WhatIsPutInFront(unittest.TestCase):
    def test_the_arguments_of_the_agent_can_be_changed(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            script = wrapped(Path(directory, "agent"), Path("/bin/echo"), 'args+=("$root")', Path("/the root"))
            ended = subprocess.run([script, "a  b"], capture_output=True, text=True, check=True)
        self.assertEqual(ended.stdout, "a  b /the root\n")

    def test_a_process_that_is_left_is_seen_at_once_and_ended(self) -> None:
        mark, left = "HARNESSD_RUN_ID=of-a-test", Left()
        left.behind(mark)
        self.assertEqual(len(processes(mark)), 1)
        left.end()
        self.assertEqual(processes(mark), [])


if __name__ == "__main__":
    unittest.main()
