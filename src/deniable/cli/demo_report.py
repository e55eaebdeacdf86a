"""The demonstration's report: one HTML page with every answer beside the truth, its plots and its release table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from deniable.release.answer import Release
from deniable.release.report import PICTURE, STYLE
from deniable.release.text import cell, keys_of, number

Truth = Mapping[tuple[Any, ...], Mapping[str, float]]
"""What the script that made the data up knows: group to column to true value."""

_MOST = 25
"""Rows of an answer the page shows; the largest come with the plots."""


@dataclass(frozen=True, slots=True)
class Part:
    """One question, what was released, what is true, and what is left of the budget afterwards."""

    title: str
    release: Release
    truth: Truth
    left: str


def page(parts: Sequence[Part]) -> str:
    """The whole report."""
    body = "".join(_section(index, len(parts), part) for index, part in enumerate(parts, start=1))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>deniable demo</title><style>{STYLE}</style><h1>deniable demo</h1>"
        "<p>Made-up hospital visits and browser logs, asked under durable budgets. Every answer is noisy and carries its error; "
        "the true values beside them come from the script that made the data up. The library itself has no way to show them.</p>"
        f"{body}</html>\n"
    )


def _section(index: int, count: int, part: Part) -> str:
    release = part.release
    plots = "".join(
        release.plot(name, size=PICTURE).svg for name, column in release.columns.items() if column.kind != "histogram"
    )
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in release.notes)
    return (
        f"<section><h2>{index} of {count}. {escape(part.title)}</h2>{_table(part)}"
        f'<p>{escape(release.guarantee)}</p>{notes}<p class="left">left: {escape(part.left)}</p>'
        f'<div class="plots">{plots}</div>'
        f'<details open><summary>Release table</summary><div class="wide">{release.release_table().html()}</div></details>'
        "</section>"
    )


def _table(part: Part) -> str:
    release = part.release
    heads = [*release.keys, *(head for name in release.columns for head in (name, "truth"))]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rows = [_row(part, index, group) for index, group in enumerate(release.groups[:_MOST])]
    more = len(release.groups) - _MOST
    rest = f'<p class="quiet">and {more} more groups</p>' if more > 0 else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>{rest}'


def _row(part: Part, index: int, group: tuple[Any, ...]) -> str:
    cells = [f"<td>{escape(key)}</td>" for key in keys_of(part.release, index, group)]
    for name, column in part.release.columns.items():
        true = part.truth.get(group, {}).get(name)
        cells.append(f"<td>{escape(cell(column, index))}</td>")
        cells.append(f'<td class="truth">{"" if true is None else escape(number(true))}</td>')
    return f"<tr>{''.join(cells)}</tr>"
