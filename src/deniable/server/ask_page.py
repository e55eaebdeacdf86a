"""The page to ask: the price, the error by what is paid, and what an answer would look like, drawn on made-up rows.

Nothing private is in any of it. Prices come from public facts, made-up rows from the codebook alone, and the dots from the law
of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import copysign
from typing import Any

from deniable.errors import DeniableError
from deniable.exact import number_of
from deniable.release.text import cells
from deniable.server.counter import DOTS, Counter, Offer
from deniable.server.views import price_view
from deniable.svg import Figure, Line, Points, ReferenceLine, plot

_WIDTH, _HEIGHT = 420, 300
_MOST_ROWS = 20
"""Rows of the made-up answer that the page's table shows."""


def ask_view(counter: Counter, fields: Mapping[str, str], paid: Mapping[str, float] | None) -> dict[str, Any]:
    """Everything the page shows; without an offer only the form."""
    told: dict[str, Any] = {
        "name": counter.data.name,
        "book": counter.data.codebook,
        "unit": counter.ledger.terms.main.filters.unit,
        "fields": {"sql": "", "amount": "", "purpose": "", **fields},
        "error": "",
        "price": None,
    }
    if paid is None:
        return told
    offer = counter.offer(fields["sql"], dialect="duckdb", payment=paid)
    return told | {
        "confidence": f"{100 * float(offer.price.confidence):g} %",
        "price": price_view(offer),
        "curve": _curve(counter, offer),
        "dots": _dots(counter, offer),
        "sample": _sample(counter, offer),
    }


def _curve(counter: Counter, offer: Offer) -> dict[str, Any]:
    """The error against what is paid, as a drawing and as numbers."""
    points, unit = counter.curve(offer), counter.ledger.terms.main.filters.unit
    line = Line([x for x, _ in points], [y for _, y in points], label="error, at most")
    here = ReferenceLine(x=points[len(points) // 2][0], label="this offer")
    drawn = plot(line, here, x_label=unit, y_label="error", width=_WIDTH, height=_HEIGHT)
    return {"points": points, "drawing": drawn}


def _dots(counter: Counter, offer: Offer) -> dict[str, Any]:
    """How far the first output may lie from the truth: twenty outcomes that are equally likely, stacked where they are close."""
    name, measure, values = counter.dots(offer)
    if not values:
        return {"output": name, "off": [], "drawing": None}
    width = (values[-1] or 1.0) / 6.5
    stacks: dict[float, int] = {}
    places = []
    for value in values:
        place = copysign((int(abs(value) / width) + 0.5) * width, value)
        stacks[place] = stacks.get(place, 0) + 1
        places.append((place, stacks[place]))
    marks = Points([x for x, _ in places], [y for _, y in places]), ReferenceLine(x=0, label="the truth")
    tallest = max(stacks.values())
    drawn = plot(
        *marks,
        x_label=f"released {name} less the true one{f', {measure}' if measure else ''}",
        y_label=f"of {DOTS} releases",
        y_limits=(0, tallest + 1),
        width=_WIDTH,
        height=_HEIGHT,
    )
    return {"output": name, "off": values, "drawing": drawn}


def _sample(counter: Counter, offer: Offer) -> dict[str, Any] | None:
    """What an answer would look like: the first output on made-up rows, with error bars; None where nothing can be drawn."""
    try:
        release = counter.rehearsed(offer)
        drawing: Figure = release.plot(title="", size=(_WIDTH, _HEIGHT))
    except DeniableError:
        return None
    heads, rows = cells(release)
    more = len(rows) - _MOST_ROWS
    note = f"and {number_of(more, 'more row')}" if more > 0 else ""
    return {"columns": heads, "rows": rows[:_MOST_ROWS], "drawing": drawing, "note": note}
