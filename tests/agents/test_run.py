"""The program by itself: its verdict, and how it ends."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import run
from cells import no
from matrix import Entry
from processes import processes
from world import until

SECONDS = 30
BUSY = """
import subprocess, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import run
scratch = Path(sys.argv[2])
run.at_signals(lambda: run.clear(scratch, False))
with ThreadPoolExecutor(1) as pool:
    child = subprocess.Popen(["sleep", "60"], env={"HOME": str(scratch)})
    waits = pool.submit(child.wait)
    print("begun", flush=True)
    waits.result()
    pool.submit(subprocess.run, ["sleep", "60"]).result()
"""


INSTALLING = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import run, running
run.at_signals(running.end_all)
with ThreadPoolExecutor(1) as pool:
    pool.submit(running.run, ["sh", "-c", "echo > begun; sleep 60 & sleep 60"], Path(sys.argv[2]), {"HOME": sys.argv[2]}, 60).result()
"""


class TheVerdict(unittest.TestCase):
    def test_an_agent_of_which_the_suite_broke_is_not_blessed(self) -> None:
        well = Entry("1.0", "2026-12-01", 1.0, {"root": {"argv.plain": no("the outcome was `failed`")}})
        broke = Entry("1.0", "2026-12-01", 1.0, {"root": {"argv.plain": no("the suite broke: OSError", "the suite broke: OSError: no")}})
        chosen = SimpleNamespace(json=None, bless=True, check=False)
        with mock.patch.object(run.matrix, "bless") as bless, redirect_stdout(io.StringIO()) as said:
            self.assertEqual(run.judge(chosen, {"pi": well}, []), 0)
            self.assertEqual(run.judge(chosen, {"pi": well, "codex": broke}, []), 1)
        self.assertEqual([call.args[1] for call in bless.call_args_list], [{"pi": well}, {"pi": well}])
        self.assertEqual(said.getvalue(), "broken: codex, root, argv.plain: the suite broke: OSError: no\n")


class TheEnd(unittest.TestCase):
    def scratch(self) -> Path:
        """A directory with something in it."""
        outer = tempfile.TemporaryDirectory()
        self.addCleanup(outer.cleanup)
        scratch = Path(outer.name, "scratch")
        (scratch / "home").mkdir(parents=True)
        return scratch

    def test_a_signal_ends_it_at_once_and_leaves_nothing(self) -> None:
        for name, status in (("TERM", 143), ("INT", 130)):
            scratch = self.scratch()
            command = [sys.executable, "-c", BUSY, str(HERE), str(scratch)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as busy:
                self.assertEqual(busy.stdout.readline(), "begun\n")
                subprocess.run(["kill", f"-{name}", str(busy.pid)], check=True)
                self.assertEqual(busy.wait(SECONDS), status)
            self.assertFalse(scratch.exists())
            self.assertEqual(processes(f"HOME={scratch}"), [])

    def test_a_signal_ends_installs_too(self) -> None:
        scratch = self.scratch()
        installing = subprocess.Popen([sys.executable, "-c", INSTALLING, str(HERE), str(scratch)])
        until((scratch / "begun").exists, SECONDS, "the install did not begin")
        installing.terminate()
        self.assertEqual(installing.wait(SECONDS), 143)
        until(lambda: not processes(f"HOME={scratch}"), SECONDS, "the install did not end")

    def test_what_is_kept_is_kept_without_its_processes(self) -> None:
        scratch = self.scratch()
        left = subprocess.Popen(["sleep", "60"], env={"HOME": str(scratch / "home"), "PATH": os.environ["PATH"]})
        with redirect_stdout(io.StringIO()) as said:
            run.clear(scratch, keep=True)
        self.assertEqual(said.getvalue(), f"kept: {scratch}\n")
        self.assertEqual(left.wait(SECONDS), -9)
        self.assertTrue(scratch.exists())


if __name__ == "__main__":
    unittest.main()
