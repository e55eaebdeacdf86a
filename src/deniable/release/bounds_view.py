"""Bias against noise: what a bound on contributions loses and what it saves, for public or made-up rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deniable.engines.engine import Result
from deniable.errors import InvalidArgument
from deniable.exact.figures import short_figures, text_table
from deniable.kernels import ColumnNoise
from deniable.plan.nodes import GroupAgg
from deniable.plan.unit import Unit
from deniable.query import CompiledQuery, Price, Query, compile_query
from deniable.query.aggregates import Plain
from deniable.query.columns import SliceColumn
from deniable.release.answer import Release

if TYPE_CHECKING:
    from deniable.plots import Figure

_UNBOUNDED = 2**20
"""More groups and rows than one unit has."""


@dataclass(frozen=True, slots=True)
class BoundCandidate:
    """One candidate bound: the share of the total that is kept, and per group the mean size of bias, noise and error.

    `relative` is the expected error as a share of the true value, averaged over the groups that are not empty.
    """

    bound: int
    kept: float
    bias: float
    noise: float
    error: float
    relative: float

    @classmethod
    def of(
        cls, bound: int, true: NDArray[np.float64], bias: NDArray[np.float64], noise: ColumnNoise, step: float
    ) -> BoundCandidate:
        """From exact answers, exact biases and the noise, in steps of `step`."""
        errors = np.array([noise.mean_size(float(shift) / step) * step for shift in bias])
        total, full = float(true.sum()), true != 0
        return cls(
            bound,
            kept=float((true + bias).sum()) / total if total else 1.0,
            bias=float(np.abs(bias).mean()) if len(bias) else 0.0,
            noise=noise.mean_size(0.0) * step,
            error=float(errors.mean()) if len(errors) else 0.0,
            relative=float((errors[full] / np.abs(true[full])).mean()) if full.any() else 0.0,
        )


@dataclass(frozen=True, slots=True)
class BoundsView:
    """Candidates of one bound, side by side. The best one is the one with the least expected error on these rows."""

    name: str
    output: str
    candidates: tuple[BoundCandidate, ...]

    @property
    def best(self) -> int:
        """The candidate with the least mean error."""
        return min(self.candidates, key=lambda each: each.error).bound

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dictionary per candidate."""
        return [
            {self.name: each.bound, "kept": each.kept, "bias": each.bias, "noise": each.noise, "error": each.error}
            | {"relative": each.relative}
            for each in self.candidates
        ]

    def plot(self) -> Figure:
        """Bias, noise and error over the candidates."""
        from deniable.plots import bound_errors

        parts = {part: [getattr(each, part) for each in self.candidates] for part in ("bias", "noise", "error")}
        bounds = [each.bound for each in self.candidates]
        return bound_errors(bounds, parts=parts, output=self.output, name=self.name)

    def __str__(self) -> str:
        names = [self.name, "kept", "bias", "noise", "error", "relative"]
        rows = [
            [
                str(e.bound),
                f"{e.kept:.1%}",
                short_figures(e.bias),
                short_figures(e.noise),
                short_figures(e.error),
                f"{e.relative:.1%}",
            ]
            for e in self.candidates
        ]
        return "\n".join(text_table(names, rows))

    __repr__ = __str__


def compare_bounds(
    question: Query[Release],
    name: str,
    candidates: Sequence[int],
    *,
    run: Callable[[GroupAgg], Result],
    unit: Unit,
    **paid: Any,
) -> BoundsView:
    """The candidates of the bound `name`, held against the exact answer of a question's first count or sum."""
    base = {} if name == "total" else {"groups": question.groups, "rows": question.rows}
    truth = _exact(question.bound(groups=_UNBOUNDED, rows=_UNBOUNDED), run, unit)
    found = []
    for candidate in candidates:
        bounded = question.bound(**{**_only(base), name: candidate})
        if name == "total":
            bounded = bounded.bound(groups=candidate, rows=candidate)
        compiled = compile_query(bounded, unit)
        found.append(_compared(candidate, _exact(bounded, run, unit), truth, bounded.price(**paid), compiled))
    return BoundsView(name, question.aggregates[0][0], tuple(found))


def _exact(
    question: Query[Release], run: Callable[[GroupAgg], Result], unit: Unit
) -> Mapping[tuple[Any, ...], Fraction]:
    """The exact answer of every group that has rows."""
    compiled = compile_query(question, unit)
    column = _column(compiled)
    result = run(compiled.plan)
    groups = zip(*(result.keys[name] for name in compiled.keys.names), strict=True) if compiled.keys.names else [()]
    values = [int(count) * compiled.steps[column] for count in result.columns[column]]
    return dict(zip(groups, values, strict=True))


def _only(bounds: Mapping[str, int | None]) -> dict[str, int]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _column(compiled: CompiledQuery) -> str:
    name, output = compiled.outputs[0]
    if not isinstance(output, Plain) or len(compiled.slices) > 1:
        raise InvalidArgument(f"{name}: bounds are viewed for a count or a sum, without totals")
    return output.column


def _compared(
    bound: int,
    kept: Mapping[tuple[Any, ...], Fraction],
    truth: Mapping[tuple[Any, ...], Fraction],
    price: Price,
    compiled: CompiledQuery,
) -> BoundCandidate:
    groups = sorted(truth, key=repr)
    true = np.array([float(truth[group]) for group in groups])
    bias = np.array([float(kept.get(group, 0)) for group in groups]) - true
    key = SliceColumn(_column(compiled))
    step = price.allocation.step(key, compiled.steps[key.column])
    return BoundCandidate.of(bound, true, bias, price.allocation.noises[key], float(step))
