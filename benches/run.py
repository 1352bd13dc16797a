#!/usr/bin/env python3
"""Benchmarks of harnessd's release program; see benches/README.md.

Prints a table (median, range over the rounds, aim) and, with --json FILE, the same as JSON.
Nothing here is a test: a figure over its aim is marked, the exit status stays 0.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0
MIB = 1024.0
WHOLE = ["validate", "fleet", "floor", "lateness", "skills", "transcripts"]


def clock_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def percentile(values, share):
    """The smallest value that at least `share` of all are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * share // 100) - 1))]


def build():
    """Builds the release program and the helpers; says where they are."""
    command = ["cargo", "build", "--release", "--message-format=json-render-diagnostics",
               "--bin", "harnessd", "--bench", "bare_parse", "--bench", "projection", "--bench", "transcripts"]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    built = {}
    for line in said.splitlines():
        message = json.loads(line)
        if message.get("executable"):
            built[message["target"]["name"]] = message["executable"]
    return built


class Results:
    """All readings by name, in the order in which they were first taken."""

    def __init__(self):
        self.readings = {}
        self.facts = {}

    def add(self, name, unit, value, aim=None):
        self.facts.setdefault(name, (unit, aim))
        self.readings.setdefault(name, []).append(value)

    def rows(self):
        for name, values in self.readings.items():
            unit, aim = self.facts[name]
            yield {"name": name, "unit": unit, "aim": aim, "rounds": len(values),
                   "median": statistics.median(values), "least": min(values), "most": max(values)}

    def table(self):
        lines = [f"{'what':<52}{'median':>10}{'least':>10}{'most':>10}  {'unit':<5}{'aim':>8}"]
        for row in self.rows():
            aim = "" if row["aim"] is None else f"{row['aim']:g}"
            mark = " over" if row["aim"] is not None and row["median"] > row["aim"] else ""
            lines.append(f"{row['name']:<52}{row['median']:>10.2f}{row['least']:>10.2f}"
                         f"{row['most']:>10.2f}  {row['unit']:<5}{aim:>8}{mark}")
        return "\n".join(lines)


class Place:
    """A home directory of its own, so that nothing of the user's takes part."""

    def __init__(self, base):
        self.dir = Path(tempfile.mkdtemp(dir=base))
        self.state = self.dir / "state"
        self.config = self.dir / "harness.toml"
        self.log = self.dir / "daemon.log"
        self.socket_path = self.dir / "starts"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind(str(self.socket_path))
        self.socket.settimeout(PATIENCE)
        self.env = {"HOME": str(self.dir), "PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC"}

    def close(self):
        self.socket.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def starts(self, count):
        """Waits for `count` children to tell their starts: {name: (pid, nanoseconds)}."""
        seen = {}
        while len(seen) < count:
            name, pid, at = self.socket.recv(256).decode().split()
            seen[name] = (int(pid), int(at))
        return seen


def fleet_toml(count, child, socket_path, enabled):
    """Harnesses that are started anew without delay, however often they die."""
    head = ("[daemon]\ncrash_loop_exits = 1000000\nmax_attempts = 0\n\n"
            "[defaults]\nrestart = \"always\"\nrestart_delay = \"0s\"\n\n")
    one = "[harness.h{0:04}]\ncmd = \"{1}\"\nargs = [\"h{0:04}\", \"{2}\"]\nenabled = {3}\n\n"
    return head + "".join(one.format(i, child, socket_path, str(enabled).lower()) for i in range(count))


def definition_toml(count):
    """Harnesses as people write them: an adapter, a prompt, a schedule, a few settings."""
    one = ("[harness.agent-{0:04}]\ndescription = \"number {0}\"\nagent = \"claude-code\"\n"
           "prompt = \"sweep inbox {0} and write down what is new\"\nschedule = \"{1} {2} * * 1-5\"\n"
           "timezone = \"Europe/Berlin\"\ntimeout = \"20m\"\nmodel = \"sonnet\"\n"
           "env = {{ LEVEL = \"{0}\" }}\n\n")
    return "".join(one.format(i, i % 60, i % 24) for i in range(count))


