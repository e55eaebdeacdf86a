"""Bounds that nobody declared, found within the charge of the fit (docs/theory/bounds-search.md).

Where `bounds="private"` is said, a number without bounds is first held to a public range, as wide as exact arithmetic allows. The
fit then begins with one more noisy answer: how many units' values lie in each band between powers of two. The outermost bands that
are hardly empty give the bounds, and the rest of the budget pays for the model.

Guarantee: one charge for bounds and model together; the cost does not depend on which bounds are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable.core.compositor import Compositor
from deniable.core.mechanism import Mechanism
from deniable.cost import Cost
from deniable.engines.table_space import RemoteRows
from deniable.errors import InvalidArgument
from deniable.exact import sqrt as exact_root
from deniable.exact.guards import Real, positive
from deniable.models.encoding import Feature, Whole
from deniable.models.task import TotalNoise, planned_task
from deniable.models.unit_totals import PrivateRows, check_cut, cut_total, norm_square, root_up

BITS = 40
WIDEST = 1 << BITS
"""The public range of a number whose bounds are to be found: so many of its steps to each side of zero."""
BANDS = 2 * (BITS + 1) + 1
"""Zero, and so many lengths in bits on each side of it."""
BOUNDS_SHARE = Fraction(1, 10)
"""The part of the budget that bounds get."""
CHANCE = 0.001
"""How likely it is at most that an empty band is taken for a full one."""
_TRIED = ((0, 1), (0, 255), (-WIDEST, WIDEST), (1 << 20, WIDEST))
"""Bounds of different sizes and places, between which a fit's cost must not tell."""


def bands(codes: Whole) -> Whole:
    """The band of each value: by sign and length in bits, zero in the middle."""
    length = np.frexp(np.abs(codes).astype(np.float64))[1].astype(np.int64)
    return np.asarray(np.where(codes < 0, -length, length) + BITS + 1, dtype=np.int64)


def band_counts(rows: PrivateRows, names: tuple[str, ...], *, norm: int) -> Whole:
    """How many values of each column lie in each band; what one unit adds is cut to `norm`."""
    places = [bands(rows.codes[name]) + BANDS * at for at, name in enumerate(names)]
    size = BANDS * len(names)
    if rows.starts is None:
        return np.bincount(np.concatenate(places), minlength=size).astype(np.int64)
    total = np.zeros(size, dtype=np.int64)
    for block, starts in rows.blocks():
        vectors = np.zeros((block.stop - block.start, size), dtype=np.int64)
        for place in places:
            vectors[np.arange(len(vectors)), place[block]] = 1
        total += cut_total(vectors, starts, norm)
    return total


def found_ends(counts: Whole, least: float) -> tuple[int, int]:
    """The ends of the outermost bands with noisy counts of at least this; 0 and 1 where there is none."""
    shown = np.flatnonzero(counts >= least) - (BITS + 1)
    return (_edge(int(shown[0]), -1), _edge(int(shown[-1]), 1)) if len(shown) else (0, 1)


def _edge(band: int, side: int) -> int:
    """The outer end of a band on one side: of positive bands from 2**(k-1) to 2**k - 1."""
    if band == 0:
        return 0
    outer = (band > 0) == (side > 0)
    size = (1 << abs(band)) - 1 if outer else 1 << (abs(band) - 1)
    return min(size, WIDEST) * (1 if band > 0 else -1)


@dataclass(frozen=True, slots=True)
class BoundsPlan:
    """What the bands cost, what is left for the model, and the count from which a band is not empty."""

    names: tuple[str, ...]
    noise: TotalNoise
    rest: Fraction
    least: float

    @classmethod
    def of(cls, reading: Any, multiplier: Real) -> BoundsPlan:
        """The plan for a noise multiplier of the whole run."""
        whole = positive(multiplier=multiplier)
        square = norm_square(len(reading.open), reading.per_unit)
        if reading.per_unit > 1:
            check_cut(entry=reading.per_unit, square=square * reading.per_unit, norm=root_up(square))
        noise = TotalNoise.of(square, whole * exact_root(1 / BOUNDS_SHARE, 40).upper)
        factor = NormalDist().inv_cdf(1 - CHANCE / (BANDS * len(reading.open)))
        rest = whole * exact_root(1 / (1 - BOUNDS_SHARE), 40).upper
        return cls(reading.open, noise, rest, max(factor * float(noise.scale), 1.0))

    def said(self, ends: Mapping[str, tuple[int, int]], reading: Any) -> str:
        """What was found, in one sentence."""
        known = {each.name: each for each in _columns(reading)}
        told = [
            f"{name} {_shown(low, known[name])} to {_shown(high, known[name])}" for name, (low, high) in ends.items()
        ]
        return (
            f"bounds found in noisy counts of bands (normal noise of scale {float(self.noise.scale):.4g} rows, counts from "
            f"{self.least:.4g} on): {', '.join(told)}"
        )


def fit_with_bounds(model: Any, reading: Any, multiplier: Real) -> Mechanism:
    """Bands first, then the fit between the bounds they give: one plan, one cost."""
    plan = BoundsPlan.of(reading, multiplier)
    costs = {ends: _costs(model.at(_within(reading, dict.fromkeys(plan.names, ends)), plan.rest)) for ends in _TRIED}
    first = costs[_TRIED[0]]
    if any(cost != first for cost in costs.values()):
        raise InvalidArgument(
            f"bounds='private' is not for this {model.title}, whose noise depends on the bounds; declare them in the codebook"
        )

    def counts_of(data: Any) -> Whole:
        return band_counts(PrivateRows.of(data), plan.names, norm=root_up(plan.noise.square))

    asked = plan.noise.total(reading.space, counts_of)

    def run(compositor: Compositor) -> Any:
        counts = compositor.release(asked).reshape(len(plan.names), BANDS)
        ends = {name: found_ends(each, plan.least) for name, each in zip(plan.names, counts, strict=True)}
        fitted = compositor.release(model.at(_within(reading, ends), plan.rest))
        return replace(fitted, noise=f"{plan.said(ends, reading)}; then {fitted.noise}")

    once, twice = first
    return planned_task(
        reading.space,
        costs=[plan.noise.cost, once],
        run=run,
        recipe=model.recipe(),
        read=_held,
        replaced=[plan.noise.cost.group(2), twice] if reading.replaces else None,
    )


def _held(data: Any) -> Any:
    """The rows themselves, once: bands and model both need them."""
    return data.table() if isinstance(data, RemoteRows) else data


def _costs(fit: Mechanism) -> tuple[Cost, Cost]:
    return fit.privacy_map(Fraction(1)), fit.privacy_map(Fraction(2))


def _columns(reading: Any) -> tuple[Feature, ...]:
    return reading.features if reading.target is None else (*reading.features, reading.target)


def _within(reading: Any, ends: Mapping[str, tuple[int, int]]) -> Any:
    """The same rows, with these bounds; columns hold every number to its bounds."""

    def bounded(each: Feature) -> Feature:
        return replace(each, lower=ends[each.name][0], upper=ends[each.name][1]) if each.name in ends else each

    target = None if reading.target is None else bounded(reading.target)
    return replace(reading, features=tuple(bounded(each) for each in reading.features), target=target, open=())


def _shown(end: int, column: Feature) -> str:
    return f"{float(end * column.step):g}"
