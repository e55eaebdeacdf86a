"""A declared ball made true: rows outside it are drawn towards its origin, in exact integers, before anything rests on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isqrt
from typing import Any

import numpy as np

from deniable.core import Ball, Lattice
from deniable.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Tables of whole steps made members of a ball. Rows inside are left as they are; `lower` and `upper` bound every entry then.

    Guarantee: a row's result depends on that row alone, and its exact norm is at most the radius.
    """

    ball: Ball
    centre: Any
    limit: int
    """The largest norm in steps; for p = 2 its square."""
    lower: int
    upper: int
    reach: int
    """The largest distance in steps of any entry from the origin, before."""

    @property
    def largest(self) -> int:
        """The largest absolute value of an entry."""
        return max(abs(self.lower), abs(self.upper))

    def __call__(self, table: Any) -> Any:
        if _most(self.reach, self.ball.p, len(self.centre)) <= self.limit:
            return table
        away = table - self.centre
        if self.ball.p is None:
            return np.clip(away, -self.limit, self.limit) + self.centre
        powers = _powers(away, self.ball.p, self.reach)
        outside = np.flatnonzero(powers > self.limit)
        if not len(outside):
            return table
        away[outside] = _shrunk(away[outside], powers[outside], self.ball.p, self.limit, self.reach)
        return away + self.centre


def enforcement(ball: Ball, length: int, lattice: Lattice) -> Enforcement:
    """What draws vectors of a bounded lattice into a ball whose origin is on the lattice."""
    assert lattice.lower is not None
    assert lattice.upper is not None
    centre = _steps_of(ball, length, lattice)
    # towards the origin may leave the bounds
    lower, upper = min([lattice.lower, *centre]), max([lattice.upper, *centre])
    limit = floor((ball.radius / lattice.step) ** (2 if ball.p == 2 else 1))
    return Enforcement(ball, np.array(centre, dtype=np.int64), limit, lower, upper, upper - lower)


def _most(reach: int, p: int | None, length: int) -> int:
    """The largest norm of a row whose entries are at most so far from the origin; for p = 2 its square."""
    return reach if p is None else reach**p * length


def _steps_of(ball: Ball, length: int, lattice: Lattice) -> list[int]:
    centre = ball.centre(length)
    if len(centre) != length:
        raise InvalidArgument(f"origin must have one entry or {length}, got {len(centre)}")
    steps = [each / lattice.step for each in centre]
    if any(each.denominator != 1 for each in steps):
        raise InvalidArgument(f"origin must lie on the grid of {lattice.step}, got {ball.origin!r}")
    if any(abs(each) > 2**51 for each in steps):
        raise InvalidArgument(f"origin is more than 2**51 steps of {lattice.step} away; use a coarser grid")
    return [int(each) for each in steps]


def _powers(table: Any, p: int, largest: int) -> Any:
    """The sum of |entry| or of entry², exact, of every row."""
    wide = largest**p * max(table.shape[1], 1) >= 2**62
    exact = table.astype(object) if wide else table
    return (np.abs(exact) if p == 1 else exact * exact).sum(axis=1)


def _shrunk(rows: Any, powers: Any, p: int, limit: int, largest: int) -> Any:
    """Rows outside the ball scaled towards zero, in doubles; where these leave a row outside, in exact integers."""
    ratios = limit / powers.astype(np.float64)
    factors = (ratios if p == 1 else np.sqrt(ratios)) * (1 - 2.0**-40)
    scaled = np.trunc(rows * factors[:, None]).astype(np.int64)
    for index in np.flatnonzero(_powers(scaled, p, largest) > limit):
        scaled[index] = _inside(rows[index].tolist(), int(powers[index]), p, limit)
    return scaled


def _inside(row: list[int], power: int, p: int, limit: int) -> list[int]:
    """The row scaled towards zero until its exact norm is at most the limit; entries are cut towards zero."""
    top, bottom = (limit, power) if p == 1 else (isqrt(limit << 60), isqrt(power << 60) + 1)
    return [(abs(entry) * top // bottom) * (1 if entry >= 0 else -1) for entry in row]
