"""Numbers shared out so that they add up: to a parent, on one grid, and if wanted whole and not negative."""

from __future__ import annotations

from math import ceil, log2
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_FINEST = 20
"""Fitted numbers keep at most so many binary places."""


def binary_places(values: Floats) -> int:
    """How many binary places these numbers, and every sum of some of them, can have and still be exact as floats."""
    largest = float(np.abs(values).sum())
    return min(_FINEST, 51 - ceil(log2(max(1.0, largest))))


def on_grid(values: Floats, places: int) -> Floats:
    """The nearest multiples of 2**-places; sums of them are exact."""
    return np.rint(values * 2.0**places) * 2.0**-places


def whole_shares(total: int, wanted: Floats) -> Integers:
    """Non-negative whole numbers that add up to `total`, as close as can be to what is wanted.

    The nearest point of the simplex, then the largest remainders: no share is a whole one away from it.
    """
    near = _on_simplex(float(total), wanted)
    shares = np.floor(near).astype(np.int64)
    left = total - int(shares.sum())
    order = np.argsort(-(near - shares), kind="stable")
    shares[order[:left]] += 1
    return shares


def _on_simplex(total: float, wanted: Floats) -> Floats:
    """The closest non-negative numbers with this sum: everything is lowered (or raised) by one amount and cut at zero."""
    falling = np.sort(wanted)[::-1]
    amounts = (np.cumsum(falling) - total) / np.arange(1, len(wanted) + 1)
    kept = np.flatnonzero(falling - amounts > 0)
    amount = amounts[kept[-1]] if len(kept) else amounts[-1]
    near: Floats = np.maximum(wanted - amount, 0.0)
    return near
