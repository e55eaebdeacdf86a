"""A twin: stored measurements of a private table, the model they give, and rows drawn from it as often as wanted, for free.

Guarantee: stated in `guarantee`; it is the measurements' own. Everything here is post-processing and sees nothing else.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deniable.cost import Cost
from deniable.engines.parquet import write_rows
from deniable.errors import InvalidArgument
from deniable.exact.guards import integer, shown
from deniable.ledger.receipt import Receipt
from deniable.ledger.store import Packed
from deniable.noise import Entropy, system_entropy
from deniable.release.release_facts import ReleaseFacts
from deniable.release.release_table import ReleaseTable, extended_release_table, release_table
from deniable.synth.fitted.conditions import Condition, conditions
from deniable.synth.fitted.decoding import decoded, framed, stored_types
from deniable.synth.fitted.intervals import TableError, table_error
from deniable.synth.fitted.public_rules import Implied, PublicRules
from deniable.synth.fitted.record_model import RecordModel
from deniable.synth.fitted.stored import TwinMeasurements
from deniable.synth.fitted.twin_evaluation import ReleasedComparison, compare_released, failure_signs
from deniable.synth.fitted.twin_model import fit, refit
from deniable.synth.fitted.twin_page import twin_page
from deniable.synth.fitted.twin_query import TwinAnswer, ask

SYNTHETIC = "synthetic"
"""The kind of a stored release that is a twin."""
_REDRAWS = 50


class Twin:
    """Synthetic rows with the error of what they say. Made by `session.synthesizer(...).release(...)`."""

    __slots__ = ("_fitted", "facts", "guarantee", "measurements", "receipt")

    def __init__(self, measurements: TwinMeasurements, guarantee: str, facts: ReleaseFacts, receipt: Receipt) -> None:
        self.measurements, self.guarantee, self.facts, self.receipt = measurements, guarantee, facts, receipt
        self._fitted: tuple[RecordModel, tuple[str, ...]] | None = None

    @classmethod
    def from_packed(cls, packed: Packed, receipt: Receipt) -> Twin:
        """The twin that was stored as this record."""
        record = packed.release
        measurements = TwinMeasurements.from_record(record["measurements"])
        return cls(measurements, record["guarantee"], ReleaseFacts.from_record(packed.facts), receipt)

    @property
    def cost(self) -> Cost:
        """What it cost, as a record."""
        return self.receipt.cost

    @property
    def columns(self) -> list[str]:
        """What the columns are called."""
        return self.measurements.attributes.names

    @property
    def model(self) -> RecordModel:
        """The fitted model: fixed by the measurements, fitted when it is first needed."""
        return self._fit()[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know before anything else: signs of failure first."""
        model, notes = self._fit()
        return (*notes, *failure_signs(model, self.measurements), *self.measurements.notes)

    def _fit(self) -> tuple[RecordModel, tuple[str, ...]]:
        if self._fitted is None:
            self._fitted = fit(self.measurements)
        return self._fitted

    def refit(self, model: str) -> Twin:
        """The same release with rows, tables and answers from another model of its measurements: "mbi" is the package of that name,
        exact graphical models in larger cliques than the twin's own, and much slower.

        Guarantee: post-processing; free.
        """
        again = Twin(self.measurements, self.guarantee, self.facts, self.receipt)
        again._fitted = refit(self.measurements, model)
        return again

    def frame(
        self,
        rows: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        never: Sequence[Mapping[str, Any]] = (),
        order: Sequence[tuple[str, str]] = (),
        implied: Implied | None = None,
        form: str = "pandas",
        entropy: Entropy | None = None,
    ) -> Any:
        """Synthetic rows, as many as the noisy number of rows unless said; `form` is "pandas", "polars", "arrow" or "dict".

        With `where` rows are drawn given a condition: {"sex": "F", "age": (30, 40), "ward": ["a", "b"], "note": None}. Public rules
        are kept by drawing again: `never=[{"sex": "M", "pregnant": True}]`, `order=[("start", "end")]`. Columns that others imply
        are computed: `implied={"nights": lambda row: row["days"] - 1}`. A test may give `entropy` a seed of its own.

        Guarantee: post-processing; free. No value outside the codebook.
        """
        count = max(round(self.model.total), 1) if rows is None else integer(rows=rows, least=1)
        attributes, source = self.measurements.attributes, entropy or system_entropy()
        wanted = conditions(where or {}, attributes)
        rules = PublicRules.of(attributes, never, order, implied, wanted)
        columns = self._drawn(count, wanted, source)
        if rules:
            columns = self._ruled(columns, rules, count, wanted, source)
        return framed(columns, attributes, form)

    def _drawn(self, count: int, wanted: Mapping[int, Condition], source: Entropy) -> dict[str, list[Any]]:
        attributes = self.measurements.attributes
        allowed = {place: each.share(attributes.columns[place]) for place, each in wanted.items()}
        return decoded(attributes, self.model.cells(count, source, allowed), source, wanted)

    def _ruled(
        self,
        columns: dict[str, list[Any]],
        rules: PublicRules,
        count: int,
        wanted: Mapping[int, Condition],
        source: Entropy,
    ) -> dict[str, list[Any]]:
        """Rows that keep the rules: those that do not are drawn again, a public number of times."""
        kept: dict[str, list[Any]] = {name: [] for name in columns}
        for _ in range(_REDRAWS):
            columns = rules.completed(columns)
            for row in rules.kept(columns, len(columns[self.columns[0]])):
                for name, cells in columns.items():
                    kept[name].append(cells[row])
            if len(kept[self.columns[0]]) >= count:
                return {name: cells[:count] for name, cells in kept.items()}
            columns = self._drawn(count, wanted, source)
        raise InvalidArgument(
            "the model has hardly a row that keeps these rules; check never=, order=, implied= and where="
        )

    def error(self, columns: str | Sequence[str], *, confidence: float = 0.95) -> TableError:
        """An interval for every cell of a table of these columns, and how far the whole can be from the data."""
        places = self.measurements.attributes.places(columns)
        return table_error(self.model, self.measurements, places, confidence=confidence)

    def query(self, sql: str, *, confidence: float = 0.95) -> TwinAnswer:
        """A question about the twin, answered from its model with intervals; refused where they would be guesses."""
        if not isinstance(sql, str):
            raise InvalidArgument(f"a question about a twin is a text in SQL, got {shown(sql)}")
        return ask(self.model, self.measurements, sql, confidence=confidence)

    def evaluate(self) -> ReleasedComparison:
        """The twin against its own released tables: free. Against the data it is `session.evaluate(twin, ...)`, charged."""
        return compare_released(self.model, self.measurements)

    def report(self, path: str | Path) -> Path:
        """Write a page: failure signs, what was measured, the twin beside the released tables."""
        place = Path(path)
        page = twin_page(self.model, self.measurements, self.notes, self.card())
        try:
            place.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InvalidArgument(f"cannot write {place}: {error.strerror}") from None
        return place

    def write(
        self,
        path: str | Path,
        *,
        rows: int | None = None,
        where: Mapping[str, Any] | None = None,
        never: Sequence[Mapping[str, Any]] = (),
        order: Sequence[tuple[str, str]] = (),
        implied: Implied | None = None,
    ) -> Path:
        """Write rows to a .parquet or .csv file, and beside it a sidecar with guarantee, receipt, errors and the rules kept."""
        place = Path(path)
        if place.suffix not in (".parquet", ".csv"):
            raise InvalidArgument(f"a twin is written to a .parquet or .csv file, got {place.name!r}")
        columns = self.frame(rows, where=where, never=never, order=order, implied=implied, form="dict")
        write_rows(columns, stored_types(self.measurements.attributes), place)
        beside = place.with_name(f"{place.name}.json")
        count = len(next(iter(columns.values())))
        told: dict[str, Any] = {"where": where, "never": list(never), "order": [list(pair) for pair in order]}
        told["implied"] = sorted(implied or {})
        sidecar = self.sidecar(count) | {"rules": {name: rule for name, rule in told.items() if rule}}
        beside.write_text(json.dumps(sidecar, indent=2, default=str), encoding="utf-8")
        return beside

    def sidecar(self, rows: int) -> dict[str, Any]:
        """What goes with a file of rows: they are synthetic, what they promise, how wrong each column's table can be."""
        errors = {name: self.error(name).tvd for name in self.columns if self._measured(name)}
        return {
            "format": "deniable synthetic rows 1",
            "synthetic": True,
            "rows": rows,
            "method": self.measurements.method,
            "guarantee": self.guarantee,
            "receipt": self.receipt.to_record(),
            "notes": list(self.notes),
            "one_way_tvd_at_most": errors,
            "facts": self.facts.to_record(),
        }

    def _measured(self, name: str) -> bool:
        place = self.measurements.attributes.place(name)
        return any(table.places == (place,) for table in self.measurements.marginals)

    def card(self) -> str:
        """What a reader must know, on one page of text."""
        stored = self.measurements
        places = {each.places for each in stored.marginals}  # one that was measured twice is one table
        tables = {order: sum(len(each) == order for each in places) for order in (1, 2, 3)}
        measured = ", ".join(f"{count} {order}-way" for order, count in tables.items() if count)
        lines = [
            f"Synthetic rows of {self.facts.dataset}: {', '.join(self.columns)}",
            self.guarantee,
            f"Method {stored.method}; measured tables: {measured}; about {self.model.total:,.0f} rows in the data (noisy).",
            "Good for: looking around, teaching, testing a pipeline, questions about one or two columns (see twin.query).",
            "Not for: single people (no row is a person), rare combinations, tables of three and more columns, anything legal.",
            *self.notes,
            str(self.receipt),
        ]
        return "\n".join(lines)

    def release_table(self) -> ReleaseTable:
        """The table a reader needs to judge this release."""
        return release_table(self.facts)

    def extended_table(self) -> ReleaseTable:
        """Every fact about this release, with what the ledger knows."""
        return extended_release_table(self.facts.with_receipt(self.receipt))

    def to_json(self) -> str:
        """Everything in it, as JSON text."""
        packed = twin_packed(self.measurements, self.guarantee, self.facts)
        whole = {"release": packed.release, "facts": packed.facts, "receipt": self.receipt.to_record()}
        return json.dumps(whole, sort_keys=True)

    def __str__(self) -> str:
        return self.card()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def twin_packed(measurements: TwinMeasurements, guarantee: str, facts: ReleaseFacts) -> Packed:
    """A twin as it is stored: its measurements, nothing that was made of them."""
    record = {"kind": SYNTHETIC, "measurements": measurements.to_record(), "guarantee": guarantee}
    return Packed(record, facts.to_record())
