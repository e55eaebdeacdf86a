"""Counts along a hierarchy of public keys, such as country, state, county: noisy at every level, consistent afterwards.

Keys are tuples; a key's ancestors are its beginnings, so ("US", "CA", "Alpine") belongs to ("US", "CA"), ("US",) and ().
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.core.distance import Distance
from deniable.core.domain import Keyed
from deniable.core.mechanism import Mechanism, Utility
from deniable.core.space import Space
from deniable.core.step import step
from deniable.cost import Cost, composed
from deniable.errors import InvalidArgument, SpaceMismatch
from deniable.exact.guards import Real, positive
from deniable.kernels import Law, Sensitivity, noise_of
from deniable.kernels.integer_noise import joint_error
from deniable.mechanisms.additive import noisy_values
from deniable.mechanisms.carried import MOST_LEAVES, carried, exact_sums
from deniable.mechanisms.hierarchy import Consistent, consistent, whole_counts
from deniable.mechanisms.lattice_norms import norms
from deniable.noise import Entropy

Key = tuple[Hashable, ...]


@dataclass(frozen=True)
class Spine:
    """The levels of a hierarchy: every level's keys in public order and, below the root, the place of each key's parent."""

    keys: tuple[tuple[Key, ...], ...]
    parents: tuple[NDArray[np.int64], ...]

    def sums(self, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The counts of every level, from the counts of the last: exact, those beyond int64 kept at its ends."""
        return exact_sums(leaves, self._levels)

    def _levels(self, leaves: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        levels = [leaves]
        for parent, names in zip(reversed(self.parents), reversed(self.keys[:-1]), strict=True):
            level = np.zeros(len(names), dtype=np.int64)
            np.add.at(level, parent, levels[0])
            levels.insert(0, level)
        return levels


@dataclass(frozen=True)
class NoisySpine:
    """Noisy counts at every level of a hierarchy; `estimates` and `whole` make them consistent, at no cost."""

    spine: Spine
    measured: tuple[NDArray[np.int64], ...]
    scales: tuple[Fraction, ...]
    unit: float

    @cached_property
    def _consistent(self) -> Consistent:
        return consistent(
            [level * self.unit for level in self.measured],
            variances=[float(scale) ** 2 for scale in self.scales],
            parents=self.spine.parents,
        )

    def estimates(self) -> dict[Key, float]:
        """The best estimate for every key of every level; a parent equals the sum of its children."""
        return self._named(self._consistent.levels)

    def whole(self) -> dict[Key, int]:
        """Whole, nonnegative counts that add up along the hierarchy."""
        return self._named(whole_counts(self._consistent, parents=self.spine.parents))

    def _named(self, levels: Sequence[NDArray[Any]]) -> dict[Key, Any]:
        return {
            key: value
            for names, level in zip(self.spine.keys, levels, strict=True)
            for key, value in zip(names, level.tolist(), strict=True)
        }


@step
def noisy_hierarchy(space: Space, *, scales: Sequence[Real], law: Law = Law.LAPLACE) -> Mechanism:
    """Noise on the counts of every level of a hierarchy, `scales` from the root down: a `NoisySpine`.

    Guarantee: the sum of the levels' costs; a change of d in L1 changes the counts of each level by at most d.
    Edge cases: keys are public tuples of one length; as many scales as that length plus one.
    """
    values, widths = carried(space, "noisy_hierarchy"), [positive(scale=scale) for scale in scales]
    spine = _spine(space)
    if len(widths) != len(spine.keys):
        raise InvalidArgument(f"scales must be {len(spine.keys)} numbers, from the root down, got {len(widths)}")
    steps = tuple(width / values.step for width in widths)
    noises = [noise_of(law, scale) for scale in steps]
    measured = [(noise, len(names)) for noise, names in zip(noises, spine.keys, strict=True)]

    def release(data: Any, entropy: Entropy) -> NoisySpine:
        exact = spine.sums(values.steps(data))
        noisy = [noisy_values(level, noise=noise, entropy=entropy) for level, noise in zip(exact, noises, strict=True)]
        return NoisySpine(spine, tuple(noisy), steps, float(values.step))

    def cost(d_in: Distance) -> Cost:
        leaf = norms(space.metric, d_in, step=values.step, size=values.size)
        level = Sensitivity(l0=leaf.l0, l1=leaf.l1, linf=leaf.l1)
        return composed([noise.cost(level) for noise in noises[:-1]] + [noises[-1].cost(leaf)])

    return Mechanism(
        space,
        release,
        cost,
        Utility(
            "value of each measured count, at the noisiest level",
            lambda beta: noise_of(law, max(steps)).error(beta) * values.step,
            lambda beta: joint_error(measured, beta) * values.step,
        ),
    )


def _spine(space: Space) -> Spine:
    domain = space.domain
    keys = domain.keys if isinstance(domain, Keyed) else None
    if not keys or not all(isinstance(key, tuple) for key in keys) or len({len(key) for key in keys}) != 1:  # type: ignore[arg-type]
        raise SpaceMismatch(f"noisy_hierarchy needs public keys that are tuples of one length, got {domain!r}")
    if not len(keys) <= MOST_LEAVES:
        raise InvalidArgument(f"noisy_hierarchy needs at most {MOST_LEAVES} keys, got {len(keys)}")
    leaves: tuple[Key, ...] = keys  # type: ignore[assignment]
    levels = [tuple(dict.fromkeys(key[:depth] for key in leaves)) for depth in range(len(leaves[0]))] + [leaves]
    parents = []
    for above, below in pairwise(levels):
        places = {key: place for place, key in enumerate(above)}
        parents.append(np.array([places[key[:-1]] for key in below], dtype=np.int64))
    return Spine(tuple(levels), tuple(parents))
