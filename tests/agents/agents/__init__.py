"""The agents that the suite knows: one module of this package each, which ends with `AGENT = ItsClass()`.

A module holds only what is the agent's own: its package, its settings, the keys that a harness of it needs, and
what it is known to do otherwise than the cells ask. Scenarios and checks are the same for all.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from install import Installed, Package

if TYPE_CHECKING:
    from model import Call, Exchange, Step

ADAPTERS = Path(__file__).resolve().parents[3] / "src" / "adapter" / "builtin"


@dataclass(frozen=True)
class Known:
    """A cell that is ✗ for a reason of the agent's own: what the check says then, and why that is so."""

    said: str
    """A regular expression for all of what the check says, `REASON` or `REASON: WHAT WAS MEASURED`."""
    why: str

    def explains(self, said: str) -> bool:
        """Whether it is the reason of what a check said."""
        return re.fullmatch(self.said, said, re.DOTALL) is not None


NOTHING_STATED = r"[a-z, ]+ of `usage` are not what was served: \w+ 0 of \d+(, \w+ 0 of \d+)*"
"""What the check of a usage cell says where harnessd states nothing at all; for `Known`."""


class Agent:
    """What is particular to one agent. Subclass it, and name an instance `AGENT` in the module.

    Everything that has a default here needs no mention in a module.
    """

    id: ClassVar[str]
    """The id of the adapter, which is the name of `src/adapter/builtin/ID.toml`."""

    package: ClassVar[Package]
    """Where it comes from: `npm("@openai/codex")`, `pypi("mistral-vibe")`. The version is the adapter's `verified`."""

    fast: ClassVar[bool] = False
    """Whether it runs in CI without `--all`: both users within 30 s."""

    models: ClassVar[tuple[str, str]] = ("first-model", "second-model")
    """Two names of models: the one of the agent's own settings, and the one that a harness asks for in `argv.model`.

    Both as `model` of a harness has them; see `model_in_request`.
    """

    na: ClassVar[Mapping[str, str]] = {}
    """Cells that do not apply, each with why: `{"argv.max_turns": "it has no limit of turns"}`. They are not run."""

    known: ClassVar[Mapping[str, Known]] = {}
    """Cells that are ✗ for a reason of the agent's own. They are run all the same: where the check says what is
    expected, `why` is the reason in the record; where it says something else, that is; and where it holds the cell is
    ✓. The last two differ from the record."""

    fickle: ClassVar[frozenset[str]] = frozenset()
    """Those of `known` whose check holds at one time and not at another: ✗ either way."""

    notes: ClassVar[Mapping[str, str]] = {}
    """What has to be said of a cell even where it is ✓: `{"outcome.500": "with request_max_retries = 1"}`."""

    patience: ClassVar[Mapping[str, float]] = {}
    """Seconds within which a cell's run must have ended, where they are not those of `checks.PATIENCE`."""

    starts: ClassVar[float] = 6.0
    """Seconds from its start within which it has asked the model, on a busy machine too."""

    first_alone: ClassVar[bool] = False
    """Whether its very first start in a home has to be alone: it makes its database then, and one beside it fails."""

    accepts: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Outcomes that are right for a cell in place of those of `checks.OUTCOMES`: `{"outcome.500": ("overloaded",)}`."""

    errands: ClassVar[frozenset[str]] = frozenset()
    """Tools that it offers the model for errands of its own alone, such as to state a title with."""

    turns_at_once: ClassVar[bool] = False
    """Whether its transcript states what a turn used in one sum, so that the number of calls cannot be compared."""

    whole_seconds: ClassVar[bool] = False
    """Whether the times in its transcript are whole seconds. What two runs of one session did in the same second is
    nobody's then, so the second run begins in another one than that in which the first ended."""

    def program(self, directory: Path) -> Path:
        """The file that is started, in the directory that it was installed into: the native program where there is one."""
        raise NotImplementedError

    def prepare(self, home: Path, url: str) -> None:
        """Writes the agent's own settings into the fresh `home`; `url` is the model server's, `http://127.0.0.1:PORT`.

        Called once for each home, before its daemon starts; what was written is given to the user afterwards.
        """

    def trust(self, home: Path, workdir: Path) -> None:
        """Makes `workdir`, an existing directory, trusted, for agents that work in no other as in this one.

        Called once for each working directory, before a harness runs there.
        """

    def keys(self, url: str) -> dict[str, object]:
        """Keys of each harness of it in `harness.toml`, as a rule `env`. `args` is not possible beside a prompt."""
        return {}

    def path(self, installed: Installed) -> tuple[Path, ...]:
        """Directories in front of PATH, for the daemon and so for the agent: its own Node, say."""
        return installed.path

    def model_in_request(self, model: str) -> str:
        """How a request to the server names `model`, of which a harness may have a `provider/` in front."""
        return model

    def subagent(self, prompt: str) -> Call | None:
        """The call of a tool that hands `prompt` to a sub-agent, or nothing where it has none (`usage.subagent` in `na`)."""
        return None

    def after_subagent(self, prompt: str) -> Sequence[Step]:
        """What the agent is to do after that call to wait for the sub-agent that was given `prompt`, where it does not by itself."""
        return ()

    def unwritten(self, exchange: Exchange) -> str | None:
        """Why the agent keeps nothing of this exchange in its transcript, so that no reader can count it: or nothing.

        Where the numbers are equal but for such exchanges, a usage cell is ✗ with this reason, the same each time:
        `"it writes its call for a title nowhere"`.
        """
        return None

    def reason(self, cell: str, reason: str, said: str) -> str:
        """Why the cell is ✗ where its check gave this `reason`, and said in all what `said` holds."""
        known = self.known.get(cell)
        return known.why if known is not None and known.explains(said) else reason

    @property
    def adapter(self) -> dict[str, object]:
        """The built-in document of its adapter."""
        return adapter(self.id)

    @property
    def version(self) -> str:
        """The version that is installed and run: the one that its adapter was last verified with."""
        return str(self.adapter["verified"])


@cache
def adapter(name: str) -> dict[str, object]:
    """The built-in document of the adapter `name`."""
    return tomllib.loads((ADAPTERS / f"{name}.toml").read_text(encoding="utf-8"))


ORDER = ("claude-code", "codex", "pi", "grok", "goose", "opencode", "gemini", "qwen", "copilot", "kimi", "hermes", "vibe")
"""How tables are sorted; an agent that is not named here comes after them."""


@cache
def agents() -> dict[str, Agent]:
    """All agents by id, the fast ones of CI first."""
    found: list[Agent] = []
    for module in pkgutil.iter_modules(__path__):
        found.append(importlib.import_module(f"{__name__}.{module.name}").AGENT)
    place = {name: number for number, name in enumerate(ORDER)}
    found.sort(key=lambda agent: (place.get(agent.id, len(place)), agent.id))
    return {agent.id: agent for agent in found}
