"""`deniable sql check`: read a file of questions, refuse what is outside the language, price all of it, and hold it
against a limit.

Made for continuous integration: it needs the codebook and nothing else, neither data nor a ledger. Exit codes: 0 all
is well, 1 a question is refused, 3 it differs from the file given with --against, 4 it costs more than the limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from deniable.accounting import budget
from deniable.cli.app import application
from deniable.cli.asking import wanted
from deniable.errors import InvalidArgument
from deniable.exact import loss_text
from deniable.plan.codebook import Codebook
from deniable.query import Payment
from deniable.release.dataset import Dataset
from deniable.release.session import Session
from deniable.release.session_sql import statement_prices
from deniable.server.counter import NoData

app = application("Price a file of SQL questions against a limit, without data.")

OVER, DIFFERENT = 4, 3
_PLENTY = Fraction(10**6)
_TERM = re.compile(r"^\s*--\s*(epsilon|rho|accuracy)\s*[:=]\s*(.+?)\s*$", re.IGNORECASE)


class _CodebookAlone(NoData):
    """No rows, those of public tables neither."""

    def public(self, relation: Any) -> NoReturn:
        """Refused."""
        raise InvalidArgument(
            "a stage with one group for each row of a public table cannot be priced without that table; ask EXPLAIN DP of the data"
        )


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """One statement of the file and what its comments offer for it."""

    text: str
    offer: Mapping[str, Any]


@app.command()
def check(
    plan: Annotated[Path, typer.Argument(help="Statements ended by ;, each with a comment such as -- epsilon: 0.1")],
    codebook: Annotated[Path, typer.Option("--codebook", help="The codebook (YAML).", show_default=False)],
    most: Annotated[
        list[str], typer.Option("--most", help="The limit: epsilon=0.5, and delta=1e-6 where one is needed.")
    ],
    against: Annotated[Path | None, typer.Option("--against", help="What this command printed before.")] = None,
    dialect: Annotated[str, typer.Option("--dialect", help="The SQL dialect of the file.")] = "duckdb",
) -> None:
    """Lint, price, gate and compare; nothing is asked of any data."""
    limit = wanted(most) or {}
    session = _session(codebook, limit)
    lines = list(_priced(session, questions(plan), dialect))
    amount = Fraction(str(limit[session.filters.unit]))
    total = sum((loss for _, loss in lines), Fraction(0))
    text = "\n".join([*(line for line, _ in lines), f"in all: {loss_text(session.filters.unit, total)}"])
    print(text)
    if total > amount:
        print(f"that is more than the limit, {loss_text(session.filters.unit, amount)}")
        raise typer.Exit(OVER)
    if against is not None:
        _compared(text, against)


def _session(codebook: Path, limit: Mapping[str, float]) -> Session:
    unit = next((name for name in ("epsilon", "rho") if name in limit), None)
    if unit is None or set(limit) - {unit, "delta"}:
        raise InvalidArgument(
            f"--most is written epsilon=0.5 or rho=0.1, and delta=1e-6 beside it; got {sorted(limit)}"
        )
    amounts: dict[str, Any] = {unit: _PLENTY, "delta": limit.get("delta", 0)}
    whole = budget(**amounts)
    return Dataset(_CodebookAlone(), codebook=Codebook.load(codebook)).session(whole)


def questions(plan: Path) -> list[WrittenQuestion]:
    """The statements of a file, each with the offer its comment lines make."""
    try:
        text = plan.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"no questions can be read at {str(plan)!r}; give a file of SQL") from None
    found = [each for each in map(_written, _parts(text)) if each.text]
    if not found:
        raise InvalidArgument(f"{str(plan)!r} holds no question; write SELECT ... ended by ;")
    return found


def _parts(text: str) -> Iterator[str]:
    """What stands between semicolons outside of quotes and comments."""
    part, quote, comment = "", "", False
    for letter in text:
        if comment:
            comment = letter != "\n"
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif part.endswith("-") and letter == "-":
            comment = True
        elif letter == ";":
            yield part
            part = ""
            continue
        part += letter
    yield part


def _written(part: str) -> WrittenQuestion:
    offer: dict[str, Any] = {}
    for line in part.splitlines():
        term = _TERM.match(line)
        if term is not None:
            name, value = term[1].lower(), term[2]
            offer[name] = wanted(value.split(",")) if name == "accuracy" else _number(value, line)
    body = "\n".join(line for line in part.splitlines() if not line.strip().startswith("--")).strip()
    if body and not offer:
        raise InvalidArgument(f"say what {body[:60]!r} may cost: a line -- epsilon: 0.1 or -- accuracy: n=10 before it")
    return WrittenQuestion(body, offer)


def _number(value: str, line: str) -> Fraction:
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise InvalidArgument(f"expected a number in {line.strip()!r}") from None


def _priced(session: Session, asked: list[WrittenQuestion], dialect: str) -> Iterator[tuple[str, Fraction]]:
    for number, each in enumerate(asked, start=1):
        prices = statement_prices(session, each.text, dialect=dialect, payment=Payment.read(**each.offer))
        loss, leaked = (sum((getattr(price.pair, part) for price in prices), Fraction(0)) for part in ("loss", "delta"))
        stages = f" in {len(prices)} stages" if len(prices) > 1 else ""
        told = "; ".join(
            f"{', '.join(f'{name} {error}' for name, error in price.errors.items())}; {price.keys}" for price in prices
        )
        shown = " ".join(each.text.split())
        yield f"{number}. {loss_text(prices[0].pair.unit, loss, leaked)}{stages}; {told}\n   {shown}", loss


def _compared(text: str, against: Path) -> None:
    try:
        before = against.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument(f"nothing can be read at {str(against)!r}; keep what this command prints there") from None
    difference = list(unified_diff(before, text.splitlines(), str(against), "now", lineterm=""))
    if difference:
        print("\n".join(difference))
        raise typer.Exit(DIFFERENT)
