"""The shape of the package in numbers, so that it cannot drift unseen: `python3 dev.py shape` prints them.

Files run are counted with a call tracer on warm code: from the data of a grouped count to its release, and by
`session.sql` alone for the same question. Times are CPU seconds of a fresh process above those of a bare interpreter;
they depend on the machine, so tests hold the modules that are loaded instead.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import deniable as dp

PACKAGE = Path(dp.__file__).parent
SHORTEST, LONGEST = 40, 400
"""How many lines a file has, or there is a reason."""
FIRST = {"calculus": "dp.calculus.laplace(scale=1)", "data set": "dp.Dataset({'v': [1]}, codebook=CODEBOOK)"}
CODEBOOK = {
    "name": "v",
    "unit": {"id": "p", "groups": 1, "rows_per_group": 1},
    "tables": {"v": {"variables": {"p": "integer", "ward": {"type": "string", "categories": ["A", "B"]}}}},
}
ROWS = {"p": [1, 2, 3, 4], "ward": ["A", "B", "A", "B"]}


def trees() -> dict[str, ast.Module]:
    """Every module of the package by its dotted name."""
    found = {}
    with no_collector():
        for path in sorted(PACKAGE.rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@contextmanager
def no_collector() -> Iterator[None]:
    """The garbage collector would walk through the growing trees again and again: four fifths of the time to make them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def double_classes(modules: dict[str, ast.Module]) -> list[str]:
    """Class names that stand for more than one class."""
    names = Counter(node.name for tree in modules.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return sorted(name for name, times in names.items() if times > 1)


def double_stems() -> list[str]:
    """File names that stand for more than one file."""
    names = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    return sorted(name for name, times in names.items() if times > 1)


def lines(name: str) -> int:
    """How many lines a module has."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return len(file.read_text(encoding="utf-8").splitlines())


def packages(modules: Iterable[str]) -> set[str]:
    """The modules that are a package's front."""
    return {name for name in modules if PACKAGE.parent.joinpath(*name.split(".")).is_dir()}


def used_once(graph: dict[str, set[str]], size: Callable[[str], int] = lines) -> list[str]:
    """Modules that one other module imports and could hold, as "part < whole": rule nine says they belong into it.

    What a package's front lists, in `__init__.py` or in its stub, is used by whoever uses the package; a part of another
    layer stays in its layer; and two modules that together are longer than a file may be stay two.
    """
    fronts, listed = packages(graph), _listed()
    users: dict[str, list[str]] = {}
    for name, used in graph.items():
        for other in used:
            users.setdefault(other, []).append(name)
    alone = [(part, whole) for part, (whole, *more) in users.items() if not more and part not in fronts | listed]
    near = [(part, whole) for part, whole in alone if whole not in fronts and _layer(part) == _layer(whole)]
    fit = [(part, whole) for part, whole in near if size(part) + size(whole) <= LONGEST]
    return sorted(f"{_short(part)} < {_short(whole)}" for part, whole in fit)


def _listed() -> set[str]:
    """What the stubs of lazy packages name: modules, and the homes of public names."""
    homes: set[str] = set()
    for stub in PACKAGE.rglob("*.pyi"):
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                homes |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return homes


def _layer(name: str) -> str:
    return name.split(".")[1]


def _short(name: str) -> str:
    return name.removeprefix("deniable.")


def small(modules: Iterable[str]) -> list[str]:
    """Modules, fronts of packages aside, that have fewer lines than a file should."""
    fronts = packages(modules)
    return sorted(_short(name) for name in modules if name not in fronts and lines(name) < SHORTEST)


def large(modules: Iterable[str]) -> list[str]:
    """Modules that have more lines than a file should."""
    return sorted(_short(name) for name in modules if lines(name) > LONGEST)


def ignores() -> int:
    """How many lines the type checker does not read."""
    return sum(path.read_text(encoding="utf-8").count("# type: ignore") for path in PACKAGE.rglob("*.py"))


def imports(tree: ast.AST, modules: dict[str, ast.Module]) -> Iterator[str]:
    """The modules of the package that a module imports, inside functions too, but not for its types alone."""
    if isinstance(tree, ast.If) and "TYPE_CHECKING" in ast.unparse(tree.test):
        return
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names if alias.name in modules)
    if isinstance(tree, ast.ImportFrom) and tree.module in modules:
        for alias in tree.names:
            inner = f"{tree.module}.{alias.name}"
            yield inner if inner in modules else tree.module
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from imports(child, modules)


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import one another, directly or around a corner."""
    reach = {name: _reachable(name, graph) for name in graph}
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return sorted(sorted(group) for group in groups)


def _reachable(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += graph.get(name, ())
    return seen


def files_run(call: Callable[[], object]) -> set[str]:
    """The files of the package in which a function was called; the tests' own entropy is not part of the way."""
    files = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    inside = {Path(file).relative_to(PACKAGE) for file in files if file.startswith(f"{PACKAGE}{os.sep}")}
    return {path.as_posix() for path in inside if path.parts[0] != "testing"}


