"""Goose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents import NOTHING_STATED, Agent, Known
from install import machine, npm

if TYPE_CHECKING:
    from model import Call


class Goose(Agent):
    """Speaks OpenAI's Chat."""

    id = "goose"
    package = npm(f"@aaif/goose-binary-linux-{machine()}")
    fast = True
    whole_seconds = True
    na = {"usage.fork": "it forks a session in its terminal mode alone"}
    known = {
        cell: Known(NOTHING_STATED, "it writes a call when the tools of it have ended, and these never did")
        for cell in ("usage.killed", "usage.daemon_killed")
    }
    notes = {
        **{cell: "with `GOOSE_PROVIDER_SKIP_BACKOFF`" for cell in ("outcome.429", "outcome.500")},
        "usage.resume": "in another second than the run before: its times are whole ones",
    }

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / "@aaif" / f"goose-binary-linux-{machine()}" / "bin" / "goose"

    def keys(self, url: str) -> dict[str, object]:
        return {
            "env": {
                "GOOSE_PROVIDER": "openai",
                "GOOSE_MODEL": self.models[0],
                "GOOSE_DISABLE_KEYRING": "1",
                "GOOSE_PROVIDER_SKIP_BACKOFF": "true",
                "OPENAI_HOST": url,
                "OPENAI_API_KEY": "none",
            }
        }

    def subagent(self, prompt: str) -> Call:
        from model import Call

        return Call("delegate$", {"instructions": prompt})


AGENT = Goose()
