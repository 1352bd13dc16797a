"""The interpreters of this machine, and the venvs that are made of them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from running import run

ASK_SECONDS = 60


def find_python(oldest: tuple[int, int], newest: tuple[int, int]) -> Path | None:
    """An interpreter between the two that has `venv`, by preference one that all users may start."""
    names = [f"python{oldest[0]}.{minor}" for minor in range(oldest[1], newest[1] + 1)]
    search = os.pathsep.join(["/usr/bin", "/usr/local/bin", os.environ.get("PATH", "")])
    candidates = [shutil.which(name, path=search) for name in names]
    # A shim of pyenv on PATH starts none but the versions that are switched on.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates += [str(program) for name in names for program in sorted(pyenv.glob(f"*/bin/{name}"))]
    found = []
    for candidate in dict.fromkeys([*filter(None, candidates), sys.executable]):
        asked = "import sys, ensurepip; print(*sys.version_info[:2]); print(sys.base_prefix)"
        ended = run([candidate, "-c", asked], Path("/"), {**os.environ}, ASK_SECONDS)
        lines = ended.output.splitlines()
        if ended.status != 0 or len(lines) < 2:
            continue
        major, minor = map(int, lines[0].split())
        if oldest <= (major, minor) <= newest:
            found.append((not open_to_all(Path(lines[1])), len(found), Path(candidate)))
    return min(found)[2] if found else None


def open_to_all(path: Path) -> bool:
    """Whether every user may enter all directories on the way to `path`."""
    return all(above.stat().st_mode & 0o001 for above in [path, *path.parents] if above.is_dir())


def interpreter_of(directory: Path) -> Iterable[Path]:
    """The installation of Python that a venv borrows from."""
    configuration = directory / "pyvenv.cfg"
    if configuration.is_file():
        home = re.search(r"^home = (.+)$", configuration.read_text(), re.MULTILINE)
        if home is not None:
            base = Path(home.group(1)).parent
            if base not in (Path("/usr"), Path("/usr/local")):
                yield base


def move_venv(scratch: Path, directory: Path) -> None:
    """Writes the name to come into the scripts of a venv, which hold the one that it was made under."""
    old, new = os.fsencode(scratch), os.fsencode(directory)
    for script in [scratch / "pyvenv.cfg", *(scratch / "bin").iterdir()]:
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if old in text and b"\0" not in text:
                script.write_bytes(text.replace(old, new))
