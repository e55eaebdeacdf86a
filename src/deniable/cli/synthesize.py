"""`deniable synthesize`: synthetic rows of a private table, with a sidecar that says what they promise and how wrong they are.

Exit codes: 0 done, 1 refused, 2 the command was not understood, 4 over budget, 5 charged and not answered; one line says why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli import asking
from deniable.cli.app import application
from deniable.cli.locations import place
from deniable.errors import InvalidArgument
from deniable.ledger import journal_at
from deniable.release.synthetic import Synthesizer
from deniable.synth.attribute import CELLS
from deniable.synth.fitted.public_rules import PublicRules

app = application("Synthetic rows of a private table, under its budget.")

NEW_DELTA = 1e-9
"""The delta of a new ledger that is told nothing else: far below one in the number of people."""

LedgerPlace = Annotated[
    str | None,
    typer.Option(
        "--ledger", help="The file or URL that keeps its budget; the codebook's name and .ledger if not given."
    ),
]
Rows = Annotated[int | None, typer.Option("--rows", help="How many rows; about as many as the data has if not given.")]
Out = Annotated[
    Path | None, typer.Option("--out", help="A .parquet or .csv file for the rows; a sidecar goes beside it.")
]
Report = Annotated[Path | None, typer.Option("--report", help="An HTML page about the twin.")]
Columns = Annotated[str | None, typer.Option("--columns", help="Columns, with commas; all if not given.")]
Focus = Annotated[str | None, typer.Option("--focus", help="Columns whose pairs matter most, with commas.")]
Method = Annotated[str, typer.Option("--method", help="pairs, tree, mwem, privbayes, aim, ctgan, pate-ctgan or quail.")]
Target = Annotated[str | None, typer.Option("--target", help="What the classifier of quail predicts.")]
Bins = Annotated[list[str] | None, typer.Option("--bins", help="name=number: cells of equal width for a number.")]
Open = Annotated[
    list[str] | None,
    typer.Option(
        "--open", help="A text without categories, or name=number of them at most: values of enough units are found."
    ),
]
Delta = Annotated[float | None, typer.Option("--delta", help="The delta of this release.")]
PriceOnly = Annotated[bool, typer.Option("--price", help="Say what it would cost and measure, for free.")]
Anyway = Annotated[bool, typer.Option("--anyway", help="Also when nearly every cell would be noise.")]
Request = Annotated[str | None, typer.Option("--request", help="A name to fetch the twin by later.")]
PerUnit = Annotated[int | None, typer.Option("--rows-per-unit", help="How many rows of one unit are kept.")]
First = Annotated[str | None, typer.Option("--first", help="A date or number: a unit's first rows by it are kept.")]
Last = Annotated[str | None, typer.Option("--last", help="A date or number: a unit's last rows by it are kept.")]

Never = Annotated[
    list[str] | None,
    typer.Option("--never", help="name=value,name=value: a combination that is known to be impossible; no row has it."),
]
Order = Annotated[
    list[str] | None, typer.Option("--order", help="first,second: two columns of which the first is never larger.")
]


@app.command()
def synthesize(
    data: asking.Data,
    codebook: asking.CodebookFile,
    ledger: LedgerPlace = None,
    epsilon: asking.Epsilon = None,
    rho: asking.Rho = None,
    delta: Delta = None,
    rows: Rows = None,
    out: Out = None,
    report: Report = None,
    columns: Columns = None,
    focus: Focus = None,
    method: Method = "pairs",
    target: Target = None,
    bins: Bins = None,
    open: Open = None,
    rows_per_unit: PerUnit = None,
    first: First = None,
    last: Last = None,
    never: Never = None,
    order: Order = None,
    table: asking.TableName = None,
    price: PriceOnly = False,
    anyway: Anyway = False,
    request: Request = None,
    budget_epsilon: asking.TotalEpsilon = None,
    budget_delta: asking.TotalDelta = 0.0,
    budget_rho: asking.TotalRho = None,
    tables: asking.Tables = None,
    time_limit: asking.TimeLimit = None,
    as_json: asking.Json = False,
) -> None:
    """Charge once, measure, store, and write rows. The same again costs nothing and gives the same twin."""
    if out is not None and out.suffix not in (".parquet", ".csv"):
        raise InvalidArgument(f"--out is a .parquet or .csv file, got {out.name!r}")
    if rows is not None and rows < 1:
        raise InvalidArgument(f"rows must be at least 1, got {rows}")
    rules: dict[str, Any] = {
        "never": [_combination(each) for each in never or []],
        "order": [_pair(each) for each in order or []],
    }
    source = asking.dataset(data, codebook, tables, time_limit)
    where = ledger or f"{codebook.stem}.ledger"
    if budget_epsilon is None and budget_rho is None and _is_new(where):
        budget_epsilon, budget_rho, budget_delta = epsilon, rho, budget_delta or NEW_DELTA
    session = asking.session_for(source, where, budget_epsilon, budget_delta, budget_rho)
    options: dict[str, Any] = {} if target is None else {"target": target}
    plan = session.synthesizer(
        table,
        columns=_names(columns) or "all",
        method=method,
        focus=_names(focus),
        rows=rows_per_unit,
        first=first,
        last=last,
        bins=_counts("--bins", bins),
        open=_open(open),
        **options,
    )
    terms: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "delta": delta, "anyway": anyway}
    if not plan.synthesis.opened:  # otherwise categories are known after the charge only
        PublicRules.of(plan.synthesis.attributes, **rules)
    if price:
        stated = plan.price(**terms)
        print(json.dumps(stated.to_record(), indent=2) if as_json else stated)
        return
    _write(plan, terms, request, rows=rows, rules=rules, out=out, report=report, as_json=as_json)


def _write(
    plan: Synthesizer,
    terms: dict[str, Any],
    request: str | None,
    *,
    rows: int | None,
    rules: dict[str, Any],
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    twin = plan.release(**terms, request=request)
    if out is not None:
        twin.write(out, rows=rows, **rules)
    if report is not None:
        twin.report(report)
    if as_json:
        print(json.dumps(twin.sidecar(max(round(twin.model.total), 1) if rows is None else rows), indent=2))
    else:
        print(twin.card())


def _is_new(ledger: str) -> bool:
    return not journal_at(place(ledger)).exists


def _names(words: str | None) -> list[str]:
    return [] if words is None else [word.strip() for word in words.split(",")]


def _counts(flag: str, words: list[str] | None) -> dict[str, int]:
    try:
        return {name.strip(): int(number) for name, number in (word.split("=", 1) for word in words or [])}
    except ValueError:
        raise InvalidArgument(f"{flag} is written name=number, such as age=20; got {words!r}") from None


def _combination(words: str) -> dict[str, Any]:
    """A combination of values: texts, or numbers where they are written as numbers."""
    pairs = [word.split("=", 1) for word in words.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise InvalidArgument(f"--never is written name=value,name=value, such as sex=M,pregnant=true; got {words!r}")
    return {name.strip(): _value(value.strip()) for name, value in pairs}


def _value(text: str) -> Any:
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def _pair(words: str) -> tuple[str, str]:
    names = _names(words)
    if len(names) != 2:
        raise InvalidArgument(f"--order is written first,second, such as start,end; got {words!r}")
    return names[0], names[1]


def _open(words: list[str] | None) -> dict[str, int]:
    """Names, each with how many values it may show at most: as many as a column has cells unless it says another number."""
    return _counts("--open", [word if "=" in word else f"{word}={CELLS}" for word in words or []])