def walks() -> tuple[set[str], set[str]]:
    """The files of a grouped count from its data to its release, and of the same in SQL on a session."""
    from deniable.testing import Seeded

    def session() -> dp.Session:
        data = dp.Dataset(ROWS, codebook=CODEBOOK)
        return data.session(dp.budget(epsilon=100), entropy=Seeded(0))

    def count() -> object:
        return session().query().group_by("ward").agg(n=dp.count()).release(epsilon=1)

    statement = "SELECT ward, COUNT(*) AS n FROM v GROUP BY ward"
    count()
    session().sql(statement, epsilon=1)
    warm = session()
    return files_run(count), files_run(lambda: warm.sql(statement, epsilon=1))


def first_use(code: str) -> tuple[int, float]:
    """How many modules of the package the first use of a name loads, and its CPU seconds."""
    program = (
        f"import time; start = time.process_time(); CODEBOOK = {CODEBOOK!r}; "
        f"CODEBOOK['tables']['v']['variables'] = {{'v': 'integer'}}; CODEBOOK['unit'] = 'rows'; "
        f"import deniable as dp; {code}; end = time.process_time(); import sys, json; "
        "print(json.dumps([sum(name.startswith('deniable') for name in sys.modules), end - start]))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules, seconds = json.loads(answer.stdout)
    return modules, seconds


def shape() -> tuple[dict[str, int], dict[str, float], dict[str, list[str]]]:
    """The counts, the CPU seconds, and the names behind the counts that should be few or nought."""
    count, sql = walks()
    modules = trees()
    graph = {name: set(imports(tree, modules)) - {name} for name, tree in modules.items()}
    uses = {name: first_use(code) for name, code in FIRST.items()}
    names = {
        "double class names": double_classes(modules),
        "double file names": double_stems(),
        "import cycles": [" - ".join(group) for group in cycles(graph)],
        "modules that one other uses and could hold": used_once(graph),
        f"files under {SHORTEST} lines": small(modules),
        f"files above {LONGEST} lines": large(modules),
    }
    counts = {
        "modules": len(modules),
        "public names in dp": len(dp.__all__),
        **{kind: len(found) for kind, found in names.items()},
        "lines the type checker is told to ignore": ignores(),
        "files run by a grouped count": len(count),
        "files run by the same in SQL": len(sql),
        **{f"modules loaded by the first {name}": loaded for name, (loaded, _) in uses.items()},
    }
    return counts, {f"CPU seconds to the first {name}": seconds for name, (_, seconds) in uses.items()}, names


def main(words: list[str]) -> None:
    """Print the table, or with `--json` the counts and names for a program."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        counts, seconds, names = shape()
    if "--json" in words:
        print(json.dumps({"counts": counts, "names": names}))
        return
    for label, number in counts.items():
        print(f"{label:42} {number:6}")
    for label, time in seconds.items():
        print(f"{label:42} {time:6.2f}")
    if "--names" in words:
        for label, found in names.items():
            print(f"\n{label}: {', '.join(found)}")


if __name__ == "__main__":
    main(sys.argv[1:])
