"""A release: values drawn once, each with its interval, its cost, its guarantee and its receipt.

It is data, not a lazy plan: showing, saving or re-reading it never draws again. Columns are in the query's order and groups
in the order of their public keys, so nothing about the data hides in the layout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Never

from deniable.errors import InvalidArgument
from deniable.exact.guards import Real
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed, unpacked
from deniable.query import AnswerColumn
from deniable.query.answer_views import AnswerView, largest, ordered, within
from deniable.query.sql.post import Apply, Cell, CellOperator, Constant, Field, Function, Operation, Value
from deniable.query.sql.stage import AnswerTable, Ordering, Stage, applied
from deniable.release.answer_record import cell_records, column_from_record, groups_from_record, table_record
from deniable.release.answer_rows import AnswerRows
from deniable.release.release_facts import ReleaseFacts
from deniable.release.release_table import ReleaseTable, extended_release_table, release_table
from deniable.release.text import as_html, shown

if TYPE_CHECKING:
    from deniable.plots import Figure
    from deniable.query.sql import PrivateStatement


class Release(AnswerRows):
    """What leaves: a small table with error bars, and everything needed to trust it.

    Guarantee: stated in `guarantee`; charged before it was drawn, as `receipt` shows.
    """

    def __init__(self, record: Mapping[str, Any], facts: ReleaseFacts, receipt: Receipt | None) -> None:
        self._record, self.facts, self.receipt = record, facts, receipt
        self.keys: tuple[str, ...] = tuple(record["keys"])
        self.columns = {column["name"]: column_from_record(column) for column in record["columns"]}
        self.levels: tuple[tuple[str, ...], ...] = tuple(tuple(part) for part in record.get("levels", [self.keys]))
        count = len(record["key_values"][0] if "key_values" in record else record["groups"])
        self.level: tuple[int, ...] = tuple(record.get("level", [0] * count))
        self.other: tuple[bool, ...] = tuple(record.get("other", [False] * count))
        self.confidence: float = record["confidence"]
        self.guarantee: str = record["guarantee"]
        self.notes: tuple[str, ...] = tuple(record["notes"])

    @cached_property
    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """The keys of every group, in the order of the rows; put together when first looked at."""
        return groups_from_record(self._record)

    @classmethod
    def from_bytes(cls, payload: bytes, receipt: Receipt | None = None) -> Release:
        """The release that was stored as these bytes."""
        return cls.from_packed(unpacked(payload), receipt)

    @classmethod
    def from_packed(cls, packed: Packed, receipt: Receipt | None = None) -> Release:
        """The release that was packed as this record."""
        return cls(packed.release, ReleaseFacts.from_record(packed.facts), receipt)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from deniable.misnamed import no_attribute

            raise no_attribute(self, name)

    def under(self, names: Sequence[str]) -> Release:
        """The same release with its columns called by these names, in their order."""
        if list(names) == list(self.columns):
            return self
        columns = [{**column, "name": name} for column, name in zip(self._record["columns"], names, strict=True)]
        return Release({**self._record, "columns": columns}, self.facts, self.receipt)

    @property
    def cost(self) -> Any:
        """What it cost, as a record; None for a rehearsal."""
        return self.receipt.cost if self.receipt else None

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dictionary per group: keys, values, and `<name>_low` / `<name>_high` where there is an interval.

        A private choice has `<name>_ranks` (a quantile) or `<name>_rows` (top values): how far it may be from the best one.
        """
        return [self._row(index) for index in range(len(self.groups))]

    def _row(self, index: int) -> dict[str, Any]:
        row = dict(zip(self.keys, self.groups[index], strict=True))
        for name, column in self.columns.items():
            row[name] = column.values[index]
            if column.lower is not None and column.upper is not None:
                row[f"{name}_low"], row[f"{name}_high"] = column.lower[index], column.upper[index]
            if column.off is not None:
                row[f"{name}_{column.unit}"] = column.off[index]
        return row

    def at(self, *keys: str) -> list[dict[str, Any]]:
        """The rows of one level, such as `answer.at("country")`; `answer.at()` is the grand total."""
        wanted = tuple(name for name in self.keys if name in keys)
        if wanted not in self.levels or set(keys) != set(wanted):
            known = ", ".join(str(level) for level in self.levels)
            raise InvalidArgument(f"this release has no level {keys!r}; it has {known}")
        return [self._row(index) for index, place in enumerate(self.level) if self.levels[place] == wanted]

    @property
    def measured(self) -> list[dict[str, Any]]:
        """One dictionary per group with the values as they were measured, before they were made to add up."""
        columns = {name: c.values if c.measured is None else c.measured for name, c in self.columns.items()}
        return [
            {**dict(zip(self.keys, group, strict=True)), **{name: values[i] for name, values in columns.items()}}
            for i, group in enumerate(self.groups)
        ]

    def value(self, name: str | None = None, *unnamed: Never, **key: Any) -> Any:
        """One value: of the only column unless `name` is given, in the group with these keys (a key left out is rolled up)."""
        column = self._column(name)
        wanted = tuple(key.get(each) for each in self.keys)
        if unnamed or wanted not in self.groups:
            if not key and self.keys:
                example = zip(self.keys, self.groups[0] if self.groups else self.keys, strict=True)
                named = ", ".join(f"{each}={value!r}" for each, value in example)
                raise InvalidArgument(f"say which group: value({column.name!r}, {named})")
            raise InvalidArgument(f"no group {key!r} in this release; its groups are in `groups`")
        return column.values[self.groups.index(wanted)]

    def _column(self, name: str | None) -> AnswerColumn:
        if name is None and len(self.columns) == 1:
            return next(iter(self.columns.values()))
        if name not in self.columns:
            raise InvalidArgument(f"no column {name!r} in this release; it has {', '.join(self.columns)}")
        return self.columns[name]

    def bins(self, name: str | None = None) -> list[dict[str, Any]]:
        """A histogram, or a list of quantiles, as one row for each bin of each group: its keys, the bin, its value and interval.

        A histogram's bin has its edges too, `<name>_from` and `<name>_to`; `pandas.DataFrame(answer.bins("h"))` is a frame.
        """
        column = self._column(name)
        if column.bins is None:
            raise InvalidArgument(f"{column.name} is no histogram and no list of quantiles; its rows are in `table`")
        return [row for index in range(len(self.groups)) for row in self._bin_rows(column, column.bins, index)]

    def _bin_rows(self, column: AnswerColumn, bins: tuple[str, ...], index: int) -> Iterator[dict[str, Any]]:
        keys, name, ends = dict(zip(self.keys, self.groups[index], strict=True)), column.name, column.edges
        parts = {name: column.values, f"{name}_low": column.lower, f"{name}_high": column.upper}
        for place, written_bin in enumerate(bins):
            edges = {} if ends is None else {f"{name}_from": ends[place], f"{name}_to": ends[place + 1]}
            cells = {each: part[index] for each, part in parts.items() if part is not None}
            told = {each: None if cell is None else cell[place] for each, cell in cells.items()}
            yield {**keys, f"{name}_bin": written_bin, **edges, **told}

    def to_columns(self) -> dict[str, list[Any]]:
        """The table by columns."""
        rows = self.table
        names = list(self._row(0)) if rows else self._names()
        return {name: [row[name] for row in rows] for name in names}

    def _names(self) -> list[str]:
        names = list(self.keys)
        for name, column in self.columns.items():
            names += [name] if column.lower is None else [name, f"{name}_low", f"{name}_high"]
            names += [] if column.off is None else [f"{name}_{column.unit}"]
        return names

    def to_pandas(self) -> Any:
        """The table as a pandas frame (needs the `frames` extra)."""
        return _library("pandas").DataFrame(self.to_columns())

    def to_polars(self) -> Any:
        """The table as a Polars frame (needs the `frames` extra)."""
        return _library("polars").DataFrame(self.to_columns(), strict=False)

    def to_arrow(self) -> Any:
        """The table as an Arrow table (needs the `frames` extra)."""
        return _library("pyarrow").table(self.to_columns())

    def to_json(self) -> str:
        """Everything in it, as JSON text."""
        receipt = self.receipt.to_record() if self.receipt else None
        release = {name: part for name, part in self._record.items() if name != "key_values"}
        release["groups"] = [cell_records(group) for group in self.groups]
        return json.dumps({"release": release, "facts": self.facts.to_record(), "receipt": receipt}, sort_keys=True)

    def release_table(self) -> ReleaseTable:
        """The table a reader needs to judge this release."""
        return release_table(self.facts)

    def extended_table(self) -> ReleaseTable:
        """Every fact about this release, with what the ledger knows: the receipt, what is spent and what is left."""
        return extended_release_table(self.facts.with_receipt(self.receipt) if self.receipt else self.facts)

    def order_by(self, *names: str, descending: bool = False) -> Release:
        """The same answer, its rows ordered by these columns or keys; by noisy values, so nothing is spent."""
        return self.viewed(ordered(names, descending=descending, known=[*self.keys, *self.columns]))

    def top(self, count: int, by: str | None = None) -> Release:
        """The `count` rows with the largest noisy values in a column, the largest first; who is among them is noisy too."""
        return self.viewed(largest(count, by=by, columns=list(self.columns)))

    def having(self, name: str, *, at_least: Real | None = None, at_most: Real | None = None) -> Release:
        """Only the rows whose noisy value in a column lies within these ends; rows without a value are left out."""
        return self.viewed(within(name, at_least=at_least, at_most=at_most, columns=list(self.columns)))

    def viewed(self, view: AnswerView) -> Release:
        """The same answer as one view shows it."""
        ends = ((CellOperator.AT_LEAST, view.at_least), (CellOperator.AT_MOST, view.at_most))
        kept = tuple(
            Operation(sign, Field(view.of), Constant(float(end)))
            for sign, end in ends
            if end is not None and view.of is not None
        )
        where: Value | None = kept[0] if len(kept) == 1 else Apply(Function.ALL, kept) if kept else None
        keys = tuple((name, name) for name in self.keys)
        columns = tuple((name, Field(name)) for name in self.columns)
        terms = tuple(Ordering(Field(name), descending=view.descending) for name in view.order)
        return apply_stages(self, [Stage(keys, columns, where, terms, view.limit)])

    def plot(self, name: str | None = None, *, title: str | None = None, size: tuple[int, int] | None = None) -> Figure:
        """One column with its error bars: counts and sums as bars, means and the like as points, times as columns.

        `size` is a width and a height in pixels; bars that lie flat are as tall as their number needs.
        """
        from deniable.release.plot import plotted

        column = self._column(name if name is not None else next(iter(self.columns)))
        return plotted(self, column, title=title, size=size)

    def __str__(self) -> str:
        return shown(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self)


