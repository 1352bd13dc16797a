"""Grok Build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agents import NOTHING_STATED, Agent, Known
from install import npm

if TYPE_CHECKING:
    from model import Call, Exchange

SETTINGS = """\
[models]
default = "{models[0]}"
max_retries = 1

[features]
turn_transient_retry = false
"""

UNENDED = Known(NOTHING_STATED, "it writes what a turn used when the turn is over, and this one never was")

MODEL = """
[model.{model}]
model = "{model}"
name = "{model}"
base_url = "{url}/v1"
api_key = "none"
api_backend = "chat_completions"
context_window = 200000
"""


class Grok(Agent):
    """Speaks OpenAI's Chat. It looks at the skills of a project in a trusted folder alone."""

    id = "grok"
    package = npm("@xai-official/grok")
    fast = True
    turns_at_once = True
    errands = frozenset({"session_title"})
    known = {
        "argv.large": Known(
            r"the model did not get the prompt byte for byte: .*\[\[run:[\w.-]+\]\]\\n0123456789abcde\\n.*",
            "of a prompt above 97 KB it sends the beginning and the end, and names the model a file with all of it",
        ),
        "usage.killed": UNENDED,
        "usage.daemon_killed": UNENDED,
    }
    notes = {
        **{cell: "its calls are stated in one sum, so their number is not compared" for cell in ("usage.resume", "usage.fork")},
        "outcome.429": "with `max_retries = 1`",
        "outcome.500": "with `max_retries = 1` and `turn_transient_retry = false`",
    }

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / "@xai-official" / "grok" / "bin" / "grok-native"

    def prepare(self, home: Path, url: str) -> None:
        settings = home / ".grok" / "config.toml"
        settings.parent.mkdir()
        models = "".join(MODEL.format(model=model, url=url) for model in self.models)
        settings.write_text(SETTINGS.format(models=self.models) + models, encoding="utf-8")

    def trust(self, home: Path, workdir: Path) -> None:
        # As `grok --trust` writes it.
        with (home / ".grok" / "trusted_folders.toml").open("a", encoding="utf-8") as trusted:
            trusted.write(f"[folders.{json.dumps(str(workdir.resolve()))}]\ntrusted = true\ndecided_at = 1764547200\n")

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("^spawn_subagent$", {"prompt": prompt, "description": "look", "background": False})

    def unwritten(self, exchange: Exchange) -> str | None:
        tools = exchange.body.get("tools") or []
        if {tool.get("function", {}).get("name") for tool in tools} == self.errands:
            return "it asks the model for a title of each new session, and writes that call nowhere"
        return None


AGENT = Grok()
