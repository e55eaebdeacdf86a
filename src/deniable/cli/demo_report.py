"""The demonstration's report: one HTML page with every answer beside the truth, its plots and its release table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from deniable.release.answer import Release
from deniable.release.text import cell, keys_of, number

Truth = Mapping[tuple[Any, ...], Mapping[str, float]]
"""What the script that made the data up knows: group to column to true value."""

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--quiet:#777}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1.2rem}
h1{margin-bottom:.2rem}h2{margin:2.6rem 0 .4rem;border-top:1px solid var(--line);padding-top:1.4rem}
p{margin:.5rem 0}.quiet{color:var(--quiet);font-size:.9rem}
table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .8rem;border-bottom:1px solid var(--line);text-align:right;font-weight:normal}
th{font-weight:600}td:first-child,th:first-child{text-align:left;padding-left:0}
tbody tr:hover{background:var(--soft)}td.truth{color:var(--quiet)}
.deniable-release-table td,.deniable-release-table th{text-align:left;vertical-align:top}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(24rem,1fr));gap:1rem}.plots svg{width:100%;height:auto}
.left{display:inline-block;background:var(--soft);border-radius:.4rem;padding:.2rem .6rem}
details{margin:.8rem 0}summary{cursor:pointer}
"""

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
        f"<title>deniable demo</title><style>{_STYLE}</style><h1>deniable demo</h1>"
        "<p>Made-up hospital visits and browser logs, asked under durable budgets. Every answer is noisy and carries its error; "
        "the true values beside them come from the script that made the data up. The library itself has no way to show them.</p>"
        f"{body}</html>\n"
    )


def _section(index: int, count: int, part: Part) -> str:
    release = part.release
    plots = "".join(release.plot(name).svg for name, column in release.columns.items() if column.kind != "histogram")
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in release.notes)
    return (
        f"<section><h2>{index} of {count}. {escape(part.title)}</h2>{_table(part)}"
        f'<p>{escape(release.guarantee)}</p>{notes}<p class="left">left: {escape(part.left)}</p>'
        f'<div class="plots">{plots}</div>'
        f"<details open><summary>Release table</summary>{release.release_table().html()}</details></section>"
    )


def _table(part: Part) -> str:
    release = part.release
    heads = [*release.keys, *(head for name in release.columns for head in (name, "truth"))]
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    rows = [_row(part, index, group) for index, group in enumerate(release.groups[:_MOST])]
    more = len(release.groups) - _MOST
    rest = f'<p class="quiet">and {more} more groups</p>' if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"


def _row(part: Part, index: int, group: tuple[Any, ...]) -> str:
    cells = [f"<td>{escape(key)}</td>" for key in keys_of(part.release, index, group)]
    for name, column in part.release.columns.items():
        true = part.truth.get(group, {}).get(name)
        cells.append(f"<td>{escape(cell(column, index))}</td>")
        cells.append(f'<td class="truth">{"" if true is None else escape(number(true))}</td>')
    return f"<tr>{''.join(cells)}</tr>"
