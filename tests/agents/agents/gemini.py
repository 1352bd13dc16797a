"""Gemini CLI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent
from install import npm

if TYPE_CHECKING:
    from model import Call

TURNS = "it takes a limit of turns from its settings alone"
TRIES = "with `general.maxAttempts = 2`; else it tries ten times, for minutes"


class Gemini(Agent):
    """Speaks its own dialect. The address of another server holds with a key of the API as its login alone."""

    id = "gemini"
    package = npm("@google/gemini-cli")
    starts = 15.0
    na = {"argv.max_turns": TURNS, "outcome.max_turns": TURNS, "usage.fork": "it forks no session"}
    notes = {"outcome.429": TRIES, "outcome.500": TRIES}
    patience = {"outcome.ok": 40, "outcome.401": 40, "outcome.429": 60, "outcome.500": 60}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / ".bin" / "gemini"

    def prepare(self, home: Path, url: str) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            # By default it asks a smaller model first which model is to work.
            "model": {"name": self.models[0]},
            "general": {"maxAttempts": 2},
        }
        (home / ".gemini").mkdir()
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def keys(self, url: str) -> dict[str, object]:
        return {"timeout": "90s", "env": {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}}

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("^invoke_agent$", {"agent_name": "generalist", "prompt": prompt})


AGENT = Gemini()
