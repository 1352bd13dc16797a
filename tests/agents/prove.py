"""Proves that the cells can fail: breaks one thing at a time, and sees the cells turn that are to show it.

Each agent is first run whole, which says which of its cells are ✓. Then each breakage gets a world of its own, in which
only the scenarios of its cells are run. A cell that stays ✓ is reported, and so is one that no breakage turns. A cell
that turned because the suite itself or its daemon broke has proved nothing.
"""

from __future__ import annotations

import itertools
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import matrix
from agents import Agent
from breakages import Breakage, breakages
from cells import CELLS, NO, SIGNS, YES, Cell, Failed
from install import Absent, Installed
from processes import processes
from running import short
from scenarios import SCENARIOS, Scenario, play, start_alone
from world import World, table, until

if TYPE_CHECKING:
    from run import Setting

SIDE_BY_SIDE = 3
LEFT_SECONDS = "120"
LEFT_SEEN = 5.0


def prove(setting: Setting, wanted: Mapping[Agent, Installed | Absent], scenarios: Sequence[Scenario]) -> int:
    """Proves the cells that these scenarios fill, of these agents; the exit status."""
    cells = tuple(cell for cell in CELLS if any(cell in scenario.cells for scenario in scenarios))
    unproven = 0
    for agent, installed in wanted.items():
        if isinstance(installed, Absent):
            print(f"{agent.id} {agent.version}: not tried: {installed.reason}", flush=True)
            continue
        try:
            unproven += len(Proof(setting, agent, installed, cells).run())
        except Failed as failed:
            unproven += 1
            print(f"{agent.id} {agent.version}: broken: {failed.reason}: {failed.detail}", flush=True)
    return 1 if unproven else 0


@dataclass
class Proof:
    """The proof of one agent's cells, as the first of the users."""

    setting: Setting
    agent: Agent
    installed: Installed
    cells: tuple[str, ...]
    _number: itertools.count = field(default_factory=itertools.count)

    def run(self) -> list[str]:
        """Prints what turned, and answers what did not."""
        whole = self._whole()
        holds = {cell for cell, found in whole.items() if found.state == YES}
        broken = [each for each in (each.within(holds) for each in breakages(self.agent)) if each.cells]
        named = {cell for breakage in broken for cell in breakage.cells}
        print(f"{self.agent.id} {self.agent.version}: whole, {len(holds)} cells are ✓", flush=True)
        for cell in (each for each in self.cells if each not in holds):
            print(f"  {cell} {whole[cell]}: not to be proved")
        turned: set[str] = set()
        faults = [f"{self.agent.id}: {cell} is recorded as ✓, and is not" for cell in self.cells if cell in self.recorded - holds]
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for breakage, cells in zip(broken, pool.map(self._try, broken)):
                print(f"  {breakage.what}:", flush=True)
                for cell in breakage.cells:
                    said = " ".join((cells[cell].detail or cells[cell].reason).split())
                    print(f"    {cell} {SIGNS[cells[cell].state]} {short(said)}")
                    if fault := fault_of(cells[cell]):
                        faults.append(f"{self.agent.id}: {breakage.what}: {cell} {fault}")
                    else:
                        turned.add(cell)
        faults += [f"{self.agent.id}: nothing is to turn {cell}" for cell in CELLS if cell in holds - named]
        for fault in faults:
            print(f"unproven: {fault}")
        print(f"{self.agent.id}: {len(turned)} of {len(holds)} cells have turned, by {len(broken)} breakages", flush=True)
        return faults

    @cached_property
    def recorded(self) -> set[str]:
        """The cells that are ✓ by the record, for the same user."""
        entry = matrix.load().get(self.agent.id)
        cells = {} if entry is None else entry.users.get(self.setting.users[0].kind, {})
        return {name for name, cell in cells.items() if cell.state == YES and name in self.cells}

    def _whole(self) -> dict[str, Cell]:
        """The cells with nothing broken; those that are recorded as ✓ and are not are tried once more, alone."""
        found = self._try(Breakage("nothing", self.cells), SIDE_BY_SIDE)
        odd = tuple(cell for cell in self.cells if cell in self.recorded and found[cell].state != YES)
        return {**found, **self._try(Breakage("nothing", odd))} if odd else found

    def _try(self, breakage: Breakage, side_by_side: int = 1) -> dict[str, Cell]:
        """The cells of a world in which something is broken."""
        root = self.setting.scratch / f"{self.agent.id}-{next(self._number)}"
        root.mkdir()
        left = Left()
        try:
            world = self._world(breakage, root, left)
        except Failed as failed:
            return {cell: Cell(NO, f"the daemon did not start: {failed.reason}", failed.detail) for cell in breakage.cells}
        try:
            if side_by_side > 1:
                start_alone(world)
            with ThreadPoolExecutor(side_by_side) as pool:
                found: dict[str, Cell] = {}
                for cells in pool.map(lambda scenario: play(world, scenario), concerned(breakage.cells)):
                    found |= cells
            return {cell: found[cell] for cell in breakage.cells}
        finally:
            world.close()
            left.end()
            if not self.setting.keep:
                world.remove()

    def _world(self, breakage: Breakage, root: Path, left: Left) -> World:
        """A world with the breakage in it."""
        program = self.installed.program
        if breakage.wrapper:
            program = wrapped(root / "agent", program, breakage.wrapper, root)
        world = World(
            self.agent, self.installed, program, self.setting.harnessd, self.setting.users[0], self.setting.model, root / "world",
            adapter=table(f'adapter."{self.agent.id}"', breakage.adapter) if breakage.adapter else "",
            spoil=breakage.spoil,
        )
        world.after = lambda run: breakage.after(world, run, left.behind)
        return world


def fault_of(cell: Cell) -> str | None:
    """What is wrong with a cell that was to turn; nothing where it did."""
    if cell.state != NO:
        return f"stays {SIGNS[cell.state]}"
    return f"turns, but of something else: {cell.detail or cell.reason}" if cell.broken else None


def concerned(cells: Sequence[str]) -> list[Scenario]:
    """The scenarios that fill any of these cells."""
    return [scenario for scenario in SCENARIOS if any(cell in scenario.cells for cell in cells)]


def wrapped(script: Path, program: Path, lines: str, root: Path) -> Path:
    """A script in front of the agent's program: `args` are the arguments, `root` the world's directory."""
    script.write_text(
        f'#!/bin/bash\nprogram={shlex.quote(str(program))}\nroot={shlex.quote(str(root))}\nargs=("$@")\n{lines}\n'
        'exec "$program" "${args[@]}"\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    return script


class Left:
    """Processes that were left on purpose, with the marker of a run among their arguments."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def behind(self, mark: str) -> None:
        """Leaves one, and waits until it can be seen. harnessd does not know it, since it is no child of the run."""
        self._processes.append(subprocess.Popen([mark, LEFT_SECONDS], executable="/bin/sleep", stdin=subprocess.DEVNULL))
        until(lambda: processes(mark), LEFT_SEEN, "the process that was left could not be seen")

    def end(self) -> None:
        """Ends them."""
        for process in self._processes:
            process.kill()
            process.wait()
