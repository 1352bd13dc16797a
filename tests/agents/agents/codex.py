"""Codex."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent
from install import machine, npm

if TYPE_CHECKING:
    from model import Call, Step

SETTINGS = """\
model = "{model}"
model_provider = "mock"

[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
env_key = "MOCK_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""


class Codex(Agent):
    """Speaks OpenAI's Responses."""

    id = "codex"
    package = npm("@openai/codex")
    fast = True
    models = ("gpt-5.1-codex", "gpt-5.1")
    na = {"argv.max_turns": "it has no limit of turns", "outcome.max_turns": "it has no limit of turns"}
    accepts = {"outcome.500": ("overloaded",)}
    notes = {
        "outcome.401": "with `request_max_retries = 1`",
        "outcome.500": "`overloaded`, since it says \"high demand\"; with `request_max_retries = 1`",
    }

    def program(self, directory: Path) -> Path:
        vendor = directory / "node_modules" / "@openai" / f"codex-linux-{machine()}" / "vendor"
        return vendor / f"{platform.machine()}-unknown-linux-musl" / "bin" / "codex"

    def prepare(self, home: Path, url: str) -> None:
        settings = home / ".codex" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(SETTINGS.format(model=self.models[0], url=url), encoding="utf-8")

    def keys(self, url: str) -> dict[str, object]:
        return {"env": {"MOCK_KEY": "none"}}

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("spawn_agent$", {"message": prompt})

    def after_subagent(self, prompt: str) -> Sequence[Step]:
        """It goes on at once, and its end would cut the sub-agent off. `wait_agent` wants an id that is not known here,
        so it waits until the session that was given the prompt has ended; its own has that prompt, too, and no end."""
        from model import Shell

        ended = f"grep -rlF {shlex.quote(prompt)} ~/.codex/sessions | xargs grep -l task_complete"
        return (Shell(f"for i in $(seq 100); do {ended} && break; sleep 0.1; done"),)


AGENT = Codex()
