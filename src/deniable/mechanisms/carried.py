"""How the numbers of a space are carried and read out: one number, a vector, or one number per public key.

Inside, everything is a whole number of lattice steps. A vector is an int64 array; sums beyond int64 saturate, which is
post-processing, so nothing about the data decides a dtype, an error or a path.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.core.cells import cells, entry
from deniable.core.cells import whole as whole_number
from deniable.core.domain import Frame, Keyed, Lattice, Rows, Vectors
from deniable.core.space import Space
from deniable.errors import SpaceMismatch

Steps: TypeAlias = NDArray[np.int64]

_MOST = np.iinfo(np.int64).max
_LEAST = np.iinfo(np.int64).min
_EXACT_FLOATS = 1 << 53
_HALF, _LOW = 31, (1 << 31) - 1
MOST_LEAVES = 1 << 30
"""No sums of longer vectors: see `exact_sums`."""


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
        return whole(vector(data, self.size or 0, self.keys))

    def read(self, steps: Steps) -> Any:
        """The answer as people read it: an array, or a dictionary in the order of the public keys."""
        values = read_steps(self.lattice, steps)
        return dict(zip(self.keys, values.tolist(), strict=True)) if self.keys is not None else values

    def noisy(self, one: Callable[[Any], int], many: Callable[[Any, int], Steps] | None) -> Callable[[Any, Any], Any]:
        """The function that adds `one(entropy)` to a number, or `many(entropy, size)` to a vector.

        Without `many`, whose draws are int64, the noise is too wide for that: every entry gets `one` of its own.
        """
        if self.size is None:
            return lambda data, entropy: self.lattice.read((whole_number(data) or 0) + one(entropy))
        if many is None:
            return lambda data, entropy: self.read(wide_sum(self.steps(data), lambda: one(entropy)))
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
        case Rows() | Frame():
            raise SpaceMismatch(f"{who} adds noise to a number, and these are rows: count() or total() comes before it")
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


def vector(data: Any, size: int, keys: tuple[Hashable, ...] | None) -> NDArray[Any]:
    """`size` whole numbers in public order, exact; what is no whole number, or absent, is zero."""
    if isinstance(data, np.ndarray) and data.dtype.kind == "i" and data.shape == (size,) and keys is None:
        return data
    entries = cells(data)[:size] if keys is None else [entry(data, key, None) for key in keys]
    exact = entries if set(map(type, entries)) <= {int} else [whole_number(each) or 0 for each in entries]
    return _array(exact + [0] * (size - len(exact)))


def _array(exact: list[int]) -> NDArray[Any]:
    try:
        return np.array(exact, dtype=np.int64)
    except OverflowError:
        return np.array(exact, dtype=object)


def exact_integers(data: Any) -> NDArray[Any]:
    """Whole numbers of any size as an array: of integers, or of Python integers, never of floats that would round them."""
    values = np.asarray(data)
    if values.dtype.kind == "f" and all(isinstance(value, int | np.integer) for value in data):
        return np.array([int(value) for value in data], dtype=object)  # NumPy made 2**63 beside -1 floats
    return values


def whole(data: Any) -> Steps:
    """Whole numbers as int64; those beyond its range become its ends (a clamp moves no two values further apart)."""
    values = check_whole(exact_integers(data))
    if values.dtype == np.int64:
        return values
    if values.dtype == object or values.dtype == np.uint64:
        values = np.clip(values.astype(object), int(_LEAST), int(_MOST)) if values.size else values
    return values.astype(np.int64)


def check_whole(values: NDArray[Any]) -> NDArray[Any]:
    """The array itself, if it is one of whole numbers."""
    if values.size and values.dtype.kind not in "iubO":
        raise TypeError(f"lattice values are carried as whole numbers of steps, got an array of {values.dtype}")
    return values


def saturated_sum(left: Steps, right: Steps) -> Steps:
    """left + right, with sums beyond int64 kept at its ends."""
    total = np.add(left, right)  # wraps silently
    wrapped = ((left ^ total) & (right ^ total)) < 0
    if wrapped.any():
        total[wrapped] = np.where(left[wrapped] >= 0, _MOST, _LEAST)
    return total


def wide_sum(values: Steps, draw: Callable[[], int]) -> Steps:
    """Every value plus a draw of any size of its own, with sums beyond int64 kept at its ends."""
    return whole(np.array([value + draw() for value in values.ravel().tolist()], dtype=object)).reshape(values.shape)


def exact_sums(leaves: Steps, sums: Callable[[Steps], list[Steps]]) -> list[Steps]:
    """What `sums`, which only adds entries up, makes of whole numbers: exact, sums beyond int64 kept at its ends.

    Both halves of every number are added apart: at most MOST_LEAVES of at most 2**32 each stay below 2**62.
    """
    pairs = zip(sums(leaves >> _HALF), sums(leaves & _LOW), strict=True)
    return [_joined(high + (low >> _HALF), low & _LOW) for high, low in pairs]


def _joined(high: Steps, low: Steps) -> Steps:
    """high · 2**31 + low, kept within int64."""
    inside = np.clip(high, -(1 << (63 - _HALF)), (1 << (63 - _HALF)) - 1)
    return np.where(inside == high, (inside << _HALF) | low, np.where(high < 0, _LEAST, _MOST))


def read_steps(lattice: Lattice, steps: Steps) -> NDArray[Any]:
    """`steps * step` as people read it: whole numbers for a whole step, else the nearest floats."""
    top, bottom = lattice.step.numerator, lattice.step.denominator
    if lattice.step == 1:
        return steps
    if bottom == 1 and top > _MOST:  # a public step: Python's integers, or every product would be beyond the ends
        return steps.astype(object) * top
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
