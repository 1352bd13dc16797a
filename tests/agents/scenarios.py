"""The scenarios: what is run, and the checks that fill cells. One run serves as many cells as it can.

`play` is all that is needed from outside; it never raises, and answers each cell of its scenario.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote

import checks
import skillset
from cells import Cell, Failed, no
from checks import OUTCOMES, Found, ended_as, patience, require
from model import Answer, Fail, Hang, Shell, marker
from processes import commands
from world import CLIENT_SECONDS, Daemon, Harness, World, finish, until

STOP_SECONDS = 5.0
HANG_SLACK = 4.0
TOOL_SECONDS = 20.0
WRITING_SECONDS = 3.0
WORD = "the-answer-of-the-model"


@dataclass(frozen=True)
class Scenario:
    """Runs that belong together, the cells that they fill, and whether the ordinary user tries them beside root."""

    name: str
    cells: tuple[str, ...]
    run: Callable[[World, Found], None]
    ordinary: bool = True


def play(world: World, scenario: Scenario) -> dict[str, Cell]:
    """Runs the scenario once and answers all of its cells."""
    found = Found(world)
    if not found.applies(*scenario.cells):
        return found.cells
    broke = Failed("the scenario did not come to it")
    try:
        scenario.run(world, found)
    except Failed as failed:
        broke = failed
    except Exception as error:  # Whatever it is, it is told in the cells, and the others go on.
        broke = Failed(f"the suite broke: {type(error).__name__}", str(error))
    said = checks.detail(broke)
    for cell in scenario.cells:
        found.cells.setdefault(cell, no(world.agent.reason(cell, broke.reason, said), said))
    return found.cells


def plain(world: World, found: Found) -> None:
    """A plain prompt in a plain directory, with a model asked for."""
    tag, workdir = world.tag("plain"), world.workdir("plain")
    prompt = f"Say a word. {marker(tag)}"
    world.model.script(tag, [Answer(WORD)])
    harness = world.main.declare("plain", workdir, prompt, model=world.agent.models[1])
    run = harness.run()
    with found("outcome.ok"):
        ended_as(world, run, "outcome.ok")
    with found("argv.plain"):
        checks.prompt_arrived(world, tag, prompt)
    with found("argv.model"):
        checks.model_asked_for(world, tag, world.agent.models[1])
    with found("session.plain"):
        checks.exact(run)


def prompted(name: str, prompt: Callable[[str], str], cells: tuple[str, ...], place: str) -> Scenario:
    """A scenario of one prompt in one directory."""

    def run(world: World, found: Found) -> None:
        tag, workdir = world.tag(name), world.workdir(place)
        if place == "linked":
            link = workdir.with_name(f"a link to {workdir.name}")
            link.symlink_to(workdir)
            workdir = link
        text = prompt(marker(tag))
        world.model.script(tag, [Answer(WORD)])
        ended = world.main.declare(name, workdir, text).run()
        with found(cells[0]):
            checks.prompt_arrived(world, tag, text)
            require(ended["outcome"] == "ok", f"the outcome was `{ended['outcome']}`", ended.get("cause"))
        if len(cells) > 1:
            with found(cells[1]):
                checks.exact(ended)

    return Scenario(name, cells, run)


def tool(world: World, found: Found) -> None:
    """A tool call that runs the script of a skill; then a resume and a fork of that session."""
    tag, workdir = world.tag("tool"), world.workdir("tool")
    skills = skillset.lay_out(world, workdir)
    harness = world.main.declare(
        "tool", workdir, f"Use the tool. {marker(tag)}", auto_accept=True, skill_paths=[str(skills.root)]
    )
    target = world.main.ask("skills", harness.name).get("target")
    script = f"{target}/{skillset.SCRIPTED}/scripts/say"
    flag = world.root / "flags" / tag
    world.model.script(tag, [Shell(f"{quote(script)} | tee {quote(str(flag))}"), Answer(WORD)])
    projected = None if target is None else workdir.resolve() / target
    before = [skillset.homes_listing(world), skillset.listing(workdir, projected)]
    run = harness.run()
    after = [skillset.homes_listing(world), skillset.listing(workdir, projected)]
    with found("argv.auto_accept"):
        require(flag.exists(), "the tool did not run", run.get("cause"))
    with found("argv.quiet"):
        checks.answer_alone(harness.logs(), WORD, (str(flag), skillset.OUTPUT))
    with found("skills.merged"):
        seen = skills.seen(checks.strings(checks.first_turn(world, tag).body))
        missing, beside = skills.merged - seen, seen - skills.merged
        require(not missing, "skills of the merged set are not seen", sorted(missing))
        require(not beside, "copies beside the merged set are seen", sorted(beside))
    with found("skills.untouched"):
        for place, old, new in zip(("the home's skills", "the project"), before, after):
            require(old == new, f"{place} changed", skillset.changed(old, new))
    with found("skills.script"):
        # Not by the tool's result: Qwen Code now and then shows nothing of a command that ends at once.
        require(flag.exists() and skillset.OUTPUT in flag.read_text(encoding="utf-8"), "the script did not run")
    with found("usage.tool"):
        checks.usage_equals(world, harness, run, tag, 2)
    for cell, option in {"usage.resume": "--resume", "usage.fork": "--fork"}.items():
        if found.applies(cell):
            with found(cell):
                go_on(world, harness, tag, option)


def go_on(world: World, harness: Harness, before: str, option: str) -> None:
    """Goes on with the harness's last session, or in a copy of it, by a tool call."""
    tag = world.tag(option.strip("-"))
    world.model.script(tag, [Shell("true"), Answer(WORD)])
    harness.say(f"Go on. {marker(tag)}")
    former = harness.last()
    old = checks.sessions(former)
    if world.agent.whole_seconds:
        ended = int(checks.moment(former["ended_at"]))
        until(lambda: int(time.time()) > ended, CLIENT_SECONDS, "the second in which the run ended did not pass")
    run = harness.run(option)
    require(run["outcome"] == "ok", f"the outcome was `{run['outcome']}`", run.get("cause"))
    history = list(checks.strings(checks.first_turn(world, tag).body))
    require(any(marker(before) in text for text in history), "the model was not shown the history")
    if option == "--resume":
        require(old & checks.sessions(run), "it went on in another session")
    else:
        require(not old & checks.sessions(run), "it wrote into the session that it was to copy")
    checks.usage_equals(world, harness, run, tag, 2)


