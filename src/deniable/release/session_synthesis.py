"""Synthetic rows of the tables of a session, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.engines.engine import RowEngine, Selective
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, shown
from deniable.plan.nodes import Relation
from deniable.query import Query
from deniable.release.session_mechanisms import MechanismSession

if TYPE_CHECKING:
    from deniable.release.synthetic import Synthesizer
    from deniable.release.twin import Twin
    from deniable.release.twin_scores import TwinScores
    from deniable.synth.measured.coded import CellReading


class SynthesisVerbs(MechanismSession):
    """Synthesizers and the evaluation of what they made."""

    def synthesizer(
        self,
        table: str | Query[Any] | None = None,
        *,
        columns: str | Sequence[str] = "all",
        method: str = "pairs",
        focus: str | Sequence[str] = (),
        rows: int | None = None,
        first: str | None = None,
        last: str | None = None,
        bins: Mapping[str, int] | None = None,
        quantiles: Mapping[str, int] | None = None,
        open: Mapping[str, int] | Sequence[str] = (),
        **options: Any,
    ) -> Synthesizer:
        """A plan for synthetic rows of a table: `price` it for free, `release` it under one charge for a twin.

        Instead of a table a question about rows may stand, such as one row for each unit, summing up its own rows:
        `session.synthesizer(session.query("visits").per_unit(n=dp.count(), bounds={"n": (0, 20)}))`.

        Cells come from the codebook; `bins` says into how many cells of equal width a number is cut, `quantiles` into how many of
        about equal counts (found privately, a tenth of the price). Text without categories is `open`: values that enough units
        have are found privately (a tenth of the price, half of the delta), at most 100 or as many as said, and the rest is
        "other". Errors in pairs with a `focus` column count more. One unit keeps at most `rows` rows: the `first` or
        `last` by a column with an order, such as a date, or any. `options` are those of the method.
        """
        from deniable.release.synthetic import Synthesizer
        from deniable.synth.synthesis import synthesis

        if not isinstance(self._engine, RowEngine):
            raise InvalidArgument(
                f"{self.engine} hands out no rows, which a synthesizer counts; use DuckDB or PostgreSQL"
            )
        told: dict[str, Any] = {"columns": columns, "method": method, "focus": focus, "rows": rows, "bins": bins}
        told |= {"first": first, "last": last, "quantiles": quantiles, "opened": open, "options": options}
        asked = synthesis(self.codebook, self._rows(table), **told)
        self._check_reading(asked.read)
        return Synthesizer(self, asked)

    def evaluate(
        self,
        twin: Twin,
        *,
        epsilon: Real,
        target: str | None = None,
        positive: str | None = None,
        table: str | Query[Any] | None = None,
        rows: int | None = None,
        first: str | None = None,
        last: str | None = None,
        request: str | None = None,
    ) -> TwinScores:
        """A twin against the data, charged: how far its tables are, or with a `target` how well what it teaches works on real rows.

        Rows are those of `table`, kept as `rows`, `first` and `last` say: say what the synthesizer was told.
        Train on synthetic, test on real: a logistic regression for `target` (its second category, or the `positive` one).

        Guarantee: charged before data was read; the numbers are noisy, and stored.
        """
        from deniable.release.twin import Twin as TwinType
        from deniable.release.twin_scores import distances_on_data, on_data, teaching_on_data

        if not isinstance(twin, TwinType):
            raise InvalidArgument(f"evaluate takes a twin of session.synthesizer(...).release(...), got {shown(twin)}")
        on = on_data(self, twin, self._rows(table), rows, first=first, last=last)
        self._check_reading(on.read)
        if target is None:
            return distances_on_data(self, twin, on, epsilon=epsilon, request=request)
        return teaching_on_data(self, twin, on, target=target, positive=positive, epsilon=epsilon, request=request)

    def _check_reading(self, reading: CellReading) -> None:
        """Refuse rows that this engine, in this version, reads differently: before there is a price or a charge."""
        if isinstance(self._engine, Selective):
            self._engine.check(reading.plan.bounded)

    def _rows(self, table: str | Query[Any] | None) -> str | Relation | None:
        """The name of a table, or the rows of a question of this session that neither groups nor computes over units."""
        if table is None or isinstance(table, str):
            return table
        self._check_query(table)
        if table != Query(source=table.source, runner=table.runner):
            raise InvalidArgument(
                "a synthesizer takes the rows of a question: where, derive, join and per_unit, but no group_by, agg or bounds; "
                "rows= says how many rows of one unit are kept"
            )
        return table.source
