"""Exponential tilting of measures: multiply by e^(s loss), scale to one, and undo it on the way out.

Under the right tilt the losses that decide a delta of 1e-20 are the typical ones, so errors stay relative to the answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.accounting.pld.dots import Measure
from deniable.accounting.pld.floats import TINY, Floats, Integers, U
from deniable.accounting.pld.limits import Beyond


@dataclass(frozen=True, slots=True)
class Part:
    """A measure, composed with itself `times` times."""

    measure: Measure
    times: int


@dataclass(frozen=True, slots=True)
class Tilted:
    """A tilted part: masses that sum to about one, at places counted from `center`; `rounding` bounds their relative error."""

    place: Integers
    mass: Floats
    times: int
    log_total: float
    center: int
    rounding: float


def tilted(part: Part, tilt: float) -> Tilted:
    """Multiply by e^(tilt loss) and scale."""
    index, exponent = part.measure.index, tilt * part.measure.loss
    highest = float(exponent.max())
    weight = part.measure.mass * np.exp(exponent - highest)
    total = float(weight.sum()) or 1.0
    if not math.isfinite(highest + total):
        raise Beyond("the tilt is beyond floats")
    weight /= total
    center = round(float(weight @ index))
    rounding = U * (40 + 4 * float(np.abs(exponent).max()) + 10 * abs(math.log(total)))
    return Tilted(index - center, weight, part.times, math.log(total) + highest, center, rounding)


def log_moment(parts: Sequence[Part], tilt: float) -> float:
    """At least ln of the total of e^(tilt loss) over the composition."""
    value = 0.0
    for part in parts:
        exponent = tilt * part.measure.loss
        highest = float(exponent.max())
        total = float((part.measure.mass * np.exp(exponent - highest)).sum()) + TINY
        error = U * (40 + 4 * float(np.abs(exponent).max()) + math.log2(len(exponent)))
        value += part.times * (math.log(total) + highest + error)
    return value + 8 * U * abs(value)


def log_kernel(tilt: float) -> float:
    """ln of the largest value of e^(-tilt u) (1 - e^-u): what a unit of tilted mass can add at most."""
    return tilt * math.log(tilt) - (1 + tilt) * math.log1p(tilt) + 1e-12
