"""What is broken on purpose, and which cells have to show it.

A breakage changes the adapter by `[adapter.NAME]`, puts lines of a shell script in front of the agent, changes what the
server is taken to have served, or does something after each run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents import Agent
from model import Exchange
from skillset import home_roots
from world import World

NOTHING = "HARNESSD_TEST_NOTHING"
"""A variable that no agent reads."""

After = Callable[[World, dict, Callable[[str], None]], None]


def as_served(exchanges: list[Exchange]) -> list[Exchange]:
    """Changes nothing."""
    return exchanges


def nothing_after(world: World, run: dict, leave: Callable[[str], None]) -> None:
    """Does nothing."""


@dataclass(frozen=True)
class Breakage:
    """One thing that is broken, and the cells that must turn."""

    what: str
    cells: tuple[str, ...]
    adapter: Mapping[str, object] = field(default_factory=dict)
    wrapper: str = ""
    spoil: Callable[[list[Exchange]], list[Exchange]] = as_served
    after: After = nothing_after

    def within(self, cells: Collection[str]) -> Breakage:
        """The same for those of its cells that are among these."""
        return replace(self, cells=tuple(cell for cell in self.cells if cell in cells))


SESSIONS = ("session.plain", "session.dotted", "session.symlink", "session.two")
USAGES = ("usage.tool", "usage.resume", "usage.fork", "usage.subagent", "usage.killed", "usage.daemon_killed")
ENDS = (
    "outcome.ok", "outcome.401", "outcome.429", "outcome.500", "outcome.max_turns", "outcome.hang", "outcome.stop",
    "outcome.killed",
)


def without_record(exchanges: list[Exchange]) -> list[Exchange]:
    """As though the newest answer had cost nothing, so that harnessd counts a record too many."""
    counted = [exchange for exchange in exchanges if exchange.usage is not None]
    return [replace(each, usage=None) if counted and each is counted[-1] else each for each in exchanges]


def one_token_more(exchanges: list[Exchange]) -> list[Exchange]:
    """As though each answer had had one token more."""
    return [
        each if each.usage is None else replace(each, usage=replace(each.usage, output=each.usage.output + 1))
        for each in exchanges
    ]


def leave_process(world: World, run: dict, leave: Callable[[str], None]) -> None:
    """Leaves a process of the run."""
    leave(f"HARNESSD_RUN_ID={run['id']}")


def record_other(world: World, run: dict, leave: Callable[[str], None]) -> None:
    """As though the run had been recorded with an outcome that is right for nothing here."""
    run["outcome"] = "lost"


def write_home(world: World, run: dict, leave: Callable[[str], None]) -> None:
    """Writes into the skills of the home."""
    root = world.home / home_roots(world)[0]
    (root / "left-here.md").write_text("left here\n", encoding="utf-8")


def write_project(world: World, run: dict, leave: Callable[[str], None]) -> None:
    """Writes into the working directory of the scenario that looks."""
    (world.root / "work" / "tool" / "left-here.md").write_text("left here\n", encoding="utf-8")


def filtered(command: str) -> str:
    """Has what comes on standard input go through `command`; `/dev/null` is left alone."""
    return f"[ -c /dev/stdin ] || exec < <({command})"


def everywhere() -> list[Breakage]:
    """What can be broken whatever the agent."""
    return [
        Breakage(
            "a word of the prompt is changed", ("argv.plain",),
            wrapper='args=("${args[@]/Say a word/Say the word}")\n' + filtered("sed 's/Say a word/Say the word/'"),
        ),
        Breakage(
            "the prompt's newlines are lost", ("argv.quotes",),
            wrapper="args=(\"${args[@]//$'\\n'/ }\")\n" + filtered("tr '\\n' ' '"),
        ),
        Breakage(
            "the prompt ends after 128 KiB", ("argv.large",),
            wrapper='[ -p /dev/stdin ] || [ -f /dev/stdin ] || [ -S /dev/stdin ] && head -c 131072 | "$program" "${args[@]}" && exit',
        ),
        Breakage(
            "the script of a skill cannot be executed", ("skills.script",),
            wrapper='find -L "$root/world/main/state/skills" "$PWD" -path "*/scripts/say" -exec chmod a-x {} + 2>/dev/null',
        ),
        Breakage("a process is left", ENDS, after=leave_process),
        Breakage("another outcome is recorded", ENDS, after=record_other),
        Breakage("a file is written into the project", ("skills.untouched",), after=write_project),
        Breakage("a record of the server is dropped", (*USAGES, "session.two"), spoil=without_record),
        Breakage("an answer had a token more", (*USAGES, "session.two"), spoil=one_token_more),
        Breakage(
            "the transcripts are looked for elsewhere", (*SESSIONS, "usage.tool", "usage.killed"),
            adapter={"trajectory": {"stores": ["~/nowhere"]}},
        ),
    ]


def by_adapter(agent: Agent) -> list[Breakage]:
    """What follows from the agent's adapter."""
    oneshot: Mapping = agent.adapter["oneshot"]
    nowhere = {"args": [], "env": {NOTHING: "{value}"}}
    found = [Breakage("the model is not passed on", ("argv.model",), {"oneshot": {"model": nowhere}})]
    if agent.adapter.get("skills", {}).get("roots"):
        found.append(Breakage("a file is written into the home", ("skills.untouched",), after=write_home))
    dash = ("argv.dash", "session.dotted")
    if "argument" in oneshot:
        argument = {"oneshot": {"argument": bare(oneshot["argument"])}}
        found.append(Breakage("no dashes before the prompt", dash, argument))
    else:
        forms = {"argument": [*oneshot["stdin"], "{prompt}"], "stdin": []}
        found.append(Breakage("the prompt is an argument", dash, {"oneshot": forms}))
    if "max_turns" in oneshot:
        cells = ("argv.max_turns", "outcome.max_turns")
        found.append(Breakage("the limit of turns is not passed on", cells, {"oneshot": {"max_turns": nowhere}}))
    if agent.adapter.get("approval", {}).get("args"):
        approval = {"args": [], "env": {NOTHING: "1"}}
        found.append(Breakage("the approval is not passed on", ("argv.auto_accept",), {"approval": approval}))
    if "outcome" in agent.adapter:
        other = "codex" if agent.adapter["outcome"]["format"] == "pi" else "pi"
        cells = ("argv.quiet", "outcome.401", "outcome.429")
        found.append(Breakage("the output is read as another agent's", cells, {"outcome": {"format": other}}))
    if not str(agent.adapter.get("skills", {}).get("target", "{")).startswith("{"):
        elsewhere = {"skills": {"target": ".elsewhere/skills"}}
        found.append(Breakage("the skills are projected elsewhere", ("skills.merged",), elsewhere))
    return found


