"""Everything that was released from a ledger as one page (HTML): questions, prices, answers with errors, pictures.

Guarantee: it is made of stored releases alone; nothing is drawn, charged or read from the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from deniable.errors import InvalidArgument
from deniable.exact import number_of
from deniable.exact.figures import value_figures
from deniable.ledger import Ledger, history
from deniable.release.answer import Release
from deniable.release.stored_answers import stored_answer
from deniable.release.text import NO_GROUPS, cell, keys_in_words

STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--quiet:#777}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1.2rem;overflow-wrap:anywhere}
h1{margin-bottom:.2rem}h3{margin:2rem 0 .2rem;font-size:1.05rem}
h2{margin:2.6rem 0 .4rem;border-top:1px solid var(--line);padding-top:1.4rem;font-size:1.25rem}
p{margin:.5rem 0}.quiet{color:var(--quiet);font-size:.9rem}
.wide{overflow-x:auto;max-width:100%}.wide table{overflow-wrap:normal}
.wide td:not(:first-child){white-space:nowrap}.wide .deniable-release-table td{white-space:normal}
table{border-collapse:collapse;margin:.8rem 0;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .8rem;border-bottom:1px solid var(--line);text-align:right;font-weight:normal}
th{font-weight:600}td:first-child,th:first-child{text-align:left;padding-left:0}
tbody tr:hover{background:var(--soft)}td.truth{color:var(--quiet)}
.deniable-release-table td,.deniable-release-table th{text-align:left;vertical-align:top;overflow-wrap:anywhere}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:1rem}
.plots svg{width:100%;max-width:32rem;height:auto}
.left{display:inline-block;background:var(--soft);border-radius:.4rem;padding:.2rem .6rem}
pre{white-space:pre-wrap;background:var(--soft);padding:.6rem;border-radius:.4rem}
details{margin:.8rem 0}summary{cursor:pointer}
"""
PICTURE = (350, 260)
"""Width and height of a picture on the page: a phone's width, so that its labels are not made smaller than they were drawn."""
_MOST = 50
"""Rows of one answer the page shows; the rest are counted."""


@dataclass(frozen=True, slots=True)
class ReportedRelease:
    """One release: what was asked, by whom, when, at what price, and the answer as it was stored."""

    question: str
    account: str
    at: str
    price: str
    answer: Any


def reported(ledger: Ledger, *, account: str | None = None) -> tuple[ReportedRelease, ...]:
    """What was released from a ledger, the oldest first; of one analyst if an `account` is given."""
    return tuple(_reported(ledger, account))


def _reported(ledger: Ledger, account: str | None) -> Iterator[ReportedRelease]:
    for entry, charge in zip(history(ledger), ledger.charges(), strict=True):
        who = next(((a, r) for a, r in charge.releases if account in (None, a)), None)
        if who is None:
            continue
        found = ledger.fetch(who[1], account=who[0])
        try:
            answer = stored_answer(found)
        except InvalidArgument:  # bytes of somebody's own, which only they can read
            answer = f"{number_of(len(found.payload), 'byte')} that deniable did not write"
        yield ReportedRelease(entry.question or "not stated", who[0], entry.at, entry.price, answer)


def report_page(ledger: Ledger, *, account: str | None = None) -> str:
    """The page of a ledger's releases, readable on a phone and on paper; it asks nothing of the network."""
    terms, parts = ledger.terms, reported(ledger, account=account)
    budget = " ".join(str(terms.budget).split())
    left = ledger.balances(account=account or "analyst")[0].left
    sections = "".join(_section(number, part) for number, part in enumerate(parts, start=1))
    return _page(
        f"Private releases from {terms.dataset}",
        f"<p>{len(parts)} {'release' if len(parts) == 1 else 'releases'}. Protected: {escape(terms.unit)}. "
        f"Budget: {escape(budget)}; left: {escape(left.shown(downwards=True))}.</p>"
        '<p class="quiet">Every number is noisy and stands with its error. Made from stored answers: nothing was drawn again, '
        f"charged or read from the data.</p>{sections or '<p>Nothing was released yet.</p>'}",
    )


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width, initial-scale=1"><title>{escape(title)}</title><style>{STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>\n"
    )


def _section(number: int, part: ReportedRelease) -> str:
    from deniable.release.workload import WorkloadRelease  # a report of tables needs none

    told = f"{part.at[:16].replace('T', ' ')} UTC, {part.account}, {part.price}"
    if isinstance(part.answer, WorkloadRelease):
        body = "".join(f"<h3>{escape(name)}</h3>{_table_part(answer)}" for name, answer in part.answer.answers.items())
    else:
        body = _table_part(part.answer) if isinstance(part.answer, Release) else _other_part(part.answer)
    return f'<section><h2>{number}. {escape(part.question)}</h2><p class="quiet">{escape(told)}</p>{body}</section>'


def _table_part(release: Release) -> str:
    notes = "".join(f'<p class="quiet">{escape(note)}</p>' for note in release.notes)
    return (
        f'<div class="wide">{answer_table(release)}</div><p>{escape(release.guarantee)}</p>{notes}'
        f'<div class="plots">{"".join(_pictures(release))}</div>{"".join(_bin_tables(release))}'
        f'<details><summary>Release table</summary><div class="wide">{release.release_table().html()}</div></details>'
    )


def _other_part(answer: Any) -> str:
    return f"<pre>{escape(str(answer))}</pre>"


def _pictures(release: Release) -> Iterator[str]:
    """A picture for every column that has one, of answers with several groups or bins."""
    for name in release.columns if len(release.groups) > 1 else _binned(release):
        try:
            yield release.plot(name, size=PICTURE).svg
        except InvalidArgument:  # texts and lists have no bars
            continue


def _binned(release: Release) -> list[str]:
    """Histograms of an answer without groups: each is a picture and a table of its own, no cell of ten numbers."""
    return (
        []
        if len(release.groups) > 1
        else [
            name for name, column in release.columns.items() if column.kind == "histogram" and column.lower is not None
        ]
    )


def _bin_tables(release: Release) -> Iterator[str]:
    """The bins of each histogram with their errors, to open below its picture."""
    for name in _binned(release):
        rows = "".join(
            f"<tr><td>{escape(row[f'{name}_bin'])}</td>"
            f"<td>{escape(value_figures(row[name], row[f'{name}_low'], row[f'{name}_high']))}</td></tr>"
            for row in release.bins(name)
        )
        yield (
            f"<details><summary>{escape(name)} as a table</summary><table><thead><tr><th>bin</th><th>{escape(name)}</th></tr>"
            f"</thead><tbody>{rows}</tbody></table></details>"
        )


def answer_table(release: Release) -> str:
    """The values of a release with their errors, as an HTML table."""
    columns = [column for name, column in release.columns.items() if name not in _binned(release)]
    if not columns and not release.keys:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in (*release.keys, *(column.name for column in columns)))
    rows = []
    for index, keys in enumerate(keys_in_words(release, most=_MOST)):
        cells = [*keys, *(cell(column, index) for column in columns)]
        rows.append("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in cells) + "</tr>")
    more = len(release.groups) - _MOST
    rest = f"""<p class="quiet">and {number_of(more, "more group")}</p>""" if more > 0 else ""
    rest += "" if rows else f'<p class="quiet">{NO_GROUPS}</p>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"