def subagent(world: World, found: Found) -> None:
    """A sub-agent that is asked one thing."""
    tag, workdir = world.tag("subagent"), world.workdir("subagent")
    world.model.script(f"{tag}.sub", [Answer("the-word-of-the-sub-agent")])
    prompt = f"Say a word. {marker(f'{tag}.sub')}"
    world.model.script(tag, [world.agent.subagent(prompt), *world.agent.after_subagent(prompt), Answer(WORD)])
    harness = world.main.declare("subagent", workdir, f"Ask a sub-agent. {marker(tag)}", auto_accept=True)
    run = harness.run()
    with found("usage.subagent"):
        asked = [exchange for exchange in world.served(tag) if exchange.sub]
        require(asked, "no sub-agent asked the model")
        checks.usage_equals(world, harness, run, tag, 3)


def max_turns(world: World, found: Found) -> None:
    """A task without an end, and two turns for it."""
    tag, workdir = world.tag("turns"), world.workdir("turns")
    world.model.script(tag, [Shell("true")])
    harness = world.main.declare("turns", workdir, f"Never end. {marker(tag)}", auto_accept=True, max_turns=2)
    run = harness.run()
    with found("outcome.max_turns"):
        ended_as(world, run, "outcome.max_turns")
    with found("argv.max_turns"):
        asked = len(checks.turns(world.served(tag)))
        require(asked == 2, "the model was not asked twice", asked)