def bare(argument: Sequence[str]) -> list[str]:
    """An argument form in which a prompt that begins with `-` is an option."""
    split = [part for word in argument for part in (word.split("=", 1) if word.endswith("={prompt}") else [word])]
    return [word for word in split if word != "--"]


OWN: Mapping[str, Sequence[Breakage]] = {
    "claude-code": (
        Breakage("the skills are not passed on", ("skills.merged",), {"skills": {"args": ["--plugin-dir", "{private}/none"]}}),
        Breakage(
            "copies are not hidden", ("skills.merged",),
            {"skills": {"hide": {"shadowed": "on", "won": "on", "unmerged": "on"}}},
        ),
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--append-system-prompt", "{session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["--resume", "{session}"]}}),
    ),
    "codex": (
        Breakage(
            "copies are not hidden", ("skills.merged",),
            {"skills": {"hide": {"args": ["-c", "nothing.at_all=[{hidden}]"]}}},
        ),
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["-c", "nothing.at_all={session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["resume", "{session}"]}}),
    ),
    "pi": (
        Breakage(
            "a tool is not allowed", ("argv.auto_accept", "skills.script"),
            {"approval": {"already": False, "args": ["--exclude-tools", "bash"]}},
        ),
        Breakage("the skills are not passed on", ("skills.merged",), {"skills": {"args": ["--no-skills"]}}),
        Breakage("copies are not hidden", ("skills.merged",), {"skills": {"args": ["--skill", "{private}"]}}),
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--append-system-prompt", "{session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["--session", "{session}"]}}),
    ),
    "grok": (
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--rules", "{session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["-r", "{session}"]}}),
    ),
    "goose": (
        Breakage("the session's id is not chosen", ("session.plain", "session.two"), {"oneshot": {"session_id": []}}),
        Breakage("a tool is not allowed", ("argv.auto_accept", "skills.script"), {"approval": {"env": {"GOOSE_MODE": "chat"}}}),
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--system", "{session}"]}}),
    ),
    "opencode": (
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--title", "{session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["-s", "{session}"]}}),
    ),
    "gemini": (
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--include-directories", "/{session}"]}}),
    ),
    "qwen": (
        Breakage("a resume begins anew", ("usage.resume",), {"oneshot": {"resume": ["--append-system-prompt", "{session}"]}}),
        Breakage("a fork is a resume", ("usage.fork",), {"oneshot": {"fork": ["--resume", "{session}"]}}),
    ),
}
"""What only one agent has."""


def breakages(agent: Agent) -> list[Breakage]:
    """All breakages of an agent."""
    return [*everywhere(), *by_adapter(agent), *OWN.get(agent.id, ())]
