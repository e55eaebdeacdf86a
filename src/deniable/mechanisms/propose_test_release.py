"""Propose, test, release: a stable answer, exactly or with noise for a proposed bound on its local sensitivity, or nothing.

The data's distance to instability (how many units must change before the answer could) is tested with noise; only an answer
that is certainly far from changing is released. A tie counts: the distance is to the nearest data set where the answer is not
safe, which for the most frequent item is a lead of one, not of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from deniable import noise
from deniable.core.cells import entry, names_of, public_order, whole
from deniable.core.distance import Distance, plain
from deniable.core.domain import Keyed, Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.core.transformation import meet
from deniable.cost import FREE, Bounded, Cost, DiscreteLaplace, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, nonnegative, open_probability, positive
from deniable.kernels import DiscreteLaplaceNoise
from deniable.kernels.laws import least
from deniable.mechanisms.lattice_norms import check_scores, spread
from deniable.mechanisms.local_stability import Stability
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True)
class StabilityTest:
    """Passes when distance + noise >= threshold. At distance zero that happens with probability at most `delta`."""

    scale: Fraction
    threshold: int

    @classmethod
    def made(cls, *, scale: Real, delta: Real) -> StabilityTest:
        """The smallest threshold that an unstable data set passes with probability at most `delta`."""
        width, chance = positive(scale=scale), open_probability(delta=delta)
        enough = least(lambda t: DiscreteLaplaceNoise(width).tail(t).upper <= chance, near=0)
        return cls(width, enough)

    def passes(self, distance: int, entropy: Entropy) -> bool:
        """One noisy test."""
        return distance + noise.discrete_laplace(self.scale, entropy) >= self.threshold

    def enough(self, beta: Fraction) -> Fraction:
        """A data set at least this far from instability passes, except with probability at most `beta`."""
        return Fraction(self.threshold - 1 + DiscreteLaplaceNoise(self.scale).seldom_reached(beta))

    def cost(self, *, moved: int, unstable_at: int = 0) -> Cost:
        """Pure for the noisy distance, which moves by `moved`; plus the chance that a distance of `unstable_at` passes."""
        slip = DiscreteLaplaceNoise(self.scale).tail(self.threshold - unstable_at).upper
        return composed(
            [DiscreteLaplace(scale=self.scale, sensitivity=moved), Bounded(epsilon=0, delta=min(slip, Fraction(1)))]
        )


@step
def propose_test_release(
    space: Space,
    *,
    distance: Callable[[Any], int],
    release: Callable[[Any, Entropy], Any],
    release_cost: Cost = FREE,
    scale: Real,
    delta: Real,
    author: str,
) -> Mechanism:
    """`release(data, entropy)` when the data is noisily far from instability, else None.

    `distance(data)` is how many units must change before the data is unstable, 0 when it is; it must not change by more than one
    per unit. On stable data `release` must cost `release_cost` between neighbours (nothing, when it is the same answer).
    Both are the author's claim, which `claims` carries along. Where `distance` fails the data counts as unstable, where `release`
    fails the answer is None.

    Guarantee: given the claim, 1/scale for the test, `release_cost`, and `delta` for an unstable data set that passes. One unit
    at a time: a larger `d_in` is refused.
    """
    test = StabilityTest.made(scale=scale, delta=delta)

    def answer(data: Any, entropy: Entropy) -> Any:
        return _released(release, data, entropy) if test.passes(_stable_for(distance, data), entropy) else None

    def cost(d_in: Distance) -> Cost:
        if not plain(d_in) <= 1:
            raise InvalidArgument(
                f"propose_test_release is proved for one unit at a time, got d_in = {d_in}; use group()"
            )
        return composed([test.cost(moved=1), release_cost]) if plain(d_in) == 1 else FREE

    utility = Utility("distance: data at least this far from instability is answered", test.enough)
    return Mechanism(space, answer, cost, utility, (f"{author}: {getattr(distance, '__name__', 'distance')}",))


def _stable_for(distance: Callable[[Any], int], data: Any) -> int:
    """The author's distance; data on which it fails is unstable."""
    try:
        return max(0, int(distance(data)))
    except Exception:
        return 0


def _released(release: Callable[[Any, Entropy], Any], data: Any, entropy: Entropy) -> Any:
    """The author's answer; nothing where it fails, because an error would be a release."""
    try:
        return release(data, entropy)
    except Exception:
        return None


@step
def most_frequent(space: Space, *, scale: Real, delta: Real) -> Mechanism:
    """The key with the largest count, exactly, when it noisily leads by enough; else None. Keys may come from the data.

    Guarantee: (1/scale, delta) for one row added or removed. The distance to instability is the lead minus one: at a lead of one
    a single row can make a tie. Wider changes cost the wider loss and the larger delta of their own lead.
    """
    domain = space.domain
    if not (isinstance(domain, Keyed) and isinstance(domain.element, Lattice) and domain.element.step == 1):
        raise SpaceMismatch(f"most_frequent needs whole-numbered counts per key, got {domain!r}")
    test = StabilityTest.made(scale=scale, delta=delta)

    def answer(data: Any, entropy: Entropy) -> Any:
        leader, lead = _leader(data)
        passed = test.passes(max(0, lead - 1), entropy)
        return leader if passed and lead else None

    def cost(d_in: Distance) -> Cost:
        moved = spread(space.metric, d_in, step=Fraction(1))
        return test.cost(moved=moved, unstable_at=moved - 1) if moved else FREE

    check_scores(space.metric)
    utility = Utility("lead: a key at least this far ahead is shown", lambda beta: test.enough(beta) + 1)
    return Mechanism(space, answer, cost, utility)


def _leader(counts: Any) -> tuple[Any, int]:
    """The first key in public order with the largest count, and its lead over the next; no lead without counts."""
    found = ((whole(entry(counts, key, 0)) or 0, key) for key in names_of(counts))
    present = [(count, key) for count, key in found if count > 0]
    if not present:
        return None, 0
    top = max(count for count, _ in present)
    tied = [key for count, key in present if count == top]
    others = [count for count, _ in present if count != top]
    lead = 0 if len(tied) > 1 else top - max(others, default=0)
    return public_order(tied)[0], lead


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
