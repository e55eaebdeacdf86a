"""`deniable audit`: hold a mechanism of yours, or deniable itself, against its claim.

Exit codes: 0 nothing was refuted, 3 broken, 2 it cannot be audited.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.audit import check
from deniable.audit.self_audit import self_audit
from deniable.audit.subject import ALL_ERRORS
from deniable.cli.app import application
from deniable.core.mechanism import Mechanism
from deniable.cost import Bounded
from deniable.errors import DeniableError

app = application("Audit a mechanism against its claim, or deniable itself (`deniable audit self`).")

Certificate = Annotated[Path | None, typer.Option(help="Write the certificate to this file, as JSON.")]


@app.command()
def audit(
    target: Annotated[str, typer.Argument(help="file.py::name of a mechanism or function, or `self`.")],
    epsilon: Annotated[
        float | None, typer.Option(help="The claimed epsilon; a mechanism's own price unless given.")
    ] = None,
    delta: Annotated[float, typer.Option(help="The claimed delta.")] = 0.0,
    samples: Annotated[
        int | None, typer.Option(help="Draws in all; the exact law where that is possible unless given.")
    ] = None,
    level: Annotated[float, typer.Option(help="The largest probability of a false alarm.")] = 0.01,
    adapter: Annotated[
        str | None, typer.Option(help="How a plain function is called, such as 'array -> number'.")
    ] = None,
    quick: Annotated[bool, typer.Option(help="With self: fewer draws.")] = False,
    certificate: Certificate = None,
) -> None:
    """Print the verdict. The file says on which neighbours: `NEIGHBOURS = (left, right)`, or a list of pairs, for all its names.

    A mechanism of the calculus knows its space: without NEIGHBOURS it is audited on small neighbours made from that.
    """
    if target == "self":
        try:
            report = self_audit(quick=quick, level=level)
        except DeniableError as refusal:
            raise typer.BadParameter(str(refusal)) from None
        print(report)
        _write(certificate, json.dumps(report.record(), indent=1, ensure_ascii=False))
        raise typer.Exit(0 if report.passed else 3)
    try:
        subject, neighbours = _load(target)
        claim: Any = "its own price" if epsilon is None else Bounded(epsilon=epsilon, delta=delta)
        verdict = check(subject, claim=claim, neighbours=neighbours, samples=samples, level=level, adapter=adapter)
    except DeniableError as refusal:
        raise typer.BadParameter(str(refusal)) from None
    print(verdict)
    for note in verdict.notes:
        print(f"note: {note}")
    _write(certificate, verdict.to_json())
    raise typer.Exit(3 if verdict.broken else 2 if ALL_ERRORS in verdict.notes else 0)


def _write(place: Path | None, text: str) -> None:
    if place is not None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{text}\n", encoding="utf-8")
        except OSError as refusal:
            raise typer.BadParameter(f"{place} cannot be written: {refusal.strerror}") from None


def _load(target: str) -> tuple[Any, Any]:
    """What is named in a file, and the neighbours the file declares for it."""
    path, mark, name = target.partition("::")
    file = Path(path)
    if mark and name and not file.is_file():
        raise typer.BadParameter(f"there is no file {path}")
    if not mark or not name:
        raise typer.BadParameter(f"a target is written file.py::name, and {target!r} is none")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise typer.BadParameter(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise typer.BadParameter(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    if not hasattr(module, name):
        raise typer.BadParameter(f"{path} has no {name!r}")
    found = getattr(module, name)
    if not hasattr(module, "NEIGHBOURS") and not isinstance(found, Mechanism):
        raise typer.BadParameter(f"{path} must say NEIGHBOURS = (left, right): two data sets one person apart")
    return found, getattr(module, "NEIGHBOURS", None)
