"""Hermes, with a provider of its settings."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agents import Agent, Known
from cells import CELLS
from install import pypi
from model import Call

SETTINGS = """\
model:
  default: {model}
  provider: custom
  base_url: {url}/v1
  api_key: none
  context_length: 128000
agent:
  api_max_retries: 2
security:
  tirith_enabled: false
"""
INFERRED = Known(
    "its session is `inferred`: .*|no session is credited to the run",
    "it names its session in its text alone, amid the model's words, so that it is inferred, or not told where two run",
)


class Hermes(Agent):
    """It has no machine-readable output: its exit status tells an answer from an error."""

    id = "hermes"
    package = pypi("hermes-agent", (3, 11), (3, 13))
    models = ("first-model", "second-model")
    na: ClassVar[dict[str, str]] = {
        "skills.merged": "its adapter hands over no skills: only its settings name their directories",
        "skills.script": "its adapter hands over no skills",
        "usage.fork": "it forks no session headless",
    }
    # It takes 5 s of a processor to start, and each call of the model runs some more.
    starts = 30
    turns_at_once = True
    patience: ClassVar[dict[str, float]] = dict.fromkeys(CELLS, 45)
    known: ClassVar[dict[str, Known]] = {
        **dict.fromkeys(("session.plain", "session.dotted", "session.symlink", "session.two"), INFERRED),
        "argv.large": Known(
            "`harnessd start` failed: .* adapter `hermes` can be handed at most 131063\".*",
            "it takes a prompt as an argument alone, which holds 131063 bytes at most",
        ),
        "outcome.max_turns": Known(
            "the outcome was `ok`: .*",
            "it has no machine-readable output, and with its turns used up it asks for a summary and exits with 0",
        ),
    }
    notes: ClassVar[dict[str, str]] = {
        "outcome.429": "with `agent.api_max_retries: 2`",
        "outcome.500": "with `agent.api_max_retries: 2`",
    }

    def program(self, directory: Path) -> Path:
        """The script of the venv."""
        return directory / "bin" / "hermes"

    def prepare(self, home: Path, url: str) -> None:
        """Writes the provider; without the last setting it fetches a program at its first start."""
        settings = home / ".hermes"
        settings.mkdir()
        (settings / "config.yaml").write_text(SETTINGS.format(model=self.models[0], url=url))

    def subagent(self, prompt: str) -> Call:
        """Its tool answers at once, and the sub-agent's answer comes as a message later."""
        return Call("^delegate_task$", {"goal": prompt})


AGENT = Hermes()
