"""Synthetic rows of the tables of a session, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.engines.engine import RowEngine
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, shown
from deniable.release.session_mechanisms import MechanismSession

if TYPE_CHECKING:
    from deniable.release.synthetic import Synthesizer
    from deniable.release.twin import Twin
    from deniable.release.twin_scores import TwinScores


class SynthesisVerbs(MechanismSession):
    """Synthesizers and the evaluation of what they made."""

    def synthesizer(
        self,
        table: str | None = None,
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
        asked = synthesis(self.codebook, table, **told)
        return Synthesizer(self, asked)

    def evaluate(
        self,
        twin: Twin,
        *,
        epsilon: Real,
        target: str | None = None,
        positive: str | None = None,
        table: str | None = None,
        rows: int | None = None,
        first: str | None = None,
        last: str | None = None,
        request: str | None = None,
    ) -> TwinScores:
        """A twin against the data, charged: how far its tables are, or with a `target` how well what it teaches works on real rows.

        Rows of a unit are kept as `rows`, `first` and `last` say: say what the synthesizer was told.
        Train on synthetic, test on real: a logistic regression for `target` (its second category, or the `positive` one).

        Guarantee: charged before data was read; the numbers are noisy, and stored.
        """
        from deniable.release.twin import Twin as TwinType
        from deniable.release.twin_scores import distances_on_data, on_data, teaching_on_data

        if not isinstance(twin, TwinType):
            raise InvalidArgument(f"evaluate takes a twin of session.synthesizer(...).release(...), got {shown(twin)}")
        on = on_data(self, twin, table, rows, first=first, last=last)
        if target is None:
            return distances_on_data(self, twin, on, epsilon=epsilon, request=request)
        return teaching_on_data(self, twin, on, target=target, positive=positive, epsilon=epsilon, request=request)
