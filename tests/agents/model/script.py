"""What a run is to be answered: steps, and how a request says which run it belongs to.

A run is known by a marker in its prompt, so no agent needs an address of its own. The newest user text that has one
decides, never the result of a tool nor what the model said. The place in a script is the number of results of tools
that came after that text, so nothing has to be remembered between requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MARKER = re.compile(r"\[\[run:([A-Za-z0-9_.-]+)\]\]")
SUB = ".sub"
NOBODY = "_"
"""The tag of what has no marker."""


def marker(tag: str) -> str:
    """What a prompt has in it to belong to `tag`; for a sub-agent of it, to `TAG.sub`.

    It has no `@`: Qwen Code puts a blank in front of one that ends a word, Gemini CLI looks for a file of the name.
    """
    return f"[[run:{tag}]]"


@dataclass(frozen=True)
class Answer:
    """A text."""

    text: str


@dataclass(frozen=True)
class Shell:
    """A command for the shell tool that the agent offers."""

    command: str


@dataclass(frozen=True)
class Call:
    """A call of the first offered tool whose name matches the pattern."""

    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True)
class Fail:
    """An error of the server; without a message in the words of the vendor."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True)
class Hang:
    """Nothing at all, headers neither, until the agent hangs up."""


@dataclass(frozen=True)
class Cut:
    """The beginning of an answer, then the end of the connection."""


Step = Answer | Shell | Call | Fail | Hang | Cut


class Said(NamedTuple):
    """One text of a conversation, in whatever dialect it came."""

    by: Literal["user", "model", "tool"]
    text: str


class Place(NamedTuple):
    """Where a request is: in which run, whether in a sub-agent of it, and after how many results of tools."""

    tag: str
    sub: bool
    step: int


def place(conversation: Iterable[Said]) -> Place:
    """The place of a conversation."""
    tag, counted = NOBODY, 0
    for said in conversation:
        if said.by == "tool":
            counted += 1
        elif said.by == "user" and (found := MARKER.findall(said.text)):
            tag, counted = found[-1], 0
    sub = tag.endswith(SUB)
    return Place(tag.removesuffix(SUB), sub, counted)


SHELLS = (
    "Bash", "bash", "shell", "Shell", "shell_command", "exec_command", "local_shell", "run_shell_command",
    "run_terminal_command", "run_terminal_cmd", "developer__shell", "terminal", "execute_command",
)
FILLERS: Mapping[str, object] = {"string": "as asked", "boolean": False, "number": 1, "integer": 1, "array": [], "object": {}}


def called(step: Shell | Call, tools: Mapping[str, Mapping]) -> tuple[str, dict[str, object]] | None:
    """The name and the arguments of the call, in terms of the tools that are offered; nothing where none fits."""
    if isinstance(step, Call):
        name = next((name for name in tools if re.search(step.name, name)), None)
        return None if name is None else (name, dict(step.arguments))
    name = next((name for name in SHELLS if name in tools), None)
    if name is None:
        return None
    properties = tools[name].get("properties") or {}
    key = "cmd" if "cmd" in properties else "command"
    listed = _kind(properties.get(key)) == "array"
    arguments: dict[str, object] = {key: ["bash", "-c", step.command] if listed else step.command}
    for other in tools[name].get("required") or []:
        arguments.setdefault(other, FILLERS.get(_kind(properties.get(other)), "as asked"))
    return name, arguments


def _kind(schema: object) -> str:
    """The type of a property, in lower case; of several the first."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kind = kind[0] if isinstance(kind, list) and kind else kind
    return str(kind or "string").lower()
