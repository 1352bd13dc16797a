"""mistral-vibe, with a provider of its settings."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from agents import Agent
from cells import CELLS
from install import pypi

SETTINGS = """\
active_model = "{first}"
enable_telemetry = false
enable_update_checks = false
api_retry_max_elapsed_time = 5.0

[[providers]]
name = "mock"
api_base = "{url}/v1"
api_key_env_var = "MOCK_KEY"
api_style = "openai"
backend = "generic"
"""
MODEL = """
[[models]]
name = "{name}"
provider = "mock"
alias = "{name}"
"""


class Vibe(Agent):
    """A native program with a server of its own in Python."""

    id = "vibe"
    package = pypi("mistral-vibe", (3, 12), (3, 14))
    models = ("first-model", "second-model")
    na: ClassVar[dict[str, str]] = {
        "usage.fork": "it forks no session headless",
        "usage.subagent": "no tool of it that a model may call by itself hands work to a sub-agent",
    }
    # It starts a server of its own in Python.
    starts = 25
    patience: ClassVar[dict[str, float]] = dict.fromkeys(CELLS, 45)
    notes: ClassVar[dict[str, str]] = {
        "outcome.429": "with `api_retry_max_elapsed_time = 5.0`, else it tries again for 280 s",
        "outcome.500": "with `api_retry_max_elapsed_time = 5.0`, else it tries again for 280 s",
    }

    def program(self, directory: Path) -> Path:
        """The script of the venv."""
        return directory / "bin" / "vibe"

    def prepare(self, home: Path, url: str) -> None:
        """Writes the provider, and both models."""
        settings = home / ".vibe"
        settings.mkdir()
        models = "".join(MODEL.format(name=name) for name in self.models)
        (settings / "config.toml").write_text(SETTINGS.format(first=self.models[0], url=url) + models)

    def keys(self, url: str) -> dict[str, object]:
        """The key of the provider."""
        return {"env": {"MOCK_KEY": "none"}}


AGENT = Vibe()
