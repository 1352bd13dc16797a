"""The namespaces, tried with an `unshare` of our own for what a machine may refuse, and really where it does not."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sandbox
from sandbox import User

SECONDS = 60


class Allowed(unittest.TestCase):
    """What the machine gives, and what is said of the rest."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.bin = Path(scratch.name)
        (self.bin / "sh").symlink_to("/bin/sh")
        for changed in (
            mock.patch.dict(os.environ, {"PATH": str(self.bin)}),
            mock.patch.object(sandbox.os, "geteuid", return_value=0),
        ):
            changed.start()
            self.addCleanup(changed.stop)

    def refusing(self, *options: str) -> None:
        """An `unshare` that refuses these options."""
        cases = "".join(f'*" {option} "*) echo "unshare: {option} refused" >&2; exit 1;;\n' for option in options)
        (self.bin / "unshare").write_text(f'#!/bin/sh\ncase " $* " in\n{cases}*) exit 0;;\nesac\n')
        (self.bin / "unshare").chmod(0o755)

    def test_root_gets_all_without_a_user_namespace(self) -> None:
        self.refusing("--user")
        self.assertEqual(sandbox.allowed(), (frozenset({"net", "mount", "pid"}), ()))

    def test_each_namespace_that_is_refused_is_said_in_a_line_and_the_others_are_taken(self) -> None:
        self.refusing("--net")
        self.assertEqual(
            sandbox.allowed(),
            (
                frozenset({"mount", "pid"}),
                ("no net namespace: unshare: --net refused; agents may reach the network",),
            ),
        )
        self.refusing("--mount")
        namespaces, lacks = sandbox.allowed()
        self.assertEqual((namespaces, len(lacks)), (frozenset({"net"}), 1))
        self.refusing("--net", "--mount")
        namespaces, lacks = sandbox.allowed()
        self.assertEqual((namespaces, len(lacks)), (frozenset(), 2))

    def test_an_ordinary_user_needs_a_user_namespace_for_all_of_it(self) -> None:
        with mock.patch.object(sandbox.os, "geteuid", return_value=1000):
            self.refusing()
            self.assertEqual(sandbox.allowed(), (frozenset({"user", "net", "mount", "pid"}), ()))
            self.refusing("--user")
            namespaces, lacks = sandbox.allowed()
            self.assertEqual(namespaces, frozenset())
            self.assertEqual(
                lacks,
                ("no namespaces: unshare: --user refused; agents may reach the network, and what they leave stays",),
            )
            self.refusing("--net", "--mount")
            self.assertEqual(sandbox.allowed()[0], frozenset())

    def test_without_unshare_the_run_goes_on_where_it_is(self) -> None:
        namespaces, lacks = sandbox.allowed()
        self.assertEqual((namespaces, len(lacks)), (frozenset(), 1))
        entered = sandbox.enter(["run.py"], {"a": 1})
        self.assertEqual((entered.namespaces, entered.lacks, entered.carried), (namespaces, lacks, {"a": 1}))

    def test_the_users_of_an_ordinary_run_are_itself(self) -> None:
        with (
            mock.patch.object(sandbox.os, "geteuid", return_value=4242),
            mock.patch.object(sandbox.os, "getegid", return_value=42),
        ):
            itself = User("ordinary", "4242", 4242, 42, ())
            self.assertEqual(sandbox.users("both"), ([itself], ["not as root: the run is an ordinary user's"]))
            self.assertEqual(sandbox.users("ordinary"), ([itself], []))
            self.assertEqual(sandbox.users("root"), ([], ["not as root: the run is an ordinary user's"]))

    def test_without_setpriv_root_is_the_only_user(self) -> None:
        users, lacks = sandbox.users("both")
        self.assertEqual([user.kind for user in users], ["root"])
        self.assertEqual(lacks, ["not as an ordinary user: there is no `setpriv`"])


