"""What `query` and `price` share: options, and turning words into a question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.accounting import budget
from deniable.cli.data_words import sources
from deniable.cli.locations import place, table_places
from deniable.errors import InvalidArgument
from deniable.plan.codebook import Codebook
from deniable.query import Query
from deniable.query.aggregates import COMMANDS, Aggregate, CommandForm
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session

Data = Annotated[
    str,
    typer.Argument(
        help="A Parquet or CSV file (.gz too), several (a.csv,b.csv or 'part-*.parquet'), name=file for each table, "
        "a postgresql:// URL, or env:NAME for a URL in an environment variable.",
        show_default=False,
    ),
]
Tables = Annotated[
    str | None,
    typer.Option(
        "--tables", help="Where a database keeps the tables: sales.orders,... or orders=sales.orders_2024,..."
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", help="Seconds a statement may take, an hour if not given.")
]
CodebookFile = Annotated[Path, typer.Option("--codebook", help="Its codebook (YAML).", show_default=False)]
LedgerPlace = Annotated[
    str,
    typer.Option(
        "--ledger", help="The file or postgresql:// URL (or env:NAME) that keeps its budget.", show_default=False
    ),
]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="What this query may cost, such as 0.1.")]
Rho = Annotated[float | None, typer.Option("--rho", help="The same in zero-concentrated privacy, for a budget in rho.")]
Wanted = Annotated[
    list[str] | None,
    typer.Option("--accuracy", help="A wanted error, name=number or name=5%; the price that reaches it is found."),
]
Confidence = Annotated[float, typer.Option("--confidence", help="How sure the errors are: 0.95 is 95 times in 100.")]
GroupSize = Annotated[
    int, typer.Option("--group-size", help="How many rows a group has for which errors of means are forecast.")
]
Account = Annotated[str, typer.Option("--account", help="Who asks: the analyst the ledger notes and whose caps apply.")]
Output = Annotated[
    Path | None, typer.Option("--output", help="Write the answer to a .csv, .parquet or .json file besides.")
]
Where = Annotated[str | None, typer.Option("--where", help="Only rows on which this is true.")]
By = Annotated[list[str] | None, typer.Option("--by", help="A group key: a column, or name=expression.")]
Agg = Annotated[
    list[str], typer.Option("--agg", help="name=count(), name=mean(column), name=quantile(column, 0.9), ...")
]
TotalEpsilon = Annotated[
    float | None,
    typer.Option("--budget-epsilon", help="The whole budget, when the ledger is new or amended; 1 is usual."),
]
TotalDelta = Annotated[float, typer.Option("--budget-delta", help="Its delta, such as 1e-7: for keys nobody declared.")]
TotalRho = Annotated[float | None, typer.Option("--budget-rho", help="The whole budget in rho.")]
TableName = Annotated[str | None, typer.Option("--table", help="Which table of the codebook.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def dataset(data: str, codebook: Path, tables: str | None, time_limit: float | None) -> Dataset:
    """The file or database these words name, behind its codebook."""
    book = Codebook.load(codebook)
    return Dataset(sources(data, book), codebook=book, tables=table_places(tables), time_limit=time_limit)


def session_for(
    data: Dataset, ledger: str, epsilon: float | None, delta: float, rho: float | None, account: str = "analyst"
) -> Session:
    """The session on a data set, under its ledger; a new ledger needs a budget, an old one has its own, and its caps."""
    from deniable.ledger import Ledger, journal_at

    where = place(ledger)
    known = Ledger.existing(where).terms if journal_at(where).exists else None
    if epsilon is not None or rho is not None:
        whole = budget(epsilon=epsilon, delta=delta, rho=rho)
    elif known is not None:
        whole = known.budget
        if delta:
            raise InvalidArgument(
                f"the ledger has a budget already, {whole}; a curator changes it: "
                f"deniable ledger amend {ledger} --budget-delta {delta:g} --reason ..."
            )
    else:
        raise InvalidArgument(
            "a new ledger needs its whole budget: --budget-epsilon 1 --budget-delta 1e-7, or --budget-rho"
        )
    limits: dict[str, Any] = {} if known is None else {"period": known.period, "caps": known.caps}
    return data.session(whole, ledger=where, account=account, **limits)


def question(
    session: Session, table: str | None, where: str | None, by: Sequence[str], agg: Sequence[str]
) -> Query[Release]:
    """The query these words describe."""
    query = session.query(table)
    if where is not None:
        query = query.where(where)
    plain = [key for key in by if "=" not in key]
    for key in plain:
        _check_one_key(key)
    named: dict[str, Any] = dict(key.split("=", 1) for key in by if "=" in key)
    if by:
        query = query.group_by(*plain, **named)
    return query.agg(**dict(aggregate(word) for word in agg))


def _check_one_key(key: str) -> None:
    """Refuse several keys in one word."""
    parts = [part.strip() for part in key.split(",")]
    if len(parts) > 1 and all(re.fullmatch(r"\w[\w ]*", part) for part in parts):
        raise InvalidArgument(f"each key has a --by of its own: {' '.join(f'--by {part!r}' for part in parts)}")


def aggregate(word: str) -> tuple[str, Aggregate]:
    """`name=function(arguments)` as an aggregate."""
    found = re.fullmatch(r"\s*(\w+)\s*=\s*(\w+)\s*\((.*)\)\s*", word)
    if found is None:
        raise InvalidArgument(
            f"an aggregate is written name=function(column), such as avg=mean(duration); got {word!r}"
        )
    name, function, inside = found.groups()
    if re.search(r"\)\s*,\s*\w+\s*=", inside):
        raise InvalidArgument(f"each answer has an --agg of its own: --agg n=count() --agg avg=mean(x); got {word!r}")
    every_row = function == "count" and inside.strip() == "*"  # as SQL writes it
    return name, _called(function, "" if every_row else inside.strip(), word)


def _called(function: str, inside: str, word: str) -> Aggregate:
    form = COMMANDS.get(function)
    if form is None:
        raise InvalidArgument(f"{function!r} is not an aggregate; known are {', '.join(COMMANDS)}")
    words = [part.strip() for part in inside.split(",")] if inside else []
    if form.number is not None:
        return _with_number(function, form, ", ".join(words[:-1]), words[-1] if words else "", word)
    fewest, most = form.columns
    columns = [inside] if most == 1 and words else words
    if not fewest <= len(columns) <= most:
        raise InvalidArgument(f"{word!r} has the wrong number of columns for {function}")
    return form.make(*columns)


def _with_number(function: str, form: CommandForm, column: str, number: str, word: str) -> Aggregate:
    if not column:
        raise InvalidArgument(
            f"{function} needs a column and a number, such as {function}(duration, 0.9); got {word!r}"
        )
    assert form.number is not None
    try:
        value = form.number(number)
    except ValueError:
        raise InvalidArgument(f"{function} needs a number after the column, got {number!r}") from None
    return form.make(column, value)


def wanted(words: Sequence[str] | None) -> dict[str, float] | None:
    """`name=number` words as wanted errors."""
    if not words:
        return None
    try:
        return {name.strip(): float(number) for name, number in (word.split("=", 1) for word in words)}
    except ValueError:
        raise InvalidArgument(f"a wanted error is written name=number, such as avg=2.0; got {list(words)!r}") from None


def wanted_or_shares(words: Sequence[str] | None) -> dict[str, float | str] | None:
    """The same with shares among them, `name=5%`."""
    shares = [word for word in words or () if word.rstrip().endswith("%") and "=" in word]
    numbers = wanted([word for word in words or () if word not in shares])
    named = {name.strip(): share.strip() for name, share in (word.split("=", 1) for word in shares)}
    return {**(numbers or {}), **named} or None


def terms(
    epsilon: float | None, rho: float | None, accuracy: Sequence[str] | None, confidence: float, group_size: int
) -> dict[str, Any]:
    """What the analyst offers to pay, as a query's keyword arguments."""
    stated = {"confidence": Fraction(str(confidence)), "group_size": group_size}
    return {"epsilon": epsilon, "rho": rho, "accuracy": wanted_or_shares(accuracy), **stated}


def payment(
    epsilon: float | None, rho: float | None, accuracy: Sequence[str] | None, confidence: float, group_size: int
) -> dict[str, Any]:
    """What the analyst offers to pay, where the question itself cannot say it."""
    if epsilon is None and rho is None and not accuracy:
        raise InvalidArgument("say what it may cost: --epsilon 0.1 or --rho 0.01, or the wanted error: --accuracy n=5%")
    return terms(epsilon, rho, accuracy, confidence, group_size)
