"""Signs that a generator was not trained well: from its own trace, which is public, so they cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

_VANISHED, _NOTHING = 1e-3, 1e-6
_APART = 0.15
_WORSE = 0.05


@dataclass(slots=True)
class TrainingTrace:
    """For every step how long the discriminator's word to the generator was, and now and then how far its columns are off."""

    pushes: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def signs(self) -> tuple[str, ...]:
        """What went wrong, in sentences; none where nothing did."""
        return (*vanishing_gradient(self.pushes), *non_convergence(self.gaps))


def vanishing_gradient(pushes: Sequence[float]) -> list[str]:
    """The discriminator stopped telling the generator anything: its word fell to a thousandth of what it had been."""
    if not pushes:
        return []
    part = max(len(pushes) // 4, 1)
    most, last = float(np.max(pushes)), float(np.median(pushes[-part:]))
    if last > max(_VANISHED * most, _NOTHING):
        return []
    return [
        f"Vanishing gradient: the discriminator's word to the generator fell from {most:.2g} to {last:.2g}, so that it learned "
        "nothing more."
    ]


def non_convergence(gaps: Sequence[float]) -> list[str]:
    """The generator's columns ended far from the released ones, or further than they had been."""
    if not gaps:
        return []
    last, best = gaps[-1], min(gaps)
    if last <= _APART and last <= best + _WORSE:
        return []
    return [
        f"Non-convergence: the generator's columns ended at a distance (TVD) of {last:.2f} from the released ones, "
        f"at best it was {best:.2f}."
    ]
