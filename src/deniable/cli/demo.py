"""`deniable demo`: the main job on made-up data: hospital visits and browser logs, asked under durable budgets.

The truth beside the answers is computed by this script from the data it made up; the library itself has no way to show it.
The report is one HTML page with every answer beside the truth, its plots and its release table; another shows made-up rows that
were drawn from a few noisy tables, beside those tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.accounting import budget
from deniable.cli import demo_data
from deniable.cli.app import application
from deniable.engines.parquet import write_arrays
from deniable.exact import number_of
from deniable.ledger.anchor import FolderAnchor
from deniable.query import Query
from deniable.query import aggregates as ask
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.report import PICTURE, STYLE
from deniable.release.session import Session
from deniable.release.text import cell, keys_in_words, number

app = application("Ask made-up hospital visits and browser logs, and write a report.")

Folder = Annotated[
    Path | None, typer.Option(help="Where to write data, ledgers and report; a new folder unless given.")
]
QUESTIONS = 4
"""Progress counts questions, which are public; never rows, bytes or time."""
Truth = Mapping[tuple[Any, ...], Mapping[str, float]]
"""What the script that made the data up knows: group to column to true value."""
_MOST = 25
"""Rows of an answer the page shows; the largest come with the plots."""


@app.command()
def demo(folder: Folder = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Make data up, ask it privately, show answers with error bars beside the truth, and write a report."""
    place = _place(folder)
    say: Any = (lambda *_: None) if as_json else print
    say(f"Everything is written to {place}\n")
    parts = [*_visits(place, say), *_logs(place, say)]
    report = place / "report.html"
    report.write_text(page(parts), encoding="utf-8")
    twin = _twin(place, say)
    if as_json:
        answers = [_record(part) for part in parts]
        print(json.dumps({"folder": str(place), "report": str(report), "twin": str(twin), "answers": answers}))
    say(f"The report with plots and release tables: {report}\nSynthetic visits beside what was released: {twin}")


def _record(part: Part) -> dict[str, Any]:
    truth = [{"group": [str(key) for key in group], **values} for group, values in part.truth.items()]
    return {"title": part.title, **json.loads(part.release.to_json()), "truth": truth, "left": part.left}


def _place(folder: Path | None) -> Path:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="deniable-demo-"))


def _open(place: Path, name: str, columns: dict[str, Any], codebook: str) -> Dataset:
    write_arrays(columns, place / f"{name}.parquet")
    (place / f"{name}.yaml").write_text(codebook, encoding="utf-8")
    return Dataset(place / f"{name}.parquet", codebook=place / f"{name}.yaml")


def _visits(place: Path, say: Any) -> list[Part]:
    made_up = demo_data.visits()
    visits = _open(place, "visits", made_up, demo_data.VISITS_CODEBOOK)
    session = visits.session(
        budget(epsilon=2, delta=1e-7), ledger=_fresh(place / "visits.ledger"), anchor=FolderAnchor(place / "anchor")
    )
    say(f"{visits}\nbudget: {session.remaining}\n")
    kept = {name: column[made_up["duration"] > 0] for name, column in made_up.items()}
    by_specialty = session.query().where("duration > 0").group_by("specialty")
    counts = by_specialty.agg(n=ask.count(), patients=ask.count_distinct())
    lengths = by_specialty.bound(groups=3, rows=3).agg(avg=ask.mean("duration"), median=ask.median("duration"))
    months = session.query().group_by(month="date_trunc('month', day)").agg(n=ask.count())
    say(f"What would the first question cost? Asking is free:\n{counts.price(epsilon=0.5)}\n")
    parts = [
        _ask(1, "Visits and patients by specialty", counts, 0.5, session, demo_data.true_counts(kept), say),
        _ask(2, "Length of visits by specialty, in minutes", lengths, 1, session, demo_data.true_lengths(kept), say),
        _ask(3, "Visits by month", months, 0.3, session, demo_data.true_months(made_up), say),
    ]
    counts.release(epsilon=0.5)
    say(f"The first question again is the same answer and costs nothing; left: {session.remaining}\n")
    return parts


def _logs(place: Path, say: Any) -> list[Part]:
    made_up = demo_data.logs()
    logs = _open(place, "logs", made_up, demo_data.LOGS_CODEBOOK)
    session = logs.session(
        budget(epsilon=1, delta=1e-6), ledger=_fresh(place / "logs.ledger"), anchor=FolderAnchor(place / "anchor")
    )
    say(f"{logs}\nNobody declared the domains, so they come from the data and rare ones stay hidden.\n")
    query = session.query().group_by("domain").agg(users=ask.count_distinct())
    return [_ask(4, "Browser logs by domain", query, 0.8, session, demo_data.true_logs(made_up), say)]


def _twin(place: Path, say: Any) -> Path:
    """One visit of each patient as synthetic rows, under a budget of its own: a file to open and its page."""
    visits = Dataset(place / "visits.parquet", codebook=place / "visits.yaml")
    session = visits.session(
        budget(epsilon=1, delta=1e-7), ledger=_fresh(place / "twin.ledger"), anchor=FolderAnchor(place / "anchor")
    )
    twin = session.synthesizer(columns=["specialty", "age", "duration"], rows=1).release(epsilon=1)
    twin.write(place / "twin.parquet", rows=1000)
    twin.report(place / "twin.html")
    say(f"Synthetic visits, one of each patient, from a few noisy tables:\n\n{twin}\nleft: {session.remaining}\n")
    return place / "twin.html"


def _fresh(ledger: Path) -> Path:
    """A ledger of its own for every run: a used one must never be made new by deleting it."""
    number = 1
    while (candidate := ledger.with_stem(f"{ledger.stem}-{number}")).exists():
        number += 1
    return candidate


def _ask(step: int, title: str, query: Query[Any], epsilon: float, session: Session, truth: Truth, say: Any) -> Part:
    answer = query.release(epsilon=epsilon)
    say(f"(question {step} of {QUESTIONS}) {title}\n\n{answer}\n{answer.receipt}\nleft: {session.remaining}\n")
    shown = [group for group in answer.groups if group in truth][:12]
    told = "; ".join(
        f"{', '.join(map(str, group))} {' and '.join(map(number, truth[group].values()))}" for group in shown
    )
    say(f"truth, from the script that made the data up: {told}\n")
    return Part(title, answer, truth, str(session.remaining))


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
    rows = [_row(part, index, keys) for index, keys in enumerate(keys_in_words(release, most=_MOST))]
    more = len(release.groups) - _MOST
    rest = f"""<p class="quiet">and {number_of(more, "more group")}</p>""" if more > 0 else ""
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>{rest}'


def _row(part: Part, index: int, keys: Sequence[str]) -> str:
    cells = [f"<td>{escape(key)}</td>" for key in keys]
    for name, column in part.release.columns.items():
        true = part.truth.get(part.release.groups[index], {}).get(name)
        cells.append(f"<td>{escape(cell(column, index))}</td>")
        cells.append(f'<td class="truth">{"" if true is None else escape(number(true))}</td>')
    return f"<tr>{''.join(cells)}</tr>"