def refused(status: int) -> Scenario:
    """A scenario in which the server answers nothing but `status`."""
    cell = f"outcome.{status}"

    def run(world: World, found: Found) -> None:
        tag, workdir = world.tag(str(status)), world.workdir(str(status))
        world.model.script(tag, [Fail(status)])
        # One that is patient by its own settings is given the time.
        timeout = f"{2 * patience(world, cell):g}s"
        harness = world.main.declare(f"refused-{status}", workdir, f"Say a word. {marker(tag)}", timeout=timeout)
        ended = harness.run()
        with found(cell):
            require(world.served(tag), "no request reached the server")
            ended_as(world, ended, cell)

    # What the server refuses does not depend on the user.
    return Scenario(f"refused-{status}", (cell,), run, ordinary=False)


def hang(world: World, found: Found) -> None:
    """The server never answers; the harness has a `timeout`."""
    tag, workdir = world.tag("hang"), world.workdir("hang")
    world.model.script(tag, [Hang()])
    harness = world.main.declare("hang", workdir, f"Say a word. {marker(tag)}", timeout=f"{world.agent.starts:g}s")
    run = harness.run()
    with found("outcome.hang"):
        require(world.served(tag), "no request reached the server")
        ended_as(world, run, "outcome.hang", world.agent.starts + HANG_SLACK)


@dataclass(frozen=True)
class InTool:
    """A run that is in a tool call, which has left a process in a session of its own: both processes of the call have
    `mark` among their arguments."""

    harness: Harness
    tag: str
    mark: str
    started: subprocess.Popen[str]


def in_tool(world: World, daemon: Daemon, name: str) -> InTool:
    """Begins such a run."""
    tag, workdir = world.tag(name), world.workdir(name)
    mark = str(world.root / "flags" / f"mark-{tag}")
    open(mark, "w", encoding="utf-8").close()
    waits = f"tail -f {quote(mark)}"
    # In a file: Hermes refuses a command that leaves something in the background.
    call = world.root / "flags" / f"call-{tag}"
    call.write_text(f"setsid {waits} &\n{waits}\n", encoding="utf-8")
    world.model.script(tag, [Shell(f"sh {quote(str(call))}"), Answer(WORD)])
    harness = daemon.declare(name, workdir, f"Use the tool. {marker(tag)}", auto_accept=True)
    world.give(world.root / "flags")
    started = harness.start()
    try:
        until(lambda: len(commands(mark)) >= 2, TOOL_SECONDS + world.agent.starts, "the tool call did not begin")
    except Failed:
        harness.ended(started, CLIENT_SECONDS)
        raise
    return InTool(harness, tag, mark, started)


def written(world: World, tool: InTool, cell: str) -> None:
    """Gives an agent the time to write down the call that it is in: some do so a moment after they began it.

    Not where it is known not to write it before the tools have ended; and what is not written in time shows in the cell.
    """
    if cell in world.agent.known:
        return
    run = tool.harness.state()["run"]
    with suppress(Failed):
        until(lambda: tool.harness.usage(run).get("calls"), WRITING_SECONDS, "the call was not written")


def stop(world: World, found: Found) -> None:
    """`stop` during a tool call."""
    tool = in_tool(world, world.main, "stop")
    begun = time.monotonic()
    world.main.ask("stop", "--wait", tool.harness.name)
    seconds = time.monotonic() - begun
    run = tool.harness.last()
    with found("outcome.stop"):
        checks.nothing_left(run, tool.mark)
        checks.outcome_is(world, run, "outcome.stop", OUTCOMES["outcome.stop"])
        checks.in_time(seconds, STOP_SECONDS)


