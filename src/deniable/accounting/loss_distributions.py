"""The law of the privacy loss itself: how much one answer, or many, tells about one unit, and how often.

For pictures and for understanding. Guarantees are read from the profile, which needs no tail of this law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from deniable.accounting.adjacency import neighbours_of
from deniable.accounting.pld import PrivacyLoss
from deniable.accounting.pld.convolution import Steps, look, read
from deniable.accounting.pld.outward import Beyond
from deniable.cost import Cost
from deniable.errors import InvalidArgument, Unaccountable
from deniable.exact.guards import Real, integer, rational

if TYPE_CHECKING:
    from deniable.plots import Figure

_SHARE = 0.05
_FAINT = 1e-4
_APART = 0.1
"""Two readings of one chance that differ by more are no picture of it."""


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """What the log-likelihood ratio of the answers is, when the unit is there and the worst pair of data sets is compared.

    The numbers are good to about a per cent, meant for drawing: for a guarantee ask `epsilon` or `delta`. Where they could be
    further off (little noise a billion times) `Unaccountable` is raised.
    """

    cost: Cost

    def exceeds(self, loss: Real) -> float:
        """About the probability that the privacy loss is larger than this; what is never told apart from infinity counts."""
        at, (steps, back) = float(rational(loss=loss)), self._steps()
        if not steps:
            return 0.0 if at >= 0 else 1.0
        with np.errstate(all="ignore"):
            return _event(steps, at)[0] if at >= 0 else 1 - _event(back, -at)[1]

    def plot(self, *, bins: int = 61) -> Figure:
        """The probability of the loss in each of so many bins of equal width, around zero."""
        from deniable.plots import loss_histogram

        count = integer(bins=bins, least=3)
        reach = self._reach()
        width = 2 * reach / count
        edges = [-reach + width * k for k in range(count + 1)]
        above = [self.exceeds(edge) for edge in edges]
        masses = [max(0.0, low - high) for low, high in pairwise(above)]
        middles = [edge + width / 2 for edge in edges[:-1]]
        return loss_histogram(middles, masses=masses, width=width, beyond=above[-1])

    def _steps(self) -> tuple[Steps, Steps]:
        found = PrivacyLoss(self.cost)
        return found.directions[0].steps, found.directions[-1].steps

    def _reach(self) -> float:
        """The loss that is hardly ever exceeded, or that cannot be, and a little more so that an atom there has its bin."""
        steps, _ = self._steps()
        top = math.fsum(times * pair.ceiling for pair, times in steps)
        reach = 1e-3
        while reach < min(top, 1e4) and self.exceeds(reach) > _FAINT:
            reach *= 1.25
        found = min(reach, top)
        if not found > 0:
            raise InvalidArgument("this cost tells nothing about anyone: its privacy loss is always zero")
        return found * 1.02


def _event(steps: Steps, loss: float) -> tuple[float, float]:
    """About P[loss exceeds this] and Q of the same event."""
    if len(steps) == 1 and steps[0][1] == 1:
        pair, at = steps[0][0], np.array([loss])
        low, high = float(pair.line(at, np.zeros(1))[0]), float(pair.line(at, np.ones(1))[0])
        other = max(0.0, (low - high) / math.expm1(1.0))
        return min(1.0, max(0.0, low + other)), min(1.0, other)
    if loss >= math.fsum(times * pair.ceiling for pair, times in steps):
        return 0.0, 0.0
    try:
        reading = read(steps, look(steps, epsilon=loss), _SHARE)
        (chance, other), (above, _) = reading.below.event(loss), reading.above.event(loss)
        found, most = chance + reading.below.infinite, above + reading.above.infinite
    except (Beyond, ArithmeticError):
        found, most, other = 0.0, 1.0, 1.0
    if not (abs(most - found) <= _APART and other <= 1 + _APART):
        raise Unaccountable("the losses of this cost lie too far apart for their law to be shown; ask epsilon or delta")
    return min(1.0, max(0.0, found)), min(1.0, other)


def loss_distribution(cost: Cost) -> LossDistribution:
    """The law of the privacy loss of a cost; `Unaccountable` where only a divergence is known and no pair of laws."""
    neighbours_of(cost)
    PrivacyLoss(cost)
    return LossDistribution(cost)
