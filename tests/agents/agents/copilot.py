"""GitHub Copilot CLI, with a model server of one's own ("bring your own key") and no login."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agents import Agent
from cells import CELLS
from install import npm
from model import Call


class Copilot(Agent):
    """It unpacks itself below `~/.cache/copilot` at its first start; its launcher would outlive a signal's effect."""

    id = "copilot"
    package = npm("@github/copilot")
    models = ("first-model", "second-model")
    na: ClassVar[dict[str, str]] = {
        "argv.max_turns": "it has no limit of turns",
        "outcome.max_turns": "it has no limit of turns",
        "usage.fork": "it forks no session headless",
    }
    # It tries five times more, after 60 s at the latest for a 429.
    starts = 15
    patience: ClassVar[dict[str, float]] = dict.fromkeys(CELLS, 25) | {"outcome.429": 80, "outcome.500": 40}

    def program(self, directory: Path) -> Path:
        """The native program: the launcher of npm leaves it running where it is killed itself."""
        found = sorted((directory / "node_modules" / "@github").glob("copilot-linux-*/copilot"))
        return found[0] if found else directory / "node_modules" / ".bin" / "copilot"

    def keys(self, url: str) -> dict[str, object]:
        """All of its provider comes by the environment."""
        return {
            "env": {
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_MODEL": self.models[0],
                "COPILOT_OFFLINE": "true",
            }
        }

    def subagent(self, prompt: str) -> Call:
        """Its `task` waits for the sub-agent's answer."""
        arguments = {"description": "look", "agent_type": "general-purpose", "name": "helper", "mode": "sync"}
        return Call("^task$", {**arguments, "prompt": prompt})


AGENT = Copilot()
