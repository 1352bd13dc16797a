"""OpenCode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agents import NOTHING_STATED, Agent, Known
from install import npm

if TYPE_CHECKING:
    from model import Call, Exchange

UNENDED = Known(
    NOTHING_STATED, "it writes what a step used when the step is over, its tools included, and this one never was"
)
TRIES = "it tries six times, over 80 s; no setting bounds that"


class OpenCode(Agent):
    """Speaks OpenAI's Chat through a provider of its settings. It is slow to start where there is no network."""

    id = "opencode"
    package = npm("opencode-ai")
    models = ("mock/first-model", "mock/second-model")
    starts = 30.0
    na = {
        "argv.max_turns": "it has no limit of turns among its arguments",
        "outcome.max_turns": "it has no limit of turns among its arguments",
    }
    first_alone = True
    known = {
        "skills.merged": Known(
            r"skills of the merged set are not seen: \['zqwordeverywhere\d+end'\]",
            "of a name that its own home has too, now one copy wins, now the other",
        ),
        "skills.untouched": Known(
            r"the project changed: \['\.opencode/\.gitignore'\]", "it writes a `.gitignore` into the `.opencode` of a project"
        ),
        "usage.killed": UNENDED,
        "usage.daemon_killed": UNENDED,
    }
    fickle = frozenset({"skills.merged"})
    notes = {"outcome.429": TRIES, "outcome.500": TRIES}
    patience = {"outcome.ok": 60, "outcome.401": 60, "outcome.429": 140, "outcome.500": 140}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / "opencode-ai" / "bin" / "opencode.exe"

    def prepare(self, home: Path, url: str) -> None:
        known = {self.model_in_request(model): {"limit": {"context": 128_000, "output": 8_000}} for model in self.models}
        options = {"baseURL": f"{url}/v1", "apiKey": "none"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Mock", "options": options, "models": known}
        settings = home / ".config" / "opencode" / "opencode.json"
        settings.parent.mkdir(parents=True)
        wanted = {
            "share": "disabled",
            "model": self.models[0],
            "provider": {"mock": provider},
            # By default it asks nobody, and `auto_accept` would change nothing.
            "permission": {"bash": "ask"},
        }
        settings.write_text(json.dumps(wanted), encoding="utf-8")

    def keys(self, url: str) -> dict[str, object]:
        quiet = ("MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
        return {"timeout": "180s", "env": {f"OPENCODE_DISABLE_{what}": "1" for what in quiet}}

    def model_in_request(self, model: str) -> str:
        return model.removeprefix("mock/")

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("^task$", {"description": "look", "prompt": prompt, "subagent_type": "general"})

    def unwritten(self, exchange: Exchange) -> str | None:
        if exchange.kind == "side":
            return "it asks the model for a title of each new session, and writes that call nowhere"
        return None


AGENT = OpenCode()
