"""The search for a limit asks little, never twice, and ends on the safe side."""

from fractions import Fraction

import pytest

from deniable.accounting.calibration import boundary


def counted(function):
    asked = []

    def measured(x):
        asked.append((type(x), x))
        return function(x)

    return measured, asked


@pytest.mark.parametrize("function", [lambda x: 5 / x, lambda x: 3 * x**0.7, lambda x: 7 / x + 2 / x**3])
@pytest.mark.parametrize("most", [Fraction(1, 50), Fraction(2), Fraction(317, 10)])
def test_smooth_losses_take_few_questions(function, most):
    measured, asked = counted(function)
    found = boundary(measured, most)
    assert function(found) <= most
    assert function(found * (1 - 1e-5)) > most or function(found * (1 + 1e-5)) > most
    assert len(asked) <= 18
    assert len(set(asked)) == len(asked)


def test_the_side_that_leads_away_is_not_asked():
    measured, asked = counted(lambda x: 10 / x)
    boundary(measured, Fraction(1, 4))
    assert min(x for _, x in asked) == 1


@pytest.mark.parametrize("edge", [0.3, 3.0, 700.0])
def test_steps_are_found_by_halving(edge):
    measured, _ = counted(lambda x: 1.0 if x >= edge else 100.0)
    found = boundary(measured, Fraction(2))
    assert edge <= found <= edge * (1 + 1e-5)
