"""The matrix: the record that is checked in, what differs from it, and the tables of `docs/agents.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agents import ORDER
from cells import CELLS, GROUPS, NA, NO, SIGNS, YES, Cell

HERE = Path(__file__).resolve().parent
RECORD = HERE / "record.json"
DOCUMENT = HERE.parents[1] / "docs" / "agents.md"
BEGIN = "<!-- matrix: made by tests/agents/run.py --bless -->"
END = "<!-- end of matrix -->"
USERS = {"root": "root", "ordinary": "an ordinary user"}


@dataclass
class Entry:
    """What is known of one agent: `users` holds the cells by the kind of user."""

    version: str
    date: str
    seconds: float
    users: dict[str, dict[str, Cell]] = field(default_factory=dict)

    def cell(self, name: str) -> tuple[Cell, str | None] | None:
        """One cell of all users, and whose it is where not all found the same; nothing where nobody tried."""
        found = {user: cells[name] for user, cells in self.users.items() if name in cells}
        if not found:
            return None
        first = next((user for user, cell in found.items() if cell.state == NO), next(iter(found)))
        alike = len(set(found.values())) == 1
        return found[first], None if alike else first


    def broken(self) -> list[str]:
        """A line for each cell that says nothing of the agent."""
        return [
            f"{user}, {name}: {cell.detail or cell.reason}"
            for user, cells in self.users.items() for name, cell in cells.items() if cell.broken
        ]


Record = dict[str, Entry]


def load(path: Path = RECORD) -> Record:
    """The record; an empty one where there is none yet."""
    if not path.exists():
        return {}
    stated = json.loads(path.read_text(encoding="utf-8"))
    return {
        agent: Entry(
            entry["version"],
            entry["date"],
            entry["seconds"],
            {user: {name: parse(text) for name, text in cells.items()} for user, cells in entry["users"].items()},
        )
        for agent, entry in stated.items()
    }


def save(record: Record, path: Path = RECORD) -> None:
    """Writes the record, one cell a line."""
    stated = {
        agent: {
            "version": record[agent].version,
            "date": record[agent].date,
            "seconds": record[agent].seconds,
            "users": {user: {name: text(cells[name]) for name in CELLS if name in cells} for user, cells in record[agent].users.items()},
        }
        for agent in ordered(record)
    }
    path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def text(cell: Cell) -> str:
    """A cell in the record: its state, and what is said of it."""
    return f"{cell.state}: {cell.reason}" if cell.reason else cell.state


def parse(stated: str) -> Cell:
    """The cell of a text of the record."""
    state, _, reason = stated.partition(": ")
    if state not in SIGNS:
        raise ValueError(f"the record holds {stated!r}, which is no cell")
    return Cell(state, reason)


def ordered(agents: Iterable[str]) -> list[str]:
    """Ids of agents in the order of the tables."""
    return sorted(agents, key=lambda agent: (ORDER.index(agent) if agent in ORDER else len(ORDER), agent))


def merge(record: Record, measured: Record) -> Record:
    """The record after a run: of an agent of the same version, users that were not tried keep their cells."""
    merged = dict(record)
    for agent, entry in measured.items():
        old = record.get(agent)
        kept = old.users if old is not None and old.version == entry.version else {}
        users = {**kept, **entry.users}
        merged[agent] = Entry(entry.version, entry.date, entry.seconds, {user: users[user] for user in USERS if user in users})
    return merged


def differences(record: Record, measured: Record) -> list[str]:
    """A line for each cell that was measured and is not what the record says, and for each other version."""
    lines = []
    for agent, entry in measured.items():
        old = record.get(agent)
        if old is None:
            lines.append(f"{agent}: the record does not know it")
            continue
        if old.version != entry.version:
            lines.append(f"{agent}: the record is of {old.version}, this is {entry.version}")
        for user, cells in entry.users.items():
            for name, cell in cells.items():
                known = old.users.get(user, {}).get(name)
                if known != cell:
                    before = "nothing" if known is None else str(known)
                    lines.append(f"{agent}, {user}, {name}: recorded {before}; found {cell}{more(cell)}")
    return lines


def more(cell: Cell) -> str:
    """The numbers behind a cell."""
    return f" [{cell.detail}]" if cell.detail and cell.detail != cell.reason else ""


def render(record: Record) -> str:
    """The generated part of the document."""
    agents = ordered(record)
    notes: dict[str, int] = {}
    parts = []
    for group, rows in GROUPS.items():
        lines = [f"| {group} | " + " | ".join(f"{agent} {record[agent].version}" for agent in agents) + " |"]
        lines.append("|---|" + "---|" * len(agents))
        for name, words in rows.items():
            lines.append(f"| {words} | " + " | ".join(sign(record[agent].cell(name), notes) for agent in agents) + " |")
        parts.append("\n".join(lines))
    if notes:
        parts.append("\n".join(f"{number}. {note}" for note, number in notes.items()))
    parts.append("\n".join(f"- {made(agent, record[agent])}" for agent in agents))
    return "\n\n".join(parts) + "\n"


def sign(found: tuple[Cell, str | None] | None, notes: dict[str, int]) -> str:
    """A cell of a table; what is said of it goes into the notes."""
    if found is None:
        return "not tried"
    cell, whose = found
    if cell.state == NA:
        return f"n/a: {cell.reason}"
    if not cell.reason:
        return SIGNS[cell.state]
    note = cell.reason if whose is None else f"As {USERS[whose]}: {cell.reason}"
    note = note[0].upper() + note[1:] + ("" if note.endswith(".") else ".")
    return f"{SIGNS[cell.state]} [{notes.setdefault(note, len(notes) + 1)}]"


def made(agent: str, entry: Entry) -> str:
    """When and how the cells of an agent were found."""
    tried = " and as ".join(USERS[user] for user in USERS if user in entry.users)
    line = f"{agent}: on {entry.date}, as {tried}, in {entry.seconds:.0f} s"
    whole = max((len(cells) for cells in entry.users.values()), default=0)
    lacking = [user for user, cells in entry.users.items() if len(cells) < whole]
    if lacking:
        absent = [name for name in CELLS if not any(name in entry.users[user] for user in lacking)]
        line += f"; as {USERS[lacking[0]]} all but {', '.join(f'`{name}`' for name in absent)}"
    return line + "."


def within(document: str, generated: str) -> str:
    """`document` with its generated part replaced."""
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT} lacks the line `{BEGIN}` or `{END}` after it")
    return f"{head}{BEGIN}\n\n{generated}\n{END}{tail}"


def document_is_stale(record: Record, document: Path = DOCUMENT) -> bool:
    """Whether the document shows something else than the record."""
    now = document.read_text(encoding="utf-8")
    return within(now, render(record)) != now


def bless(record: Record, measured: Record) -> None:
    """Writes the record and the document."""
    merged = merge(record, measured)
    save(merged)
    now = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(within(now, render(merged)), encoding="utf-8")


def shown(agent: str, entry: Entry) -> str:
    """The cells of one agent as they are printed after its run."""
    lines = [f"{agent} {entry.version}: {entry.seconds:.1f} s"]
    width = max(map(len, CELLS))
    for name in CELLS:
        found = {user: cells[name] for user, cells in entry.users.items() if name in cells}
        if not found:
            continue
        told = "  ".join(f"{user} {SIGNS[cell.state]}" for user, cell in found.items())
        said = dict.fromkeys(f"{cell.reason}{more(cell)}" for cell in found.values() if cell.reason or cell.state != YES)
        lines.append(f"  {name:{width}}  {told}" + "".join(f"\n  {'':{width}}    {line}" for line in said))
    return "\n".join(lines)


def counts(measured: Mapping[str, Entry]) -> str:
    """How many cells are what."""
    cells = [cell for entry in measured.values() for found in entry.users.values() for cell in found.values()]
    return ", ".join(f"{sum(cell.state == state for cell in cells)} {sign}" for state, sign in SIGNS.items())
