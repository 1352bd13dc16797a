"""The skills of the scenario that calls a tool: copies of one name everywhere, and one of a name of its own in each place.

Each copy's description holds a word that stands nowhere else, so the words in a request body say which copies the
model was shown.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from world import World, everything

EVERYWHERE = "zq-everywhere"
SCRIPTED = "zq-shared"
OUTPUT = "zqscript-has-run"


@dataclass(frozen=True)
class Skills:
    """What was laid out: the `skill_paths` root, the words of the merged set, and all of them."""

    root: Path
    merged: frozenset[str]
    words: frozenset[str]

    def seen(self, texts: Iterable[str]) -> frozenset[str]:
        """The words that stand in `texts`."""
        whole = "\n".join(texts)
        return frozenset(word for word in self.words if word in whole)


def lay_out(world: World, workdir: Path) -> Skills:
    """Puts skills into the user's home, a `skill_paths` root and the project."""
    homes = [world.home / place for place in home_roots(world)]
    projects = [workdir / place for place in project_roots(world)]
    shared = world.root / "shared"
    words = {write(root, EVERYWHERE, f"everywhere{number}") for number, root in enumerate([*homes, shared, *projects])}
    merged = {write(root, f"zq-home{number}", f"home{number}") for number, root in enumerate(homes)}
    merged |= {write(root, f"zq-project{number}", f"project{number}") for number, root in enumerate(projects)}
    merged.add(write(shared, SCRIPTED, "shared"))
    script = shared / SCRIPTED / "scripts" / "say"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\necho {OUTPUT}\n", encoding="utf-8")
    script.chmod(0o755)
    # The project comes before `skill_paths`, those before the home, and of several the last one wins.
    winner = len(homes) + len(projects)
    merged.add(word(f"everywhere{winner}"))
    world.give(world.home, shared, workdir)
    return Skills(shared, frozenset(merged), frozenset(words | merged))


def write(root: Path, name: str, mark: str) -> str:
    """One copy of a skill, and its word."""
    directory = root / name
    directory.mkdir(parents=True, exist_ok=True)
    text = f"---\nname: {name}\ndescription: Says {word(mark)} when asked.\n---\n\nBody of {name}.\n"
    (directory / "SKILL.md").write_text(text, encoding="utf-8")
    return word(mark)


def word(mark: str) -> str:
    """The word of a copy; none is the beginning of another."""
    return f"zqword{mark}end"


def home_roots(world: World) -> list[str]:
    """The agent's own skill roots, relative to the home, lowest first."""
    roots = [re.sub(r"^\$\{\w+:-(.*?)\}", r"\1", root) for root in world.agent.adapter.get("skills", {}).get("roots", [])]
    return [root.removeprefix("~/") for root in roots if root.startswith("~/")]


def project_roots(world: World) -> list[str]:
    """Those of a project, lowest first; what harnessd projects into is none."""
    skills = world.agent.adapter.get("skills", {})
    return [root for root in skills.get("project", []) if root != skills.get("target")]


def homes_listing(world: World) -> dict[str, str]:
    """What lies in the user's own skill roots. Agents put what they bring with them into hidden directories there."""
    found = {}
    for root in home_roots(world):
        found |= {f"{root}/{name}": kind for name, kind in listing(world.home / root, hidden=False).items()}
    return found


def listing(top: Path, apart_from: Path | None = None, hidden: bool = True) -> dict[str, str]:
    """What lies below `top`, with a hash of each file's contents; `apart_from` and the way to it do not count, and
    without `hidden` nothing that begins with a dot right there, which other runs may be at work on."""
    found = {}
    for path in everything(top, hidden):
        if apart_from is not None and (path.is_relative_to(apart_from) or apart_from.is_relative_to(path)):
            continue
        kind = "directory"
        if path.is_symlink():
            kind = f"link to {path.readlink()}"
        elif path.is_file():
            kind = hashlib.sha256(path.read_bytes()).hexdigest() + f" {path.stat().st_mode:o}"
        found[str(path.relative_to(top))] = kind
    return found


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """The entries that came, went or have other contents."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
