"""What is shown of prices, requests, budgets and releases: plain records for REST and for the pages."""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

from deniable.errors import DeniableError
from deniable.exact.figures import digits, places
from deniable.ledger import Application, Progress
from deniable.query import AnswerColumn, Price
from deniable.query.sql import StagedStatement
from deniable.release.answer import Release
from deniable.release.staged import StagedRelease
from deniable.release.text import cell, cells
from deniable.release.workload import WorkloadRelease
from deniable.server.access import readable_answer, visible_requests
from deniable.server.counter import Counter, Offer
from deniable.server.settings import Person
from deniable.server.workloads import is_workload
from deniable.svg import Figure

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell that begins so, after blanks as well, is read as a formula by spreadsheets; the last four in wide letters."""


def price_view(offer: Offer) -> dict[str, Any]:
    """A price: what it costs, how wrong each output may be, and how many more like it fit."""
    price = offer.price
    return {
        "unit": price.pair.unit,
        "loss": float(price.pair.loss),
        "delta": float(price.pair.delta),
        "amount": str(offer.amount),
        "errors": _errors(price),
        "stages": _stages(offer),
        "confidence": float(price.confidence),
        "noise": price.reason,
        "keys": price.keys,
        "threshold": price.threshold,
        "more_like_this": offer.more,
    }


def _errors(price: Price) -> dict[str, Any]:
    return {name: {"within": error.within, "measure": error.measure} for name, error in price.errors.items()}


def _stages(offer: Offer) -> list[dict[str, Any]]:
    """What each stage costs and how wrong it may be, in the order they are released; none where one release answers."""
    prices = offer.priced.prices
    if len(prices) == 1 and not isinstance(offer.question.asked, StagedStatement):
        return []
    return [
        {"stage": name, "loss": float(each.pair.loss), "delta": float(each.pair.delta)}
        | {"amount": digits(each.pair.loss), "errors": _errors(each)}
        for name, each in prices.items()
    ]


def request_view(known: Application) -> dict[str, Any]:
    """A request and how far it has come; never anything of its answer."""
    grant = known.grant
    return {
        "account": known.account,
        "request": known.request,
        "sql": known.body["text"],
        "dialect": known.body["dialect"],
        "purpose": known.body["purpose"],
        "asked_at": known.body["at"],
        "price": str(known.asked),
        "state": known.progress.value,
        "granted": None if known.limit is None else str(known.limit),
        "granted_by": None if grant is None else grant["by"],
        "expires": None if grant is None else grant["expires"],
        "reason": known.reason,
        "readers": list(known.readers),
    }


def budget_amounts(counter: Counter) -> dict[str, Any]:
    """What is spent, granted and pending, exactly; of what is spent, who spent it and in which month."""
    desk, unit = counter.ledger.desk, counter.ledger.terms.unit
    known = desk.all()
    granted = [each.limit.loss for each in known if each.progress is Progress.APPROVED and each.limit]
    by_analyst: dict[str, Fraction] = {}
    by_period: dict[str, Fraction] = {}
    for charge in counter.ledger.charges():
        account, month = str(charge.body["account"]), str(charge.body["at"])[:7]
        spent = Fraction(desk.price(charge.costs[unit]).loss)
        by_analyst[account] = by_analyst.get(account, Fraction(0)) + spent
        by_period[month] = by_period.get(month, Fraction(0)) + spent
    return {
        "spent": Fraction(counter.ledger.balances()[0].spent.loss),
        "pending": sum((each.asked.loss for each in known if each.progress is Progress.PENDING), Fraction(0)),
        "granted": sum(granted, Fraction(0)),
        "by_analyst": by_analyst,
        "by_period": by_period,
    }


def budget_view(counter: Counter) -> dict[str, Any]:
    """Where the budget stands: total, spent, left, and what is asked for and granted but not spent."""
    balance, amounts = counter.ledger.balances()[0], budget_amounts(counter)
    return {
        "unit": balance.left.unit or balance.rule.unit,
        "whole": str(balance.cap.filters.whole),
        "total": float(balance.cap.filters.whole.loss),
        "left": float(balance.left.loss),
        "left_in_words": balance.left.shown(downwards=True),
        "rule": balance.rule.name,
        **{name: float(amounts[name]) for name in ("spent", "pending", "granted")},
        **{name: {who: float(each) for who, each in amounts[name].items()} for name in ("by_analyst", "by_period")},
    }


def last_release(person: Person, counter: Counter, known: Application, release: Release) -> dict[str, Any] | None:
    """How an answer differs from the last one to the same question that this person may read, group by group; or None."""
    text = known.body["text"].split()
    for each in reversed(visible_requests(person, counter)):
        if each.count >= known.count or is_workload(each) or each.body["text"].split() != text:
            continue
        with suppress(DeniableError):
            readable_answer(person, counter, each.account, each.request)
            return {"request": each.request, **_changes(release, counter.release(each, reader=person.name))}
    return None


def _changes(now: Release, before: Release) -> dict[str, Any]:
    """Every output of both, now, then and the difference, by group; a group of one alone has dashes."""
    old = {group: index for index, group in enumerate(map(tuple, before.groups))}
    names = [name for name in now.columns if name in before.columns]
    heads = [*now.keys, *(f"{name}, {word}" for name in names for word in ("now", "then", "change"))]
    rows = []
    for index, group in enumerate(map(tuple, now.groups)):
        row: list[Any] = list(group)
        for name in names:
            new = now.columns[name].values[index]
            last = before.columns[name].values[old[group]] if group in old else None
            numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (new, last))
            then = cell(before.columns[name], old[group]) if group in old else "–"
            row += [
                cell(now.columns[name], index),
                then,
                _difference(now.columns[name], index, last) if last is not None and numbers else "–",
            ]
        rows.append(row)
    return {"columns": heads, "rows": rows}


def _difference(column: AnswerColumn, index: int, last: Any) -> str:
    """How far a value is from an earlier one, with as many digits as its error leaves."""
    change = column.values[index] - last
    if column.lower is None or column.upper is None or isinstance(change, int):
        return f"{change:+,.6g}"
    kept = max(0, places(Fraction(column.upper[index]) / 2 - Fraction(column.lower[index]) / 2))
    return f"{change:+,.{kept}f}"


def release_view(release: Release) -> dict[str, Any]:
    """A release as JSON: what the client builds the same object from."""
    found: dict[str, Any] = json.loads(release.to_json())
    return found


def answers_view(person: Person, counter: Counter, known: Application) -> list[dict[str, Any]]:
    """What this person may read of a request's answers, each with its question's name, drawing, columns and stages."""
    if known.progress not in (Progress.RELEASED, Progress.PUBLISHED):
        return []
    try:
        readable_answer(person, counter, known.account, known.request)
        if is_workload(known):
            found = dict(counter.workload_release(known, reader=person.name).answers)
        else:
            found = {"": counter.release(known, reader=person.name)}
    except DeniableError:
        return []
    return [_answer(name, release) for name, release in found.items()]


def _answer(name: str, release: Release) -> dict[str, Any]:
    stages = release.stages if isinstance(release, StagedRelease) else {}
    return {
        "name": name,
        "release": release,
        "table": cells(release),
        "drawing": _drawn(release),
        "stages": {stage: cells(each) for stage, each in stages.items()},
    }


def _drawn(release: Release) -> Figure | None:
    try:
        drawing: Figure = release.plot()
    except DeniableError:
        return None
    return drawing


def workload_view(found: WorkloadRelease) -> dict[str, Any]:
    """The answers of a workload by name, each as JSON."""
    return {"answers": {name: release_view(answer) for name, answer in found.answers.items()}}


def release_csv(release: Release) -> str:
    """The table of a release as CSV; no cell can be read as a formula."""
    columns = release.to_columns()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([csv_cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([csv_cell(cell) for cell in row])
    return text.getvalue()


def csv_cell(cell: Any) -> Any:
    """Numbers as they are; text that a spreadsheet would run gets a quote before it."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return cell
    text = "" if cell is None else str(cell)
    return f"'{text}" if text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA) else text
