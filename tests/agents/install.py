"""Installs the pinned agents from npm and PyPI into a cache directory, one directory `ID@VERSION` each.

An install is made in a temporary directory beside it and gets its name when the package manager has ended
well, so a directory of that name is always a whole one. Whatever goes wrong is an answer, never an exception:
`Absent` with one sentence that the cells of that agent show.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from pythons import find_python, interpreter_of, move_venv
from running import Ended, run, short

NODE = "22.23.5"
"""The Node that agents get that need a newer one than machines have."""

INSTALL_SECONDS = 240
START_SECONDS = 60
SECONDS_EACH = 60
AT_ONCE = 2

UNANSWERED = "does not answer"
NEEDS_NODE = "needs Node 22, and "

NO_ANSWER = re.compile(
    r"\b(ECONNREFUSED|ECONNRESET|ECONNABORTED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|E5\d\d"
    r"|ERR_SOCKET_TIMEOUT|FETCH_ERROR|NewConnectionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|SSLError"
    r"|Connection refused|Name or service not known|Temporary failure in name resolution|connection broken)\b"
)
NO_SUCH = re.compile(r"ETARGET|E404|No matching distribution found|No matching version found")


@dataclass(frozen=True)
class Absent:
    """Why an agent is not there: one sentence."""

    reason: str


@dataclass(frozen=True)
class Package:
    """What is asked of a registry. `python` is the oldest and the newest version that the package runs on."""

    registry: str
    name: str
    node22: bool = False
    python: tuple[tuple[int, int], tuple[int, int]] = ((3, 11), (3, 14))


def npm(name: str, node22: bool = False) -> Package:
    """A package of the npm registry."""
    return Package("npm", name, node22=node22)


def pypi(name: str, oldest: tuple[int, int] = (3, 11), newest: tuple[int, int] = (3, 14)) -> Package:
    """A package of PyPI, for Python `oldest` to `newest`."""
    return Package("pypi", name, python=(oldest, newest))


def machine() -> str:
    """This machine's kind as packages of npm name it."""
    return {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


@dataclass(frozen=True)
class Installed:
    """An agent that is there and states the wanted version.

    `path` goes in front of PATH wherever it runs, `needs` are directories elsewhere that it cannot run without
    (the interpreter of a Python one).
    """

    directory: Path
    program: Path
    path: tuple[Path, ...] = ()
    needs: tuple[Path, ...] = ()

    def to_json(self) -> dict[str, object]:
        """A form that `from_json` reads; it is carried into the namespaces."""
        return {
            "directory": str(self.directory),
            "program": str(self.program),
            "path": [str(entry) for entry in self.path],
            "needs": [str(entry) for entry in self.needs],
        }


def to_json(found: Installed | Absent) -> dict[str, object]:
    """Either answer, for `from_json`."""
    return asdict(found) if isinstance(found, Absent) else found.to_json()


def from_json(stated: Mapping[str, object]) -> Installed | Absent:
    """The answer that `to_json` wrote down."""
    if "reason" in stated:
        return Absent(str(stated["reason"]))
    paths = lambda key: tuple(Path(entry) for entry in stated[key])  # noqa: E731
    return Installed(Path(str(stated["directory"])), Path(str(stated["program"])), paths("path"), paths("needs"))


@dataclass(frozen=True)
class Order:
    """An agent that is wanted; `program` says which file of its directory is started."""

    agent: str
    version: str
    package: Package
    program: Callable[[Path], Path]


def install_all(cache: Path, orders: Sequence[Order], each: float = SECONDS_EACH) -> dict[str, Installed | Absent]:
    """Installs two at a time; the answers by agent.

    A registry that did not answer once is not asked again, and when `each` seconds for each of them are over
    nothing more is fetched; what lies in the cache is found all the same.
    """
    silent: dict[str, Absent] = {}
    until = time.monotonic() + each * len(orders)

    def one(order: Order) -> Installed | Absent:
        refused = silent.get(order.package.registry)
        if refused is None and time.monotonic() > until:
            took = f"{each * len(orders):g} s"
            refused = Absent(f"not fetched any more, since others took {took} (another run goes on from here)")
        if refused is not None and not (cache / f"{order.agent}@{order.version}").is_dir():
            return refused
        answer = install(cache, order.agent, order.version, order.package, order.program)
        if isinstance(answer, Absent) and UNANSWERED in answer.reason:
            silent[order.package.registry] = Absent(answer.reason.removeprefix(NEEDS_NODE))
        return answer

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {order.agent: found for order, found in zip(orders, pool.map(one, orders))}


def install(
    cache: Path, agent: str, version: str, package: Package, program: Callable[[Path], Path]
) -> Installed | Absent:
    """Has `agent` at exactly `version` below `cache`; `program` says which file of its directory is started."""
    path: tuple[Path, ...] = ()
    if package.node22:
        node = install_node(cache)
        if isinstance(node, Absent):
            return Absent(f"{NEEDS_NODE}{node.reason}")
        path = (node,)
    fresh = _have(cache, f"{agent}@{version}", package, version, path)
    if isinstance(fresh, Absent):
        return fresh
    directory = cache / f"{agent}@{version}"
    found = Installed(directory, program(directory), path, tuple(interpreter_of(directory)))
    fault = states(found, version)
    if fault is None:
        return found
    if fresh:
        shutil.rmtree(directory, ignore_errors=True)
        return fault
    return Absent(f"{fault.reason} (remove {directory} to have it installed again)")


def install_node(cache: Path) -> Path | Absent:
    """The directory of our own `node`."""
    if machine() not in ("x64", "arm64"):
        return Absent(f"no package of npm has it for {machine()}")
    name = f"node-linux-{machine()}"
    made = _have(cache, f"node@{NODE}", npm(name), NODE, ())
    if isinstance(made, Absent):
        return made
    return cache / f"node@{NODE}" / "node_modules" / name / "bin"


def states(found: Installed, version: str) -> Absent | None:
    """Nothing where the program starts and states `version`, else what is wrong."""
    if not found.program.exists():
        return Absent(f"the package holds no {found.program.relative_to(found.directory)}")
    with tempfile.TemporaryDirectory(prefix="agents-home.") as home:
        environment = {
            "HOME": home,
            "PATH": os.pathsep.join([*(str(entry) for entry in found.path), os.environ.get("PATH", "/usr/bin:/bin")]),
        }
        ended = run([str(found.program), "--version"], Path(home), environment, START_SECONDS)
    if ended.status != 0:
        return Absent(f"`{found.program.name} --version` {ended.told()}")
    if re.search(rf"(?<![\w.]){re.escape(version)}(?![\w+-]|\.\w)", re.sub(r"\bv(?=\d)", "", ended.output)) is None:
        return Absent(f"`{found.program.name} --version` states {short(ended.first_line())!r}, not {version}")
    return None


def _have(cache: Path, name: str, package: Package, version: str, path: tuple[Path, ...]) -> bool | Absent:
    """Has the directory `name`; whether it was made just now."""
    directory = cache / name
    if directory.is_dir():
        return False
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache)
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=cache))
        scratch.chmod(0o755)
    except OSError as error:
        return Absent(f"the cache {cache} cannot be written: {error.strerror}")
    try:
        fetch = _fetch_npm if package.registry == "npm" else _fetch_pypi
        home = scratch / "home"
        home.mkdir()
        fault = fetch(scratch, directory, package, version, path)
        if fault is not None:
            return fault
        shutil.rmtree(home)
        scratch.rename(directory)
    except OSError as error:
        # Another run was first: its install is as good as this one.
        return False if directory.is_dir() else Absent(f"the cache {cache} cannot be written: {error.strerror}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def _sweep(cache: Path) -> None:
    """Removes what installs left behind that were killed: temporary directories older than one may take."""
    for left in cache.glob(".*@*.*"):
        if time.time() - left.stat().st_mtime > 4 * INSTALL_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _away_from_home(home: Path) -> dict[str, str]:
    """What a package manager inherits: a home that goes when it has ended, since scripts of packages write there
    (Grok Build's puts its program below `~/.grok`), and its settings for the registry from the real one."""
    kept = {key: value for key, value in os.environ.items() if not key.endswith(("_HOME", "_CONFIG_DIR"))}
    for key, settings in {"npm_config_userconfig": ".npmrc", "PIP_CONFIG_FILE": ".config/pip/pip.conf"}.items():
        if (stated := Path.home() / settings).is_file():
            kept.setdefault(key, str(stated))
    return {**kept, "HOME": str(home)}


def _fetch_npm(
    scratch: Path, _directory: Path, package: Package, version: str, path: tuple[Path, ...]
) -> Absent | None:
    if shutil.which("npm") is None:
        return Absent("there is no npm on PATH")
    wanted = f"{package.name}@{version}"
    options = ["--no-audit", "--no-fund", "--no-update-notifier", "--save-exact", "--loglevel=error"]
    bounds = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=120000"]
    found = os.pathsep.join([*(str(entry) for entry in path), os.environ["PATH"]])
    environment = {**_away_from_home(scratch / "home"), "PATH": found}
    (scratch / "package.json").write_text('{"private": true}\n')
    command = ["npm", "install", "--prefix", str(scratch), *options, *bounds, wanted]
    return _fault("npm", "the npm registry", wanted, version, run(command, scratch, environment, INSTALL_SECONDS))


def _fetch_pypi(
    scratch: Path, directory: Path, package: Package, version: str, _path: tuple[Path, ...]
) -> Absent | None:
    oldest, newest = package.python
    python = find_python(oldest, newest)
    if python is None:
        dotted = [".".join(map(str, each)) for each in (oldest, newest)]
        return Absent(f"needs Python {dotted[0]} or newer (to {dotted[1]}) with `venv`, and this machine has none")
    # A shim of pyenv looks for its versions in the real home.
    made = run([str(python), "-m", "venv", str(scratch)], scratch, {**os.environ}, INSTALL_SECONDS)
    if made.status != 0:
        return Absent(f"`{python.name} -m venv` {made.told()}")
    wanted = f"{package.name}=={version}"
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--retries=1", "--timeout=30"]
    command = [str(scratch / "bin" / "python"), "-m", "pip", "install", *options, wanted]
    fault = _fault("pip", "PyPI", wanted, version, run(command, scratch, _away_from_home(scratch / "home"), INSTALL_SECONDS))
    if fault is None:
        move_venv(scratch, directory)
    return fault


def _fault(manager: str, registry: str, wanted: str, version: str, ended: Ended) -> Absent | None:
    """What a package manager's end means; nothing where all went well."""
    if ended.status == 0:
        return None
    if ended.status is None:
        return Absent(f"{manager} {ended.fault} on {wanted}")
    silent = NO_ANSWER.search(ended.output)
    if silent is not None:
        return Absent(f"{registry} {UNANSWERED} ({silent.group()})")
    if f"{version} Requires-Python" in ended.output:
        return Absent(f"{wanted} is not for the Python of this machine")
    if NO_SUCH.search(ended.output):
        return Absent(f"{registry} has no {wanted}")
    return Absent(f"{manager} could not install {wanted}: it {ended.told()}")
