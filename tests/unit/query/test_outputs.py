"""Whenever the noise stays within its half-widths, every interval holds the truth: honest, whatever the data."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.kernels import Noise
from deniable.kernels.laws import Law
from deniable.query.aggregates import MeanOf, MomentOf
from deniable.query.columns import Noisy
from deniable.query.ratio import mean_intervals, moment_intervals

BETA = Fraction(1, 20)
values = st.lists(st.integers(0, 100), min_size=1, max_size=40)
shares = st.floats(-1, 1)


def noisy(exact, noise, share, parts, step=Fraction(1)):
    """A column whose noise is any share of what its interval allows when the error probability is split in `parts`."""
    reach = noise.error(BETA / parts)
    return Noisy(np.array([exact + round(share * reach)], dtype=np.int64), step, noise)


@settings(max_examples=200, deadline=None)
@given(data=values, a=shares, b=shares, scale=st.integers(1, 30))
def test_mean_intervals_hold_the_truth(data, a, b, scale):
    noise = Noise(Law.LAPLACE, Fraction(scale))
    output = MeanOf("s", "n", Fraction(50), Fraction(0), Fraction(100))
    columns = {"s": noisy(sum(x - 50 for x in data), noise, a, 2), "n": noisy(len(data), noise, b, 2)}
    band = mean_intervals(output, columns, BETA)
    truth = sum(data) / len(data)
    assert band.lower[0] - 1e-9 <= truth <= band.upper[0] + 1e-9
    assert 0 <= band.lower[0] <= band.value[0] <= band.upper[0] <= 100


@settings(max_examples=200, deadline=None)
@given(data=values, a=shares, b=shares, c=shares, scale=st.integers(1, 30), root=st.booleans())
def test_variance_intervals_hold_the_truth(data, a, b, c, scale, root):
    noise = Noise(Law.GAUSSIAN, Fraction(scale))
    shift = Fraction(1250)
    output = MomentOf("q", "s", "s", "n", shift, Fraction(0), Fraction(2500), root=root)
    columns = {
        "s": noisy(sum(x - 50 for x in data), noise, a, 3),
        "n": noisy(len(data), noise, b, 3),
        "q": noisy(sum((x - 50) ** 2 - 1250 for x in data), noise, c, 3),
    }
    band = moment_intervals(output, columns, BETA)
    truth = float(np.var(data)) ** (0.5 if root else 1)
    assert band.lower[0] - 1e-6 <= truth <= band.upper[0] + 1e-6
    assert np.isfinite(band.value).all()


@settings(max_examples=100, deadline=None)
@given(data=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=30), a=shares, b=shares)
def test_covariance_intervals_hold_the_truth(data, a, b):
    noise = Noise(Law.LAPLACE, Fraction(5))
    output = MomentOf("p", "x", "y", "n", Fraction(0), Fraction(-2500), Fraction(2500))
    columns = {
        "x": noisy(sum(x - 50 for x, _ in data), noise, a, 4),
        "y": noisy(sum(y - 50 for _, y in data), noise, b, 4),
        "p": noisy(sum((x - 50) * (y - 50) for x, y in data), noise, a, 4),
        "n": noisy(len(data), noise, b, 4),
    }
    band = moment_intervals(output, columns, BETA)
    x, y = (np.array(column, dtype=float) for column in zip(*data, strict=True))
    truth = float(((x - x.mean()) * (y - y.mean())).mean())
    assert band.lower[0] - 1e-6 <= truth <= band.upper[0] + 1e-6
