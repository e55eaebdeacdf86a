"""`deniable demo`: the main job on made-up data: hospital visits and browser logs, asked under one durable budget.

The truth beside the answers is computed by this script from the data it made up; the library itself has no way to show it.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.accounting import budget
from deniable.cli import demo_data
from deniable.cli.app import application
from deniable.query import aggregates as ask
from deniable.release.anchor import FolderAnchor
from deniable.release.answer import Release
from deniable.release.dataset import Dataset
from deniable.release.session import Session

app = application("Ask made-up hospital visits and browser logs, and write a report.")

Folder = Annotated[
    Path | None, typer.Option(help="Where to write data, ledgers and report; a new folder unless given.")
]


@app.command()
def demo(folder: Folder = None) -> None:
    """Make data up, ask it privately, show answers with error bars beside the truth, and write a report."""
    place = _place(folder)
    print(f"Everything is written to {place}\n")
    visits, truth = _visits(place)
    logs = _logs(place)
    report = place / "report.html"
    report.write_text(_report([*visits, *logs]), encoding="utf-8")
    print(f"\nThe report with plots and release tables: {report}")
    print(truth)


def _place(folder: Path | None) -> Path:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="deniable-demo-"))


def _open(place: Path, name: str, columns: dict[str, Any], codebook: str) -> Dataset:
    demo_data.write_parquet(columns, place / f"{name}.parquet")
    (place / f"{name}.yaml").write_text(codebook, encoding="utf-8")
    return Dataset(place / f"{name}.parquet", codebook=place / f"{name}.yaml")


def _visits(place: Path) -> tuple[list[tuple[str, Release]], str]:
    made_up = demo_data.visits()
    visits = _open(place, "visits", made_up, demo_data.VISITS_CODEBOOK)
    session = visits.session(
        budget(epsilon=2, delta=1e-7), ledger=_fresh(place / "visits.ledger"), anchor=FolderAnchor(place / "anchor")
    )
    print(f"{visits}\nbudget: {session.remaining}\n")

    by_specialty = session.query().where("duration > 0").group_by("specialty")
    counts = by_specialty.agg(n=ask.count(), patients=ask.count_distinct())
    print(
        f"(1 of 3) How many visits and patients by specialty? First its price, which is free:\n{counts.price(epsilon=0.5)}\n"
    )
    first = _ask("visits and patients by specialty", counts, 0.5, session)
    print("    truth (this script made the data up):", _true_counts(made_up), "\n")
    print("(2 of 3) How long do visits take?\n")
    second = _ask(
        "length of visits by specialty",
        by_specialty.bound(groups=3, rows=3).agg(avg=ask.mean("duration"), p90=ask.quantile("duration", 0.9)),
        1.0,
        session,
    )
    print("    true means:", _true_means(made_up), "\n")
    print("(3 of 3) Visits by month\n")
    third = _ask(
        "visits by month", session.query().group_by(month="date_trunc('month', day)").agg(n=ask.count()), 0.3, session
    )
    return [first, second, third], f"Asked again, an answer costs nothing and is the same: left {session.remaining}"


def _logs(place: Path) -> list[tuple[str, Release]]:
    logs = _open(place, "logs", demo_data.logs(), demo_data.LOGS_CODEBOOK)
    session = logs.session(
        budget(epsilon=1, delta=1e-6), ledger=_fresh(place / "logs.ledger"), anchor=FolderAnchor(place / "anchor")
    )
    print(f"\n{logs}\nNobody declared the domains, so they come from the data and rare ones stay hidden.\n")
    query = session.query().group_by("domain").agg(users=ask.count_distinct(), seconds=ask.sum("seconds"))
    return [_ask("browser logs by domain", query, 0.8, session)]


def _fresh(ledger: Path) -> Path:
    """A ledger of its own for every run: a used one must never be made new by deleting it."""
    number = 1
    while (candidate := ledger.with_stem(f"{ledger.stem}-{number}")).exists():
        number += 1
    return candidate


def _ask(title: str, query: Any, epsilon: float, session: Session) -> tuple[str, Release]:
    answer = query.release(epsilon=epsilon)
    print(f"{answer}\n{answer.receipt}\nleft: {session.remaining}\n")
    return title, answer


def _true_counts(made_up: dict[str, Any]) -> dict[str, int]:
    kept = made_up["specialty"][made_up["duration"] > 0]
    return {name: int((kept == name).sum()) for name in demo_data.SPECIALTIES}


def _true_means(made_up: dict[str, Any]) -> dict[str, float]:
    durations, specialty = made_up["duration"], made_up["specialty"]
    chosen = {name: durations[(specialty == name) & (durations > 0)] for name in demo_data.SPECIALTIES}
    return {name: round(float(values.mean()), 1) for name, values in chosen.items()}


def _report(answers: list[tuple[str, Release]]) -> str:
    parts = []
    for title, answer in answers:
        plots = "".join(answer.plot(name).svg for name, column in answer.columns.items() if column.kind != "histogram")
        table = answer.release_table().html()
        parts.append(f"<h2>{escape(title)}</h2>{answer._repr_html_()}<div>{plots}</div><h3>Release table</h3>{table}")
    style = "body{font:16px system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}td,th{padding:.2rem .6rem;text-align:left}"
    body = "".join(parts)
    return f"<!doctype html><meta charset=utf-8><title>deniable demo</title><style>{style}</style><h1>deniable demo</h1>{body}"
