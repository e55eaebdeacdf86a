"""Every error term at work: made 2^30 times as large, and the computed quantity pushed by all that it allows, to the harmful side.

The bracket must still hold the truth; with that one term forgotten it must not, so a term that is dropped or turned round shows.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from deniable.accounting.pld import discretization, outward, saddle_point, spectrum
from deniable.accounting.pld.convolution import look, read
from deniable.accounting.pld.gaussian_pairs import gaussian_pair

GROWN, PUSH, LOSS = 2.0**30, 0.98, 2.0
FEW, MANY = 16, 20_000


def steps(times):
    """Together one Gaussian of mu = 1: the truth is known to fifteen digits."""
    return ((gaussian_pair(Fraction(1, times)), times),)


TRUTH = float(gaussian_pair(Fraction(1)).upper(np.array([LOSS]))[0])


def away(side):
    """A bound from above is hurt by too little, one from below by too much."""
    return -side * PUSH


def pushed_dots(patch, side, *, forget):
    assembled = discretization._assembled

    def wrong(*given):
        mass, error = assembled(*given)
        return mass + away(side) * GROWN * error, 0 * error if forget else GROWN * error

    patch.setattr(discretization, "_assembled", wrong)


def pushed_tilt(patch, side, *, forget):
    made = spectrum.tilt_measure

    def wrong(part, by):
        found = made(part, by)
        rounding = GROWN * found.rounding
        return replace(found, mass=found.mass * (1 + away(side) * rounding), rounding=0.0 if forget else rounding)

    patch.setattr(spectrum, "tilt_measure", wrong)


def pushed_transform(name):
    def push(patch, side, *, forget):
        made = getattr(spectrum, name)

        def wrong(*given):
            values, error = made(*given)
            return values * (1 + away(side) * GROWN * error / np.abs(values)), 0.0 if forget else GROWN * error

        patch.setattr(spectrum, name, wrong)

    return push


def pushed_sums(patch, side, *, forget):
    made = spectrum.Spectrum._sums_from

    def wrong(self, first, epsilon):
        terms, error = made(self, first, epsilon)
        return [terms[0] + away(side) * GROWN * error, terms[1]], 0.0 if forget else GROWN * error

    patch.setattr(spectrum.Spectrum, "_sums_from", wrong)


def pushed_scale(patch, side, *, forget):
    made = spectrum.Spectrum._scale

    def wrong(self, epsilon):
        scale, slack = made(self, epsilon)
        grown = 1 + GROWN * (slack - 1)
        return scale * grown ** away(side), 1.0 if forget else grown

    patch.setattr(spectrum.Spectrum, "_scale", wrong)


def shrunk_window(patch, side, *, forget):
    """What lies outside comes in at the other end: too much of it, where the window begins just above the loss asked for."""
    made, outside = saddle_point.PairSurvey.window, spectrum.Spectrum._outside

    def narrow(self, by, log_mass):
        _, _, below, above = made(self, by, log_mass)
        return (LOSS - 0.5, LOSS + 1.6, below, above) if side < 0 else (LOSS - 4.0, LOSS + 0.4, below, above)

    patch.setattr(saddle_point.PairSurvey, "window", narrow)
    if forget:
        patch.setattr(spectrum.Spectrum, "_outside", lambda self, parts, left: 0 * outside(self, parts, left))


PUSHES = {
    "dots": (pushed_dots, FEW),
    "tilt": (pushed_tilt, FEW),
    "fast transform": (pushed_transform("_all_frequencies"), FEW),
    "transform term by term": (pushed_transform("_low_frequencies"), MANY),
    "sums": (pushed_sums, FEW),
    "scale": (pushed_scale, FEW),
    "window": (shrunk_window, FEW),
}


def bracket(patch, name, side, *, forget):
    push, times = PUSHES[name]
    push(patch, side, forget=forget)
    with np.errstate(all="ignore"):
        view = look(steps(times), epsilon=LOSS)
        reading = read(steps(times), view, 0.002)
        return reading.lower(LOSS) if side < 0 else reading.upper(LOSS)


@pytest.mark.parametrize("side", [-1, +1])
@pytest.mark.parametrize("name", PUSHES)
def test_the_bracket_holds_the_truth_whatever_a_term_allows(name, side, monkeypatch):
    found = bracket(monkeypatch, name, side, forget=False)
    assert side * found >= side * TRUTH


@pytest.mark.parametrize("side", [-1, +1])
@pytest.mark.parametrize("name", PUSHES)
def test_a_forgotten_term_shows(name, side, monkeypatch):
    found = bracket(monkeypatch, name, side, forget=True)
    assert side * found < side * TRUTH


@pytest.mark.parametrize("times", [FEW, MANY])
def test_coarse_precision_widens_the_bracket_and_keeps_the_truth(times, monkeypatch):
    for module in (discretization, saddle_point, spectrum, outward):
        monkeypatch.setattr(module, "U", 2.0**-28)
    with np.errstate(all="ignore"):
        reading = read(steps(times), look(steps(times), epsilon=LOSS), 0.01)
        assert reading.lower(LOSS) <= TRUTH <= reading.upper(LOSS)
        assert reading.upper(LOSS) - reading.lower(LOSS) > 2.0**-28 * TRUTH
