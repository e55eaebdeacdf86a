"""The most frequent of keys that come from the data: a limited domain of candidates, and a stop that hides which keys they are.

After Durfee and Rogers (2019), on the exact exponential mechanism; docs/theory/private-top-k.md has the proof.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from deniable import noise
from deniable.core.cells import entry, names_of, public_rank, whole
from deniable.core.distance import Distance
from deniable.core.domain import Keyed, Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.metric import AbsoluteDistance, PartitionDistance
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import FREE, Bounded, Cost, Exponential, Repeated, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact import exp, expm1, ln
from deniable.exact.guards import Real, integer, open_probability, positive
from deniable.kernels.exponential_choice import exponential_score_error
from deniable.kernels.laws import least
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.lattice_norms import norms, spread
from deniable.noise import Entropy

_LARGEST = 2**62


@step
def private_top_k(space: Space, *, k: int, scale: Real, margin: int, candidates: int = 1000) -> Mechanism:
    """Up to k keys with the largest counts, noisily best first, as a list: keys come from the data and no count is shown.

    The `candidates` keys with the largest counts compete with a stop whose score is `margin` above the next largest count; each
    round draws one with probability proportional to exp(score / scale) and removes it, and the stop ends the list.
    `margin_for` finds the margin for a wanted delta. What it costs does not depend on how many keys a person has.

    Guarantee: k rounds of Exponential(spread / scale), and delta for a candidate that a neighbour does not have:
    1 - (1 + m·exp(-(margin - reach)/scale))**-k, m the fewer of keys a unit touches and `candidates`, reach how far two counts can
    drift apart (linf where all move one way, else 2·linf).
    """
    width, rounds, kept = positive(scale=scale), integer(k=k, least=1), integer(candidates=candidates, least=1)
    ahead, monotonic = integer(margin=margin, least=0), _monotonic(space)
    if not rounds <= kept:
        raise InvalidArgument(f"k must be at most the number of candidates, {kept}, got {k!r}")

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        names, scores = _limited(data, kept, ahead)
        return _peeled(names, scores, rounds, width, entropy)

    def cost(d_in: Distance) -> Cost:
        apart = norms(space.metric, d_in, step=Fraction(1), size=None)
        if not apart.linf:
            return FREE
        eta = spread(space.metric, d_in, step=Fraction(1)) / width
        slip = _slip(ahead, k=rounds, scale=width, apart=apart, kept=kept, monotonic=monotonic)
        return composed([Repeated(Exponential(eta=eta), rounds), Bounded(epsilon=0, delta=slip)])

    error = "count below the best key left, or below the stop, for every choice"
    return Mechanism(
        space,
        answer,
        cost,
        Utility(error, lambda beta: exponential_score_error(beta / rounds, count=kept + 1, scale=width)),
    )


def margin_for(
    delta: Real, *, k: int, scale: Real, l0: int, linf: int = 1, candidates: int = 1000, monotonic: bool = True
) -> int:
    """The smallest margin with which `private_top_k` costs at most `delta`, for a unit that touches `l0` keys by at most `linf`.

    Guarantee: that delta, certified; one less would exceed it.
    """
    allowed, width = open_probability(delta=delta), positive(scale=scale)
    rounds, kept = integer(k=k, least=1), integer(candidates=candidates, least=1)
    apart = Sensitivity(l0=integer(l0=l0, least=1), l1=l0 * integer(linf=linf, least=1), linf=linf)
    return least(
        lambda margin: _slip(margin, k=rounds, scale=width, apart=apart, kept=kept, monotonic=monotonic) <= allowed
    )


def _slip(margin: int, *, k: int, scale: Fraction, apart: Sensitivity, kept: int, monotonic: bool) -> Fraction:
    """At most how much of the answer's law is not shared with that of the candidates both neighbours have, rounded up."""
    reach = apart.linf if monotonic or apart.l0 == 1 else 2 * apart.linf
    against = exp(-Fraction(margin - reach) / scale, 96).upper * min(apart.l0, kept)
    return min(Fraction(1), (-expm1(ln(1 + against) * -k)).rounded(64).upper)


def _monotonic(space: Space) -> bool:
    domain, metric = space.domain, space.metric
    if not (isinstance(domain, Keyed) and isinstance(domain.element, Lattice) and domain.element.step == 1):
        raise SpaceMismatch(f"private_top_k needs whole-numbered counts per key, got {domain!r}; count_by_key first")
    if not (isinstance(metric, PartitionDistance) and isinstance(metric.inner, AbsoluteDistance)):
        raise SpaceMismatch(f"private_top_k needs counts compared by a partition distance, got {metric!r}")
    if domain.keys is not None or domain.element.missing:
        raise SpaceMismatch(f"private_top_k is for keys that come from the data, got {domain!r}; use noisy_top_k")
    return metric.monotonic


def _limited(data: Any, kept: int, margin: int) -> tuple[list[Hashable], list[int]]:
    """The keys with the largest counts, ties in public order, and their scores; the stop's score comes last."""
    found = ((whole(entry(data, key, 0)) or 0, key) for key in names_of(data))
    counts = [(min(count, _LARGEST), key) for count, key in found if count > 0]
    counts.sort(key=lambda pair: (-pair[0], public_rank(pair[1])))
    following = counts[kept][0] if len(counts) > kept else 0
    return [key for _, key in counts[:kept]], [count for count, _ in counts[:kept]] + [following + margin]


def _peeled(names: list[Hashable], scores: list[int], k: int, scale: Fraction, entropy: Entropy) -> list[Any]:
    left, values, answer = list(names), np.array(scores, dtype=np.int64), list[Any]()
    for _ in range(k):
        place = noise.exponential_choice(values, scale, entropy)
        if place == len(left):
            break
        answer.append(left.pop(place))
        values = np.delete(values, place)
    return answer
