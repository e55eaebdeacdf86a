"""Other libraries, each in an environment of its own, measured the way we measure ourselves.

`peer("opendp")` is the interpreter of `.venv-bench-opendp`, made once with the newest version; None when it cannot be had here.
`cpu(python, setup=..., call=...)` is what one call costs there, as CPU seconds of the whole process tree, the least of several rounds
(`most=0`: of the first call, which is then the only one).
`answer(python, code)` is any JSON value another library computes: the golden tables are made with it.
Our own side is measured through the same function with `OURS`, so that a ratio compares like with like.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dev

OURS = Path(sys.executable)

USED = """
import contextlib, os, resource
def running():
    "CPU seconds of every living process below this one, as far as the system tells."
    rows, ticks, below, total = {}, 100.0, {os.getpid()}, 0.0
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                words = open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()
                rows[int(name)] = int(words[1]), sum(map(int, words[11:15])) / ticks
    while more := {pid for pid, (parent, _) in rows.items() if parent in below and pid not in below}:
        below |= more
        total += sum(rows[pid][1] for pid in more)
    return total
def used():
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent) + running()
"""

# Runs in the other interpreter: finds how often to call so that a round is long enough to be measured, then takes the least.
CLOCK = """
import gc, json, sys
order = json.load(sys.stdin)
names = {"__name__": "__main__"}
with contextlib.redirect_stdout(sys.stderr):
    exec(compile(order["setup"], "setup", "exec"), names)
    body = "\\n".join("    " + line for line in order["call"].splitlines())
    exec(compile("def repeat(n):\\n  for _ in range(n):\\n" + body, "call", "exec"), names)
    repeat, calls = names["repeat"], 1
    gc.disable()
    def clock(n):
        before = used()
        repeat(n)
        return used() - before
    first = clock(1)
    spent = first
    while order["most"] and (spent := clock(calls)) < order["least"] and calls < order["most"]:
        calls = min(order["most"], max(calls * 2, int(calls * 1.2 * order["least"] / max(spent, 1e-6))))
    least = min([spent] + [clock(calls) for _ in range(order["rounds"] - 1)])
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps({"seconds": least / calls, "first": first, "calls": calls, "peak": peak * 1024}))
"""

ANSWER = """
import contextlib, json, sys
names = {"__name__": "__main__"}
with contextlib.redirect_stdout(sys.stderr):
    exec(compile(sys.stdin.read(), "code", "exec"), names)
print(json.dumps(names["answer"]))
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """CPU seconds per call (least of several rounds), of the very first call, and the peak memory of the process in bytes."""

    seconds: float
    first: float
    calls: int
    peak: int


def peer(name: str, *packages: str) -> Path | None:
    """The interpreter of another library's own environment, made once; None, with a line that says why, when it cannot be had.

    `packages` are what pip is asked for, by default the library itself in its newest version.
    """
    wanted = "\n".join(packages or (name,))
    folder = dev.ROOT / f".venv-bench-{name}"
    python, stamp = folder / dev.SCRIPTS / "python", folder / dev.STAMP
    if stamp.exists() and stamp.read_text() == wanted and dev.version_of(python):
        return python
    try:
        dev.make(folder, sys.executable)
        dev.pip(python, *wanted.splitlines())
    except dev.Stop as stop:
        dev.say(f"{name} is left out: {stop}")
        return None
    stamp.write_text(wanted)
    return python


def version(python: Path | None, package: str) -> str:
    """The version of a package in an environment, or a dash."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return (dev.output_of(python, code) if python else None) or "–"


def cpu(
    python: Path | None, *, setup: str = "", call: str, least: float = 0.2, rounds: int = 5, most: int = 10**7
) -> Reading | None:
    """What one `call` costs in an interpreter after `setup`; None where the interpreter is missing or the snippet fails there."""
    order = {"setup": setup, "call": call, "least": least, "rounds": rounds, "most": most}
    found = _run(python, USED + CLOCK, json.dumps(order), what=call)
    return Reading(**found) if found else None


def used() -> float:
    """CPU seconds so far of this process, of those it started and of those they started."""
    names: dict[str, Any] = {}
    exec(USED, names)
    return float(names["used"]())


def answer(python: Path | None, code: str) -> Any:
    """The JSON value that `code` leaves in the name `answer`; None where the interpreter is missing or the code fails there."""
    return _run(python, ANSWER, code, what=code)


def _run(python: Path | None, program: str, text: str, *, what: str) -> Any:
    if python is None:
        return None
    done = subprocess.run(
        [python, "-c", program],
        input=text,
        capture_output=True,
        text=True,
        env=dev.environment_variables(),
        cwd=dev.ROOT,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        dev.say(f"left out, it failed in {python.parents[1].name}: {what.strip().splitlines()[0]} ({reason})")
        return None
    return json.loads(done.stdout.splitlines()[-1])
