"""Qwen Code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent
from install import npm

if TYPE_CHECKING:
    from model import Call

TRIES = "it tries seven times, over 80 s; no setting bounds that"


class Qwen(Agent):
    """Speaks OpenAI's Chat. It needs Node 22."""

    id = "qwen"
    package = npm("@qwen-code/qwen-code", node22=True)
    starts = 20.0
    notes = {
        "outcome.429": f"with `model.generationConfig.maxRetries = 0`, else it waits a minute and more up to ten times; {TRIES}",
        "outcome.500": TRIES,
    }
    patience = {"outcome.ok": 45, "outcome.401": 45, "outcome.max_turns": 60, "outcome.429": 160, "outcome.500": 160}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / ".bin" / "qwen"

    def prepare(self, home: Path, url: str) -> None:
        settings = {"model": {"generationConfig": {"maxRetries": 0}}}
        (home / ".qwen").mkdir()
        (home / ".qwen" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")

    def keys(self, url: str) -> dict[str, object]:
        env = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": self.models[0]}
        return {"timeout": "180s", "env": env}

    def subagent(self, prompt: str) -> Call:
        from model import Call

        arguments = {"description": "look", "subagent_type": "general-purpose", "run_in_background": False}
        return Call("^agent$", {**arguments, "prompt": prompt})


AGENT = Qwen()
