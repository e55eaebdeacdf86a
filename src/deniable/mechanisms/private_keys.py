"""Tables whose keys come from private data: noisy counts above a threshold, and keys alone by the optimal rule.

A key no neighbour has would give a unit away, so it may appear only with probability delta. Answers come in public order.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from deniable.core.cells import entry, names_of
from deniable.core.distance import Distance
from deniable.core.domain import Keyed, Lattice
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.ordering import public_order
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import FREE, Bounded, Cost, Grouped, Repeated, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, open_probability, positive, rational
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.key_threshold import new_key_chance
from deniable.kernels.laws import least
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import read_steps, vector, whole
from deniable.mechanisms.lattice_norms import check_metric, norms
from deniable.mechanisms.selection import keep_probability, kept
from deniable.noise import Entropy


@step
def threshold_histogram(space: Space, *, scale: Real, threshold: Real, law: Law = Law.LAPLACE) -> Mechanism:
    """Noisy values of the keys that are in the data, shown where the noisy value reaches `threshold`: a dictionary.

    A key of value zero is treated as absent. `threshold_for` finds the threshold for a wanted delta. Intervals around shown
    values hold before it is known that they were shown; small values that were shown lean upwards.

    Guarantee: the cost of the noise, and delta = the chance that one of the unit's own keys is shown, the mass at the threshold
    counted: 1 - (1 - P[noise >= threshold - linf])**l0.
    """
    lattice = _lattice(space, "threshold_histogram")
    steps, level = positive(scale=scale) / lattice.step, rational(threshold=threshold) / lattice.step
    if level.denominator != 1:
        raise InvalidArgument(f"threshold must be a multiple of the step {lattice.step}, got {threshold!r}")
    cut, noise = int(level), noise_of(law, steps)

    def answer(data: Any, entropy: Entropy) -> dict[Hashable, int | float]:
        keys, counts = _present(data)
        noisy = noisy_values(counts, noise=noise, entropy=entropy)
        shown = np.flatnonzero(noisy >= cut)
        values = read_steps(lattice, noisy[shown]).tolist()
        table = dict(zip((keys[place] for place in shown.tolist()), values, strict=True))
        return {key: table[key] for key in public_order(table)}

    def cost(d_in: Distance) -> Cost:
        apart = norms(space.metric, d_in, step=lattice.step, size=None)
        slip = new_key_chance(cut, noise=noise, apart=apart)
        return composed([noise.cost(apart), Bounded(epsilon=0, delta=slip)])

    return Mechanism(
        space,
        answer,
        cost,
        Utility(
            "value of each entry, whether shown or not",
            lambda beta: noise.error(beta) * lattice.step,
            _unknown_keys,
        ),
    )


@step
def select_partitions(space: Space, *, epsilon: Real, delta: Real) -> Mechanism:
    """The keys that enough units have, by the optimal rule: no rule that is (epsilon, delta)-private per key shows more of them.

    Counts are numbers of units; the answer is a list of keys in public order, without values.

    Guarantee: (epsilon, delta) for each of the l0 keys a unit touches, when it changes each count by at most one; larger changes
    are priced as groups.
    """
    lattice = _lattice(space, "select_partitions")
    if lattice.step != 1:
        raise SpaceMismatch(f"select_partitions needs numbers of units, got {lattice!r}")
    each = Bounded(epsilon=epsilon, delta=open_probability(delta=delta))

    def answer(data: Any, entropy: Entropy) -> list[Any]:
        keys, counts = _present(data)
        keep = kept(counts, epsilon=each.epsilon, delta=each.delta, entropy=entropy)
        return public_order(keys[place] for place in np.flatnonzero(keep).tolist())

    return Mechanism(
        space,
        answer,
        lambda d_in: _keys_cost(each, norms(space.metric, d_in, step=Fraction(1), size=None)),
        Utility("units: a key that more units have is always shown", lambda beta: _enough(each, beta)),
    )


def _keys_cost(each: Bounded, apart: Sensitivity) -> Cost:
    """One price per touched key; several steps in one key are a group, and so is any path of single steps."""
    if not apart.l1:
        return FREE
    if apart.linf == 1:
        return each if apart.l0 == 1 else Repeated(each, apart.l0)
    return Grouped(each, apart.l1)


def _enough(each: Bounded, beta: Fraction) -> Fraction:
    """The most units a key can have and still be left out with a probability above beta."""
    count = least(lambda n: keep_probability(n, epsilon=each.epsilon, delta=each.delta) >= 1 - beta)
    return Fraction(max(count - 1, 0))


def _unknown_keys(_: Fraction) -> NoReturn:
    raise InvalidArgument(
        "how many keys there are is private, so no error is stated for all of them at once: declare the keys, or ask for "
        "confidence 1 - beta/n of each, n the most keys there can be"
    )


def _lattice(space: Space, who: str) -> Lattice:
    domain = space.domain
    if not (isinstance(domain, Keyed) and isinstance(domain.element, Lattice) and not domain.element.missing):
        raise SpaceMismatch(f"{who} needs numbers per key on a lattice, got {domain!r}")
    if domain.keys is not None:
        raise SpaceMismatch(
            f"{who} is for keys that come from the data; these keys are public, add noise to them directly"
        )
    check_metric(space.metric, size=None)
    return domain.element


def _present(data: Any) -> tuple[list[Hashable], Any]:
    """Keys and values, without the keys whose value is zero: those count as absent."""
    keys = names_of(data)
    values = whole(vector([entry(data, key, 0) for key in keys], len(keys), None))
    places = np.flatnonzero(values)
    return [keys[place] for place in places.tolist()], values[places]
