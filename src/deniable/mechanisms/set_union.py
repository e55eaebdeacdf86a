"""The items that many people have, when any person may have many and the items themselves are private.

Each person spreads one unit of weight over at most `items` of their items, so that the squares of the weights add up to at most
one; an item is shown when its noisy weight reaches a threshold (Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin 2020).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from deniable import noise
from deniable.core.cells import cells, items, key, public_order
from deniable.core.distance import Distance
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import FREE, Bounded, Cost, Gaussian, Grouped, composed
from deniable.errors import InvalidArgument
from deniable.exact.guards import Real, integer, open_probability, positive
from deniable.kernels import RoundedGaussianNoise
from deniable.kernels.key_threshold import new_key_chance
from deniable.kernels.laws import least
from deniable.kernels.unit_sensitivity import Sensitivity
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.lattice_norms import added_or_removed, rows_of
from deniable.noise import Entropy

_MOST_ITEMS = 10_000
_UNIT = 1 << 20
"""Weights are whole numbers of 2**-20, rounded down, so their squares never add up to more than one."""


@step
def set_union(space: Space, *, items: int, scale: Real, delta: Real) -> Mechanism:
    """The items enough people have, in public order, from rows that are collections of items (one row per person).

    A text or a number is one item, a missing row is none, and what cannot be a key (a list, an object) is no item.
    A person with m different items gives each 1/√m; with more than `items` of them, a random choice of that many. `scale` is the
    noise on an item's weight, `delta` the chance that an item only one person has is shown.

    Guarantee: a Gaussian of sensitivity 1 and `scale`, and `delta`, for one person added or removed; more are a group.
    """
    rows_of(space, "set_union")
    most, width, chance = integer(items=items, least=1), positive(scale=scale) * _UNIT, open_probability(delta=delta)
    if not most <= _MOST_ITEMS:
        raise InvalidArgument(f"items must be at most {_MOST_ITEMS}, got {items!r}")
    cut = union_threshold(most, scale=width, delta=chance)

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        weights = _weights(data, most, entropy)
        keys = list(weights)
        exact = np.array(list(weights.values()), dtype=np.int64)
        noisy = noisy_values(exact, noise=RoundedGaussianNoise(width), entropy=entropy)
        return public_order(keys[place] for place in np.flatnonzero(noisy >= cut).tolist())

    def cost(d_in: Distance) -> Cost:
        people = added_or_removed(space.metric, d_in)
        one = composed([Gaussian(scale=width / _UNIT, sensitivity=1), Bounded(epsilon=0, delta=chance)])
        return FREE if not people else one if people == 1 else Grouped(one, people)

    def heavy(beta: Fraction) -> Fraction:
        return Fraction(cut - 1 + RoundedGaussianNoise(width).seldom_reached(beta), _UNIT)

    return Mechanism(space, answer, cost, Utility("weight: an item of at least this weight is shown", heavy))


def union_threshold(items: int, *, scale: Fraction, delta: Fraction) -> int:
    """The smallest threshold (in units of 2**-20) that new items of one person reach with probability at most `delta`.

    A person with m items gives each the weight of m; any number of new ones up to m is covered by all m being new. The size
    that needs most is guessed, then every size is checked.
    """

    def enough(threshold: int, m: int) -> bool:
        apart = Sensitivity(l0=m, l1=m * item_weight(m), linf=item_weight(m))
        return new_key_chance(threshold, noise=RoundedGaussianNoise(scale), apart=apart) <= delta

    width, chance, normal = float(scale), float(delta), NormalDist()
    worst = max(range(1, items + 1), key=lambda m: item_weight(m) - width * normal.inv_cdf(chance / m))
    threshold = least(lambda t: enough(t, worst), near=item_weight(worst) + int(6 * scale))
    for m in range(1, items + 1):
        if not enough(threshold, m):
            threshold = least(partial(enough, m=m), near=threshold)
    return threshold


def item_weight(items: int) -> int:
    """2**20 / √items, rounded down."""
    return math.isqrt(_UNIT * _UNIT // items)


def _weights(data: Any, most: int, entropy: Entropy) -> dict[Hashable, int]:
    weights: dict[Hashable, int] = {}
    for row in cells(data):
        own = public_order({name for each in items(row) if (name := key(each)) is not None})
        if len(own) > most:
            own = [own[place] for place in noise.sample_without_replacement(len(own), most, entropy).tolist()]
        for item in own:
            weights[item] = weights.get(item, 0) + item_weight(len(own))
    return weights
