"""Runs the real agents under harnessd against a model server of our own, and compares the matrix with the record.

`python3 tests/agents/run.py --help` tells the options; README.md beside this file tells what the cells mean.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import install
import matrix
import running
import sandbox
from agents import Agent, agents
from cells import NO, Cell, Failed
from install import Absent, Installed
from matrix import Entry, Record
from model import Model
from processes import kill
from sandbox import User
from scenarios import SCENARIOS, Scenario, play, scenario_of, start_alone
from world import World

REPOSITORY = Path(__file__).resolve().parents[2]
SIDE_BY_SIDE = 4
CLEARINGS = 50


@dataclass(frozen=True)
class Setting:
    """What all runs of this program share."""

    harnessd: Path
    model: Model
    scratch: Path
    users: Sequence[User]
    keep: bool = False


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="agents by id; none: the fast ones")
    parser.add_argument("--all", action="store_true", help="all agents")
    parser.add_argument("--as", dest="users", choices=("root", "ordinary", "both"), default="both")
    parser.add_argument("--cache", type=Path, default=REPOSITORY / "target" / "agents", help="where agents are installed")
    parser.add_argument("--harnessd", type=Path, default=REPOSITORY / "target" / "debug" / "harnessd", metavar="PROGRAM")
    parser.add_argument("--scenario", action="append", choices=[each.name for each in SCENARIOS], help="only this one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the matrix of this run there")
    parser.add_argument("--keep", action="store_true", help="keep homes, states and logs, and say where")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="fail where the matrix is not the recorded one")
    mode.add_argument("--bless", action="store_true", help="write the record and the tables of docs/agents.md")
    mode.add_argument("--prove", action="store_true", help="break adapters on purpose and see cells turn")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in agents()]
    if unknown:
        parser.error(f"no agent is called {', '.join(unknown)}; there are {', '.join(agents())}")
    if not os.access(chosen.harnessd, os.X_OK):
        parser.error(f"there is no program {chosen.harnessd}: `cargo build` makes it, or name one by --harnessd")
    if chosen.bless and chosen.scenario:
        parser.error("--bless wants all scenarios")
    return chosen


def chosen_agents(chosen: argparse.Namespace) -> list[Agent]:
    """The agents of this run."""
    return [
        agent
        for agent in agents().values()
        if chosen.all or agent.id in chosen.names or (not chosen.names and agent.fast)
    ]


def install_all(wanted: Sequence[Agent], cache: Path) -> dict[str, Installed | Absent]:
    """Has them in the cache."""
    orders = [install.Order(agent.id, agent.version, agent.package, agent.program) for agent in wanted]
    return install.install_all(cache, orders)


class Tried:
    """The runs of one agent as one user or two, side by side."""

    def __init__(self, setting: Setting, agent: Agent, installed: Installed) -> None:
        self.worlds: dict[str, World] = {}
        self.lacks: list[str] = []
        self.setting = setting
        try:
            self._begin(agent, installed)
        except BaseException:
            self.close()
            raise

    def _begin(self, agent: Agent, installed: Installed) -> None:
        """A world for each user who can start the agent."""
        setting = self.setting
        for user in setting.users:
            closed = sandbox.closed_to(user, installed.program, (*installed.path, *installed.needs))
            if closed is not None:
                self.lacks.append(closed)
            else:
                root = setting.scratch / f"{agent.id}-{user.kind}"
                world = (agent, installed, installed.program, setting.harnessd, user, setting.model, root)
                self.worlds[user.kind] = World(*world)

    def run(self, scenarios: Sequence[Scenario]) -> dict[str, dict[str, Cell]]:
        """The cells by user."""
        found: dict[str, dict[str, Cell]] = {user: {} for user in self.worlds}
        for world in self.worlds.values():
            start_alone(world)
        # The users take turns, so that what waits in one world leaves the processors to the other.
        jobs = [(user, scenario) for scenario in scenarios for user in self.worlds if scenario.ordinary or user == "root"]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for (user, _), cells in zip(jobs, pool.map(lambda job: play(self.worlds[job[0]], job[1]), jobs)):
                found[user].update(cells)
        return found

    def again(self, user: str, cells: Sequence[str]) -> dict[str, Cell]:
        """These cells once more, their scenarios one after the other with nothing beside them."""
        found: dict[str, Cell] = {}
        for scenario in dict.fromkeys(map(scenario_of, cells)):
            found |= play(self.worlds[user], scenario)
        return found

    def close(self) -> None:
        """Ends the daemons, and removes what the worlds hold."""
        for world in self.worlds.values():
            world.close()
            if self.setting.keep:
                world.keep()
            else:
                world.remove()


def try_agent(
    setting: Setting, agent: Agent, installed: Installed, scenarios: Sequence[Scenario], record: Record
) -> tuple[Entry, list[str]]:
    """The cells of one agent; and lines on what was tried twice or could not be tried."""
    begun = time.monotonic()
    tried = Tried(setting, agent, installed)
    told = list(tried.lacks)
    try:
        found = tried.run(scenarios)
        for user, cells in found.items():
            known = record[agent.id].users.get(user, {}) if agent.id in record else {}
            odd = [name for name, cell in cells.items() if (known[name] != cell if name in known else cell.state == NO)]
            if odd:
                told += [f"{agent.id}, {user}: tried once more alone: {name}: {cells[name]}{matrix.more(cells[name])}" for name in odd]
                cells.update(tried.again(user, odd))
    finally:
        tried.close()
    seconds = round(time.monotonic() - begun, 1)
    return Entry(agent.version, f"{datetime.now(UTC):%Y-%m-%d}", seconds, found), told


def measure(
    setting: Setting, wanted: Sequence[Agent], had: dict[str, Installed | Absent], scenarios: Sequence[Scenario]
) -> tuple[Record, list[str]]:
    """Runs the agents one after the other, and prints what is found; and a line for each whose daemon did not run."""
    record, measured, broken = matrix.load(), {}, []
    for agent in wanted:
        found = had[agent.id]
        if isinstance(found, Absent):
            print(f"{agent.id} {agent.version}: not tried: {found.reason}", flush=True)
            continue
        try:
            entry, told = try_agent(setting, agent, found, scenarios, record)
        except Failed as failed:
            broken.append(f"{agent.id} {agent.version}: {failed.reason}: {failed.detail}")
            continue
        print("\n".join([matrix.shown(agent.id, entry), *told]), flush=True)
        if any(entry.users.values()):
            measured[agent.id] = entry
    return measured, broken


def judge(chosen: argparse.Namespace, measured: Record, broken: Sequence[str]) -> int:
    """Compares with the record, or writes it, but of no agent of which a cell says that the suite broke; the exit status.

    What is broken is of harnessd or the suite, not of an agent.
    """
    record = matrix.load()
    if chosen.json is not None:
        matrix.save(measured, chosen.json)
    sound = {name: entry for name, entry in measured.items() if not entry.broken()}
    broken = [*broken, *(f"{name}, {line}" for name, entry in measured.items() for line in entry.broken())]
    for line in broken:
        print(f"broken: {line}")
    if chosen.bless:
        matrix.bless(record, sound)
        return 1 if broken else 0
    differ = matrix.differences(record, measured)
    if matrix.document_is_stale(record):
        differ.append(f"{matrix.DOCUMENT.name} does not show what the record says")
    for line in differ:
        print(f"differs: {line}")
    if differ and chosen.check:
        print("if that is right, `python3 tests/agents/run.py --bless` records it")
    return 1 if broken or (differ and chosen.check) else 0


def main() -> int:
    """Outside: installs, and goes into the namespaces. Inside: runs."""
    entered = sandbox.inside()
    chosen = options(sys.argv[1:])
    wanted = chosen_agents(chosen)
    chosen.harnessd = chosen.harnessd.resolve()
    if entered is None:
        at_signals(running.end_all)
        had = install_all(wanted, chosen.cache.resolve())
        carried = {name: install.to_json(found) for name, found in had.items()}
        entered = sandbox.enter([str(Path(__file__).resolve()), *sys.argv[1:]], carried)
    for line in entered.lacks:
        print(line)
    had = {name: install.from_json(stated) for name, stated in entered.carried.items()}
    begun = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="agents."))
    scratch.chmod(0o755)
    at_signals(lambda: clear(scratch, chosen.keep))
    try:
        return inside(chosen, wanted, had, entered, scratch)
    finally:
        clear(scratch, chosen.keep)
        print(f"{time.monotonic() - begun:.1f} s")


def clear(scratch: Path, keep: bool) -> None:
    """Ends the processes that have their home below `scratch`, and removes it."""
    for _ in range(CLEARINGS):
        kill(str(scratch))
        if keep:
            print(f"kept: {scratch}")
            return
        # What is still under way may put something there.
        shutil.rmtree(scratch, ignore_errors=True)
        if not scratch.exists():
            return


def at_signals(clear: Callable[[], None]) -> None:
    """Has SIGTERM and SIGINT end this program at once: no install nor scenario is waited for, and nothing stays."""

    def end(number: int, _frame: object) -> None:
        clear()
        sys.stdout.flush()
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def inside(
    chosen: argparse.Namespace,
    wanted: Sequence[Agent],
    had: dict[str, Installed | Absent],
    entered: sandbox.Inside,
    scratch: Path,
) -> int:
    """What happens in the namespaces."""
    users, lacks = sandbox.users(chosen.users)
    there = [found for found in had.values() if isinstance(found, Installed)]
    if "mount" in entered.namespaces:
        needs = [path for found in there for path in (found.directory, *found.path, *found.needs)]
        lacks += sandbox.expose([*needs, chosen.harnessd])
    for line in lacks:
        print(line)
    if not users:
        return 0
    harnessd = scratch / "harnessd"
    shutil.copy(chosen.harnessd, harnessd)
    harnessd.chmod(0o755)
    scenarios = [each for each in SCENARIOS if chosen.scenario is None or each.name in chosen.scenario]
    with Model({tool for agent in wanted for tool in agent.errands}) as model:
        setting = Setting(harnessd, model, scratch, users, chosen.keep)
        if chosen.prove:
            import prove

            return prove.prove(setting, {agent: had[agent.id] for agent in wanted}, scenarios)
        measured, broken = measure(setting, wanted, had, scenarios)
    print(matrix.counts(measured))
    return judge(chosen, measured, broken)


if __name__ == "__main__":
    sys.exit(main())
