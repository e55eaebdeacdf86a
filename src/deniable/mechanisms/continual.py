"""A running total of a stream, released after every piece, by a binary tree of noisy partial sums.

Every piece enters one partial sum per level of the tree; every total is read from at most that many. So both the cost and the
error grow with the logarithm of the number of pieces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from deniable.core.distance import Distance, Triple, triple
from deniable.core.domain import Lattice
from deniable.core.guard import Run
from deniable.core.mechanism import Utility
from deniable.core.metric import PartitionDistance
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.stream import Pipe, StreamMechanism, pipe
from deniable.cost import Cost
from deniable.errors import SpaceMismatch
from deniable.exact import number_of
from deniable.exact.guards import Real, integer, positive
from deniable.kernels import Law, noise_of
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.streams import next_number, numbers_of
from deniable.noise import Entropy


class RunningTotal(Run):
    """Takes a number per piece and answers with the noisy total so far; retires after `horizon` pieces.

    State: how many pieces were seen, and for each level of the tree the exact and the noisy sum of its last finished block.
    """

    __slots__ = ("_entropy", "_horizon", "_lattice", "_noise", "_pipe", "_state")

    what = "this running total"

    def __init__(
        self, source: Pipe, lattice: Lattice, horizon: int, noise: Callable[[Entropy], int], entropy: Entropy
    ) -> None:
        super().__init__()
        self._pipe, self._lattice, self._horizon, self._noise = source, lattice, horizon, noise
        self._entropy = entropy
        none = (0,) * horizon.bit_length()
        self._state = _Blocks(0, none, none)

    def feed(self, piece: Any) -> int | float:
        """Take the next piece; the noisy total of all so far."""
        number = next_number(self._pipe, piece, self._entropy)
        with self._turn():
            after = self._state.after(number, self._noise(self._entropy))
            if after.seen == self._horizon:
                self._over = f"this total was made for {number_of(self._horizon, 'piece')} and is over"
            self._state = after
        return self._lattice.read(after.total)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """The finished blocks after `seen` pieces: of each length 2**level the last one, zero where a longer one has taken it up."""

    seen: int
    exact: tuple[int, ...]
    noisy: tuple[int, ...]

    def after(self, number: int, noise: int) -> _Blocks:
        """With one more piece: the block that ends here takes up all shorter ones, and gets its own noise."""
        seen = self.seen + 1
        level = (seen & -seen).bit_length() - 1
        block = sum(self.exact[:level]) + number
        none = (0,) * level
        return _Blocks(seen, (*none, block, *self.exact[level + 1 :]), (*none, block + noise, *self.noisy[level + 1 :]))

    @property
    def total(self) -> int:
        """The noisy sum of all pieces seen."""
        return sum(noisy for place, noisy in enumerate(self.noisy) if self.seen >> place & 1)


@step
def running_total(space: Space, *, horizon: int, scale: Real, law: Law = Law.LAPLACE) -> StreamMechanism:
    """On a stream of numbers, a run that answers every piece with the noisy total so far, for at most `horizon` pieces.

    Guarantee: that of the noise on the vector of finished blocks, of which a piece is in one per level of the tree: L1 sensitivity
    l1·levels, squared L2 sensitivity at most the sum over levels of l1·min(l1, length·linf), with l1 the most that all numbers
    move together and linf the most that one does; levels = the number of binary digits of `horizon`.
    """
    lattice, count = numbers_of(space, "running_total"), integer(horizon=horizon, least=1)
    if not isinstance(space.metric, PartitionDistance):
        raise SpaceMismatch(
            f"running_total adds up all pieces: {space.metric!r} does not bound how many of them differ"
        )
    noise, levels = noise_of(law, positive(scale=scale) / lattice.step), count.bit_length()

    def cost(d_in: Distance) -> Cost:
        return noise.cost(blocks_apart(triple(d_in), lattice.step, count))

    return StreamMechanism(
        space,
        lambda data, entropy: RunningTotal(pipe(data), lattice, count, noise.one, entropy),
        cost,
        Utility(
            "value of each total",
            lambda beta: noise.sum_error(count=levels, beta=beta) * lattice.step,
            lambda beta: noise.sum_error(count=levels, beta=beta / count) * lattice.step,
        ),
    )


def blocks_apart(apart: Triple, step: Fraction, horizon: int) -> Sensitivity:
    """How far the finished blocks of two neighbouring streams lie apart, in steps.

    A block of 2**level pieces moves by at most that many largest changes, and no block by more than all changes together.
    """
    levels, pieces = horizon.bit_length(), min(math.floor(apart.l0), horizon)
    linf = math.floor(apart.linf / step)
    total = min(math.floor(apart.l1 / step), pieces * linf)
    each = [min(total, linf << level) for level in range(levels)]
    touched = min(levels * pieces, levels * total, horizon)
    return Sensitivity(l0=touched, l1=levels * total, linf=each[-1], squares=sum(total * block for block in each))
