"""How much one value of a Rényi curve takes, and the public bound above which a looser curve is read.

The bound is compared with a count that depends on the cost alone. Whatever is read instead is an upper bound too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from deniable.accounting.curves.curve import Curve
from deniable.accounting.curves.grouped import DoubledCurve, GroupedCurve
from deniable.accounting.curves.sampled import LARGEST, BinomialSample, FixedSizeSample
from deniable.accounting.curves.sampled_gaussian import SampledGaussianCurve

MOST_VALUES = 20_000
"""The most values of simple curves that one value of a composed curve may take."""

SHORTENED = f"the steps of a group are doubled, not split best: that would take more than {MOST_VALUES} divergences"

_SAMPLED_GAUSSIAN = 1000


def work(curve: object) -> int:
    """About how many values of simple curves one value takes; a sampled Gaussian is a long sum."""
    inside = sum(map(work, _parts(curve)))
    match curve:
        case SampledGaussianCurve():
            return _SAMPLED_GAUSSIAN
        case GroupedCurve():
            return curve.values * inside
        case BinomialSample() | FixedSizeSample():
            return LARGEST * inside
        case _:
            return max(inside, 1)


def grouped_curve(base: Curve, size: int) -> Curve:
    """The curve of a group, by the best splits where they are within the bound."""
    if size > MOST_VALUES:
        return DoubledCurve(base, size)
    best = GroupedCurve(base, size)
    return best if work(best) <= MOST_VALUES else DoubledCurve(base, size)


def shortened(curve: object) -> bool:
    """Whether a looser curve is in it, because of the bound."""
    return isinstance(curve, DoubledCurve) or any(map(shortened, _parts(curve)))


def _parts(value: object) -> Iterator[Any]:
    """The curves a curve is made of."""
    if not is_dataclass(value):
        return
    for each in fields(value):
        yield from _curves(getattr(value, each.name))


def _curves(value: object) -> Iterator[Any]:
    if isinstance(value, tuple):
        for each in value:
            yield from _curves(each)
    elif hasattr(value, "at"):
        yield value