def killed(world: World, found: Found) -> None:
    """The agent is killed during a tool call."""
    tool = in_tool(world, world.main, "killed")
    pid = tool.harness.state()["pid"]
    written(world, tool, "usage.killed")
    begun = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    run = tool.harness.ended(tool.started, patience(world, "outcome.killed"))
    seconds = time.monotonic() - begun
    with found("outcome.killed"):
        checks.outcome_is(world, run, "outcome.killed", OUTCOMES["outcome.killed"])
        require(run.get("signal") == "SIGKILL", "the run was not recorded as killed by SIGKILL", run.get("cause"))
        checks.nothing_left(run, tool.mark)
        checks.in_time(seconds, STOP_SECONDS)
    with found("usage.killed"):
        checks.usage_equals(world, tool.harness, run, tool.tag, 1)


def daemon_killed(world: World, found: Found) -> None:
    """The daemon is killed during a tool call, and another one started."""
    daemon = Daemon(world, world.root / world.tag("daemon"))
    try:
        tool = in_tool(world, daemon, "daemon")
        written(world, tool, "usage.daemon_killed")
        daemon.kill()
        finish(tool.started, CLIENT_SECONDS, "`harnessd start` did not end")
        daemon.restart()
        run = tool.harness.judged(patience(world, "usage.daemon_killed"))
        with found("usage.daemon_killed"):
            checks.nothing_left(run, tool.mark)
            checks.usage_equals(world, tool.harness, run, tool.tag, 1)
    finally:
        daemon.close()


def two(world: World, found: Found) -> None:
    """Two harnesses in one directory at once, each of which calls a tool."""
    workdir = world.workdir("two")
    tags = {name: world.tag(name) for name in ("one", "other")}
    for name, tag in tags.items():
        world.model.script(tag, [Shell("true"), Answer(WORD)])
    pair = {
        name: world.main.declare(name, workdir, f"Use the tool. {marker(tag)}", auto_accept=True)
        for name, tag in tags.items()
    }
    with found("session.two"):
        started = {name: harness.start() for name, harness in pair.items()}
        runs = {name: pair[name].ended(begun, CLIENT_SECONDS) for name, begun in started.items()}
        for name, run in runs.items():
            require(run["outcome"] == "ok", f"the outcome was `{run['outcome']}`", run.get("cause"))
            checks.exact(run)
            checks.usage_equals(world, pair[name], run, tags[name], 2, written_alone=True)
        checks.at_once(runs.values())


LARGE = 200 * 1024

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("tool", (
        "argv.auto_accept", "argv.quiet", "skills.merged", "skills.untouched", "skills.script",
        "usage.tool", "usage.resume", "usage.fork",
    ), tool),
    Scenario("hang", ("outcome.hang",), hang),
    Scenario("plain", ("outcome.ok", "argv.plain", "argv.model", "session.plain"), plain),
    prompted("dash", lambda mark: f"-n --help {mark}", ("argv.dash", "session.dotted"), "a.b c_d"),
    prompted("quotes", lambda mark: f"it's \"so\" `id` $HOME \\n\n\n\tand '{mark}'\nend", ("argv.quotes", "session.symlink"), "linked"),
    prompted("large", lambda mark: f"{mark}\n" + "0123456789abcde\n" * (LARGE // 16) + "end", ("argv.large",), "large"),
    Scenario("subagent", ("usage.subagent",), subagent),
    Scenario("turns", ("argv.max_turns", "outcome.max_turns"), max_turns),
    refused(401),
    refused(429),
    refused(500),
    Scenario("stop", ("outcome.stop",), stop),
    Scenario("killed", ("outcome.killed", "usage.killed"), killed),
    Scenario("daemon", ("usage.daemon_killed",), daemon_killed),
    Scenario("two", ("session.two",), two),
)
"""All of them, the long ones first."""


def scenario_of(cell: str) -> Scenario:
    """The scenario that fills `cell`."""
    return next(scenario for scenario in SCENARIOS if cell in scenario.cells)


def start_alone(world: World) -> None:
    """The very first start in a home, with nothing beside it, where the agent wants that."""
    if world.agent.first_alone:
        play(world, scenario_of("outcome.ok"))
