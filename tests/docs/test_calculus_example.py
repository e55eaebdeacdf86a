"""The chain every tour starts with, as it was first written down, gives the numbers it says."""

import pytest

EXAMPLE = """
import deniable as dp
scores = dp.calculus.rows(dp.calculus.numbers(), size=None)                         # lists of numbers; neighbours add or remove rows
noisy_total = scores >> dp.calculus.clamp(lower=0, upper=100) >> dp.calculus.total() >> dp.calculus.laplace(scale=20)
noisy_total.cost(d_in=1); noisy_total.loss(d_in=1)                # what one person's row costs: epsilon = 5
noisy_total.accuracy(confidence=0.95)                             # +- 59.9 (rounded up to the grid clamp chose from its bounds, unless declared)
noisy_total(data)                                                 # one draw, unmetered
dp.calibrate(lambda s: scores >> dp.calculus.clamp(lower=0, upper=100) >> dp.calculus.total() >> dp.calculus.laplace(scale=s), d_in=1, epsilon=1)
"""  # noqa: E501


def test_the_example_runs_as_written():
    names = {"data": [1.0, 250.0, None, float("nan")]}
    exec(EXAMPLE, names)
    noisy = names["noisy_total"]
    assert noisy.loss(d_in=1).upper == 5
    assert float(noisy.accuracy(confidence=0.95)) == pytest.approx(59.91, abs=0.01)
    assert isinstance(noisy(names["data"]), float)
    calibrated = eval(EXAMPLE.strip().splitlines()[-1], names)
    assert calibrated.parameter == 100
    assert calibrated.loss(d_in=1).upper == 1


def test_every_constructor_of_the_calculus_is_reached_by_name():
    import deniable as dp
    from deniable import mechanisms, transformations

    for name in (*transformations.__all__, *mechanisms.__all__):
        assert hasattr(dp.calculus, name)
    for name in ("count", "count_distinct", "mean", "variance", "std", "histogram"):
        assert getattr(dp, name) is not getattr(dp.calculus, name)
    shared = [name for name in dp._PUBLIC if name in dp.calculus.__all__]
    aggregates = {name for name in shared if dp._PUBLIC[name].startswith("deniable.query")}
    assert aggregates == {"count", "count_distinct", "histogram", "mean", "std", "variance"}
