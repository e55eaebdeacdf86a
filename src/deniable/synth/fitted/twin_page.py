"""A twin's report: one page that shows failure signs first, what was measured, and the twin beside what was released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from deniable.errors import InvalidArgument
from deniable.svg import Series, horizontal_bars
from deniable.synth.fitted.intervals import TableError, group_labels, measured, table_error
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import TwinMeasurements

_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1.2rem}"
    "td,th{padding:.2rem .8rem;border-bottom:1px solid #8884;text-align:left}table{border-collapse:collapse}"
    "pre{white-space:pre-wrap}.sign{border-left:.3rem solid #b40;padding-left:.8rem}svg{max-width:100%;height:auto}"
)
_BARS = 24


def twin_page(model: RecordModel, stored: TwinMeasurements, notes: Sequence[str], card: str) -> str:
    """The whole page as HTML. It shows released numbers and the model; nothing else was ever at hand."""
    signs = "".join(f'<p class="sign">{escape(note)}</p>' for note in notes) or "<p>No sign of failure.</p>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Synthetic twin</title><style>{_STYLE}</style><h1>Synthetic twin</h1>{signs}<pre>{escape(card)}</pre>"
        f"<h2>One column at a time</h2>{''.join(_pictures(model, stored))}"
        f"<h2>Pairs</h2>{_pairs(model, stored)}<h2>What was not measured</h2><p>{escape(_unmeasured(stored))}</p></html>\n"
    )


def _pictures(model: RecordModel, stored: TwinMeasurements) -> Iterator[str]:
    for place, name in enumerate(stored.attributes.names):
        try:
            error = table_error(model, stored, (place,))
        except InvalidArgument:
            continue
        largest = np.sort(np.argsort(-error.estimate, kind="stable")[:_BARS])
        labels = [error.labels[0][cell] for cell in largest]
        table = measured(stored, (place,))
        assert table is not None  # table_error refuses a column that was not measured
        released = Series(
            labels,
            np.maximum(table.counts[largest], 0).tolist(),
            error.lower[largest].tolist(),
            error.upper[largest].tolist(),
            label="released",
        )
        twin = Series(labels, np.rint(error.estimate[largest]).tolist(), label="twin")
        yield horizontal_bars(
            released, twin, title=name, note="intervals: noise, 95 % each, and as far as the twin"
        ).svg


def _pairs(model: RecordModel, stored: TwinMeasurements) -> str:
    errors = [table_error(model, stored, (a, b)) for a, b in _places(stored)]
    errors.sort(key=lambda error: -error.tvd)
    rows = "".join(_row(error) for error in errors)
    return f"<table><tr><th>columns</th><th>TVD from the data at most</th><th>basis</th></tr>{rows}</table>"


def _places(stored: TwinMeasurements) -> Iterator[tuple[int, int]]:
    count = len(stored.attributes.columns)
    return ((a, b) for a in range(count) for b in range(a + 1, count))


def _row(error: TableError) -> str:
    return (
        f"<tr><td>{escape(' x '.join(error.columns))}</td><td>{error.tvd:.3f}</td><td>{escape(error.basis)}</td></tr>"
    )


def _unmeasured(stored: TwinMeasurements) -> str:
    pairs = {tuple(sorted(table.places)) for table in stored.marginals if len(table.places) == 2}
    missing = sum(pair not in pairs for pair in _places(stored))
    joined = [
        f"{stored.attributes.names[place]} ({', '.join(group_labels(stored, place)[:4])}, …)"
        for place in range(len(stored.attributes.columns))
        if stored.group_count(place) < stored.attributes.sizes[place]
    ]
    told = f"Pairs not measured themselves: {missing}; tables of three and more columns only where listed. "
    return told + (f"Pairs know groups of cells of: {'; '.join(joined)}." if joined else "Pairs know every cell.")