def timed(command, **more):
    begun = clock_ns()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)
    return (clock_ns() - begun) / 1e6


def validation(results, tools, base):
    """A whole `harnessd validate` beside a whole program that only parses the file."""
    for count in (10, 1000):
        place = Place(base)
        place.config.write_text(definition_toml(count))
        ours, bare = [], []
        for _ in range(15):
            bare.append(timed([tools["bare_parse"], place.config]))
            ours.append(timed([tools["harnessd"], "validate", place.config, "--as", "global"],
                              env=place.env, cwd=place.dir))
        ours, bare = statistics.median(ours), statistics.median(bare)
        results.add(f"validate {count}: bare toml_edit parse", "ms", bare)
        results.add(f"validate {count}: harnessd", "ms", ours)
        results.add(f"validate {count}: harnessd / bare parse", "x", ours / bare, 3)
        place.close()


class Daemon:
    """A daemon in a place of its own."""

    def __init__(self, place, harnessd):
        self.place, self.harnessd = place, harnessd
        self.process = None

    def start(self):
        with open(self.place.log, "wb") as log:
            begun = clock_ns()
            self.process = subprocess.Popen(
                [self.harnessd, "run", "--config", self.place.config, "--state-dir", self.place.state],
                env=self.place.env, cwd=self.place.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return begun

    def say(self, *words):
        command = [self.harnessd, *words, "--config", self.place.config, "--state-dir", self.place.state]
        begun = clock_ns()
        subprocess.run(command, env=self.place.env, cwd=self.place.dir, check=True, stdout=subprocess.DEVNULL)
        return begun

    def end(self):
        """TERM until it is gone: every child stopped, reaped and recorded."""
        begun = clock_ns()
        self.process.terminate()
        self.process.wait(PATIENCE)
        return (clock_ns() - begun) / 1e6

    def pss(self):
        text = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / MIB

    def activity(self):
        """Nanoseconds on a processor and switches away from it, of all its threads."""
        spent, switches = 0, 0
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            spent += int((task / "schedstat").read_text().split()[0])
            for line in (task / "status").read_text().splitlines():
                if "ctxt_switches" in line:
                    switches += int(line.split()[1])
        return spent, switches


def respawns(place, seen, kills):
    """Kills one child after the other; milliseconds from each kill to its successor's `main`."""
    delays = []
    names = sorted(seen)
    for turn in range(kills):
        name = names[turn % len(names)]
        pid, _ = seen[name]
        begun = clock_ns()
        os.kill(pid, signal.SIGKILL)
        told, again, at = place.socket.recv(256).decode().split()
        if told != name:
            raise SystemExit(f"killed {name}, but {told} started")
        seen[name] = (int(again), int(at))
        delays.append((int(at) - begun) / 1e6)
        time.sleep(0.003)  # one at a time: what follows a start is not charged to the next
    return delays


def fleet(results, tools, base, count, options):
    """One daemon with `count` children, from its first instruction to its last."""
    aims = {100: {"start": 90, "stop": 15, "pss": 4}, 1000: {"pss": 6}}.get(count, {})
    place = Place(base)
    place.config.write_text(fleet_toml(count, tools["child"], place.socket_path, True))
    daemon = Daemon(place, tools["harnessd"])
    try:
        begun = daemon.start()
        seen = place.starts(count)
        last = max(at for _, at in seen.values())
        results.add(f"{count}: run, to the last child's start", "ms", (last - begun) / 1e6, aims.get("start"))
        time.sleep(options.settle)
        results.add(f"{count}: PSS of the daemon, started", "MiB", daemon.pss(), aims.get("pss"))
        before = daemon.activity()
        time.sleep(options.idle)
        after = daemon.activity()
        results.add(f"{count}: idle, wake-ups in {options.idle:g} s", "", after[1] - before[1], 0)
        results.add(f"{count}: idle, processor time in {options.idle:g} s", "ms", (after[0] - before[0]) / 1e6, 0)
        delays = respawns(place, seen, options.kills)
        results.add(f"{count}: exit to respawn p50", "ms", percentile(delays, 50))
        results.add(f"{count}: exit to respawn p99", "ms", percentile(delays, 99), 3)
        begun = clock_ns()
        for pid, _ in seen.values():
            os.kill(pid, signal.SIGKILL)
        seen = place.starts(count)
        last = max(at for _, at in seen.values())
        results.add(f"{count}: all killed at once, to the last respawn", "ms", (last - begun) / 1e6)
        time.sleep(options.settle)
        results.add(f"{count}: PSS of the daemon, after the kills", "MiB", daemon.pss(), aims.get("pss"))
        begun = clock_ns()
        daemon.say("stop", "--all", "--wait")
        results.add(f"{count}: stop --all --wait, the whole command", "ms", (clock_ns() - begun) / 1e6)
        begun = daemon.say("start", "--all")
        seen = place.starts(count)
        last = max(at for _, at in seen.values())
        results.add(f"{count}: start --all, to the last child's start", "ms", (last - begun) / 1e6)
        time.sleep(options.settle)
        results.add(f"{count}: TERM to the daemon's end (stop-all)", "ms", daemon.end(), aims.get("stop"))
        left = [pid for pid, _ in seen.values() if Path(f"/proc/{pid}").exists()]
        if left:
            raise SystemExit(f"children outlived the daemon: {left[:5]}")
    except BaseException:
        if daemon.process.poll() is None:
            daemon.process.kill()
        print(place.log.read_text(errors="replace")[-2000:], file=sys.stderr)
        raise
    finally:
        place.close()


def floor(results, tools, base, count, options):
    """The same questions to a loop that only forks: what this machine gives today."""
    place = Place(base)
    begun = clock_ns()
    process = subprocess.Popen([tools["child"], "--floor", str(count), str(place.socket_path)])
    try:
        seen = place.starts(count)
        last = max(at for _, at in seen.values())
        results.add(f"{count}: floor, to the last child's start", "ms", (last - begun) / 1e6)
        time.sleep(options.settle)
        delays = respawns(place, seen, options.kills)
        results.add(f"{count}: floor, exit to respawn p50", "ms", percentile(delays, 50))
        results.add(f"{count}: floor, exit to respawn p99", "ms", percentile(delays, 99))
        begun = clock_ns()
        process.terminate()
        process.wait(PATIENCE)
        results.add(f"{count}: floor, stop-all", "ms", (clock_ns() - begun) / 1e6)
    finally:
        process.kill()
        place.close()


def lateness(results, tools, base, count, places):
    """`count` one-shots due in one second, of which `places` may run at once: how late each slot is
    claimed (the time in its run's id) and how long the queue takes."""
    place = Place(base)
    due = int(time.time()) + 4
    at = time.gmtime(due)
    one = ("[harness.j{0:04}]\ncmd = \"true\"\noneshot = true\ntimezone = \"UTC\"\n"
           "schedule = \"{1} {2} {3} * * *\"\n\n")
    jobs = "".join(one.format(i, at.tm_sec, at.tm_min, at.tm_hour) for i in range(count))
    place.config.write_text(f"[daemon]\nmax_parallel_runs = {places}\n\n{jobs}")
    daemon = Daemon(place, tools["harnessd"])
    daemon.start()
    rows = []
    try:
        sql = "SELECT id, planned_at, started_at, ended_at FROM runs WHERE outcome = 'ok'"
        deadline = time.monotonic() + PATIENCE
        while len(rows) < count:
            if time.monotonic() > deadline or daemon.process.poll() is not None:
                raise SystemExit(f"only {len(rows)} of {count} jobs ran")
            time.sleep(0.5)
            if (place.state / "state.db").exists():
                with sqlite3.connect(f"file:{place.state}/state.db?mode=ro", uri=True) as store:
                    rows = store.execute(sql).fetchall()
        if {planned for _, planned, _, _ in rows} != {due * 1_000_000}:
            raise SystemExit("a job ran for another slot")
        claimed = [int(id[:8] + id[9:13], 16) - due * 1000 for id, _, _, _ in rows]
        results.add(f"{count} due at once, {places} places: claim p50", "ms", percentile(claimed, 50))
        results.add(f"{count} due at once, {places} places: claim p99", "ms", percentile(claimed, 99))
        last = max(ended for _, _, _, ended in rows)
        results.add(f"{count} due at once, {places} places: all have run", "ms", last / 1000 - due * 1000)
        moments = sorted([(started, 1) for _, _, started, _ in rows] + [(ended, -1) for _, _, _, ended in rows])
        active, most = 0, 0
        for _, step in moments:
            active += step
            most = max(most, active)
        if most > places:
            raise SystemExit(f"{most} jobs ran at once, {places} may")
        daemon.end()
    finally:
        if daemon.process.poll() is None:
            daemon.process.kill()
        place.close()


def projection(results, tools, base, count):
    """Skills of three files each: copied by `cp -r`, projected cold, projected unchanged."""
    place = Place(base)
    root = place.dir / "skills"
    for i in range(count):
        skill = root / f"skill-{i:04}"
        (skill / "scripts").mkdir(parents=True)
        text = f"---\nname: skill-{i:04}\ndescription: what to do about {i}\n---\n"
        (skill / "SKILL.md").write_text(text + "Read, then think.\n" * 120)
        (skill / "reference.md").write_text("A fact.\n" * 300)
        (skill / "scripts" / "run.sh").write_text("#!/bin/sh\nexit 0\n")
    os.sync()
    copied = []
    for turn in range(3):
        copied.append(timed(["cp", "-r", root, place.dir / f"copy-{turn}"]))
    cold, kept = [], []
    for turn in range(3):
        work = place.dir / f"work-{turn}"
        work.mkdir()
        for readings, expected in ((cold, (count, 0)), (kept, (0, count))):
            said = subprocess.run([tools["projection"], root, work], check=True, stdout=subprocess.PIPE, text=True)
            took, written, same = map(int, said.stdout.split())
            if (written, same) != expected:
                raise SystemExit(f"projection wrote {written} and kept {same} of {count} skills")
            readings.append(took / 1e6)
            if expected[0]:
                time.sleep(0.3)  # a copy must be older than the clock's granularity to be trusted
    copied, cold, kept = map(statistics.median, (copied, cold, kept))
    results.add(f"skills {count}: cp -r", "ms", copied)
    results.add(f"skills {count}: projected cold", "ms", cold)
    results.add(f"skills {count}: projected unchanged", "ms", kept)
    results.add(f"skills {count}: unchanged / cp -r", "x", kept / copied, 0.1)
    place.close()


def make_transcripts(tools, base, options):
    """The trees that are read: where an agent would have written them, and where in them its store is."""
    trees = {}
    for agent, store in (("claude-code", "projects"), ("codex", "sessions")):
        trees[agent] = Path(base) / f"transcripts-{agent}"
        command = [tools["transcripts"], "make", agent, trees[agent] / store, str(options.megabytes), "190"]
        subprocess.run(command, check=True)
    if options.huge:
        trees["huge"] = Path(base) / "transcripts-huge"
        command = [tools["transcripts"], "make", "claude-code", trees["huge"] / "projects", str(options.huge), "1"]
        subprocess.run(command, check=True)
    return trees


def transcripts(results, tools, trees, base, options):
    """All that agents wrote, read for the first time and again, beside ccusage on the same files."""
    for agent, store, home in (("claude-code", "projects", "CLAUDE_CONFIG_DIR"), ("codex", "sessions", "CODEX_HOME")):
        label = f"{agent} {options.megabytes} MB"
        state = Path(tempfile.mkdtemp(dir=base))
        follow = [tools["transcripts"], "follow", agent, trees[agent] / store, state]
        ours = resources(results, tools, f"{label}, first read", follow, user=300, peak=20)
        again = resources(results, tools, f"{label}, unchanged, another process", follow)
        results.add(f"{label}, unchanged, a look", "ms", again["unchanged"] / 1000, 20)
        results.add(f"{label}, unchanged, a look of who read it", "ms", ours["unchanged"] / 1000, 20)
        summed = subprocess.run([tools["transcripts"], "sum", state], check=True, stdout=subprocess.PIPE)
        shutil.rmtree(state)
        if not options.ccusage:
            continue
        place = {"HOME": base, "PATH": os.environ.get("PATH", os.defpath), "TZ": "UTC", "NO_COLOR": "1",
                 home: str(trees[agent])}
        command = [options.ccusage, agent.split("-")[0], "daily", "--json", "--offline"]
        theirs = resources(results, tools, f"{label}, ccusage", command, env=place)["totals"]
        # Theirs tells cache reads and writes apart from the input, ours has them in it.
        kinds = ["inputTokens", "cacheCreationTokens", "cacheReadTokens"]
        total = {"input": sum(theirs.get(kind, 0) for kind in kinds), "output": theirs["outputTokens"]}
        own = json.loads(summed.stdout)
        del own["calls"]
        print(f"{label}: harnessd {own}, ccusage {total}", file=sys.stderr)
        if own != total:
            raise SystemExit("harnessd and ccusage come to different sums")
    if options.huge:
        state = Path(tempfile.mkdtemp(dir=base))
        follow = [tools["transcripts"], "follow", "claude-code", trees["huge"] / "projects", state]
        resources(results, tools, f"claude-code, one file of {options.huge} MB, first read", follow, peak=20)
        shutil.rmtree(state)


def resources(results, tools, name, command, user=None, peak=None, env=None):
    """Runs a program: times and the largest memory of it go into the results; gives what it said."""
    ran = subprocess.run([tools["transcripts"], "timed", *command], check=True, env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    used = json.loads(ran.stdout)
    results.add(f"{name}: user", "ms", used["user"] / 1000, user)
    results.add(f"{name}: system", "ms", used["system"] / 1000)
    results.add(f"{name}: wall", "ms", used["wall"] / 1000)
    results.add(f"{name}: peak", "MiB", used["peak_kib"] / 1024, peak)
    return json.loads(ran.stderr[ran.stderr.index("{"):])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured")
    parser.add_argument("--kills", type=int, default=300, help="respawns measured in each round")
    parser.add_argument("--idle", type=float, default=5, help="seconds of watching an idle daemon")
    parser.add_argument("--settle", type=float, default=0.7, help="seconds of rest before a reading")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100, 1000], help="children of a daemon")
    parser.add_argument("--skills", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=200, help="of transcripts of each agent")
    parser.add_argument("--huge", type=int, default=2000, help="megabytes of one transcript; 0: none")
    parser.add_argument("--ccusage", help="the program of ccusage's platform package, to be measured beside")
    parser.add_argument("--program", help="measure this harnessd instead of the one that is built")
    parser.add_argument("--only", nargs="*", choices=WHOLE)
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    wanted = options.only or WHOLE

    base = tempfile.mkdtemp(prefix="harnessd-bench-")
    results = Results()
    try:
        tools = build()
        if options.program:
            tools["harnessd"] = os.path.abspath(options.program)
        tools["child"] = os.path.join(base, "child")
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-o", tools["child"], ROOT / "benches" / "child.c"], check=True)
        trees = make_transcripts(tools, base, options) if "transcripts" in wanted else {}
        load_before = os.getloadavg()
        for number in range(1, options.rounds + 1):
            print(f"round {number} of {options.rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            if "validate" in wanted:
                validation(results, tools, base)
            for count in options.sizes:
                if "floor" in wanted:
                    floor(results, tools, base, count, options)
                if "fleet" in wanted:
                    fleet(results, tools, base, count, options)
            if "lateness" in wanted:
                lateness(results, tools, base, 1000, 8)
            if "skills" in wanted:
                projection(results, tools, base, options.skills)
            if "transcripts" in wanted:
                transcripts(results, tools, trees, base, options)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    machine = {"kernel": platform.release(), "processors": os.cpu_count(),
               "load_before": load_before, "load_after": os.getloadavg()}
    print(results.table())
    print(f"\n{machine['processors']} processors, Linux {machine['kernel']}, "
          f"load {load_before[0]:.1f} before and {machine['load_after'][0]:.1f} after")
    if options.json:
        report = {"machine": machine, "rounds": options.rounds, "kills": options.kills,
                  "results": list(results.rows()), "readings": results.readings}
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
