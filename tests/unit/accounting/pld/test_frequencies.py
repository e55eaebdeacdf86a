"""Single coefficients of a transform, made in pieces, lie within their bound of the truth."""

import numpy as np
import pytest
from mpmath import mp, mpf

from deniable.accounting.pld.saddle_point import Tilted
from deniable.accounting.pld.spectrum import _low_frequencies, fast_size


@pytest.mark.parametrize("count", [1, 2, 33, 240])
@pytest.mark.parametrize("length", [1, 70, 1500])
def test_coefficients_are_within_their_bound(count, length):
    size = 245_760
    place = np.unique((np.arange(length) ** 2 * 7919 + count) % 120_000 - 60_000)
    mass = (np.arange(1, len(place) + 1) * 0.6180339887498949) % 1.0
    mass /= mass.sum()
    found, error = _low_frequencies(Tilted(place, mass, 1, 0.0, 0, 0.0), count, size)
    assert len(found) == count
    assert error < 1e-11
    with mp.workdps(40):
        for frequency in {0, count // 2, count - 1}:
            angles = [2 * mp.pi * ((frequency * int(each)) % size) / size for each in place]
            real = sum((mpf(float(m)) * mp.cos(a) for m, a in zip(mass, angles, strict=True)), mpf(0))
            imaginary = -sum((mpf(float(m)) * mp.sin(a) for m, a in zip(mass, angles, strict=True)), mpf(0))
            assert abs(complex(real, imaginary) - found[frequency]) <= error


def test_every_transform_has_a_power_of_two_places():
    """For such lengths the error bound of docs/theory/pld.md is a theorem."""
    for least in [*range(1, 300), 10**5 + 1, (1 << 20) + 1]:
        size = fast_size(least)
        assert size >= least
        assert size & (size - 1) == 0
        assert size < 2 * max(least, 64)