PROBE = """
    import json, os, socket, subprocess, sys
    from pathlib import Path

    closed = Path(sys.argv[1])
    sys.path.insert(0, str(closed / "checkout" / "tests" / "agents"))
    import sandbox

    inside = sandbox.inside()
    if inside is None:
        inside = sandbox.enter([__file__, str(closed)], {"word": "carried"})
    said = {"namespaces": sorted(inside.namespaces), "carried": inside.carried, "pid": os.getpid()}
    said["left"] = os.environ.get(sandbox.CARRIED)
    said["interfaces"] = [name for _, name in socket.if_nameindex()]
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        socket.create_connection(server.getsockname(), timeout=5).close()
    mine = [line.split()[1] for line in open("/proc/self/status") if line.startswith("CapAmb")]
    said["ambient"] = int(mine[0], 16)
    if os.geteuid() == 0 and "mount" in inside.namespaces:
        said["faults"] = sandbox.expose([closed / "deep" / "shown", closed / "program"])
        said["seen"] = sorted(os.listdir(closed))
        (ordinary,), _ = sandbox.users("ordinary")
        read = subprocess.run(
            [*ordinary.prefix, "cat", str(closed / "deep" / "shown" / "file")], capture_output=True, text=True
        )
        said["record"] = (closed / "checkout" / "record").read_text()
        said["read"] = read.stdout + read.stderr
        said["closed"] = sandbox.closed_to(ordinary, closed / "program", [closed / "deep" / "shown"])
    print(json.dumps(said))
    sys.exit(7)
"""


class Really(unittest.TestCase):
    """The real thing, as far as this machine allows it."""

    def test_the_run_is_alone_with_its_loopback_and_ends_as_it_ended(self) -> None:
        namespaces, lacks = sandbox.allowed()
        if lacks:
            self.skipTest("; ".join(lacks))
        with tempfile.TemporaryDirectory() as scratch:
            closed = Path(scratch, "closed")
            (closed / "deep" / "shown").mkdir(parents=True)
            (closed / "deep" / "shown" / "file").write_text("text")
            (closed / "deep" / "hidden").write_text("text")
            (closed / "program").write_text("#!/bin/sh\n")
            (closed / "program").chmod(0o755)
            (closed / "checkout" / "tests" / "agents").mkdir(parents=True)
            shutil.copy(HERE / "sandbox.py", closed / "checkout" / "tests" / "agents")
            (closed / "checkout" / "record").write_text("text")
            closed.chmod(0o700)
            os.chmod(scratch, 0o755)
            probe = Path(scratch, "probe.py")
            probe.write_text(textwrap.dedent(PROBE))
            ended = subprocess.run(
                [sys.executable, str(probe), str(closed)], capture_output=True, text=True, timeout=SECONDS, check=False
            )
            self.assertEqual(ended.returncode, 7, ended.stderr)
            said = json.loads(ended.stdout)
            self.assertEqual(said["namespaces"], sorted(namespaces))
            self.assertEqual(said["carried"], {"word": "carried"})
            self.assertEqual((said["left"], said["interfaces"], said["ambient"]), (None, ["lo"], 0))
            self.assertEqual(said["pid"], 2)
            if os.geteuid() == 0:
                self.assertEqual(said["faults"], [])
                self.assertEqual(said["seen"], ["checkout", "deep", "program"])
                self.assertEqual(said["record"], "text")
                self.assertEqual((said["read"], said["closed"]), ("text", None))
            # Nothing of it shows outside.
            self.assertEqual(stat.S_IMODE(closed.stat().st_mode), 0o700)
            self.assertEqual(sorted(os.listdir(closed / "deep")), ["hidden", "shown"])


class ClosedTo(unittest.TestCase):
    """A program that the ordinary user cannot start where it lies."""

    def test_what_is_closed_is_named(self) -> None:
        users, lacks = sandbox.users("ordinary")
        if lacks or os.geteuid() != 0:
            self.skipTest("; ".join(lacks) or "not as root")
        (ordinary,) = users
        with tempfile.TemporaryDirectory() as outer:
            os.chmod(outer, 0o755)
            needed, program = Path(outer, "needed"), Path(outer, "program")
            needed.mkdir(mode=0o700)
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            advice = "`--cache` names a place that all may enter"
            self.assertIsNone(sandbox.closed_to(ordinary, program))
            self.assertEqual(
                sandbox.closed_to(ordinary, program, [needed]), f"not as nobody, who may not use {needed}: {advice}"
            )
            program.chmod(0o700)
            self.assertEqual(
                sandbox.closed_to(ordinary, program), f"not as nobody, who may not use {program}: {advice}"
            )


if __name__ == "__main__":
    unittest.main()
