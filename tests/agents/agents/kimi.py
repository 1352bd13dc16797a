"""Kimi Code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent, Known
from cells import CELLS
from install import npm

if TYPE_CHECKING:
    from model import Call

SETTINGS = """\
default_model = "{models[0]}"
telemetry = false

[loop_control]
max_attempts_per_step = 2

[providers.mock]
type = "openai"
base_url = "{url}/v1"
api_key = "none"
"""

MODEL = """
[models.{model}]
provider = "mock"
model = "{model}"
max_context_size = 200000
"""


class Kimi(Agent):
    """Speaks OpenAI's Chat. Its start alone takes seconds."""

    id = "kimi"
    package = npm("@moonshot-ai/kimi-code", node22=True)
    na = {"usage.fork": "it forks by a command of its own, which takes no prompt"}
    known = {
        "argv.large": Known(
            "`harnessd start` failed: .* adapter `kimi` can be handed at most 131062\".*",
            "it takes its prompt as an argument, 128 KiB at most",
        ),
        "argv.quiet": Known(
            "`logs` prints more than the answer: zqscript-has-run",
            "what a tool prints comes as plain text beside the records, and is shown",
        )
    }
    # Its start takes 3 s of a processor.
    starts = 15.0
    patience = {cell: 40.0 for cell in CELLS if cell not in ("outcome.stop", "outcome.killed")}
    notes = {cell: "with `max_attempts_per_step = 2`" for cell in ("outcome.429", "outcome.500")}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / "@moonshot-ai" / "kimi-code" / "dist" / "main.mjs"

    def prepare(self, home: Path, url: str) -> None:
        settings = home / ".kimi-code" / "config.toml"
        settings.parent.mkdir()
        models = "".join(MODEL.format(model=model) for model in self.models)
        settings.write_text(SETTINGS.format(models=self.models, url=url) + models, encoding="utf-8")

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("^Agent$", {"prompt": prompt, "description": "look"})


AGENT = Kimi()