CHOSEN = (
    "HAVING, ORDER BY and LIMIT look at noisy values: what stands near a limit is in or out by chance, and errors hold before it "
    "is known what is shown."
)
"""What is said where noise chooses among groups: of the largest of many like numbers the noise is large."""


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise InvalidArgument(f"this needs {name}: pip install 'deniable[frames]', or use to_columns()") from None


def statement_view(
    release: Release, private: PrivateStatement[Release], scalars: Mapping[str, Cell] | None = None
) -> Release:
    """The release as its statement shows it: stages over noisy values only, so nothing more is spent."""
    return apply_stages(release, private.stages, private.notices, scalars)


def apply_stages(
    release: Release,
    stages: Sequence[Stage],
    notices: Sequence[str] = (),
    scalars: Mapping[str, Cell] | None = None,
) -> Release:
    """A release after stages of post-processing, which see noisy values only."""
    if not stages and not notices:
        return release
    confidence = Fraction(release.confidence).limit_denominator(10**9)
    several = len(release.levels) > 1
    shown = AnswerTable(
        release.keys,
        release.groups,
        tuple(release.columns.values()),
        release.levels if several else (),
        release.level if several else (),
        scalars or {},
    )
    for stage in stages:
        shown = applied(stage, shown, confidence)
    cut = any(stage.where is not None or stage.order or stage.limit is not None for stage in stages)
    computed = [column for column in shown.columns if column.kind == "computed"]
    noisy = [CHOSEN] if cut and CHOSEN not in release.notes else []
    notes = [*release.notes, *notices, *noisy]
    notes += [f"{column.name}: {column.error}." for column in computed]
    record = table_record(shown, release.confidence, release.guarantee, notes)
    done = tuple(["HAVING, ORDER BY, LIMIT on noisy values"] if cut else []) + tuple(c.name for c in computed)
    facts = replace(release.facts, postprocessing=(*release.facts.postprocessing, *done))
    return Release(record, facts, release.receipt)
