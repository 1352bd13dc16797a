"""Claude Code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent
from install import npm

if TYPE_CHECKING:
    from model import Call


class ClaudeCode(Agent):
    """Speaks Anthropic's Messages. A home in which it never ran needs nothing for `claude -p`."""

    id = "claude-code"
    package = npm("@anthropic-ai/claude-code")
    fast = True
    models = ("claude-sonnet-4-5", "claude-opus-5-5")
    notes = {cell: "with `CLAUDE_CODE_MAX_RETRIES=1`" for cell in ("outcome.401", "outcome.429", "outcome.500")}

    def program(self, directory: Path) -> Path:
        return directory / "node_modules" / "@anthropic-ai" / "claude-code" / "bin" / "claude.exe"

    def keys(self, url: str) -> dict[str, object]:
        return {
            "env": {
                "ANTHROPIC_BASE_URL": url,
                "ANTHROPIC_API_KEY": "none",
                "ANTHROPIC_MODEL": self.models[0],
                "CLAUDE_CODE_MAX_RETRIES": "1",
            }
        }

    def subagent(self, prompt: str) -> Call:
        from model import Call

        arguments = {"description": "look", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False}
        return Call("^(Agent|Task)$", arguments)


AGENT = ClaudeCode()
