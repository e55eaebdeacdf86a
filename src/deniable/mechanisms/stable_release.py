"""Propose a bound on local sensitivity, test that the data is far from breaking it, release with noise for the bound."""

from __future__ import annotations

from math import floor
from typing import Any

from deniable import noise
from deniable.core.distance import Distance, plain
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.transformation import meet
from deniable.cost import FREE, Cost, DiscreteLaplace, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, nonnegative, positive
from deniable.mechanisms.local_stability import Stability
from deniable.mechanisms.propose_test_release import StabilityTest
from deniable.noise import Entropy


@step
def release_if_stable(
    space: Space, *, stability: Stability, proposal: Real, test_scale: Real, delta: Real, scale: Real
) -> Mechanism:
    """The query's answer plus Laplace noise of `scale`, where the data is noisily far from any data set at which one unit moves the
    answer by more than `proposal`; else None. `stability` is `local_stability(query)` or `median_stability(space)`.

    The noise answers for the proposal, which may be far below what one unit could do in the worst case.

    Guarantee: 1/test_scale for the test, proposal/scale for the noise and `delta` for unstable data that passes. Nothing is claimed
    by an author: the distance is computed, and a distance to a set moves by at most one for each unit. One unit at a time.
    """
    meet(space, stability.source, "release_if_stable")
    test, lattice = StabilityTest.made(scale=test_scale, delta=delta), stability.lattice
    width = positive(scale=scale) / lattice.step
    moved = floor(nonnegative(proposal=proposal) / lattice.step)
    distance = stability.meter(proposal)

    def answer(data: Any, entropy: Entropy) -> Any:
        passed = test.passes(distance(data), entropy)
        noisy = stability.answer(data) + noise.discrete_laplace(width, entropy)
        return lattice.read(noisy) if passed else None

    def cost(d_in: Distance) -> Cost:
        if not plain(d_in) <= 1:
            raise InvalidArgument(f"release_if_stable is proved for one unit at a time, got d_in = {d_in}; use group()")
        noise_cost = DiscreteLaplace(scale=width, sensitivity=moved) if moved else FREE
        return composed([test.cost(moved=1), noise_cost]) if plain(d_in) == 1 else FREE

    utility = Utility("distance: data at least this far from instability is answered", test.enough)
    return Mechanism(space, answer, cost, utility)
