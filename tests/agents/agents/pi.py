"""pi."""

from __future__ import annotations

import json
from pathlib import Path

from agents import Agent
from install import npm


class Pi(Agent):
    """Speaks OpenAI's Chat here. On a Node older than 22.19 npm would choose an old pi."""

    id = "pi"
    package = npm("@earendil-works/pi-coding-agent", node22=True)
    fast = True
    models = ("mock/first-model", "mock/second-model")
    na = {
        "argv.max_turns": "it has no limit of turns",
        "outcome.max_turns": "it has no limit of turns",
        "usage.subagent": "it has no sub-agents of its own",
    }
    notes = {cell: "with `retry.maxRetries = 1`" for cell in ("outcome.429", "outcome.500")}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / ".bin" / "pi"

    def prepare(self, home: Path, url: str) -> None:
        settings = home / ".pi" / "agent"
        settings.mkdir(parents=True)
        names = [model.partition("/")[2] for model in self.models]
        provider = {
            "baseUrl": f"{url}/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": name, "contextWindow": 200_000, "maxTokens": 8_000} for name in names],
        }
        files = {
            "models.json": {"providers": {"mock": provider}},
            "settings.json": {"defaultProvider": "mock", "defaultModel": names[0], "retry": {"maxRetries": 1}},
        }
        for name, document in files.items():
            (settings / name).write_text(json.dumps(document), encoding="utf-8")

    def keys(self, url: str) -> dict[str, object]:
        return {"env": {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}}

    def model_in_request(self, model: str) -> str:
        return model.partition("/")[2]


AGENT = Pi()
