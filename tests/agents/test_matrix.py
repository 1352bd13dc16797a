"""The record, what differs from it, and what it renders to."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import matrix
from agents import Known, agents
from cells import CELLS, na, no, yes
from matrix import Entry


def record(**users: dict) -> matrix.Record:
    return {"codex": Entry("1.0", "2026-12-01", 12.3, users)}


class TheRecord(unittest.TestCase):
    def test_what_is_written_is_read_again(self) -> None:
        before = record(root={"argv.plain": yes(), "argv.dash": no("it says: no"), "argv.max_turns": na("none")})
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "record.json")
            self.assertEqual(matrix.load(path), {})
            matrix.save(before, path)
            self.assertEqual(matrix.load(path), before)

    def test_a_text_that_is_no_cell_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "'maybe', which is no cell"):
            matrix.parse("maybe")

    def test_states_reasons_versions_and_unknown_agents_differ_and_numbers_do_not(self) -> None:
        old = record(root={"argv.plain": yes(), "argv.dash": no("short", "1 of 2"), "argv.large": yes()})
        new = record(root={"argv.plain": no("late", "9 s"), "argv.dash": no("short", "1 of 3"), "argv.large": yes()})
        new["codex"].version = "1.1"
        new["pi"] = Entry("2.0", "2026-12-01", 1.0)
        expected = [
            "codex: the record is of 1.0, this is 1.1",
            "codex, root, argv.plain: recorded ✓; found ✗ late [9 s]",
            "pi: the record does not know it",
        ]
        self.assertEqual(matrix.differences(old, new), expected)

    def test_a_user_that_was_not_tried_keeps_the_cells_of_the_same_version_alone(self) -> None:
        old = record(root={"argv.plain": yes()}, ordinary={"argv.plain": no("x")})
        new = record(root={"argv.plain": no("y")})
        merged = matrix.merge(old, new)["codex"].users
        self.assertEqual(merged, {"root": {"argv.plain": no("y")}, "ordinary": {"argv.plain": no("x")}})
        new["codex"].version = "1.1"
        self.assertEqual(matrix.merge(old, new)["codex"].users, {"root": {"argv.plain": no("y")}})


class TheTables(unittest.TestCase):
    def test_a_failure_of_either_user_is_shown_with_its_reason(self) -> None:
        cells = {"argv.plain": yes(), "argv.dash": yes(), "argv.max_turns": na("it has none")}
        shown = matrix.render(record(root=cells, ordinary={"argv.plain": yes(), "argv.dash": no("the dash is lost")}))
        self.assertIn("| prompt: plain | ✓ |", shown)
        self.assertIn("| prompt: beginning with `-` | ✗ [1] |", shown)
        self.assertIn("| `max_turns` | n/a: it has none |", shown)
        self.assertIn("| a fork | not tried |", shown)
        self.assertIn("1. As an ordinary user: the dash is lost.", shown)
        self.assertIn("as an ordinary user all but `argv.quotes`, ", shown)

    def test_the_part_between_the_marks_alone_is_replaced(self) -> None:
        before = f"a\n{matrix.BEGIN}\nold\n{matrix.END}\nb\n"
        after = f"a\n{matrix.BEGIN}\n\nnew\n\n{matrix.END}\nb\n"
        self.assertEqual(matrix.within(before, "new\n"), after)
        with self.assertRaisesRegex(ValueError, "lacks the line"):
            matrix.within("a\n", "new\n")

    def test_the_document_shows_what_the_record_says(self) -> None:
        self.assertFalse(matrix.document_is_stale(matrix.load()), "run.py --bless makes it")


class TheAgents(unittest.TestCase):
    def test_each_names_a_version_and_cells_that_there_are(self) -> None:
        for agent in agents().values():
            with self.subTest(agent.id):
                self.assertRegex(agent.version, r"^\d+\.\d+")
                named = {*agent.na, *agent.known, *agent.notes, *agent.patience, *agent.accepts}
                self.assertEqual(named - set(CELLS), set())
                self.assertEqual(agent.fickle - agent.known.keys(), set())
                self.assertTrue(all(isinstance(known, Known) for known in agent.known.values()))

    def test_the_record_is_of_the_versions_that_the_adapters_name(self) -> None:
        for name, entry in matrix.load().items():
            with self.subTest(name):
                self.assertEqual(entry.version, agents()[name].version)

    def test_the_record_holds_no_cell_that_is_none_any_more(self) -> None:
        for name, entry in matrix.load().items():
            for user, cells in entry.users.items():
                with self.subTest(name, user=user):
                    self.assertEqual((user in matrix.USERS, cells.keys() - set(CELLS)), (True, set()))


if __name__ == "__main__":
    unittest.main()
