"""What lies outside the window of a transform comes back in at its other end: the error bound must cover it, from both sides."""

import math

import numpy as np
import pytest

from deniable.accounting.pld.discretization import GridMeasure, LossGrid
from deniable.accounting.pld.saddle_point import TiltedPart
from deniable.accounting.pld.spectrum import LossWindow, Spectrum

GRID = LossGrid(quantum=0.25, stride=1)
LAWS = {
    "mass far below": {-8: 0.3, -1: 0.3, 0: 0.2, 1: 0.2},
    "mass far above": {-1: 0.3, 0: 0.2, 1: 0.3, 8: 0.2},
    "mass on both sides": {-6: 0.25, -1: 0.25, 1: 0.25, 6: 0.25},
}


def measure(law):
    index = np.array(sorted(law), dtype=np.int64)
    return GridMeasure(index, 0, index * GRID.step, np.array([law[place] for place in sorted(law)]), 0.0)


def composed(law, times):
    total = {0: 1.0}
    for _ in range(times):
        grown: dict[int, float] = {}
        for place, mass in total.items():
            for step, share in law.items():
                grown[place + step] = grown.get(place + step, 0.0) + mass * share
        total = grown
    return total


def profile(law, epsilon):
    losses = ((place * GRID.step, mass) for place, mass in law.items())
    return math.fsum(mass * -math.expm1(epsilon - loss) for loss, mass in losses if loss > epsilon)


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("tilt", [0.25, 1.0])
def test_every_window_encloses_the_truth(name, times, tilt):
    """All windows of four to sixteen places around zero, most of them too short on one side or on both."""
    law = LAWS[name]
    truth = composed(law, times)
    wide = 0
    for size in (4, 8, 16):
        for start in range(-size, 1):
            window = LossWindow(start=start, size=size, above=2.0, below=2.0, near=0.0)
            found = Spectrum([TiltedPart(measure(law), times)], grid=GRID, tilt=tilt, window=window)
            for epsilon in (0.1, 0.6):
                lower, upper = found.delta(epsilon)
                assert lower <= profile(truth, epsilon) * (1 + 1e-9) + 1e-12
                assert upper >= profile(truth, epsilon) * (1 - 1e-9) - 1e-12
                wide += upper - lower > 1e-6
    assert wide  # windows that are too short are among them
