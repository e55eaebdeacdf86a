"""How the numbers of a space are carried and read out: one number, a vector, or one number per public key.

Inside, everything is a whole number of lattice steps. A vector is an int64 array; sums beyond int64 saturate, which is
post-processing, so nothing about the data decides a dtype, an error or a path.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.domain import Keyed, Lattice, Vectors
from deniable.core.space import Space
from deniable.errors import SpaceMismatch

Steps: TypeAlias = NDArray[np.int64]

_MOST = np.iinfo(np.int64).max
_LEAST = np.iinfo(np.int64).min
_EXACT_FLOATS = 1 << 53


@dataclass(frozen=True, slots=True)
class Carried:
    """The lattice of a numeric space, with the number of values (None for one number alone) and their keys."""

    lattice: Lattice
    size: int | None
    keys: tuple[Hashable, ...] | None

    @property
    def step(self) -> Fraction:
        """The lattice step, in the numbers people read."""
        return self.lattice.step

    def steps(self, data: Any) -> Steps:
        """A vector's or a table's values as whole steps, in public order."""
        if self.keys is not None:
            data = [data[key] for key in self.keys]
        return whole(data)

    def read(self, steps: Steps) -> Any:
        """The answer as people read it: an array, or a dictionary in the order of the public keys."""
        values = read_steps(self.lattice, steps)
        return dict(zip(self.keys, values.tolist(), strict=True)) if self.keys is not None else values

    def noisy(self, one: Callable[[Any], int], many: Callable[[Any, int], Steps]) -> Callable[[Any, Any], Any]:
        """The function that adds `one(entropy)` to a number, or `many(entropy, size)` to a vector."""
        if self.size is None:
            return lambda data, entropy: self.lattice.read(operator.index(data) + one(entropy))
        size = self.size
        return lambda data, entropy: self.read(saturated_sum(self.steps(data), many(entropy, size)))


def carried(space: Space, who: str) -> Carried:
    """How this space's numbers are carried; spaces without a lattice or with private keys are refused."""
    domain = space.domain
    if isinstance(domain, Keyed) and domain.keys is None:
        raise SpaceMismatch(
            f"{who} needs public keys: these come from the data, so which keys appear is itself private; "
            "declare the keys, or use threshold_histogram or select_partitions"
        )
    match domain:
        case Lattice():
            return Carried(_complete(domain, who), None, None)
        case Vectors(Lattice() as element, length):
            return Carried(_complete(element, who), length, None)
        case Keyed(Lattice() as element, tuple() as keys):
            return Carried(_complete(element, who), len(keys), keys)
        case _:
            raise SpaceMismatch(
                f"{who} works on whole numbers of lattice steps, got {domain!r}; put numbers on a grid first"
            )


def _complete(lattice: Lattice, who: str) -> Lattice:
    if lattice.missing:
        raise SpaceMismatch(
            f"{who} needs a number everywhere, but {lattice!r} allows missing values; impute or drop them"
        )
    return lattice


def whole(data: Any) -> Steps:
    """Whole numbers as int64; those beyond its range become its ends (a clamp moves no two values further apart)."""
    values = np.asarray(data)
    if values.dtype == np.int64:
        return values
    if values.dtype == object or values.dtype == np.uint64:
        values = np.clip(values.astype(object), int(_LEAST), int(_MOST)) if values.size else values
    elif values.size and not np.issubdtype(values.dtype, np.integer) and values.dtype != np.bool_:
        raise TypeError(f"lattice values are carried as whole numbers of steps, got an array of {values.dtype}")
    return values.astype(np.int64)


def saturated_sum(left: Steps, right: Steps) -> Steps:
    """left + right, with sums beyond int64 kept at its ends."""
    total = np.add(left, right)  # wraps silently
    wrapped = ((left ^ total) & (right ^ total)) < 0
    if wrapped.any():
        total[wrapped] = np.where(left[wrapped] >= 0, _MOST, _LEAST)
    return total


def read_steps(lattice: Lattice, steps: Steps) -> NDArray[Any]:
    """`steps * step` as people read it: whole numbers for a whole step, else the nearest floats."""
    top, bottom = lattice.step.numerator, lattice.step.denominator
    if lattice.step == 1:
        return steps
    if bottom == 1:
        limit = int(_MOST) // top
        return np.clip(steps, -limit, limit) * top
    if top >= _EXACT_FLOATS or bottom >= _EXACT_FLOATS:
        return np.array([float(int(count) * lattice.step) for count in steps.tolist()], dtype=np.float64)
    values = steps.astype(np.float64) * float(top) / float(bottom)
    wide = np.abs(steps.astype(np.float64)) >= _EXACT_FLOATS // top  # there the product would round twice
    if wide.any():
        values[wide] = [float(int(count) * lattice.step) for count in steps[wide].tolist()]
    return values
